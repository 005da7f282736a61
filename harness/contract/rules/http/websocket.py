"""Rules of a WebSocket connection to `/v1/responses`: its events, its lanes, its age, steering.

`response.create` is checked like `POST /responses`; only the additional rules of the connection are here. A refused event
is answered with an `error` event, a refused `response.steer` with `response.steer.failed`. Sources: OpenAI's guides to
WebSocket mode and to steering, read in 2026-09.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any, Protocol

from harness.api.models import Models
from harness.contract.phrasing import describe_actual, quote_and_join
from harness.contract.rule import Case, after, assumed, documented, reported, rule, shape
from harness.core.account import Organization
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

UPGRADE = "WS /responses (upgrade)"
SOCKET = "WS /responses"
WARM_UP = "WS /responses (generate: false)"
STEER = "WS /responses (response.steer)"
UPGRADE_RULES = ("auth_missing", "auth_invalid_key", "auth_missing_scope", "server_error")
"""The rules of `access` that refuse the upgrade, as HTTP; the others refuse events. Reported for the missing bearer key:
https://github.com/openai/codex/issues/44579 (2026-09-10)."""
CREATE_EVENT, STEER_EVENT = "response.create", "response.steer"
CLIENT_EVENTS = (CREATE_EVENT, STEER_EVENT)
LANE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}")
MAX_LANES = 32
MAX_AGE = 60 * 60
"""The maximum age of a connection in seconds."""
WEBSOCKET_GUIDE = documented("https://developers.openai.com/api/docs/guides/websocket-mode", "2026-09")
STEERING_GUIDE = documented("https://developers.openai.com/api/docs/guides/steering", "2026-09")
STEER_ERROR_CODES = documented("openai 3.54.0: ResponseSteerErrorCode", "2026-09")
ASSUMED_WORDS = assumed("the words; the code is known")
ASSUMED_LIKE_SCHEMA = assumed("that it is said as the schema of a body would say it")


class LaneResponseView(Protocol):
    """The last response of a lane: its object and the request that made it."""

    response: Json
    body: Json


class ConnectionView(Protocol):
    """What a rule may read of a connection."""

    age: int
    lanes: Set[str]
    lane_of: Mapping[str, str | None]
    models: Models

    def held(self, id: str) -> LaneResponseView | None:
        """The response of this id if it is the last one of a lane, else None."""


def _event_case(body: Any = None, *, absent: tuple[str, ...] = (), **more: Any) -> Case:
    return Case(body, on=SOCKET, absent=absent, **more)


def _steer_case(
    input: Any = "Be brief.", id: str = "{0.id}", account: Organization | None = None, **members: Any
) -> Case:
    body = {"type": STEER_EVENT, "previous_response_id": id, "input": input, **members}
    return _event_case(body, absent=("model",), account=account)


_CREATE_STEERABLE = _event_case({"model": "gpt-6-astra"})


@rule(
    on=SOCKET,
    error=ApiError(
        400,
        "Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.",
        code="websocket_connection_limit_reached",
    ),
    source=[
        WEBSOCKET_GUIDE,
        reported("https://github.com/earendil-works/pi/issues/6268", "2026-07-03"),
        reported("https://github.com/james-6-23/codex2api/issues/346", "2026-07-10"),
    ],
    rejects=[after(_event_case(), _event_case(skip=MAX_AGE))],
    accepts=[after(_event_case(), _event_case(skip=MAX_AGE - 1))],
    fix="Open a new connection and send the whole context, or the `previous_response_id` of a stored response.",
)
def connection_limit_reached(world: ConnectionView) -> Iterator[Json]:
    """A connection lasts 60 minutes; then it says so and is closed.

    The minutes are those of the World: `mock.skip(3600)` lets them pass.
    """
    if world.age >= MAX_AGE:
        yield {}


@rule(
    on=SOCKET,
    error=ApiError(400, "Missing required parameter: 'type'.", "type", "missing_required_parameter"),
    source=ASSUMED_LIKE_SCHEMA,
    rejects=[_event_case(absent=("type",))],
    fix="Send events: the members of a request to `/responses` and `type: 'response.create'`.",
)
def event_type_missing(request: Request) -> Iterator[Json]:
    """Every event of a client has a `type`."""
    if "type" not in request.body:
        yield {}


@rule(
    on=SOCKET,
    error=ApiError(
        400,
        f"Invalid type for 'type': expected one of {quote_and_join(CLIENT_EVENTS, 'or')}, but got {{kind}} instead.",
        "type",
        "invalid_type",
    ),
    source=ASSUMED_LIKE_SCHEMA,
    rejects={
        "Invalid type for 'type': expected one of 'response.create' or 'response.steer', but got an integer "
        "instead.": _event_case({"type": 1})
    },
    fix="Send `type: 'response.create'`.",
)
def event_type_kind(request: Request) -> Iterator[Json]:
    """The `type` of an event is a string."""
    if not isinstance(request.body["type"], str):
        yield {"kind": describe_actual(request.body["type"])}


