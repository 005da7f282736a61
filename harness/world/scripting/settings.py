"""What a World can be told besides turns, as plain data: for script files in YAML and for the control plane.

organization: {zdr: true, models: [gpt-4.1], rate_limit: {limit: 3, used: 3, requested: 1}}
mcp: {prod: {deploy: "v2 is live", rollback: {error: "no such ref"}, status: {description: "…", result: {up: true}}}}
files: {guide.txt: "Paris", logo.png: {base64: iVBORw0=, purpose: vision}}
vector_stores: {docs: [guide.txt], old: {files: [guide.txt], expires_after: {anchor: last_active_at, days: 1}}}
citations: delta
automatic: false
dialect: azure
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, get_args

from harness.answers.run_events import CitationPlacement
from harness.api.dialects import check_dialect
from harness.core.account import Organization, RateLimit
from harness.core.exchange import Json
from harness.world.mcp_server import WIRE, Server, ToolError, serve
from harness.world.scripting.validation import FLAG, OBJECT, TEXT, TEXTS, WHOLE, Form, Misplaced, at, by_name, members
from harness.world.world import World

Change = Callable[[World], Any]
"""What a setting does to a World; what it returns, if anything, is of use to who set it: ids by name."""

FORMS: Mapping[str, Form] = {
    "bool": FLAG,
    "str": TEXT,
    "int": WHOLE,
    "float": Form(
        "a number from 0 on", lambda value: WHOLE.fits(value) or (isinstance(value, float) and 0 <= value < 1e9)
    ),
    "frozenset[str]": TEXTS,
    "frozenset[str] | None": Form("a list of texts, or null for all", lambda value: value is None or TEXTS.fits(value)),
    "RateLimit | None": Form(
        "an object with limit, used and requested, or null", lambda value: value is None or OBJECT.fits(value)
    ),
    "Mapping[str, Json] | None": Form(
        "an object of objects, or null",
        lambda value: value is None or (OBJECT.fits(value) and all(map(OBJECT.fits, value.values()))),
    ),
}
"""What a field may be, by its type."""


def _organization(said: Any) -> Change:
    changes = _fields(Organization, said)
    if (limit := changes.get("rate_limit")) is not None:
        with at("rate_limit"):
            changes["rate_limit"] = RateLimit(**_fields(RateLimit, limit))
    World().organization(**changes)

    def change(world: World) -> None:
        world.organization(**changes)

    return change


def _fields(of: type[Organization] | type[RateLimit], said: Any) -> Json:
    """Fields of a dataclass by name, each of its form; those without a default must be there."""
    known: dict[str, Field[Any]] = {field.name: field for field in fields(of)}
    own = _checked(said, "member", {name: FORMS[str(field.type)] for name, field in known.items()})
    if missing := [name for name, field in known.items() if field.default is MISSING and name not in own]:
        raise Misplaced(f"{', '.join(missing)} is missing. Give {', '.join(known)}.")
    return own


def _checked(said: Any, what: str, forms: Mapping[str, Form]) -> Json:
    """The members of an object, each of its form."""
    own = {**members(said, what, forms)}
    for name, value in own.items():
        with at(name):
            forms[name].check(name, value)
    return own


def _mcp(said: Any) -> Change:
    servers = [_server(label, tools) for label, tools in by_name(said, "mcp").items()]

    def change(world: World) -> None:
        for server in servers:
            world.servers.add(server)

    return change


def _server(label: str, tools: Any) -> Server:
    with at(label):
        declared = by_name(tools, "the tools of a server")
        made = serve(label, {name: _tool(name, tool) for name, tool in declared.items()})
        for name in declared:
            with at(name):
                made.call(name, "{}")  # what it returns is said here, so it is judged here
    return made


def _tool(name: str, said: Any) -> Any:
    """A tool as `World.mcp` takes it; the `error` that its calls end with stands in the place of a `result`."""
    if not isinstance(said, dict) or "error" not in said or not said.keys() <= {*WIRE, "error"}:
        return said
    with at(name, "error"):
        error = Form("a text or an object", lambda value: isinstance(value, str | dict)).check("error", said["error"])
    return {**{name: said[name] for name in said if name != "error"}, "result": ToolError(error)}


def _files(said: Any) -> Change:
    given = {name: _file(name, file) for name, file in by_name(said, "files").items()}
    return lambda world: {name: world.file(name, **file) for name, file in given.items()}


def _file(name: str, said: Any) -> Json:
    """What `World.file` takes of a file: its text, or an object with its text or its bytes."""
    with at(name):
        own = _checked({"data": said} if isinstance(said, str) else said, "member of a file", _FILE)
        data = _bytes(own["base64"]) if "base64" in own else own.get("data", "")
        return {"data": data, **{each: own[each] for each in own if each in ("purpose", "expires_after")}}


def _bytes(said: str) -> bytes:
    with at("base64"):
        try:
            return b64decode(said, validate=True)
        except ValueError as problem:
            raise Misplaced(f"base64 is {said!r}. Give bytes in base64: {problem}.") from problem


_FILE: Mapping[str, Form] = {"data": TEXT, "base64": TEXT, "purpose": TEXT, "expires_after": WHOLE}


def _vector_stores(said: Any) -> Change:
    given = {name: _store(name, store) for name, store in by_name(said, "vector_stores").items()}

    def change(world: World) -> dict[str, str]:
        made = {}
        for name, (files, own) in given.items():
            with at(name):
                made[name] = world.vector_store(*(_id_of(file, world) for file in files), name=name, **own)
        return made

    return change


def _store(name: str, said: Any) -> tuple[list[str], Json]:
    """The files of a vector store, by name or id, and what else it is made with."""
    with at(name):
        own = _checked({"files": said} if isinstance(said, list) else said, "member of a vector store", _STORE)
        return own.get("files", []), {each: own[each] for each in own if each != "files"}


_STORE: Mapping[str, Form] = {
    "files": TEXTS,
    "description": TEXT,
    "metadata": OBJECT,
    "expires_after": Form(
        'an object, {"anchor": "last_active_at", "days": 7}',
        lambda value: OBJECT.fits(value) and WHOLE.fits(value.get("days")),
    ),
    "chunking_strategy": OBJECT,
}


def _id_of(file: str, world: World) -> str:
    """The id of the last file of that name; else it is an id itself."""
    named = (id for id, known in reversed(world.uploads.files.items()) if known.object["filename"] == file)
    return next(named, file)


def _citations(said: Any) -> Change:
    known = get_args(CitationPlacement)
    Form(f"one of {', '.join(known)}", lambda value: value in known).check("citations", said)
    return lambda world: setattr(world, "citations", said)


def _automatic(said: Any) -> Change:
    FLAG.check("automatic", said)
    return lambda world: setattr(world, "automatic", said)


def _dialect(said: Any) -> Change:
    dialect = check_dialect(said)
    return lambda world: setattr(world, "dialect", dialect)


SETTINGS: Mapping[str, Callable[[Any], Change]] = {
    "organization": _organization,
    "mcp": _mcp,
    "files": _files,
    "vector_stores": _vector_stores,
    "citations": _citations,
    "automatic": _automatic,
    "dialect": _dialect,
}
"""Every setting: from what is said to what it changes, in the order in which they are made."""
