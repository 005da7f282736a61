"""Betas that a header asks for: the Assistants API, shut down since 2026-08-26, and agents in `/responses`."""

from collections.abc import Iterator

from harness.api.http.dialects import AZURE, OPENAI
from harness.api.responses import INJECT, INJECT_EVENT, MULTI_AGENT_BETA, enables_agents, has_multi_agent_beta
from harness.api.tools import has_async
from harness.contract.phrasing import unsupported_parameter
from harness.contract.rule import (
    LIMITED_ACCOUNT,
    Case,
    RuleScope,
    WorldView,
    after,
    assumed,
    documented,
    matches_operation,
    recorded,
    reported,
    rule,
)
from harness.contract.rules.example_requests import ASYNC_GUIDE, ASYNC_TOOL, AUTH_HEADERS, JSON_HEADERS, OUTPUT
from harness.contract.rules.http.websocket import ConnectionView, event_case
from harness.core.account import Organization
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request
from harness.ending import completed
from harness.items import function_call

ASSISTANTS_V2 = "assistants=v2"

ASSISTANTS_OPERATIONS = ("* /assistants*", "* /threads*")
SCOPE = RuleScope(on=ASSISTANTS_OPERATIONS)


def is_assistants_operation(operation: str) -> bool:
    """Return whether an operation belongs to the Assistants API."""
    return matches_operation(ASSISTANTS_OPERATIONS, operation)


@rule(
    ApiError(404, "Invalid URL ({method} {path})"),
    reported("https://github.com/aallam/openai-kotlin/issues/470: the status", "2026-09-21"),
    assumed("that the words are those for a path that never was"),
    when=LIMITED_ACCOUNT,
    dialects=(OPENAI, AZURE),
    rejects={
        ("POST", "/v1/assistants"): Case(
            {"model": "gpt-4o"}, on="POST /assistants", account=Organization(assistants="gone")
        ),
        ("GET", "/v1/threads/thread_x"): Case(on="GET /threads/thread_x", account=Organization(assistants="gone")),
    },
    accepts=[Case({"model": "gpt-4o"}, on="POST /assistants", account=Organization(name="org-other"))],
    fix="Move to `POST /responses` with `conversation`; `mock.organization(assistants='v2')` brings the old API back.",
)
def assistants_gone(request: Request, world: WorldView) -> Iterator[Json]:
    """The Assistants API was shut down on 2026-08-26."""
    if world.account.assistants == "gone":
        yield {"method": request.method, "path": f"/v1{request.path}"}


@rule(
    bad_request(
        "The v1 Assistants API has been deprecated. Please try again by setting the header 'OpenAI-Beta: assistants=v2'. "
        "See the migration guide for more information: https://platform.openai.com/docs/assistants/migration.",
        code="invalid_beta",
    ),
    reported("https://github.com/supershaneski/openai-assistants-api-multi-user-sample/issues/4", "2025-03-01"),
    reported("https://github.com/PipedreamHQ/pipedream/issues/15059", "2024-12-23"),
    reported("https://github.com/JZO001/Forge.OpenAI/issues/25: the code", "2025-07-01"),
    dialects=OPENAI,
    rejects=[Case({}, on="POST /threads", headers={**JSON_HEADERS, "openai-beta": "assistants=v1"})],
    since="2024-12-18",
    fix="Send `OpenAI-Beta: assistants=v2`; files and retrieval of version 1 are `tool_resources` and `file_search`.",
)
def beta_version_1(request: Request) -> bool:
    """Version 1 of the Assistants API has been gone since the end of 2024."""
    version = request.headers.get("openai-beta", "")
    return "assistants=v1" in version and ASSISTANTS_V2 not in version


@rule(
    bad_request(
        "You must provide the 'OpenAI-Beta' header to access the Assistants API. Please try again by setting the header "
        "'OpenAI-Beta: assistants=v2'.",
        code="invalid_beta",
    ),
    reported("https://github.com/backmesh/openai-react-native/issues/10", "2025-01-17"),
    reported("https://github.com/openai-php/client/issues/700", "2025-10-07"),
    reported("https://github.com/openai/openai-ruby/issues/136", "2025-05-01"),
    dialects=OPENAI,
    rejects=[Case(on="GET /assistants", headers=JSON_HEADERS)],
    accepts=[
        Case(on="GET /assistants", headers={**JSON_HEADERS, "openai-beta": "realtime=v1, assistants=v2"}),
        Case(on="GET !/api/projects/p/assistants?api-version=v1", headers=JSON_HEADERS),
    ],
    fix="Send the header `OpenAI-Beta: assistants=v2`, as the SDKs do below `client.beta`.",
)
def beta_missing(request: Request) -> bool:
    """The Assistants API requires its beta header, except on Azure; see `beta_version_1` for the first version."""
    beta = request.headers.get("openai-beta", "")
    return ASSISTANTS_V2 not in beta and "assistants=v1" not in beta


