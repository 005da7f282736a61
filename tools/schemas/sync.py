"""Generates `schemas/` from the installed `openai` SDK and the official OpenAPI document, and lists later changes.

sync    writes openai/*.json, overlays/10-openapi.yaml and lock.json
check   compares the files with the lock, the SDK and the overlays
diff    lists what a newer SDK or document would change
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson

from harness.contract import schema
from harness.contract.check import named_rules
from harness.contract.overlay import OverlayEntry, apply_entries, suggest_nearest
from harness.contract.rule import RULES
from harness.core.dates import ALWAYS, days_of_change, is_valid_on
from harness.core.errors import SchemaError
from harness.core.exchange import Json
from harness.core.text import shorten
from tools.schemas import from_openapi
from tools.schemas.from_openapi import Change
from tools.schemas.from_sdk import generate, sdk_version
from tools.schemas.shutdowns import check_shutdowns

__all__ = ["Change", "check", "diff", "generate", "pretty", "sync"]

OPENAPI_OVERLAY = "10-openapi.yaml"
_LINE_WIDTH = 110


def sync(directory: Path, document: str | None = None) -> list[Path]:
    """Write all generated files and the lock; return the files that were changed or removed.

    `document` is the path or URL of the official OpenAPI document; without it the overlay of its bounds is unchanged.
    """
    schemas = generate()
    texts = {directory / "openai" / f"{root}.json": pretty(schemas[root]) for root in schemas}
    origin = _read_lock(directory).get("openapi")
    if document:
        read = from_openapi.read_document(document)
        texts[directory / "overlays" / OPENAPI_OVERLAY] = from_openapi.render_bounds_overlay(schemas, read)
        origin = {"version": read.version, "sha256": read.sha256}
    gone = [file for file in (directory / "openai").glob("*.json") if file not in texts]
    for file in gone:
        file.unlink()
    changed = [file for file, text in texts.items() if _write_if_changed(file, text)]
    lock = {"openai": sdk_version(), "openapi": origin, **_hash_files(directory)}
    changed += [directory / "lock.json"] * _write_if_changed(directory / "lock.json", json.dumps(lock, indent=1) + "\n")
    return sorted(changed + gone)


def check(directory: Path) -> list[str]:
    """List the problems of a schemas directory: files that differ from the lock, the SDK or the overlays."""
    return [*_check_lock(directory), *_check_sdk(directory), *_check_overlays(directory)]


def diff(directory: Path, document: str | None = None) -> list[Change]:
    """List how the installed SDK would change `schemas/openai`; with a document, also how that differs."""
    stored = {root: schema.read_generated(directory, root) for root in schema.root_names(directory)}
    changes = list(_list_changes(stored, generate()))
    if document:
        entries = schema.load_overlays(directory)
        effective = {root: schema.read_schema(directory, root, entries) for root in stored}
        changes += from_openapi.list_changes(effective, from_openapi.read_document(document))
    return changes


def pretty(value: Any) -> str:
    """Format JSON for readable diffs: values on one line if they fit, else one member per line; end with a newline."""
    return _lay_out(value, 0) + "\n"


def _lay_out(value: Any, indent: int) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) + indent <= _LINE_WIDTH or not isinstance(value, dict | list):
        return flat
    pad = "\n" + " " * (indent + 1)
    if isinstance(value, list):
        parts, brackets = [_lay_out(part, indent + 1) for part in value], "[]"
    else:
        parts = [f"{json.dumps(name)}: {_lay_out(part, indent + 1)}" for name, part in value.items()]
        brackets = "{}"
    return brackets[0] + pad + f",{pad}".join(parts) + "\n" + " " * indent + brackets[1]


def _check_lock(directory: Path) -> Iterator[str]:
    lock = _read_lock(directory)
    for key, digest in _hash_files(directory).items():
        locked = lock.get(key, {})
        for name in sorted({*locked, *digest}):
            if name not in digest:
                yield f"{name} is missing; run `python -m tools.schemas --sync`"
            elif locked.get(name) != digest[name]:
                yield f"{name} is not what lock.json says; run `python -m tools.schemas --sync`"


def _check_sdk(directory: Path) -> Iterator[str]:
    if find_spec("openai") is None:
        return
    locked = _read_lock(directory).get("openai")
    if locked != sdk_version():
        yield f"openai {sdk_version()} is installed, the schemas are from {locked}; see `python -m tools.schemas --diff`"
        return
    for root, body in generate().items():
        file = directory / "openai" / f"{root}.json"
        if not file.is_file() or file.read_text(encoding="utf-8") != pretty(body):
            yield f"openai/{file.name} is not what openai {locked} generates; run `python -m tools.schemas --sync`"
    yield from check_shutdowns()


def _check_overlays(directory: Path) -> Iterator[str]:
    try:
        entries = schema.load_overlays(directory)
        schemas = {root: schema.read_generated(directory, root) for root in schema.root_names(directory)}
    except SchemaError as error:
        yield str(error)
        return
    days = (ALWAYS, *days_of_change(entries))
    yield from dict.fromkeys(problem for day in days for problem in _check_overlays_on(day, deepcopy(schemas), entries))


def _check_overlays_on(day: str, schemas: Mapping[str, Json], entries: Sequence[OverlayEntry]) -> Iterator[str]:
    """Yield the problems of the overlays that are valid on a day, applying them to the schemas in place."""
    valid = [entry for entry in entries if is_valid_on(day, entry.since, entry.until)]
    for root, body in schemas.items():
        yield from apply_entries(root, body, valid)
        if strangers := named_rules(body) - set(RULES):
            yield f"{root} names rules that do not exist: {', '.join(sorted(strangers))}"
    yield from (_unmatched_problem(entry, schemas) for entry in valid if not _matches_a_root(entry, schemas))


def _matches_a_root(entry: OverlayEntry, schemas: Mapping[str, Json]) -> bool:
    return bool(entry.roots) or any(entry.matching_schemas(root, body) for root, body in schemas.items())


def _unmatched_problem(entry: OverlayEntry, schemas: Mapping[str, Json]) -> str:
    names = {name for body in schemas.values() for name in body.get("$defs", {})}
    return suggest_nearest(f"{entry}: no root has it", entry.definition or "", sorted(names))


def _list_changes(old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[Change]:
    """List the changes from old to new schemas; a change in several roots is listed once, with all of them."""
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
                yield below, kind, _abbreviate(part)
            else:
                yield from _compare(old[name], new[name], below)
    else:
        yield at, "changed", f"{_abbreviate(old)} -> {_abbreviate(new)}"


def _compare_lists(old: Sequence[Any], new: Sequence[Any], at: str) -> Iterator[tuple[str, str, str]]:
    gone, come = [part for part in old if part not in new], [part for part in new if part not in old]
    yield from ((at, "removed", _abbreviate(part)) for part in gone)
    yield from ((at, "added", _abbreviate(part)) for part in come)
    if not gone and not come:
        yield at, "changed", "the order"


def _abbreviate(part: Any) -> str:
    return shorten(json.dumps(part, ensure_ascii=False), _LINE_WIDTH)


def _write_if_changed(file: Path, text: str) -> bool:
    if file.is_file() and file.read_text(encoding="utf-8") == text:
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="\n")
    return True


def _hash_files(directory: Path) -> dict[str, dict[str, str]]:
    return {
        key: {name: sha256((directory / name).read_bytes()).hexdigest() for name in _list_files(directory, pattern)}
        for key, pattern in (("generated", "openai/*.json"), ("overlays", "overlays/*.yaml"))
    }


def _list_files(directory: Path, pattern: str) -> list[str]:
    return sorted(file.relative_to(directory).as_posix() for file in directory.glob(pattern))


def _read_lock(directory: Path) -> Json:
    file = directory / "lock.json"
    try:
        lock: Json = orjson.loads(file.read_bytes()) if file.is_file() else {}
    except orjson.JSONDecodeError as error:
        raise SchemaError(
            f"{file}: not JSON: {error}; delete it and run `python -m tools.schemas --sync` with the document"
        ) from None
    return lock
