"""What must hold of the answer to any request, as complaints: an empty list is a mock that stood."""

import re
from collections.abc import Container, Iterator, Mapping
from typing import Any

import orjson

from harness.api.http.dialects import OPENAI, omit_dialect_members, parse_api_path
from harness.api.operations import OPERATIONS
from harness.api.responses import omit_agents
from harness.contract import first_violation, schema
from harness.contract.check import drop_nulls
from harness.contract.phrasing import format_path
from harness.contract.rule import CREATE_RESPONSE, RULES
from harness.core.exchange import Answer, Request
from harness.server.answering import TEAPOT
from harness.world.world import World
from tests.contract.evidence.samples.mutate import places
from tests.fuzz.sent import SOCKET, Sent, Stand
from tests.support.cpu_time import cpu_time

CPU_BUDGET = 0.25
"""Seconds of the processor that one request may take."""
LONGEST = 4_000
"""Characters of the longest text of a refusal, whatever it quotes."""
INTERNAL = re.compile(r" raised \w+|\.py:\d|/harness/")
"""What a problem says that is no script's fault."""
STORAGE_CODE = "x-ms-error-code"
"""The header of errors of Blob storage, which no rule has."""
NAMES_OF_THE_API = {
    "agent_name_invalid": "agent_name",
    "agent_mcp_url_invalid": "",
    "cache_options_unsupported": "prompt_cache_breakpoint",
    "container_file_incomplete": "file",
    "file_not_found": "id",
    "download_failed": "url",
    "file_url_with_data": "url",
    "deferred_without_search": "tools.defer_loading",
    "namespace_named_like_hosted": "tools.namespace",
    "preview_feature_required": "Foundry-Features",
    "search_without_deferred": "tools.tool_search",
    "reasoning_unidentified": "item",
    "session_file_path_missing": "path",
    "user_identity_invalid": "x-ms-user-identity",
}
"""By rule, a `param` of the API's own that names nothing in the request."""


def complaints(stand: Stand, sent: Sent) -> list[str]:
    """Return what is wrong with the answer to a request, which is sent here."""
    count, before, listed = len(stand.world.exchanges), snapshot(stand.world), stand.world.account.files
    try:
        with cpu_time() as spent:
            answer = stand.deliver(sent)
    except Exception as problem:
        return [f"exception: {type(problem).__name__}: {problem}"]
    found = []
    if spent.seconds > CPU_BUDGET:
        found.append(f"cost: {spent.seconds * 1000:.0f} ms")
    if answer.status >= 400 and isinstance(answer.body, dict):
        found += [
            f"long: {len(text)} characters of {answer.rule}" for text in _texts(answer.body) if len(text) > LONGEST
        ]
    found += _of_answer(answer, sent)
    if answer.rule and not answer.expected and (changed := changes(before, snapshot(stand.world), listed)):
        found.append(f"state: {answer.rule} changed {', '.join(changed)}")
    for exchange in stand.journal_since(count):
        found += _of_param(answer, exchange.request)
        found += _of_validators(exchange.request, exchange.answer)
    return found


