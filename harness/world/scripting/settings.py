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
webhooks: http://localhost:8000/hook
webhooks: [{url: "http://localhost:8000/hook", secret: whsec_c2VjcmV0, faults: [doubled], allow: [webhook-late]}]
route: {POST /embeddings: {json: {object: list, data: []}}, POST /moderations: [{status: 500, text: down}, {json: {}}]}
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, get_args

from harness.analysis.judgement import CLIENT_VALUES
from harness.analysis.receivers import RECEIVER_MISTAKES
from harness.answers.assistants_run_events import CitationPlacement
from harness.api.http.dialects import check_dialect
from harness.core.account import Organization, RateLimit
from harness.core.advice_wording import render_json
from harness.core.dates import parse_as_of
from harness.core.exchange import Answer, Json
from harness.core.ids import Ids
from harness.core.json_values import omit
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
    check_fields,
    check_forms,
    check_members,
    check_named_members,
    errors_at,
)
from harness.world.webhooks import ALL_ALLOWED, Webhooks, check_names

T = TypeVar("T")
SettingChange = Callable[[Mock], Any]
"""Applies a setting to a mock; returns the ids of what it created by name, or None."""


def _parse_organization(value: Any) -> SettingChange:
    changes = check_fields(Organization, value)
    if (limit := changes.get("rate_limit")) is not None:
        with errors_at("rate_limit"):
            changes["rate_limit"] = RateLimit(**check_fields(RateLimit, limit))
    Mock().organization(**changes)

    def change(mock: Mock) -> None:
        mock.organization(**changes)

    return change


def _parse_each(value: Any, what: str, parse: Callable[[Any], T]) -> dict[str, T]:
    """Parse the members of an object by name; an error has the name as its place."""
    parsed = {}
    for name, member in check_named_members(value, what).items():
        with errors_at(name):
            parsed[name] = parse(member)
    return parsed


def _tried(change: SettingChange) -> SettingChange:
    """Try a change on a mock of its own, to find a mistake before anything is changed."""
    change(Mock())
    return change


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
    return {**omit(declared, "error"), "result": ToolError(error)}


def _parse_files(value: Any) -> SettingChange:
    files = _parse_each(value, "files", _parse_file)
    return lambda mock: {name: mock.file(name, **file) for name, file in files.items()}


def _parse_file(value: Any) -> Json:
    """Parse the arguments of `Mock.file`: a string, or an object with text or bytes."""
    own = check_forms({"data": value} if isinstance(value, str) else value, "member of a file", _FILE_FORMS)
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
    stores = _parse_each(value, "vector_stores", _parse_vector_store)

    def change(mock: Mock) -> dict[str, str]:
        made = {}
        for name, (files, members) in stores.items():
            with errors_at(name):
                made[name] = mock.vector_store(*(_file_id(file, mock) for file in files), name=name, **members)
        return made

    return change


def _parse_vector_store(value: Any) -> tuple[list[str], Json]:
    """Parse a vector store: its files, by name or id, and its other members."""
    given = {"files": value} if isinstance(value, list) else value
    own = check_forms(given, "member of a vector store", _VECTOR_STORE_FORMS)
    return own.get("files", []), omit(own, "files")


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

    return _tried(change)


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

    return _tried(allow)


def _parse_patience(value: Any) -> SettingChange:
    seconds = _PATIENCE.check("patience", value)
    return lambda mock: setattr(mock.world, "client", replace(mock.world.client, patience=seconds))


_CLIENT = ValueForm(
    "fail, allow, strict, or a list of mistakes to allow",
    lambda value: TEXT_LIST.is_valid(value) if isinstance(value, list) else value in CLIENT_VALUES,
)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9


_PATIENCE = ValueForm("a number of seconds above 0", _is_positive)


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
    answers = _parse_each(value, "route", _parse_answers)

    def change(mock: Mock) -> None:
        for name, answer in answers.items():
            method, _, path = name.partition(" ")
            mock.route(method, path, answer)

    return _tried(change)


def _parse_answers(value: Any) -> Answer | list[Answer]:
    if not isinstance(value, list):
        return _parse_answer(value)
    answers = []
    for index, answer in enumerate(value):
        with errors_at(index):
            answers.append(_parse_answer(answer))
    return answers


def _parse_answer(value: Any) -> Answer:
    own = check_forms(value, "member of an answer", {**_ROUTE_BODIES, **_ROUTE_HEAD})
    given = [name for name in _ROUTE_BODIES if name in own]
    if len(given) != 1:
        raise InvalidData(
            f"an answer has one of {', '.join(_ROUTE_BODIES)}; this one has {', '.join(given) or 'none'}."
        )
    body = _decode_base64(own["base64"]) if "base64" in own else own[given[0]]
    return Answer(own.get("status", 200), body, own.get("headers", {}))


_WEBHOOK_FORMS: Mapping[str, ValueForm] = {
    "url": TEXT,
    "secret": TEXT,
    "events": TEXT_LIST,
    "faults": TEXT_LIST,
    "late": WHOLE_NUMBER,
    "timeout": ValueForm("a number above 0", _is_positive),
    "allow": ValueForm(
        f'"{ALL_ALLOWED}", or a list of mistakes', lambda value: value == ALL_ALLOWED or TEXT_LIST.is_valid(value)
    ),
}


def _parse_webhooks(value: Any) -> SettingChange:
    """Parse webhooks; applying the change returns the secret of each by its URL."""
    parsed = []
    for index, webhook in enumerate(value if isinstance(value, list) else [value]):
        with errors_at(index) if isinstance(value, list) else errors_at():
            parsed.append(_parse_webhook(webhook))

    def change(mock: Mock) -> dict[str, str]:
        secrets = {}
        for url, options, allowed in parsed:
            secrets[url] = mock.webhooks(url, **options).secret
            mock.world.open_webhooks().allowed.update(allowed)
        return secrets

    return change


def _parse_webhook(value: Any) -> tuple[str, Json, list[str]]:
    """Parse one webhook: its URL, the arguments of `mock.webhooks`, and the allowed mistakes."""
    own = check_forms({"url": value} if isinstance(value, str) else value, "member of a webhook", _WEBHOOK_FORMS)
    if "url" not in own:
        raise InvalidData('url is missing. Add {"url": "http://localhost:8000/hook"}.')
    given: str | list[str] = own.pop("allow", [])
    allowed: list[str] = [given] if isinstance(given, str) else given
    check_names("allow", [name for name in allowed if name != ALL_ALLOWED], list(RECEIVER_MISTAKES))
    url = own.pop("url")
    Webhooks(Ids("")).add_endpoint(url, **own)  # to find a mistake before anything is changed
    return url, own, allowed


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
    "webhooks": _parse_webhooks,
}
"""The parser of each setting, in the order in which settings are applied."""
