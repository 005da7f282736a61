"""Rules for a WebSocket connection to `/v1/responses`: its events, its lanes, its age, and steering.

`response.create` is checked like `POST /responses`; only the additional rules of the connection are here. A refused
event is answered with an `error` event, one that steers a response with `response.steer.failed`. Sources: OpenAI's guides to
WebSocket mode and to steering, read in 2026-09.
"""

from collections.abc import Iterator, Mapping, Set
from typing import Any, Protocol

from harness.api.models import Models
from harness.api.responses import (
    CLIENT_EVENTS,
    CREATE_EVENT,
    INJECT_EVENT,
    MAX_AGE,
    MAX_LANES,
    SOCKET,
    STEER,
    STEER_EVENT,
    has_multi_agent_beta,
    requested_lane,
)
from harness.contract.phrasing import (
    describe_actual,
    invalid_type,
    invalid_value,
    missing_parameter,
    quote_and_join,
    unsupported_parameter,
)
from harness.contract.rule import Case, RuleScope, after, assumed, documented, reported, rule
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(on=SOCKET)

UPGRADE_RULES = ("auth_missing", "auth_invalid_key", "auth_missing_scope", "server_error")
"""The rules of `access` that refuse the upgrade over HTTP; the others refuse events.

Reported for the missing bearer key: https://github.com/openai/codex/issues/44579 (2026-09-10).
"""
WEBSOCKET_GUIDE = documented("https://developers.openai.com/api/docs/guides/websocket-mode", "2026-09")
ASSUMED_LIKE_SCHEMA = assumed("that the error is that of a body's schema")
_LIKE_REALTIME = (
    reported(
        "public logs of six origins: the platform's Realtime socket words a wrong `type` as that of a body", "2026"
    ),
    ASSUMED_LIKE_SCHEMA,
)


class LaneResponseView(Protocol):
    """The last response of a lane: its object and the request that created it."""

    response: Json
    body: Json


class ConnectionView(Protocol):
    """The part of a connection that rules may read."""

    age: int
    lanes: Set[str]
    lane_of: Mapping[str, str | None]
    models: Models

    open_responses: Mapping[str, Any]

    def held(self, id: str) -> LaneResponseView | None:
        """Return the response of this id if it is the last one of a lane, else None."""


def event_case(body: Any = None, *, absent: tuple[str, ...] = (), **more: Any) -> Case:
    """Make an example that sends a client event: `body` over a minimal `response.create`, without those in `absent`."""
    return Case(body, on=SOCKET, absent=absent, **more)


@rule(
    bad_request(
        "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.",
        code="websocket_connection_limit_reached",
    ),
    WEBSOCKET_GUIDE,
    reported("https://github.com/earendil-works/pi/issues/6268", "2026-07-03"),
    reported("https://github.com/james-6-23/codex2api/issues/346", "2026-07-10"),
    rejects=[after(event_case(), event_case(skip=MAX_AGE))],
    accepts=[after(event_case(), event_case(skip=MAX_AGE - 1))],
    fix="Open a new connection and send the whole context, or the `previous_response_id` of a stored response.",
)
def connection_limit_reached(world: ConnectionView) -> bool:
    """Connections last 60 minutes; then they report that and are closed.

    The time is the World's: `mock.skip(3600)` lets it pass.
    """
    return world.age >= MAX_AGE


@rule(
    missing_parameter("type"),
    *_LIKE_REALTIME,
    rejects=[event_case(absent=("type",))],
    fix="Send events: the members of a request to `/responses` and `type: 'response.create'`.",
)
def event_type_missing(request: Request) -> bool:
    """Every client event needs a `type`."""
    return "type" not in request.body


@rule(
    invalid_type("type", f"one of {quote_and_join(CLIENT_EVENTS, 'or')}"),
    *_LIKE_REALTIME,
    rejects={"an integer": event_case({"type": 1})},
    fix="Send `type: 'response.create'`.",
)
def event_type_kind(request: Request) -> Iterator[Json]:
    """The `type` of an event must be a string."""
    if not isinstance(request.body["type"], str):
        yield {"kind": describe_actual(request.body["type"])}