def _texts(value: Any) -> Iterator[str]:
    """Yield the strings in a JSON value."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(part)


Snapshot = Mapping[str, Mapping[str, str]]
"""What a refusal must leave as it is: tables by name, of texts by id."""


def snapshot(world: World) -> Snapshot:
    """Return the store, the script, the account and the gates of a World."""
    tables = {name: {id: repr(entry) for id, entry in table.items()} for name, table in world.store.tables.items()}
    script = repr([(route.conditions, len(route.turns), route.taken) for route in world.script.all_routes])
    return {**tables, "script": {"": script}, "account": {"": repr(world.account)}, "gates": {"": repr(world.gates)}}


def changes(before: Snapshot, after: Snapshot, listed: Container[str]) -> list[str]:
    """The names of what differs; a file or a vector store that the account has `listed` is made when it is first read."""

    def read_first(name: str, id: str) -> bool:
        return name in ("files", "vector_stores") and id not in before[name] and id in listed

    return [
        name
        for name in before
        if [*before[name].items()] != [(id, entry) for id, entry in after[name].items() if not read_first(name, id)]
    ]


def _of_answer(answer: Answer, sent: Sent) -> Iterator[str]:
    for name, value in answer.headers.items():
        if not isinstance(value, str) or not re.fullmatch(r"[\t\x20-\x7e\x80-\xff]*", value):
            yield f"header: {name}: {value!r}"
    try:
        for body in (answer.body, *(answer.events or ())):
            _ = body if isinstance(body, bytes) else orjson.dumps(body)
    except TypeError as problem:
        yield f"unserializable: {problem}"
    if answer.status == TEAPOT:
        message = answer.body["error"]["message"]
        if INTERNAL.search(message):
            yield f"internal: {message}"
    elif answer.status >= 400 and not answer.expected:
        if STORAGE_CODE not in answer.headers:
            yield from _of_error(answer, sent)
    elif not (200 <= answer.status < 300 or answer.expected or answer.delivery):
        yield f"status: {answer.status}"


def _of_error(answer: Answer, sent: Sent) -> Iterator[str]:
    if answer.rule not in RULES:
        yield f"malformed: {answer.status} of rule {answer.rule}"
    elif answer.status != RULES[answer.rule].error.status or answer.status >= 500:
        yield f"malformed: {answer.status} of {answer.rule}"
    elif parse_api_path(sent.path).dialect == OPENAI and RULES[answer.rule].error.body_template is None:
        error = answer.body.get("error")
        if not isinstance(error, dict) or list(error) != ["message", "type", "param", "code"]:
            yield f"malformed: {answer.body}"
        elif not (isinstance(error["message"], str) and error["message"] and isinstance(error["type"], str)):
            yield f"malformed: {error}"
        elif unfilled := set(re.findall(r"\{[a-z_]+\}", error["message"])):
            given = f"{sent.to_json()} {RULES[answer.rule].rejects}"
            yield from (f"unfilled: {name} in {error['message']}" for name in unfilled if name not in given)


def _of_param(answer: Answer, request: Request) -> Iterator[str]:
    """A refusal names a value of the request, or one that its parent lacks."""
    body = answer.body if answer.rule and isinstance(answer.body, dict) else {}
    error = body.get("error")
    param = error.get("param") if isinstance(error, dict) else None
    if param is None or param == NAMES_OF_THE_API.get(answer.rule or ""):
        return
    if not isinstance(param, str):
        yield f"param: {param!r}"
    elif not is_place(param, request):
        yield f"param: {answer.rule} names {param!r}"


def is_place(param: str, request: Request) -> bool:
    """Whether a path names a value of the body, the query or the path, or one that is not there and whose parent is."""
    if param in known_names(request):
        return True
    for whole in (request.body, dict(request.query), dict(request.params)):
        for path, value in places(whole):
            at = format_path(path)
            pointer = f"/{'/'.join(map(str, path))}"  # as Azure AI Foundry writes it
            rest = param[len(at) :] if at and param.startswith(at) else ""
            if (path and param == at) or param == pointer:
                return True
            if isinstance(value, dict) and re.fullmatch(r"\.[^.\[\]]+", rest):
                return True
            if isinstance(value, list) and re.fullmatch(r"\[\d+\]", rest):
                return True
    return False


def known_names(request: Request) -> set[str]:
    """Return the parameters that an operation has, whether they were sent or not."""
    declared = OPERATIONS.get(CREATE_RESPONSE if request.method == SOCKET else request.operation)
    named = {request.schema, declared and declared.body_schema, declared and declared.query_schema} - {None}
    names = {name for root in named if root for name in schema.load(root).get("properties", ())}
    return names | ({"type"} if request.method == SOCKET else set())


def _of_validators(request: Request, answer: Answer) -> Iterator[str]:
    """What decides about a body and what explains it must agree; where the schema refused it, it has been explained."""
    if not request.schema or request.fault or (answer.rule in RULES and not RULES[answer.rule].check):
        return
    body = drop_nulls(omit_agents(request, omit_dialect_members(request)))
    valid = schema.validator(request.schema).is_valid(body)
    walked = next(first_violation._load_walk(request.schema).find_mismatches(body), None)
    if (walked is None) is not valid:
        said = str(walked)[:200] if walked else "nothing"
        yield f"validators: {request.schema} is {'valid' if valid else 'invalid'}, and the walk finds {said}"
