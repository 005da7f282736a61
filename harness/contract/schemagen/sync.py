"""Makes `schemas/` from the installed `openai` SDK and the official OpenAPI document, and says what has moved since.

sync    writes openai/*.json, overlays/10-openapi.yaml and lock.json
check   is what lies there what the lock, the SDK and the overlays say?
diff    what a newer SDK or document would bring, as a work list
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from harness.contract import schema
from harness.contract.check import named_rules
from harness.contract.overlay import Overlay, stale, unknown
from harness.contract.rule import RULES
from harness.contract.schemagen import from_openapi
from harness.contract.schemagen.from_openapi import Change
from harness.contract.schemagen.from_sdk import generate, sdk
from harness.core.errors import SchemaError
from harness.core.exchange import Json

__all__ = ["Change", "check", "diff", "generate", "pretty", "sync"]

OPENAPI = "10-openapi.yaml"
_WIDTH = 110


def sync(directory: Path, document: str | None = None) -> list[Path]:
    """Write all that is generated, and the lock; returns the files that changed or went.

    `document` is the path or URL of the official OpenAPI document; without it the overlay made from it stays as it is.
    """
    schemas = generate()
    texts = {directory / "openai" / f"{root}.json": pretty(schemas[root]) for root in schemas}
    origin = _lock(directory).get("openapi")
    if document:
        read = from_openapi.read(document)
        texts[directory / "overlays" / OPENAPI] = from_openapi.overlay(schemas, read)
        origin = {"version": read.version, "sha256": read.sha256}
    gone = [file for file in (directory / "openai").glob("*.json") if file not in texts]
    for file in gone:
        file.unlink()
    changed = [file for file, text in texts.items() if _write(file, text)]
    lock = {"openai": sdk(), "openapi": origin, **_hashes(directory)}
    changed += [directory / "lock.json"] * _write(directory / "lock.json", json.dumps(lock, indent=1) + "\n")
    return sorted(changed + gone)


def check(directory: Path) -> list[str]:
    """What is wrong with a schemas directory, one line each: the files against the lock, the SDK and the overlays."""
    return [*_against_lock(directory), *_against_sdk(directory), *_against_overlays(directory)]


def diff(directory: Path, document: str | None = None) -> list[Change]:
    """What the installed SDK would change in `schemas/openai`; with a document, also what only the document knows."""
    stored = {root: schema.generated(directory, root) for root in schema.roots(directory)}
    changes = list(_between(stored, generate()))
    if document:
        entries = schema.overlays(directory)
        effective = {root: schema.read(directory, root, entries) for root in stored}
        changes += from_openapi.differences(effective, from_openapi.read(document))
    return changes


def pretty(value: Any) -> str:
    """JSON that diffs well and stays small: a line as long as it fits, else one member a line; ends with a newline."""
    return _laid_out(value, 0) + "\n"


def _laid_out(value: Any, indent: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= _WIDTH or not isinstance(value, dict | list):
        return flat
    pad = "\n" + " " * (indent + 1)
    if isinstance(value, list):
        parts, brackets = [_laid_out(part, indent + 1) for part in value], "[]"
    else:
        parts = [f"{json.dumps(name)}: {_laid_out(part, indent + 1)}" for name, part in value.items()]
        brackets = "{}"
    return brackets[0] + pad + f",{pad}".join(parts) + "\n" + " " * indent + brackets[1]


def _against_lock(directory: Path) -> Iterator[str]:
    lock = _lock(directory)
    for key, found in _hashes(directory).items():
        locked = lock.get(key, {})
        for name in sorted({*locked, *found}):
            if name not in found:
                yield f"{name} is missing; run `harness schemas --sync`"
            elif locked.get(name) != found[name]:
                yield f"{name} is not what lock.json says; run `harness schemas --sync`"


def _against_sdk(directory: Path) -> Iterator[str]:
    if find_spec("openai") is None:
        return
    locked = _lock(directory).get("openai")
    if locked != sdk():
        yield f"openai {sdk()} is installed, the schemas are from {locked}; see `harness schemas --diff`"
        return
    for root, body in generate().items():
        file = directory / "openai" / f"{root}.json"
        if not file.is_file() or file.read_text(encoding="utf-8") != pretty(body):
            yield f"openai/{file.name} is not what openai {locked} generates; run `harness schemas --sync`"


def _against_overlays(directory: Path) -> Iterator[str]:
    try:
        entries = schema.overlays(directory)
        schemas = {root: schema.generated(directory, root) for root in schema.roots(directory)}
    except SchemaError as error:
        yield str(error)
        return
    for root, body in schemas.items():
        yield from stale(root, body, entries)
        if strangers := named_rules(body) - set(RULES):
            yield f"{root} names rules that do not exist: {', '.join(sorted(strangers))}"
    yield from (_homeless(entry, schemas) for entry in entries if not _lands(entry, schemas))


def _lands(entry: Overlay, schemas: Mapping[str, Json]) -> bool:
    return bool(entry.roots) or any(entry.places(root, body) for root, body in schemas.items())


def _homeless(entry: Overlay, schemas: Mapping[str, Json]) -> str:
    names = {name for body in schemas.values() for name in body.get("$defs", {})}
    return unknown(f"{entry}: no root has it", entry.definition or "", sorted(names))


def _between(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[Change]:
    """The changes from old to new schemas; one that several roots share is told once, its roots joined by commas."""
    shared: dict[tuple[str, str, str], list[str]] = {}
    for root in sorted({*old, *new}):
        if root not in old or root not in new:
            yield Change(root, "", "removed" if root in old else "added", "the root")
            continue
        for change in _compare(old[root], new[root], ""):
            shared.setdefault(change, []).append(root)
    for (pointer, kind, text), roots in shared.items():
        yield Change(", ".join(roots), pointer, kind, text)


def _compare(old: Any, new: Any, at: str) -> Iterator[tuple[str, str, str]]:
    if old == new:
        return
    if isinstance(old, list) and isinstance(new, list):
        yield from _compare_lists(old, new, at)
    elif isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            below = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
            if name not in new or name not in old:
                kind, part = ("removed", old[name]) if name in old else ("added", new[name])
                yield below, kind, _short(part)
            else:
                yield from _compare(old[name], new[name], below)
    else:
        yield at, "changed", f"{_short(old)} -> {_short(new)}"


def _compare_lists(old: Sequence[Any], new: Sequence[Any], at: str) -> Iterator[tuple[str, str, str]]:
    gone, come = [part for part in old if part not in new], [part for part in new if part not in old]
    yield from ((at, "removed", _short(part)) for part in gone)
    yield from ((at, "added", _short(part)) for part in come)
    if not gone and not come:
        yield at, "changed", "the order"


def _short(part: Any) -> str:
    text = json.dumps(part, ensure_ascii=False)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _write(file: Path, text: str) -> bool:
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    return True


def _hashes(directory: Path) -> dict[str, dict[str, str]]:
    return {
        key: {name: sha256((directory / name).read_bytes()).hexdigest() for name in _names(directory, pattern)}
        for key, pattern in (("generated", "openai/*.json"), ("overlays", "overlays/*.yaml"))
    }


def _names(directory: Path, pattern: str) -> list[str]:
    return sorted(file.relative_to(directory).as_posix() for file in directory.glob(pattern))


def _lock(directory: Path) -> Json:
    file = directory / "lock.json"
    try:
        lock: Json = orjson.loads(file.read_bytes()) if file.is_file() else {}
    except orjson.JSONDecodeError as error:
        raise SchemaError(
            f"{file}: not JSON: {error}; delete it and run `harness schemas --sync` with the document"
        ) from None
    return lock