@rule(
    invalid_value("type", quote_and_join(CLIENT_EVENTS, "and")),
    *_LIKE_REALTIME,
    rejects={"response.cancel": event_case({"type": "response.cancel"})},
    fix="A connection takes `response.create` and `response.steer`; to cancel a response, close the connection.",
)
def event_type_unknown(request: Request) -> Iterator[Json]:
    """A client event must be one of WebSocket mode, or `response.inject` of the multi-agent beta."""
    known = (*CLIENT_EVENTS, INJECT_EVENT) if has_multi_agent_beta(request) else CLIENT_EVENTS
    if request.body["type"] not in known:
        yield {"value": request.body["type"]}


@rule(
    bad_request(
        "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, "
        "numbers, underscores, hyphens, and periods.",
        "stream_id",
        "invalid_stream_id",
    ),
    WEBSOCKET_GUIDE,
    rejects=[event_case({"stream_id": ""})],
    accepts=[
        event_case({"stream_id": "agent_1.a-b"}),
        event_case({"stream_id": "x" * 256}),
        event_case({"stream_id": None}),
    ],
    fix="Leave `stream_id` out for the default lane.",
)
def stream_id_invalid(request: Request) -> bool:
    """A lane's name consists of 1 to 256 letters, digits, underscores, hyphens and periods; null counts as absent."""
    lane = request.body.get("stream_id")
    return request.body["type"] == CREATE_EVENT and lane is not None and requested_lane(request.body) is None


@rule(
    bad_request(
        "This WebSocket connection has reached its maximum number of distinct stream IDs (32). Reuse an existing "
        "stream_id or open a new WebSocket connection.",
        "stream_id",
        "websocket_stream_limit_reached",
    ),
    WEBSOCKET_GUIDE,
    rejects=[
        after(
            *(event_case({"stream_id": f"agent_{number}"}) for number in range(MAX_LANES)),
            event_case({"stream_id": "agent_32"}),
        )
    ],
    fix="Reuse a lane, or open another connection.",
)
def stream_limit_reached(request: Request, world: ConnectionView) -> bool:
    """Connections have at most 32 named lanes during their life; the default lane does not count.

    The other limit, 16 responses in flight, refuses nothing: further ones wait.
    """
    lane = requested_lane(request.body)
    return lane is not None and lane not in world.lanes and len(world.lanes) >= MAX_LANES


@rule(
    unsupported_parameter("background", "over WebSocket"),
    documented("openapi 2.3.0: ResponsesClientEventResponseCreate, that it is not supported", "2026-09"),
    assumed("that it is refused rather than ignored; the words"),
    when="background",
    rejects=[event_case({"background": True})],
    accepts=[event_case({"background": False}), event_case({"background": None}), event_case({"stream": True})],
    fix="Send it over HTTP; leave `stream` out too, answers over WebSocket are always streamed.",
)
def background_over_socket(request: Request) -> bool:
    """A response over WebSocket cannot run in the background."""
    return request.body["type"] == CREATE_EVENT and request.body["background"] is True


@rule(
    invalid_type("generate", "a boolean"),
    documented("openai 3.54.0: ResponseCreate", "2026-09"),
    ASSUMED_LIKE_SCHEMA,
    when="generate",
    rejects={"a string": event_case({"generate": "no"})},
    accepts=[
        event_case({"generate": False}),
        after(event_case({"generate": False}), event_case({"previous_response_id": "{0.id}"})),
    ],
    fix="`generate: false` prepares a response without asking the model; leave it out otherwise.",
)
def generate_kind(request: Request) -> Iterator[Json]:
    """`generate` must be a boolean; null counts as absent."""
    value = request.body["generate"]
    if request.body["type"] == CREATE_EVENT and value is not None and not isinstance(value, bool):
        yield {"kind": describe_actual(value)}


SCOPE = RuleScope(area="websocket", on=STEER)
STEERING_GUIDE = documented("https://developers.openai.com/api/docs/guides/steering", "2026-09")
STEER_ERROR_CODES = documented("openai 3.54.0: ResponseSteerErrorCode", "2026-09")
ASSUMED_WORDS = assumed("the words; the code is known")


def _steer_case(
    input: Any = "Be brief.", id: str = "{0.id}", account: Organization | None = None, **members: Any
) -> Case:
    body = {"type": STEER_EVENT, "previous_response_id": id, "input": input, **members}
    return event_case(body, absent=("model",), account=account)


_CREATE_STEERABLE = event_case({"model": "gpt-6-astra"})


