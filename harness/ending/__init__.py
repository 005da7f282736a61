"""The ending of a response: completed, unless the last line of its turn is another ending.

    mock.script([message("Once upon a"), incomplete()])
    mock.script(failed("rate_limit_exceeded", "Request too large."))
    mock.script(empty())
    mock.script([message("No JSON."), completed(off_schema=True)])
    mock.script(usage(message("Hi."), input_tokens=2000, cached=1024))
    mock.script(response(message("Hi."), service_tier="priority"))

In script files an ending is a line of its turn: `{"type": "incomplete", "reason": "content_filter"}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isgeneratorfunction
from typing import Any

import orjson

from harness.core.delivery import Fault
from harness.core.errors import ApiError, ScriptError
from harness.core.exchange import Json, Request
from harness.core.json_values import omit, without_nulls
from harness.core.registry import Registry, named_arguments
from harness.core.text import show
from harness.items.kind import Item, item_from_wire, require_text

INCOMPLETE_REASONS = ("max_output_tokens", "content_filter", "max_messages", "steered")
"""The reasons for an incomplete response in the SDK's types; only the first has been recorded."""

SERVER_ERROR_MESSAGE = (
    "An error occurred while processing your request. You can retry your request, or contact us through our help "
    "center at help.openai.com if the error persists."
)

WINDOW_EXCEEDED = "Your input exceeds the context window of this model. Please adjust your input and try again."
_MESSAGES: Mapping[str, str] = {"context_length_exceeded": WINDOW_EXCEEDED}
"""The message of a failure by its code, where it is known to differ from that of a server error."""
_PARAMS: Mapping[str, str] = {"context_length_exceeded": "input"}
"""The `param` of a failure that is an HTTP error, by its code."""

_STATUS_AND_TYPE: Mapping[str, tuple[int, str]] = {
    "credit_balance_exhausted": (429, "insufficient_quota"),
    "insufficient_quota": (429, "insufficient_quota"),
    "rate_limit_exceeded": (429, "tokens"),
    "server_error": (500, "server_error"),
    "vector_store_timeout": (500, "server_error"),
}
"""The HTTP status and error type of a failure by its code; other codes are errors of the request."""


@dataclass(frozen=True, slots=True)
class Ending:
    """The ending of a turn's response: its `status`, and the `members` of the response that it sets.

    With `off_schema` the turn need not be possible for a model: its text may violate `text.format`, its calls the
    request's tools. With `recorded` the calls were once made, whatever the tools are now. With `awaits_outputs` a
    response with agents stays open over a WebSocket until the outputs of its calls are injected. `own` holds the other
    members that a script sets, independent of the status; its `usage` has only some of the counts. An `is_empty` turn has
    no items.
    """

    status: str = "completed"
    members: Json = field(default_factory=dict)
    off_schema: bool = False
    recorded: bool = False
    awaits_outputs: bool = False
    own: Json = field(default_factory=dict)
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class ResponseMembers(Fault):
    """Members of a response besides its output and ending, as set by a script; `usage` maps names to counts."""

    members: Json = field(default_factory=dict)
    usage: Json = field(default_factory=dict)


TurnLine = Item | Ending | Fault
"""A line of a turn: items come first, then at most one ending, then faults."""

DEFAULT_ENDING = Ending()
RECORDED_ENDING = Ending(recorded=True)


@named_arguments
def completed(*, off_schema: bool = False, awaits_outputs: bool = False) -> Ending:
    """Complete the response, as without any ending.

    With `off_schema` its text may violate the JSON schema of the request, and its calls need not match the request's
    tools or `tool_choice`, which no model of the API does. With `awaits_outputs` a response with agents that calls the
    client over a WebSocket stays open: the outputs of `response.inject` continue it with the next turn.
    """
    return Ending(off_schema=off_schema, awaits_outputs=awaits_outputs)


@named_arguments
def empty() -> Ending:
    """Complete the response without any output, whatever the request demands; reported of models from gpt-5 on."""
    return Ending(off_schema=True, is_empty=True)


@named_arguments
def incomplete(reason: str = "max_output_tokens") -> Ending:
    """End the response within its last item; `reason` is max_output_tokens, content_filter, …"""
    if reason not in INCOMPLETE_REASONS:
        raise ScriptError(f"incomplete: reason is {show(reason)}. Use one of: {', '.join(INCOMPLETE_REASONS)}.")
    return Ending("incomplete", {"incomplete_details": {"reason": reason}}, off_schema=True)


@named_arguments
def failed(code: str = "server_error", message: str | None = None) -> Ending:
    """Fail the response: a stream has an `error` event and `response.failed`, any other answer is an HTTP error.

    A stream first has the items of the turn, the last one without `output_item.done`. Without a `message` it has the
    API's message for the code (`context_length_exceeded`), or that of a server error.
    """
    known = _MESSAGES.get(require_text("code", code), SERVER_ERROR_MESSAGE)
    said = known if message is None else require_text("message", message)
    return Ending("failed", {"error": {"code": code, "message": said}}, True)


