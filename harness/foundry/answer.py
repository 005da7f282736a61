"""How Azure OpenAI and Azure AI Foundry answer: the members that they add or omit, their order, and the headers.

A World stores responses as OpenAI returns them; the dialect only changes how a request sees them. Read from recorded
answers of 2025-11 to 2026-08. A project's headers are a table by what answers, with their days.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from harness.api.http.dialects import AGENT_REFERENCE, FOUNDRY, VERSION_PARAMETER, is_at_agent_endpoint, user_of
from harness.api.models import Models
from harness.api.operations import OPERATIONS
from harness.api.project_types import KIND_BY_PREFIX, PROMPT, NamedAgent
from harness.api.resources.files import MODEL_PURPOSES
from harness.contract.rule import CREATE_RESPONSE, RULES
from harness.core.dates import is_valid_on
from harness.core.errors import REQUEST_ID
from harness.core.exchange import Answer, Json, Request
from harness.core.headers import quote_header
from harness.core.json_values import as_object, objects_in
from harness.foundry.access import LIST_RESPONSES, ORIGINS, OWNERS
from harness.foundry.agent_sessions import note_request
from harness.foundry.agent_versions import AGENT_SETTINGS, count_served
from harness.foundry.answer_members import show_object
from harness.foundry.response_view import View, join_deltas
from harness.world.api_call import ApiCall
from harness.world.world import World

OWNED = (CREATE_RESPONSE, "POST /conversations")
"""The operations that create something on behalf of a user."""
STARTING_AFTER = "starting_after"
"""The query parameter with the number of the event after which a stream resumes."""
ID_IN_MESSAGE_SINCE = "2026-04-28"
"""The first day on which a message ends with the id of its request.

Recorded without it up to 2026-04-15, with it from 2026-05-19 on, of toolboxes, skills, sessions and responses; reported
of other errors since this day (promptfoo issue 8959, foundry-for-vscode issue 589, a client that was tried on a live
project).
"""
_UNKNOWN_ID: Json = {"request_id": REQUEST_ID}
_ID_HOLDERS = ("additionalInfo", "additional_info")
REGION = "West Europe"
OWN, HOSTED, FILES, STORES, ASSETS, DEPLOYMENTS = "own", "hosted", "files", "stores", "assets", "deployments"
CREATED, COMPACTED, QUEUED, READ, REFUSED = "created", "compacted", "queued", "read", "refused"
RESOURCE = "resource"
"""The parts of a project that answer.

In order: the project itself, also for a workflow; a hosted agent; its files; its vector stores; its datasets, indexes and
connections; its deployments; its model with a response, with a compaction, with a response in the background, about a
stored one, with a refusal. A resource of Azure OpenAI is no part of one.
"""
GENERATED = (CREATED, COMPACTED)
LIMITED = (*GENERATED, RESOURCE)
MODEL = (*GENERATED, QUEUED, READ, REFUSED)
SERVICES = (OWN, HOSTED, *MODEL, FILES, STORES, ASSETS)
EVERYTHING = (*SERVICES, DEPLOYMENTS)
BY_PATH = {
    "files": FILES,
    "vector_stores": STORES,
    **dict.fromkeys(("datasets", "indexes", "connections"), ASSETS),
    "deployments": DEPLOYMENTS,
}
BY_KIND = {"workflow": OWN, "hosted": HOSTED}
READERS = ("GET /responses/{response_id}", "POST /responses/{response_id}/cancel")


CLIENT_TOOLS = frozenset({"function", "custom"})
"""The tools whose calls end the response; if there are others, the project reads the model's answer as a stream."""
GATEWAY_TIMEOUT = 408
"""The status of the gateway after two minutes; a test scripts it with `http_error`. Recorded 2026-02-12."""


class Header(NamedTuple):
    """A header of a project: the answers with it, its first and last day, and the first day on streams with tools.

    Those of an Azure OpenAI resource are sent on every day. `value` may contain `{model}` and `{snapshot}` of a response,
    `{streamed}`, `{session}`, `{apim}` for the gateway's id, and `{guid}` for a new one.
    """

    name: str
    value: str
    of: tuple[str, ...] = SERVICES
    since: str = ""
    until: str = ""
    streams_since: str = ""


