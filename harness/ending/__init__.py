"""The end of a response: completed, unless the last line of its turn is another ending.

mock.script([message("Once upon a"), incomplete()])
mock.script(failed("rate_limit_exceeded", "Request too large."))
mock.script([message("No JSON."), completed(off_schema=True)])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from harness.core.delivery import Fault
from harness.core.errors import ApiError, ScriptError
from harness.core.exchange import Json
from harness.core.registry import Registry
from harness.items.kind import Item, item_from_wire, require_text

INCOMPLETE_REASONS = ("max_output_tokens", "content_filter", "max_messages", "steered")
"""The reasons of the SDK's types for an incomplete response; only the first has been recorded."""

SERVER_ERROR_MESSAGE = (
    "An error occurred while processing your request. You can retry your request, or contact us through our help "
    "center at help.openai.com if the error persists."
)

WINDOW_EXCEEDED = "Your input exceeds the context window of this model. Please adjust your input and try again."
_MESSAGES: Mapping[str, str] = {"context_length_exceeded": WINDOW_EXCEEDED}
"""The words of a failure by its code, where they are known to be others than those of a server error."""
_PARAMS: Mapping[str, str] = {"context_length_exceeded": "input"}
"""The param of a failure that is an HTTP error, by its code."""

_STATUS_AND_TYPE: Mapping[str, tuple[int, str]] = {
    "insufficient_quota": (429, "insufficient_quota"),
    "rate_limit_exceeded": (429, "tokens"),
    "server_error": (500, "server_error"),
    "vector_store_timeout": (500, "server_error"),
}
"""The HTTP status and error type of a failure by its code; other codes are errors of the request."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a turn's response: its `status`, and the `members` of the response that it sets.

    With `off_schema` the turn need not be what a model could say to the request: a text that breaks its `text.format`,
    calls that its tools do not allow. With `recorded` the calls were made once, whatever the tools are now. With
    `awaits_outputs` a response with agents stays open over a WebSocket until the outputs of its calls are injected.
    """

    status: str = "completed"
    members: Json = field(default_factory=dict)
    off_schema: bool = False
    recorded: bool = False
    awaits_outputs: bool = False


TurnLine = Item | Ending | Fault
"""A line of a turn: items come first, then at most one ending, then faults."""

DEFAULT_ENDING = Ending()
RECORDED_ENDING = Ending(recorded=True)
"""The end of a completed response that was recorded."""


def completed(*, off_schema: bool = False, awaits_outputs: bool = False) -> Ending:
    """The response is complete, as without any ending.

    With `off_schema` its text may violate the JSON schema of the request, and its calls need not be of the request's tools
    or as `tool_choice` says, which no model of the API does. With `awaits_outputs` a response with agents that calls the
    client over a WebSocket stays open: with the outputs of `response.inject` it goes on with the next turn.
    """
    return Ending(off_schema=off_schema, awaits_outputs=awaits_outputs)


def incomplete(reason: str = "max_output_tokens") -> Ending:
    """The response ends within its last item; `reason` is max_output_tokens, content_filter, …"""
    if reason not in INCOMPLETE_REASONS:
        raise ScriptError(f"incomplete: reason is {reason!r}. It is one of: {', '.join(INCOMPLETE_REASONS)}.")
    return Ending("incomplete", {"incomplete_details": {"reason": reason}}, off_schema=True)


def failed(code: str = "server_error", message: str | None = None) -> Ending:
    """The response fails: a stream has an `error` event and `response.failed`, any other answer is an HTTP error.

    A stream has the items of the turn first, the last of them without `output_item.done`. Without a `message` it has the
    API's words for the code (`context_length_exceeded`), or those of a server error.
    """
    known = _MESSAGES.get(require_text("code", code), SERVER_ERROR_MESSAGE)
    said = known if message is None else require_text("message", message)
    return Ending("failed", {"error": {"code": code, "message": said}}, True)


ENDINGS: Registry[Callable[..., Ending]] = Registry(
    "ending", {"completed": completed, "incomplete": incomplete, "failed": failed}
)
"""Every ending, by its name in script files."""


def split_ending(turn: Sequence[TurnLine]) -> tuple[list[Item], Ending]:
    """The items of a turn, and its ending."""
    items = [line for line in turn if isinstance(line, Item)]
    if len(items) == len(turn):
        return items, DEFAULT_ENDING
    return items, next((line for line in turn if isinstance(line, Ending)), DEFAULT_ENDING)


def line_from_wire(wire: Json, others: Mapping[str, Callable[..., TurnLine]] = ENDINGS) -> TurnLine:
    """A line from its JSON: an item in wire form, or one of the `others`, `{"type": "incomplete", "reason": "…"}`."""
    if not isinstance(wire, dict) or wire.get("type") not in others:
        return item_from_wire(wire)
    made = others[wire["type"]]
    try:
        return made(**{name: value for name, value in wire.items() if name != "type"})
    except TypeError as problem:
        raise ScriptError(f"{wire['type']}: {str(problem).partition('() ')[2]}.") from problem


def to_api_error(error: Json) -> ApiError:
    """The HTTP error for the `error` (`code`, `message`) of a failed response."""
    status, kind = _STATUS_AND_TYPE.get(error["code"], (400, "invalid_request_error"))
    return ApiError(status, error["message"], _PARAMS.get(error["code"]), error["code"], kind)
