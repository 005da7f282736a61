"""A World's settings besides turns, as plain data: for script files in YAML and for the control plane.

organization: {zdr: true, models: [gpt-4.1], rate_limit: {limit: 3, used: 3, requested: 1}}
mcp: {prod: {deploy: "v2 is live", rollback: {error: "no such ref"}, status: {description: "…", result: {up: true}}}}
files: {guide.txt: "Paris", logo.png: {base64: iVBORw0=, purpose: vision}}
vector_stores: {docs: [guide.txt], old: {files: [guide.txt], expires_after: {anchor: last_active_at, days: 1}}}
connections: {search: {type: CognitiveSearch, credentials: secret}}
memory_stores: {coffee: {scope: user_123, memories: [Prefers dark roast.]}}
citations: delta
automatic: false
dialect: azure
as_of: 2026-03
refusals: [unknown_url, tools]
client: strict
patience: 20
webhooks: [{url: "http://localhost:8000/hook", faults: [doubled]}]
route: {POST /embeddings: {json: {object: list, data: []}}, POST /moderations: [{status: 500, text: down}, {json: {}}]}
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, replace
from functools import partial
from typing import Any, get_args

from harness.analysis.judgement import CLIENT_VALUES
from harness.answers.run_events import CitationPlacement
from harness.api.http.dialects import check_dialect
from harness.core.account import Organization, RateLimit
from harness.core.dates import parse_as_of
from harness.core.exchange import Answer, Json
from harness.core.vocabulary import render_json
from harness.world.mcp_server import TOOL_MEMBERS, McpServer, ToolError, build_server
from harness.world.mock import Mock
from harness.world.refusals import ANY
from harness.world.resources import RESOURCES, make_resource
from harness.world.scripting.validation import (
    BOOLEAN,
    OBJECT,
    TEXT,
    TEXT_LIST,
    WHOLE_NUMBER,
    InvalidData,
    ValueForm,
    check_members,
    check_named_members,
    errors_at,
)
from harness.world.scripting.webhook_settings import parse_webhooks

SettingChange = Callable[[Mock], Any]
"""Applies a setting to a mock; returns the ids of what it created by name, or None."""

FORMS_BY_TYPE: Mapping[str, ValueForm] = {
    "bool": BOOLEAN,
    "str": TEXT,
    "int": WHOLE_NUMBER,
    "int | None": ValueForm("a whole number, or null", lambda value: value is None or WHOLE_NUMBER.is_valid(value)),
    "float": ValueForm(
        "a non-negative number",
        lambda value: WHOLE_NUMBER.is_valid(value) or (isinstance(value, float) and 0 <= value < 1e9),
    ),
    "frozenset[str]": TEXT_LIST,
    "frozenset[str] | None": ValueForm(
        "a list of texts, or null for all", lambda value: value is None or TEXT_LIST.is_valid(value)
    ),
    "RateLimit | None": ValueForm(
        "an object with limit, used and requested, or null", lambda value: value is None or OBJECT.is_valid(value)
    ),
    "Mapping[str, Json] | None": ValueForm(
        "an object of objects, or null",
        lambda value: value is None or (OBJECT.is_valid(value) and all(map(OBJECT.is_valid, value.values()))),
    ),
}
"""The allowed values of a field, by its type annotation."""


def _parse_organization(value: Any) -> SettingChange:
    changes = _parse_fields(Organization, value)
    if (limit := changes.get("rate_limit")) is not None:
        with errors_at("rate_limit"):
            changes["rate_limit"] = RateLimit(**_parse_fields(RateLimit, limit))
    Mock().organization(**changes)

    def change(mock: Mock) -> None:
        mock.organization(**changes)

    return change


def _parse_fields(of: type[Organization] | type[RateLimit], value: Any) -> Json:
    """Check the fields of a dataclass by name; InvalidData if one without a default is missing."""
    known: dict[str, Field[Any]] = {field.name: field for field in fields(of)}
    own = _check_forms(value, "member", {name: FORMS_BY_TYPE[str(field.type)] for name, field in known.items()})
    if missing := [name for name, field in known.items() if field.default is MISSING and name not in own]:
        raise InvalidData(f"{', '.join(missing)} is missing. Add {', '.join(known)}.")
    return own


def _check_forms(members: Any, what: str, forms: Mapping[str, ValueForm]) -> Json:
    """Check that each member of an object is valid; returns the members."""
    own = {**check_members(members, what, forms)}
    for name, value in own.items():
        with errors_at(name):
            forms[name].check(name, value)
    return own


def _parse_mcp(value: Any) -> SettingChange:
    servers = [_parse_server(label, tools) for label, tools in check_named_members(value, "mcp").items()]

    def change(mock: Mock) -> None:
        for server in servers:
            mock.world.mcp_servers.add(server)

    return change


def _parse_server(label: str, tools: Any) -> McpServer:
    with errors_at(label):
        declared = check_named_members(tools, "the tools of a server")
        made = build_server(label, {name: _parse_tool(name, tool) for name, tool in declared.items()})
        for name in declared:
            with errors_at(name):
                made.call(name, "{}")  # results are data here, so each is checked at once
    return made


def _parse_tool(name: str, declared: Any) -> Any:
    """Parse a tool for `build_server`; an `error` takes the place of the `result`."""
    if not isinstance(declared, dict) or "error" not in declared or not declared.keys() <= {*TOOL_MEMBERS, "error"}:
        return declared
    with errors_at(name, "error"):
        error = ValueForm("a text or an object", lambda value: isinstance(value, str | dict)).check(
            "error", declared["error"]
        )
    return {**{name: declared[name] for name in declared if name != "error"}, "result": ToolError(error)}


def _parse_files(value: Any) -> SettingChange:
    files = {name: _parse_file(name, file) for name, file in check_named_members(value, "files").items()}
    return lambda mock: {name: mock.file(name, **file) for name, file in files.items()}


def _parse_file(name: str, value: Any) -> Json:
    """Parse the arguments of `Mock.file`: a string, or an object with text or bytes."""
    with errors_at(name):
        own = _check_forms({"data": value} if isinstance(value, str) else value, "member of a file", _FILE_FORMS)
        data = _decode_base64(own["base64"]) if "base64" in own else own.get("data", "")
        return {"data": data, **{member: own[member] for member in own if member in ("purpose", "expires_after")}}


def _decode_base64(value: str) -> bytes:
    with errors_at("base64"):
        try:
            return b64decode(value, validate=True)
        except ValueError as problem:
            raise InvalidData(f"base64 is {render_json(value)}. Use base64: {problem}.") from problem


_FILE_FORMS: Mapping[str, ValueForm] = {"data": TEXT, "base64": TEXT, "purpose": TEXT, "expires_after": WHOLE_NUMBER}


def _parse_vector_stores(value: Any) -> SettingChange:
    stores = {
        name: _parse_vector_store(name, store) for name, store in check_named_members(value, "vector_stores").items()
    }

    def change(mock: Mock) -> dict[str, str]:
        made = {}
        for name, (files, members) in stores.items():
            with errors_at(name):
                made[name] = mock.vector_store(*(_file_id(file, mock) for file in files), name=name, **members)
        return made

    return change


def _parse_vector_store(name: str, value: Any) -> tuple[list[str], Json]:
    """Parse a vector store: its files, by name or id, and its other members."""
    with errors_at(name):
        own = _check_forms(
            {"files": value} if isinstance(value, list) else value, "member of a vector store", _VECTOR_STORE_FORMS
        )
        return own.get("files", []), {member: own[member] for member in own if member != "files"}


_VECTOR_STORE_FORMS: Mapping[str, ValueForm] = {
    "files": TEXT_LIST,
    "description": TEXT,
    "metadata": OBJECT,
    "expires_after": ValueForm(
        'an object, {"anchor": "last_active_at", "days": 7}',
        lambda value: OBJECT.is_valid(value) and WHOLE_NUMBER.is_valid(value.get("days")),
    ),
    "chunking_strategy": OBJECT,
}


def _file_id(file: str, mock: Mock) -> str:
    """Return the id of the last file of this name; without such a file, `file` is an id itself."""
    named = (id for id, stored in reversed(list(mock.world.store.files.items())) if stored.object["filename"] == file)
    return next(named, file)


def _parse_resources(setting: str, value: Any) -> SettingChange:
    """Parse the resources of a kind by name; a deployment may be given as just its model."""
    kind = PROJECT_RESOURCES[setting]
    named = {
        name: {"modelName": resource} if kind == "deployment" and isinstance(resource, str) else resource
        for name, resource in check_named_members(value, setting).items()
    }

    def change(mock: Mock) -> dict[str, str]:
        made = {}
        for name, members in named.items():
            with errors_at(name):
                made[name] = make_resource(
                    mock.world, kind, name, check_members(members, "member", RESOURCES.find(kind).members or {})
                )
        return made

    change(Mock())  # to find a mistake before anything is changed
    return change


PROJECT_RESOURCES: Mapping[str, str] = {
    "connections": "connection",
    "deployments": "deployment",
    "indexes": "index",
    "datasets": "dataset",
    "memory_stores": "memory_store",
    "skills": "skill",
    "toolboxes": "toolbox",
}
"""The settings that create resources of a project, and the kind of each."""


def _parse_citations(placement: Any) -> SettingChange:
    known = get_args(CitationPlacement)
    ValueForm(f"one of {', '.join(known)}", lambda value: value in known).check("citations", placement)
    return lambda mock: setattr(mock, "citations", placement)


def _parse_automatic(value: Any) -> SettingChange:
    BOOLEAN.check("automatic", value)
    return lambda mock: setattr(mock, "automatic", value)


def _parse_dialect(value: Any) -> SettingChange:
    dialect = check_dialect(value)
    return lambda mock: setattr(mock.world, "dialect", dialect)


def _parse_as_of(value: Any) -> SettingChange:
    day = parse_as_of(str(value))  # YAML parses a day as a date
    return lambda mock: mock.world.set_date(day)


def _parse_client(value: Any) -> SettingChange:
    """Parse how the client is judged: `fail`, `allow`, `strict`, or a list of the mistakes that it may make."""
    option = _CLIENT.check("client", value)
    if not isinstance(option, list):
        return lambda mock: setattr(mock.world, "client", replace(mock.world.client, option=option))

    def allow(mock: Mock) -> None:
        mock.allows(*option)

    allow(Mock())  # to find a mistake before anything is changed
    return allow


def _parse_patience(value: Any) -> SettingChange:
    """Parse how many seconds a client may wait for an answer."""
    seconds = _PATIENCE.check("patience", value)
    return lambda mock: setattr(mock.world, "client", replace(mock.world.client, patience=seconds))


_CLIENT = ValueForm(
    "fail, allow, strict, or a list of mistakes to allow",
    lambda value: TEXT_LIST.is_valid(value) if isinstance(value, list) else value in CLIENT_VALUES,
)
_PATIENCE = ValueForm(
    "a number of seconds above 0",
    lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9,
)


def _parse_refusals(value: Any) -> SettingChange:
    texts = refusal_texts(value)

    def change(mock: Mock) -> None:
        for text in texts:
            mock.world.refusals.expect(text, required=False)

    return change


def refusal_texts(value: Any) -> list[str]:
    """Return the refusals named by `allow`, a string or a list of strings: rules, areas, parts of messages."""
    _REFUSALS.check("refusals", value)
    return value if isinstance(value, list) else [ANY] if value == ALLOW else [value]


ALLOW = "allow"
_REFUSALS = ValueForm(
    f'"{ALLOW}", or rules, areas or parts of messages: a text or a list of texts',
    lambda value: value != "" and (TEXT.is_valid(value) or (TEXT_LIST.is_valid(value) and "" not in value)),
)

_ROUTE_BODIES: Mapping[str, ValueForm] = {
    "json": ValueForm("an object or a list", lambda value: isinstance(value, dict | list)),
    "text": TEXT,
    "base64": TEXT,
}
_ROUTE_HEAD: Mapping[str, ValueForm] = {"status": WHOLE_NUMBER, "headers": OBJECT}


def _parse_route(value: Any) -> SettingChange:
    """Parse answers to other parts of the API, by method and path: `{"POST /embeddings": {"json": {…}}}`."""
    routes = [_parse_routed(name, described) for name, described in check_named_members(value, "route").items()]

    def change(mock: Mock) -> None:
        for method, path, answer in routes:
            mock.route(method, path, answer)

    change(Mock())  # to find a mistake before anything is changed
    return change


def _parse_routed(name: str, value: Any) -> tuple[str, str, Any]:
    method, _, path = name.partition(" ")
    with errors_at(name):
        if not isinstance(value, list):
            return method, path, _parse_answer(value)
        answers = []
        for index, answer in enumerate(value):
            with errors_at(index):
                answers.append(_parse_answer(answer))
        return method, path, answers


def _parse_answer(value: Any) -> Answer:
    own = _check_forms(value, "member of an answer", {**_ROUTE_BODIES, **_ROUTE_HEAD})
    given = [name for name in _ROUTE_BODIES if name in own]
    if len(given) != 1:
        raise InvalidData(
            f"an answer has one of {', '.join(_ROUTE_BODIES)}; this one has {', '.join(given) or 'none'}."
        )
    body = _decode_base64(own["base64"]) if "base64" in own else own[given[0]]
    return Answer(own.get("status", 200), body, own.get("headers", {}))


SETTINGS: Mapping[str, Callable[[Any], SettingChange]] = {
    "organization": _parse_organization,
    "mcp": _parse_mcp,
    "files": _parse_files,
    "vector_stores": _parse_vector_stores,
    **{setting: partial(_parse_resources, setting) for setting in PROJECT_RESOURCES},
    "citations": _parse_citations,
    "automatic": _parse_automatic,
    "dialect": _parse_dialect,
    "as_of": _parse_as_of,
    "refusals": _parse_refusals,
    "client": _parse_client,
    "patience": _parse_patience,
    "route": _parse_route,
    "webhooks": parse_webhooks,
}
"""The parser of each setting, in the order in which settings are applied."""