SCOPE = RuleScope(area="multi_agent")
MULTI_AGENT_GUIDE = documented("https://developers.openai.com/api/docs/guides/multi-agent", "2026-11")
_HEADERS = {**JSON_HEADERS, "openai-beta": MULTI_AGENT_BETA}
_ENABLED: Json = {"model": "gpt-5.6-sol", "multi_agent": {"enabled": True}}


def agents_case(**members: object) -> Case:
    """Make an example whose request has agents."""
    return Case({**_ENABLED, **members}, headers=_HEADERS)


@rule(
    bad_request("Unknown parameter: 'multi_agent'.", "multi_agent", "unknown_parameter"),
    MULTI_AGENT_GUIDE,
    documented("openai 3.54.0: only the requests of `beta.responses` have it", "2026-11"),
    assumed("that it is unknown without the header"),
    when="multi_agent",
    reads="request.headers.openai-beta",
    rejects=[_ENABLED],
    accepts=[
        agents_case(),
        Case({**_ENABLED}, headers={**_HEADERS, "openai-beta": f"assistants=v2, {MULTI_AGENT_BETA}"}),
        agents_case(multi_agent=None),
        agents_case(multi_agent={"enabled": True, "max_concurrent_subagents": 12}),
    ],
    fix=f"Send the header `OpenAI-Beta: {MULTI_AGENT_BETA}`, as `client.beta.responses` does with `betas`.",
)
def multi_agent_beta_missing(request: Request) -> bool:
    """Agents are a beta that must be requested by its header."""
    return request.body["multi_agent"] is not None and not has_multi_agent_beta(request)


@rule(
    unsupported_parameter("{name}", "when multi_agent is enabled"),
    MULTI_AGENT_GUIDE,
    assumed("that it is refused rather than ignored; the words"),
    when="multi_agent",
    reads=("reasoning", "max_tool_calls"),
    rejects={
        "max_tool_calls": agents_case(max_tool_calls=3),
        "reasoning.summary": agents_case(reasoning={"summary": "auto"}),
    },
    accepts=[
        agents_case(reasoning={"effort": "low", "summary": None}),
        agents_case(max_tool_calls=3, multi_agent={"enabled": False}),
    ],
    fix="Leave it out, or do not enable `multi_agent`.",
)
def unsupported_with_agents(request: Request) -> Iterator[Json]:
    """With agents, neither a limit of tool calls nor reasoning summaries are available."""
    if not enables_agents(request.body):
        return
    reasoning = request.body.get("reasoning")
    if request.body.get("max_tool_calls") is not None:
        yield {"name": "max_tool_calls"}
    if isinstance(reasoning, dict) and reasoning.get("summary") is not None:
        yield {"name": "reasoning.summary"}


@rule(
    bad_request(
        "Async parallel tool calls are not yet supported in multi-agent mode.", "multi_agent", "unsupported_value"
    ),
    recorded("vllm-project/agentic-api: gpt-6-astra, with `parallel_tool_calls: true`", "2026-10-08"),
    documented(f"{ASYNC_GUIDE}: not to be combined", "2026-11"),
    assumed("that it is accepted if `parallel_tool_calls` is left out"),
    when="multi_agent",
    reads=("parallel_tool_calls", "tools"),
    rejects=[agents_case(model="gpt-6-astra", parallel_tool_calls=True, tools=[ASYNC_TOOL])],
    accepts=[
        agents_case(model="gpt-6-astra", parallel_tool_calls=False, tools=[ASYNC_TOOL]),
        agents_case(model="gpt-6-astra", tools=[ASYNC_TOOL]),
        agents_case(model="gpt-6-astra", parallel_tool_calls=True),
    ],
    fix="Set `parallel_tool_calls: false`, or leave out `async`.",
)
def async_with_parallel_agents(request: Request) -> bool:
    """With agents, tools that are answered later cannot be called in parallel."""
    body = request.body
    return enables_agents(body) and body.get("parallel_tool_calls") is True and has_async(body.get("tools"))


_SOCKET_HEADERS = {**AUTH_HEADERS, "openai-beta": MULTI_AGENT_BETA}


def inject_case(id: str = "{0.id}", **members: object) -> Case:
    """Make an example that sends `response.inject`."""
    body = {"type": INJECT_EVENT, "response_id": id, "input": [OUTPUT], **members}
    return event_case(body, absent=("model",), headers=_SOCKET_HEADERS)