LIMITS_SINCE, STREAMS_SINCE, MORE_LIMITS_SINCE, NAMES_SINCE = "2026-02-20", "2026-03-17", "2026-03-31", "2026-05-22"
"""The first recorded days of six `x-ratelimit-*`, of any in a stream with tools, of three more, of the model's name."""
NEVER = "9999"
"""The day for headers that no stream has."""
EXPOSED = "Operation-Location,Location,Apim-Request-Id,x-agent-session-id,x-agent-invocation-id"
VERSIONS = "2025-05-15-preview,2025-11-15-preview"
PLATFORM = "azure-ai-agentserver-core/2.0.0b3 (python/3.14) azure-ai-agentserver-responses/1.0.0b5 (python/3.14)"
ORGANIZATION = "6f72672d6861726e6573732d30303031"
PROJECT_HEADERS = (
    Header("access-control-expose-headers", EXPOSED, (OWN, HOSTED, *MODEL), since="2026-05-22"),
    Header("api-supported-versions", VERSIONS, (OWN, HOSTED, *MODEL), until="2026-02-11"),
    Header("api-supported-versions", f"1.0,{VERSIONS}", (OWN, HOSTED, *MODEL), since="2026-02-12"),
    Header("azureml-served-by-cluster", "hyena-westeurope-01", (OWN, HOSTED, *MODEL, STORES)),
    Header("azureml-served-by-cluster", "vienna-westeurope-01", (FILES, ASSETS)),
    Header("request-context", "appId=", (OWN, HOSTED, *MODEL, STORES)),
    Header("request-context", "appId=cid-v1:00000000-0000-0000-0000-000000000001", (FILES, ASSETS)),
    Header("strict-transport-security", "max-age=31536000; includeSubDomains; preload", (*SERVICES, RESOURCE)),
    Header("x-content-type-options", "nosniff", (*SERVICES, RESOURCE)),
    Header("x-ms-region", REGION, EVERYTHING),
    Header("x-request-time", "0.051", (FILES, ASSETS)),
    Header("mise-correlation-id", "{guid}", (ASSETS,), since="2026-03-21"),
    Header("x-ms-response-type", "standard"),
    Header("x-agent-session-id", "{session}", (HOSTED, CREATED, QUEUED)),
    Header("x-platform-server", PLATFORM, (HOSTED,)),
    Header("azureai-processed-tier", "default", (CREATED,), until="2026-03-30", streams_since=STREAMS_SINCE),
    Header("azureai-requested-tier", "default", (CREATED,), until="2026-03-30", streams_since=STREAMS_SINCE),
    Header("skip-error-remapping", "true", GENERATED, streams_since=STREAMS_SINCE),
    Header("openai-client-partition-id", f"{ORGANIZATION}{{apim}}", GENERATED, since="2026-02-20", streams_since=NEVER),
    Header("openai-organization", ORGANIZATION, (*MODEL, STORES), since="2026-02-12"),
    Header("openai-processing-ms", "10", (*MODEL, FILES, STORES), since="2026-02-12"),
    Header("openai-project", "70726f6a-6861-726e-6573-730000000001", MODEL, since="2026-02-12"),
    Header("openai-version", "2020-10-01", (*MODEL, FILES, STORES), since="2026-02-12"),
    Header("access-control-allow-origin", "*", (FILES,)),
    Header("x-ms-middleware-request-id", "{guid}", (FILES, STORES)),
    Header("azureai-fe-is-streaming", "{streamed}", GENERATED, since=NAMES_SINCE),
    Header("x-ms-aoai-configured-data-retention-days", "30", (CREATED, QUEUED, RESOURCE), since=NAMES_SINCE),
    Header("x-ms-is-spilled-over", "false", LIMITED, since=MORE_LIMITS_SINCE),
    Header("x-ms-served-model", "{snapshot}", (CREATED, QUEUED), since=NAMES_SINCE),
    Header("x-ratelimit-abusepenalty-active", "False", LIMITED, since=MORE_LIMITS_SINCE),
    Header("x-ratelimit-key", "{model}", GENERATED, since=NAMES_SINCE),
    Header("x-ratelimit-renewalperiod-requests", "60", LIMITED, since=MORE_LIMITS_SINCE),
    Header("x-ratelimit-renewalperiod-tokens", "60", LIMITED, since=MORE_LIMITS_SINCE),
    Header("x-ratelimit-limit-tokens", "250000", (CREATED,), until="2025-12"),
    Header("x-ratelimit-remaining-tokens", "249000", (CREATED,), until="2025-12"),
    Header("x-ratelimit-reset-tokens", "0", (CREATED,), until="2025-12"),
    Header("x-ratelimit-limit-requests", "250", LIMITED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-limit-tokens", "250000", LIMITED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-remaining-requests", "249", LIMITED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-remaining-tokens", "249000", LIMITED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-reset-requests", "0", LIMITED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
    Header("x-ratelimit-reset-tokens", "0", LIMITED, since=LIMITS_SINCE, streams_since=STREAMS_SINCE),
)
"""Recorded 2025-11 to 2026-07.

By 2026-03-12 a stream of a model with tools had none of those with `streams_since`, one without tools had them on
2026-02-26.
"""
_JSON, _STREAM = "application/json", "text/event-stream; charset=utf-8"
_RESOURCE_HEADERS = {"azureai-fe-offer-type": "paygo"} | {
    name: value for name, value, of, *_ in sorted(PROJECT_HEADERS) if RESOURCE in of
}
"""The headers of an Azure OpenAI resource."""


def read_in_dialect(call: ApiCall) -> ApiCall:
    """Return a call as its handler reads it: with the definition of its agent, numbers of events counted from zero."""
    return call.resolved.with_request(_count_from_zero(call.resolved.request, call.world))


def show_in_dialect(call: ApiCall, answer: Answer) -> Answer:
    """Show a handler's answer in the dialect of its call, which is as the client sent it."""
    request, world = call.request, call.world
    if not isinstance(answer.body, dict):
        return answer
    if request.operation in OWNED and request.dialect == FOUNDRY and (user := user_of(request)):
        # What was made on behalf of a user is hidden from others later, by `user_isolated`.
        world.store.table(OWNERS)[answer.body["id"]] = user
    if answer.body.get("object") != "response":
        return _show_other(answer, request, world)
    id = answer.body["id"]
    if request.operation == CREATE_RESPONSE:
        reference = _refer_to(call.agent)
        world.store.table(ORIGINS)[id] = _note_origin(call, reference)
        _count_served(request, reference, world)
    view = _view_of(id, request, world)
    if answer.events is None:
        return answer._replace(body=view.show_response(answer.body))
    events = answer.events
    # A resumed stream must repeat what was sent, in the form in which it was sent.
    if view.kind.sends_whole_texts and request.operation == CREATE_RESPONSE:
        events = _keep_whole(id, events, world)
    return answer._replace(body=view.show_streamed(answer.body), events=[view.show_event(event) for event in events])


def _keep_whole(id: str, events: Sequence[Json], world: World) -> Sequence[Json]:
    """Join the deltas of each text into one, in the stored events too."""
    whole = join_deltas(events)
    if id in world.store.responses and world.store.responses[id].events is not None:
        world.store.put_events(id, whole)
    return whole


def _count_from_zero(request: Request, world: World) -> Request:
    """Convert `starting_after` to stored event numbers, where the stream as shown begins with another number."""
    after = request.query.get(STARTING_AFTER)
    if not isinstance(after, int):
        return request
    first = _view_of(request.params.get("response_id", ""), request, world).kind.first_number
    return request._replace(query={**request.query, STARTING_AFTER: after - first})


def _view_of(id: str, request: Request, world: World) -> View:
    return View(request.dialect, world.as_of, world.store.table(ORIGINS).get(id, {}), id)


def _show_other(answer: Answer, request: Request, world: World) -> Answer:
    """Show an answer without a response in the dialect: a project's objects have an order of their own."""
    if request.operation == LIST_RESPONSES:
        listed = [_view_of(response["id"], request, world).show_listed(response) for response in answer.body["data"]]
        return answer._replace(body={**answer.body, "data": listed})
    schema = OPERATIONS[request.operation].answer_schema
    if request.dialect != FOUNDRY or answer.status != 200 or schema is None:
        return answer
    made = schema == "FileObject" and request.method == "POST" and answer.body["purpose"] in MODEL_PURPOSES
    makers = _find_makers(request.params.get("conversation_id"), world)

    def render_item(item: Json) -> Json:
        return _view_of(makers.get(item.get("id"), ""), request, world).show_item(item)

    shown = show_object(schema, answer.body, world.as_of, request.method == "GET", render_item)
    return answer._replace(body=shown, status=201 if made else 200)


def _find_makers(conversation: str | None, world: World) -> Mapping[str | None, str]:
    """Map the ids of a conversation's items to the responses that made them.

    Reported by public readers of traces, 2026-01: such an item names its response and agent in a list, too.
    """
    if conversation is None:
        return {}
    return {
        item.get("id"): id
        for id, stored in world.store.responses.items()
        if (stored.response.get("conversation") or {}).get("id") == conversation
        for item in stored.response["output"]
    }


def _refer_to(agent: NamedAgent | None) -> Json | None:
    """Return the reference to an agent in the version that answers; None without an agent."""
    if agent is None or not isinstance(agent.named, dict) or not isinstance(agent.named.get("name"), str):
        return None
    version = agent.named.get("version") or (agent.version["version"] if agent.version else "1")
    return {"type": AGENT_REFERENCE, "name": agent.named["name"], "version": version}


def _count_served(request: Request, reference: Json | None, world: World) -> None:
    """Count a request at the endpoint of an agent whose traffic is split between versions."""
    if reference and is_at_agent_endpoint(request):
        settings = world.store.table(AGENT_SETTINGS)
        if settings.get(reference["name"], {}).get("agent_endpoint"):
            settings[reference["name"]] = count_served(settings[reference["name"]], reference["version"])


def _note_origin(call: ApiCall, reference: Json | None) -> Json:
    """Record what the response later says about its request: the deployment, the agent, the requested settings."""
    request, world, agent = call.request, call.world, call.agent
    model = call.resolved.body.get("model")
    origin: Json = {"model": model} if model else {}
    if request.dialect != FOUNDRY:
        return origin
    if reference and agent:
        origin |= {"agent": reference, "kind": agent.kind.name}
    if session := request.body.get("agent_session_id") or (origin.get("kind") == "hosted" and world.ids.project_id()):
        origin["agent_session_id"] = session
        if reference and origin.get("kind") == "hosted" and isinstance(session, str):
            note_request(request, world, reference, session)
    return origin | {
        "tool_choice": request.body.get("tool_choice"),
        "prompt_cache_retention": request.body.get("prompt_cache_retention"),
        "is_preview": str(request.query.get(VERSION_PARAMETER)).endswith("-preview"),
    }


def add_azure_headers(request: Request, answer: Answer, make_id: Callable[[], str], models: Models, day: str) -> Answer:
    """Add the headers of its dialect to an answer, few to the gateway's own refusals. `make_id` makes a GUID."""
    rule = RULES.get(answer.rule or "")
    streamed = answer.events is not None
    headers = {"content-type": _STREAM if streamed else _JSON, "apim-request-id": make_id()}
    if answer.body == b"":
        del headers["content-type"]  # recorded, for answers without a body
    if answer.status == GATEWAY_TIMEOUT:
        headers["x-ms-region"] = REGION
    elif rule is None or rule.area != "gateway":
        requested = request.headers.get("x-ms-client-request-id")
        echoed = {"x-ms-client-request-id": requested} if requested else {}
        if request.dialect == FOUNDRY:
            headers |= echoed
            answer = _add_project_headers(request, answer, headers, make_id, models, day)
        else:
            shared = {"x-request-id": headers["apim-request-id"], "x-ms-region": REGION, "skip-error-remapping": "true"}
            headers |= shared | echoed | _RESOURCE_HEADERS | {"azureai-fe-is-streaming": str(streamed)}
            headers |= _deployment_headers(request.body, models)
    elif (body := with_request_id(answer.body, headers["apim-request-id"].replace("-", ""), day)) is not answer.body:
        headers["x-request-id"] = body["error"]["additionalInfo"]["request_id"]
        answer = answer._replace(body=body)
    return answer._replace(headers={**headers, **answer.headers})


def _add_project_headers(
    request: Request, answer: Answer, headers: dict[str, str], make_id: Callable[[], str], models: Models, day: str
) -> Answer:
    """Add a project's headers; returns the answer, with the request's id where the body has a place for it."""
    request_id = make_id()
    own_id = request_id.replace("-", "")
    body = with_request_id(answer.body, own_id, day)
    # Only errors of the project's own service have a place for the id of their request.
    by = OWN if body is not answer.body else _answered_by(request, answer)
    if by not in (ASSETS, DEPLOYMENTS):
        headers["x-request-id"] = {OWN: own_id, HOSTED: f"{own_id},{own_id}"}.get(by, request_id)
    if by in (OWN, ASSETS) and headers.get("content-type") == _JSON:
        headers["content-type"] = f"{_JSON}; charset=utf-8"
    is_response = isinstance(answer.body, dict) and answer.body.get("object") == "response"
    streamed, shown = answer.events is not None, answer.body if is_response else {}
    asked = request.body if by == COMPACTED else shown
    if streamed:
        headers["cache-control"] = "no-cache"
    named = _deployment_headers(asked, models) if asked.get("model") else {}
    values = {
        "model": named.get("x-ratelimit-key", ""),
        "snapshot": named.get("x-ms-served-model", ""),
        "streamed": str(
            streamed or any(tool.get("type") not in CLIENT_TOOLS for tool in objects_in(shown.get("tools")))
        ),
        "apim": headers["apim-request-id"],
        "session": quote_header(str(session)) if (session := shown.get("agent_session_id")) else "",
    }
    for name, value in _headers_on(day, by, streamed, bool(shown.get("tools"))):
        text = make_id() if value == "{guid}" else value.format_map(values)
        if text:
            headers[name] = text
    return answer._replace(body=body)


@lru_cache(maxsize=1024)
def _headers_on(day: str, by: str, streamed: bool, has_tools: bool) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value)
        for name, value, of, since, until, streams_since in PROJECT_HEADERS
        if by in of
        and is_valid_on(day, since, until)
        and not (streamed and (streams_since == NEVER or (has_tools and day < streams_since)))
    )


