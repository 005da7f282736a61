"""Faults: a stream that is cut or paused, a request that is refused or never answered.

    mock.script(cut(message("Once upon a time"), after=4))
    mock.script(pause(message("Once"), after=3, until=gate))
    mock.script(pace(message("Once upon a time"), ttft="300ms", tokens="80/s"))
    mock.script(rate_limit(after="1s"), server_error(), overloaded(), hang_up(), message("At last."))
    mock.script(chunks(message("Grüße"), size=1), framing("Once", line_end="crlf", comment="keep-alive"))
    mock.script(insert_event("Once", {"type": "response.new.delta"}), add_members("Once", {"new": 1}))
    mock.script(http_error(409, "The conversation is in use.", code="conversation_locked"))

In script files a fault is the last line of its turn: `{"type": "cut", "after": 4}`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.core.account import RateLimit, whole_number
from harness.core.delivery import Fault, Pause
from harness.core.delivery import Gate as Gate
from harness.core.errors import ApiError, ConfigError, ScriptError
from harness.core.json_values import copy_json
from harness.core.registry import Registry, named_arguments
from harness.core.text import show
from harness.ending import ENDINGS, RESPONSE_LINES, SERVER_ERROR_MESSAGE, TurnLine, add_line
from harness.faults.alterations import AddItem, AddMembers, EndOfStream, ErrorInStream, InsertEvent, SkipNumbers
from harness.faults.transmission import Chunks, Cut, Delay, Framing, make_pace, parse_duration

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_FRAMING_HEADERS = ("content-length", "transfer-encoding", "connection")


@dataclass(frozen=True, slots=True)
class Refusal(Fault):
    """Refuses the request with the given error, or as an account with these changes would.

    With neither, sends no answer.

    In that case the connection is closed, or reset if `resets` is set. `headers` are added to those of the error.
    """

    account: Mapping[str, Any] = field(default_factory=dict)
    error: ApiError | None = None
    resets: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


class ScriptedRefusal(Exception):
    """Raised if the turn for a request is a refusal."""

    def __init__(self, fault: Refusal) -> None:
        super().__init__(fault)
        self.refusal = fault


@named_arguments
def cut(turn: Any, *, after: float, reset: bool = False) -> Any:
    """Cut the answer of a turn: the connection is closed after `after` events; `4.5` cuts in the middle of the fifth.

    A cut response is not stored, except one in the background, which continues and can be retrieved. With `reset` the
    connection is reset instead.
    """
    return add_line(turn, Cut(after, reset))


@named_arguments
def pause(turn: Any, *, after: int | None = None, seconds: float = 0, until: Gate | str | None = None) -> Any:
    """Pause the stream of a turn after `after` events, for `seconds`, or `until` a gate is opened.

    Without `after` it pauses before every event. An answer that is not a stream is delayed as a whole. A gate can be
    given by name: `mock.gate("shown").open()` opens it.
    """
    return add_line(turn, Pause(seconds, after, until))


@named_arguments
def pace(turn: Any, *, ttft: str | float = 0, tokens: str | float = 0, jitter: float = 0) -> Any:
    """Send a turn at the pace of a model: the first token after `ttft` (`"300ms"`), then `tokens` a second (`"80/s"`).

    `jitter` is the share, from 0 to 1, by which waits differ, the same in every run. An answer that is not a stream is
    sent when its last token would be.
    """
    return add_line(turn, make_pace(ttft, tokens, jitter))


@named_arguments
def delay(turn: Any, *, seconds: str | float) -> Any:
    """Delay the answer of a turn, including its headers, by `seconds` (a number, or `200ms`, `1s`)."""
    return add_line(turn, make_delay(seconds))


def make_delay(seconds: str | float) -> Delay:
    """Build the line of a turn that delays its answer."""
    if (parsed := parse_duration(seconds)) is None:
        raise ScriptError(f"delay: seconds is {show(seconds)}. Pass a number, or a string such as '200ms', '1s'.")
    return Delay(parsed)


@named_arguments
def chunks(turn: Any, *, size: int) -> Any:
    """Send the body of a turn in pieces of `size` bytes, even within a character; with 0 in a single piece."""
    return add_line(turn, Chunks(size))


@named_arguments
def framing(
    turn: Any,
    *,
    line_end: str = "lf",
    comment: str = "",
    fields: Sequence[str] = (),
    space: bool = True,
    data_lines: int = 1,
    bom: bool = False,
    unended: bool = False,
) -> Any:
    """Send the stream of a turn with line ends `lf`, `crlf` or `cr`, and a comment before each event.

    The other options are further variations that the standard of server-sent events allows: `fields` (lines added to
    each event, for example `["id: 1", "retry: 3000"]`), `space=False` (no space after colons), `data_lines=2`,
    `bom=True`, and `unended=True`, which omits the empty line after the last event.
    """
    return add_line(turn, Framing(line_end, comment, fields, space, data_lines, bom, unended))


@named_arguments
def insert_event(turn: Any, event: Mapping[str, Any], *, after: int = 2) -> Any:
    """Insert an event of any type into the stream of a turn, after `after` events."""
    return add_line(turn, InsertEvent(event, after))


def add_members(turn: Any, members: Mapping[str, Any]) -> Any:
    """Add unknown members to the response, items, parts and events of a turn."""
    return add_line(turn, AddMembers(members))


@named_arguments
def add_item(turn: Any, item: Mapping[str, Any], *, at: int = 0) -> Any:
    """Add an item of any type to the output of a turn, before the item with index `at`; it is not stored."""
    return add_line(turn, AddItem(item, at))


@named_arguments
def skip_numbers(turn: Any, *, after: int, by: int = 1) -> Any:
    """Leave a gap of `by` in the sequence numbers of a turn's stream, after `after` events."""
    return add_line(turn, SkipNumbers(after, by))