@rule(
    bad_request("Invalid steering input.", code="invalid_input"),
    STEERING_GUIDE,
    STEER_ERROR_CODES,
    ASSUMED_WORDS,
    rejects=[after(_CREATE_STEERABLE, _steer_case(stream_id="main"))],
    accepts=[
        after(_CREATE_STEERABLE, _steer_case()),
        after(
            _CREATE_STEERABLE, _steer_case([{"role": "user", "content": [{"type": "input_text", "text": "Be brief."}]}])
        ),
    ],
    fix="Send `type`, `previous_response_id` and `input` alone; `input` is a text or messages of the user.",
)
def steer_invalid_input(request: Request) -> bool:
    """A steer has only a target and an input, which is a text or at least one user message."""
    input = request.body
    body = set(input) == {"type", "previous_response_id", "input"} and isinstance(input["previous_response_id"], str)
    return not body or not _is_steering_input(input["input"])


def _is_steering_input(input: Any) -> bool:
    return isinstance(input, str) or (isinstance(input, list) and bool(input) and all(map(_is_user_message, input)))


def _is_user_message(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and set(message) <= {"type", "role", "content"}
        and message.get("type", "message") == "message"
        and message.get("role") == "user"
        and isinstance(message.get("content"), str | list)
    )


@rule(
    bad_request("Response with id '{id}' not found.", code="response_not_found"),
    STEERING_GUIDE,
    STEER_ERROR_CODES,
    ASSUMED_WORDS,
    rejects={"resp_x": _steer_case(id="resp_x"), "{0.id}": after({"model": "gpt-6-astra"}, _steer_case())},
    accepts=[after(_CREATE_STEERABLE, _steer_case())],
    fix="Steer a response on the connection that made it.",
)
def steer_response_not_found(request: Request, world: ConnectionView) -> Iterator[Json]:
    """The target must be a response of this connection; being stored is not enough."""
    id = request.body["previous_response_id"]
    if id not in world.lane_of:
        yield {"id": id}


@rule(
    bad_request("Response '{id}' has already completed.", code="response_already_completed"),
    STEER_ERROR_CODES,
    assumed("the words: those of `response.inject.failed`, which has the same code"),
    rejects={"{0.id}": after(_CREATE_STEERABLE, _CREATE_STEERABLE, _steer_case())},
    accepts=[after(_CREATE_STEERABLE, event_case({"model": "gpt-6-astra", "stream_id": "other"}), _steer_case())],
    fix="Continue a completed response with `response.create`.",
)
def steer_response_already_completed(request: Request, world: ConnectionView) -> Iterator[Json]:
    """The target accepts no more steering once its lane has continued.

    The mock answers at once, so a steer always comes after the answer; until the lane makes another response, it counts
    as if it had come just before the end.
    """
    id = request.body["previous_response_id"]
    if world.held(id) is None:
        yield {"id": id}


@rule(
    bad_request("Steering is not supported for this response.", code="steering_not_supported"),
    STEERING_GUIDE,
    STEER_ERROR_CODES,
    ASSUMED_WORDS,
    rejects=[after(event_case({"model": "gpt-5.6"}), _steer_case())],
    accepts=[after(_CREATE_STEERABLE, _steer_case()), after(event_case({"model": "my-own-model"}), _steer_case())],
    fix="Steer models from GPT-6 on, without a conversation and without automatic compaction.",
)
def steering_not_supported(request: Request, world: ConnectionView) -> bool:
    """Models before GPT-6 do not support steering, nor do responses in a conversation or with automatic compaction."""
    held = world.held(request.body["previous_response_id"])
    return bool(
        held
        and (
            ((family := world.models.find(held.body["model"])) and family.precedes_gpt_6)
            or held.body.get("conversation")
            or held.body.get("context_management")
        )
    )


@rule(
    bad_request(
        "We couldn't start the next response. Send this steering input again with response.create.",
        code="successor_creation_failed",
    ),
    documented("https://developers.openai.com/api/reference/resources/responses/websocket-events", "2026-09"),
    rejects=[after(_CREATE_STEERABLE, _steer_case(account=Organization(models=frozenset(["gpt-4.1"]))))],
    fix="Send the input with `response.create`, which says why it is refused.",
)
def successor_creation_failed() -> None:
    """An accepted steer fails when the response that would take it is refused."""
