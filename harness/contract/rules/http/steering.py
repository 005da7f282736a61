"""Steering: a client event that changes a response in progress on its WebSocket, refused with `response.steer.failed`.

Sources: OpenAI's guide to steering, read in 2026-09.
"""

from collections.abc import Iterator
from typing import Any

from harness.api.models import Models
from harness.api.responses import STEER, STEER_EVENT
from harness.contract.rule import Case, RuleScope, after, assumed, documented, rule, shape
from harness.contract.rules.http.websocket import ConnectionView, event_case
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

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
def steer_invalid_input(request: Request) -> Iterator[Json]:
    """A steer has only a target and an input, which is a text or at least one user message."""
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
def steering_not_supported(request: Request, world: ConnectionView) -> Iterator[Json]:
    """Models before GPT-6 do not support steering, nor do responses in a conversation or with automatic compaction."""
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
    __name__,
    "successor_creation_failed",
    """An accepted steer fails when the response that would take it is refused.""",
    bad_request(
        "We couldn't start the next response. Send this steering input again with response.create.",
        code="successor_creation_failed",
    ),
    documented("https://developers.openai.com/api/reference/resources/responses/websocket-events", "2026-09"),
    rejects=[after(_CREATE_STEERABLE, _steer_case(account=Organization(models=frozenset(["gpt-4.1"]))))],
    fix="Send the input with `response.create`, which says why it is refused.",
)