@rule(
    on=SOCKET,
    error=ApiError(
        400,
        f"Invalid value: '{{value}}'. Supported values are: {quote_and_join(CLIENT_EVENTS, 'and')}.",
        "type",
        "invalid_value",
    ),
    source=ASSUMED_LIKE_SCHEMA,
    rejects={
        "Invalid value: 'response.cancel'. Supported values are: 'response.create' and 'response.steer'.": _event_case(
            {"type": "response.cancel"}
        )
    },
    fix="A connection takes `response.create` and `response.steer`; to cancel a response, close the connection.",
)
def event_type_unknown(request: Request) -> Iterator[Json]:
    """An event of a client is one of those of WebSocket mode."""
    if request.body["type"] not in CLIENT_EVENTS:
        yield {"value": request.body["type"]}


@rule(
    on=SOCKET,
    error=ApiError(
        400,
        "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, "
        "numbers, underscores, hyphens, and periods.",
        "stream_id",
        "invalid_stream_id",
    ),
    source=WEBSOCKET_GUIDE,
    rejects=[_event_case({"stream_id": ""})],
    accepts=[
        _event_case({"stream_id": "agent_1.a-b"}),
        _event_case({"stream_id": "x" * 256}),
        _event_case({"stream_id": None}),
    ],
    fix="Leave `stream_id` out for the default lane.",
)
def stream_id_invalid(request: Request) -> Iterator[Json]:
    """The name of a lane has 1 to 256 letters, digits, underscores, hyphens and periods; null counts as absent."""
    lane = request.body.get("stream_id")
    if request.body["type"] == CREATE_EVENT and lane is not None and requested_lane(request.body) is None:
        yield {}


@rule(
    on=SOCKET,
    error=ApiError(
        400,
        "This WebSocket connection has reached its maximum number of distinct stream IDs (32). Reuse an existing "
        "stream_id or open a new WebSocket connection.",
        "stream_id",
        "websocket_stream_limit_reached",
    ),
    source=WEBSOCKET_GUIDE,
    rejects=[
        after(
            *(_event_case({"stream_id": f"agent_{number}"}) for number in range(MAX_LANES)),
            _event_case({"stream_id": "agent_32"}),
        )
    ],
    fix="Use a lane again, or open another connection.",
)
def stream_limit_reached(request: Request, world: ConnectionView) -> Iterator[Json]:
    """A connection has at most 32 named lanes in its life; the default lane does not count.

    Its other limit, 16 responses in flight, refuses nothing: more of them wait.
    """
    lane = requested_lane(request.body)
    if lane is not None and lane not in world.lanes and len(world.lanes) >= MAX_LANES:
        yield {}


@rule(
    on=SOCKET,
    when="background",
    error=ApiError(
        400,
        "Unsupported parameter: 'background' is not supported over WebSocket.",
        "background",
        "unsupported_parameter",
    ),
    source=[
        documented("openapi 2.3.0: ResponsesClientEventResponseCreate, that it is not supported", "2026-09"),
        assumed("that it is refused and not passed over; the words"),
    ],
    rejects=[_event_case({"background": True})],
    accepts=[_event_case({"background": False}), _event_case({"background": None}), _event_case({"stream": True})],
    fix="Send it over HTTP; leave `stream` out too, an answer over WebSocket is always told as events.",
)
def background_over_socket(request: Request) -> Iterator[Json]:
    """A response over WebSocket does not run in the background."""
    if request.body["type"] == CREATE_EVENT and request.body["background"] is True:
        yield {}


@rule(
    on=SOCKET,
    when="generate",
    error=ApiError(
        400, "Invalid type for 'generate': expected a boolean, but got {kind} instead.", "generate", "invalid_type"
    ),
    source=[documented("openai 3.54.0: ResponseCreate", "2026-09"), ASSUMED_LIKE_SCHEMA],
    rejects={
        "Invalid type for 'generate': expected a boolean, but got a string instead.": _event_case({"generate": "no"})
    },
    accepts=[
        _event_case({"generate": False}),
        after(_event_case({"generate": False}), _event_case({"previous_response_id": "{0.id}"})),
    ],
    fix="`generate: false` prepares a response without asking the model; leave it out otherwise.",
)
def generate_kind(request: Request) -> Iterator[Json]:
    """`generate` is a boolean; null counts as absent."""
    value = request.body["generate"]
    if request.body["type"] == CREATE_EVENT and value is not None and not isinstance(value, bool):
        yield {"kind": describe_actual(value)}