@named_arguments
def usage(
    turn: Any,
    *,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cached: int | None = None,
    cache_written: int | None = None,
    reasoning: int | None = None,
) -> Any:
    """Set the usage of a turn's response: tokens of the input, `cached` or written to the cache, and of the output.

    Counts that are left out are computed as usual; the total follows.
    """
    return add_line(turn, make_usage_line(input_tokens, output_tokens, cached, cache_written, reasoning))


def make_usage_line(
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    cached: int | None = None,
    cache_written: int | None = None,
    reasoning: int | None = None,
) -> ResponseMembers:
    """Make the line that sets the usage of a turn; ScriptError for impossible counts."""
    named = {
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cached": cached,
        "cache_written": cache_written,
        "reasoning": reasoning,
    }
    given = without_nulls(named)
    if not given:
        raise ScriptError(f"usage: no count. Pass one of {', '.join(named)}.")
    for name, count in given.items():
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count < 2**53:
            raise ScriptError(f"usage: {name} is {show(count)}. Pass a non-negative integer.")
    for name, whole in (("cached", "input_tokens"), ("cache_written", "input_tokens"), ("reasoning", "output_tokens")):
        if name in given and given[name] > given.get(whole, 0):
            wrong = f"{given[whole]}" if whole in given else "not given"
            raise ScriptError(
                f"usage: {name} is {given[name]}, a part of {whole}, which is {wrong}. Pass {whole} as well."
            )
    return ResponseMembers(usage=given)


def response(turn: Any, **members: Any) -> Any:
    """Set members of a turn's response, such as `service_tier="priority"`, `model=…`, `metadata={…}`."""
    return add_line(turn, make_response_line(**members))


def make_response_line(**members: Any) -> ResponseMembers:
    """Make the line that sets members of a response; ScriptError unless they are JSON.

    The script checks their values.
    """
    if not members:
        raise ScriptError("response: no members. Pass one by name: service_tier='priority'.")
    try:
        plain = orjson.loads(json.dumps(members, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as problem:
        raise ScriptError(f"response: {problem}. Pass plain JSON values; strings must be valid Unicode.") from problem
    return ResponseMembers(plain)


RESPONSE_LINES: Mapping[str, Callable[..., ResponseMembers]] = {
    "usage": make_usage_line,
    "response": make_response_line,
}
"""The lines that set members of a response, by their name in script files."""


def add_line(turn: Any, line: Fault) -> Any:
    """Append a line to a turn, after its ending; for a function to its result, for a generator to each yield."""
    if isgeneratorfunction(turn):
        return _add_line_to_each(turn, line)
    if callable(turn):
        return lambda request: add_line(turn(request), line)
    return [*turn, line] if isinstance(turn, list | tuple) else [turn, line]


def _add_line_to_each(turn: Callable[[Request], Generator[Any, Request, None]], line: Fault) -> Any:
    def each(request: Request) -> Generator[Any, Request, None]:
        turns = turn(request)
        try:
            said = next(turns)
            while True:
                request = yield add_line(said, line)
                said = turns.send(request)
        except StopIteration:
            return

    return each


ENDINGS: Registry[Callable[..., Ending]] = Registry(
    "ending", {"completed": completed, "empty": empty, "incomplete": incomplete, "failed": failed}
)


def split_ending(turn: Sequence[TurnLine]) -> tuple[list[Item], Ending]:
    """Split a turn into its items and its ending."""
    items = [line for line in turn if isinstance(line, Item)]
    if len(items) == len(turn):
        return items, DEFAULT_ENDING
    ending = next((line for line in turn if isinstance(line, Ending)), DEFAULT_ENDING)
    own: Json = {}
    for line in turn:
        if isinstance(line, ResponseMembers):
            counts = {**own.get("usage", {}), **line.usage}
            own |= {**line.members, **({"usage": counts} if counts else {})}
    return items, replace(ending, own=own) if own else ending


def line_from_wire(wire: Json, others: Mapping[str, Callable[..., TurnLine]] = ENDINGS) -> TurnLine:
    """Parse a line from JSON: an item in wire form, or one of the `others`, `{"type": "incomplete", "reason": "…"}`."""
    if not isinstance(wire, dict) or wire.get("type") not in others:
        return item_from_wire(wire)
    made = others[wire["type"]]
    try:
        return made(**omit(wire, "type"))
    except TypeError as problem:
        raise ScriptError(f"{wire['type']}: {str(problem).partition('() ')[2]}.") from problem


def to_api_error(error: Json) -> ApiError:
    """Return the HTTP error for the `error` (`code`, `message`) of a failed response."""
    status, kind = _STATUS_AND_TYPE.get(error["code"], (400, "invalid_request_error"))
    return ApiError(status, error["message"], _PARAMS.get(error["code"]), error["code"], kind)