def _answered_by(request: Request, answer: Answer) -> str:
    body = as_object(answer.body)
    if request.operation == CREATE_RESPONSE or request.operation in READERS:
        kind = KIND_BY_PREFIX.get(str(body.get("id")).partition("_")[0], PROMPT)
        if kind.name in BY_KIND:
            return BY_KIND[kind.name]
        if request.operation in READERS:
            return READ
        return REFUSED if answer.status >= 400 else QUEUED if body.get("status") == "queued" else CREATED
    if request.operation == "POST /responses/compact" and answer.status < 400:
        return COMPACTED
    path = request.path.partition("/")[2].partition("/")[0]
    return BY_PATH.get(path, OWN)


def _deployment_headers(body: Any, models: Models) -> Mapping[str, str]:
    """Return headers with the deployment of a body and the model that serves it, assumed to have the same name."""
    name = as_object(body).get("model")
    if not (isinstance(name, str) and name.isascii() and name.isprintable()):
        return {}
    return {"x-ms-served-model": models.defaults(name).snapshot, "x-ratelimit-key": name}


def with_request_id(body: Any, request_id: str, day: str) -> Any:
    """Return the body of an error with the id of its request, in its form on a day; any other body unchanged."""
    error = as_object(as_object(body).get("error"))
    name = next((holder for holder in _ID_HOLDERS if error.get(holder) == _UNKNOWN_ID), "")
    if not name:
        return body
    ending = f" [Request ID: {request_id}]" if day >= ID_IN_MESSAGE_SINCE else ""
    return {**body, "error": {**error, "message": f"{error['message']}{ending}", name: {"request_id": request_id}}}