@rule(
    on=STEER,
    error=ApiError(400, "Invalid steering input.", code="invalid_input"),
    source=[STEERING_GUIDE, STEER_ERROR_CODES, ASSUMED_WORDS],
    rejects=[after(_CREATE_STEERABLE, _steer_case(stream_id="main"))],
    accepts=[
        after(_CREATE_STEERABLE, _steer_case()),
        after(
            _CREATE_STEERABLE, _steer_case([{"role": "user", "content": [{"type": "input_text", "text": "Be brief."}]}])
        ),
    ],
    fix="Send `type`, `previous_response_id` and `input` alone; `input` is a text or messages of the user.",
)
def steer_invalid_input(request: Request) -> Iterator[Json]:
    """A steer has a target and an input, a text or at least one message of the user, and nothing else."""
    input = request.body
    body = set(input) == {"type", "previous_response_id", "input"} and isinstance(input["previous_response_id"], str)
    if not body or not _is_steering_input(input["input"]):
        yield {}


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
    on=STEER,
    error=ApiError(400, "Response with id '{id}' not found.", code="response_not_found"),
    source=[STEERING_GUIDE, STEER_ERROR_CODES, ASSUMED_WORDS],
    rejects={
        "Response with id 'resp_x' not found.": _steer_case(id="resp_x"),
        "Response with id '{0.id}' not found.": after({"model": "gpt-6-astra"}, _steer_case()),
    },
    accepts=[after(_CREATE_STEERABLE, _steer_case())],
    fix="Steer a response on the connection that made it.",
)
def steer_response_not_found(request: Request, world: ConnectionView) -> Iterator[Json]:
    """The target is a response of this connection; being stored is not enough."""
    id = request.body["previous_response_id"]
    if id not in world.lane_of:
        yield {"id": id}


@rule(
    on=STEER,
    error=ApiError(400, "Response '{id}' has already completed.", code="response_already_completed"),
    source=[STEER_ERROR_CODES, assumed("the words: those of `response.inject.failed`, which has the same code")],
    rejects={"Response '{0.id}' has already completed.": after(_CREATE_STEERABLE, _CREATE_STEERABLE, _steer_case())},
    accepts=[after(_CREATE_STEERABLE, _event_case({"model": "gpt-6-astra", "stream_id": "other"}), _steer_case())],
    fix="Continue a response that is done with `response.create`.",
)
def steer_response_already_completed(request: Request, world: ConnectionView) -> Iterator[Json]:
    """The target takes no more steering once its lane has gone on.

    The mock answers at once, so that a steer always comes after the answer; it counts as if it had come just before the
    end, until the lane makes another response.
    """
    id = request.body["previous_response_id"]
    if world.held(id) is None:
        yield {"id": id}


@rule(
    on=STEER,
    error=ApiError(400, "Steering is not supported for this response.", code="steering_not_supported"),
    source=[STEERING_GUIDE, STEER_ERROR_CODES, ASSUMED_WORDS],
    rejects=[after(_event_case({"model": "gpt-5.6"}), _steer_case())],
    accepts=[after(_CREATE_STEERABLE, _steer_case()), after(_event_case({"model": "my-own-model"}), _steer_case())],
    fix="Steer models from GPT-6 on, without a conversation and without automatic compaction.",
)
def steering_not_supported(request: Request, world: ConnectionView) -> Iterator[Json]:
    """Models before GPT-6 take no steering, nor do responses of a conversation or with automatic compaction."""
    held = world.held(request.body["previous_response_id"])
    if held and (
        _is_before_gpt_6(held.body["model"], world.models)
        or held.body.get("conversation")
        or held.body.get("context_management")
    ):
        yield {}


def _is_before_gpt_6(model: str, models: Models) -> bool:
    return models.find(model) is not None and not model.startswith("gpt-6")


shape(
    "successor_creation_failed",
    """An accepted steer fails when the response that would take it is refused.""",
    on=STEER,
    error=ApiError(
        400,
        "We couldn't start the next response. Send this steering input again with response.create.",
        code="successor_creation_failed",
    ),
    source=[documented("https://developers.openai.com/api/reference/resources/responses/websocket-events", "2026-09")],
    rejects=[after(_CREATE_STEERABLE, _steer_case(account=Organization(models=frozenset(["gpt-4.1"]))))],
    fix="Send the input with `response.create`, which says why it is refused.",
)


def requested_lane(body: Any) -> str | None:
    """The named lane of a `response.create`; None for the default lane and for an invalid name."""
    lane = body.get("stream_id") if isinstance(body, dict) and body.get("type") == CREATE_EVENT else None
    return lane if isinstance(lane, str) and LANE_NAME.fullmatch(lane) else None