@named_arguments
def stream_error(
    turn: Any,
    *,
    after: int = 2,
    code: str = "server_error",
    message: str = SERVER_ERROR_MESSAGE,
    flat: bool = False,
) -> Any:
    """End the stream of a turn with an `error` event after `after` events; the response is not stored.

    An answer that is not a stream is left unchanged. `flat` selects the form of the SDK's types; the default form was
    recorded.
    """
    return add_line(turn, ErrorInStream(after, code, message, flat))


@named_arguments
def end_stream(turn: Any, *, after: int) -> Any:
    """End the stream of a turn after `after` events, without breaking the connection; the response is not stored."""
    return add_line(turn, EndOfStream(after))


@named_arguments
def http_error(
    status: int,
    message: str,
    *,
    code: str | None = None,
    type: str = "invalid_request_error",
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
    body: Mapping[str, Any] | None = None,
) -> Refusal:
    """Refuse with an HTTP error of any status from 400 to 599, in the API's format or with this `body`."""
    if not isinstance(status, int) or not 400 <= status < 600:
        raise ScriptError(f"http_error: status is {show(status)}. Use 400 to 599.")
    if body is not None and not isinstance(body, Mapping):
        raise ScriptError(f"http_error: body is {show(body)}. Pass an object.")
    check_headers("http_error", headers or {})
    error = ApiError(status, message, param, code, type, headers, body)
    copy_json(error.body(), "http_error: ")
    return Refusal(error=error)


def check_headers(at: str, headers: Any) -> None:
    """Raise ConfigError unless these are headers of an answer; those that frame its body are set by the server."""
    if not isinstance(headers, Mapping) or not all(map(_is_header, headers.items())):
        raise ConfigError(f"{at}: headers is {show(headers)}. Pass a dict of strings: {{'x-request-id': 'a'}}.")


def _is_header(pair: tuple[Any, Any]) -> bool:
    name, value = pair
    if not isinstance(name, str) or not isinstance(value, str):
        return False
    is_valid = _HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)
    return bool(is_valid) and name.lower() not in _FRAMING_HEADERS


@named_arguments
def rate_limit(after: str | float = "1s") -> Refusal:
    """Refuse with a 429; a retry succeeds after this time (seconds, or `200ms`, `1s`, `2m`)."""
    seconds = parse_duration(after)
    if seconds is None:
        raise ScriptError(f"rate_limit: after is {show(after)}. Pass seconds, or a string such as '200ms', '1s', '2m'.")
    return Refusal({"rate_limit": RateLimit(3, 3, 1, seconds=whole_number(seconds))})


@named_arguments
def server_error() -> Refusal:
    """Refuse with a 500."""
    return Refusal({"failing": True})


@named_arguments
def overloaded() -> Refusal:
    """Refuse with a 503."""
    return Refusal({"overloaded": True})


@named_arguments
def hang_up(reset: bool = False) -> Refusal:
    """Close or reset the connection without an answer. In the journal the status is 0."""
    return Refusal(resets=reset)


FAULTS: Registry[Callable[..., Fault]] = Registry(
    "fault",
    {
        "cut": Cut,
        "pause": Pause,
        "pace": make_pace,
        "rate_limit": rate_limit,
        "server_error": server_error,
        "overloaded": overloaded,
        "hang_up": hang_up,
        "http_error": http_error,
        "delay": make_delay,
        "chunks": Chunks,
        "framing": Framing,
        "insert_event": InsertEvent,
        "add_members": AddMembers,
        "add_item": AddItem,
        "skip_numbers": SkipNumbers,
        "stream_error": ErrorInStream,
        "end_stream": EndOfStream,
    },
)
"""Every fault as a line of a turn, by its name in script files."""

NON_ITEM_LINES: Mapping[str, Callable[..., TurnLine]] = {**ENDINGS, **FAULTS, **RESPONSE_LINES}
"""Every line of a turn other than items, by its name in script files."""


def ends_early(turn: Sequence[TurnLine]) -> bool:
    """Return whether the answer to a turn ends early."""
    return any(isinstance(line, Cut | EndOfStream | ErrorInStream) for line in turn)