@rule(
    bad_request("Invalid response.inject event."),
    MULTI_AGENT_GUIDE,
    assumed("the words; that it is refused with status 400 and a close is known"),
    on=INJECT,
    rejects=[inject_case("resp_x", input="ok")],
    fix="Send `type`, `response_id` and `input`, a list of outputs; then open a new connection.",
)
def inject_malformed(request: Request) -> bool:
    """An injection must name a response and contain outputs of the client's tools; any other closes the connection."""
    body = request.body
    items = body.get("input")
    return (
        not set(body) <= {"type", "response_id", "input"}
        or not isinstance(body.get("response_id"), str)
        or not (
            isinstance(items, list)
            and items
            and all(isinstance(item, dict) and isinstance(item.get("type"), str) for item in items)
        )
    )


@rule(
    bad_request("Response with id '{id}' not found.", code="response_not_found"),
    MULTI_AGENT_GUIDE,
    documented("openai 3.54.0: BetaResponseInjectFailedEvent", "2026-11"),
    assumed("the words"),
    on=INJECT,
    rejects={"resp_x": inject_case("resp_x")},
    fix="Use the id of `response.created`, on the connection of the response.",
)
def inject_response_not_found(request: Request, world: ConnectionView) -> Iterator[Json]:
    """The response must belong to this connection."""
    id = request.body["response_id"]
    if id not in world.lane_of:
        yield {"id": id}


@rule(
    bad_request("Response '{id}' has already completed.", code="response_already_completed"),
    MULTI_AGENT_GUIDE,
    on=INJECT,
    rejects={"{0.id}": after(event_case({"model": "gpt-5.6-sol"}, headers=_SOCKET_HEADERS), inject_case())},
    fix="Send the returned input with a new `response.create` that continues the response. A script can "
    "keep a response open for its outputs.",
)
def inject_response_completed(request: Request, world: ConnectionView) -> Iterator[Json]:
    """The response must still be waiting for outputs."""
    id = request.body["response_id"]
    if id in world.lane_of and id not in world.open_responses:
        yield {"id": id}


_ASKED: Json = {**_ENABLED, "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": False}]}
_OPEN = event_case(_ASKED, headers=_SOCKET_HEADERS)
_TWO_CALLS = [function_call("f", "{}", call_id=id) for id in ("call_1", "call_2")]
_AWAITING = [[*_TWO_CALLS, completed(awaits_outputs=True)]]
_INVALID = "invalid_input"


@rule(
    bad_request("Tool call '{call_id}' already has an output.", code=_INVALID),
    recorded("vllm-project/agentic-api: twice in one event, and in two", "2026-10-01"),
    on=INJECT,
    rejects={
        "call_1": after(_OPEN, inject_case(input=[OUTPUT, OUTPUT]), turns=_AWAITING),
        "call_2": after(
            _OPEN, *[inject_case(input=[{**OUTPUT, "call_id": "call_2"}]) for _ in range(2)], turns=_AWAITING
        ),
    },
    accepts=[after(_OPEN, inject_case(), turns=_AWAITING)],
    fix="Answer each call once; an event that is refused has added none of its outputs.",
)
def inject_call_answered(request: Request, world: ConnectionView) -> Iterator[Json]:
    """A call of the response takes one output."""
    opened = world.open_responses[request.body["response_id"]]
    answered = {output.get("call_id") for output in opened.outputs}
    for item in request.body["input"]:
        if isinstance(call_id := item.get("call_id"), str):
            if call_id in answered:
                yield {"call_id": call_id}
            answered.add(call_id)


@rule(
    bad_request("Tool call '{call_id}' is not pending on response '{id}'.", code=_INVALID),
    recorded("vllm-project/agentic-api: an unknown call beside one that is pending", "2026-10-01"),
    on=INJECT,
    rejects={("call_9", "{0.id}"): after(_OPEN, inject_case(input=[{**OUTPUT, "call_id": "call_9"}]), turns=_AWAITING)},
    accepts=[after(_OPEN, inject_case(), turns=_AWAITING)],
    fix="Send outputs of calls that this response has made.",
)
def inject_call_unknown(request: Request, world: ConnectionView) -> Iterator[Json]:
    """An output must be of a call that the response waits for."""
    id = request.body["response_id"]
    calls = {item.get("call_id") for item in world.open_responses[id].response["output"]}
    for item in request.body["input"]:
        if isinstance(call_id := item.get("call_id"), str) and call_id not in calls:
            yield {"call_id": call_id, "id": id}
