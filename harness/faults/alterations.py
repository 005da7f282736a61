"""Answers that differ from what is known today: new members, items and events, gaps in numbers, errors in a stream.

Every client of the API meets these: new members and types are added without notice and without a new version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.api.responses import END_EVENTS
from harness.core.delivery import Fault, is_non_negative_number
from harness.core.errors import ScriptError
from harness.core.exchange import Answer, Json
from harness.core.json_values import copy_json
from harness.core.text import show
from harness.ending import SERVER_ERROR_MESSAGE, TurnLine

_PARENTS = ("response", "item", "part", "output", "content", "summary", "annotations", "annotation", "error")
"""The members that hold those objects of an answer to which new members may be added."""
_FRAMING = frozenset({"type", "event", "data", "sequence_number", "output_index", "output", "response"})
"""The members by which events are sent, numbered and altered."""


class Alteration(Fault):
    """A fault that changes what is sent but not what is stored."""

    __slots__ = ()

    def alter(self, answer: Answer) -> Answer:
        """Alter the events of a stream; return any other answer unchanged."""
        return answer if answer.events is None else answer._replace(events=self.alter_events(list(answer.events)))

    def alter_events(self, events: list[Json]) -> list[Json]:
        """Alter the events of a stream."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class InsertEvent(Alteration):
    """Inserts an event of any type after `after` events of the stream; later events are renumbered."""

    event: Mapping[str, Any]
    after: int = 2

    def __post_init__(self) -> None:
        is_of_run = isinstance(self.event, Mapping) and "data" in self.event and "type" not in self.event
        _check_object("insert_event: event", self.event, named="event" if is_of_run else "type")
        _check_count("insert_event", self.after)

    def alter_events(self, events: list[Json]) -> list[Json]:
        """Insert the event."""
        return _number([*events[: self.after], dict(self.event), *events[self.after :]])


@dataclass(frozen=True, slots=True)
class AddMembers(Alteration):
    """Adds unknown members to the response, to each of its items and parts, and to every event."""

    members: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.members, Mapping) or not self.members:
            raise ScriptError(f"add_members: members is {show(self.members)}. Pass an object with at least one member.")
        if taken := _FRAMING.intersection(self.members):
            raise ScriptError(f"add_members: {min(taken)} is a member that frames every stream. Pass another name.")
        copy_json(dict(self.members), "add_members: ")

    def alter(self, answer: Answer) -> Answer:
        """Add the members to the body and to the events."""
        events = answer.events and [self._add(event) for event in answer.events]
        return answer._replace(body=self._add(answer.body), events=events)

    def _add(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._add(element) for element in value]
        if not isinstance(value, dict):
            return value
        nested = {name: self._add(value[name]) for name in _PARENTS if isinstance(value.get(name), dict | list)}
        return {**value, **nested, **self.members}


@dataclass(frozen=True, slots=True)
class AddItem(Alteration):
    """Inserts an item of any type before the item with index `at`; it is streamed as `added` and `done`."""

    item: Mapping[str, Any]
    at: int = 0

    def __post_init__(self) -> None:
        _check_object("add_item: item", self.item)
        _check_count("add_item", self.at, "at")

    def alter(self, answer: Answer) -> Answer:
        """Insert the item into the body and the events."""
        item = {"id": f"{self.item['type']}_0", "status": "completed", **self.item}
        events = answer.events and _number(self._insert(list(answer.events), item))
        return answer._replace(body=self._extend(answer.body, item), events=events)

    def _insert(self, events: Sequence[Json], item: Json) -> list[Json]:
        place = next(
            (index for index, event in enumerate(events) if event.get("output_index", -1) >= self.at), len(events) - 1
        )
        own = [{"type": f"response.output_item.{kind}", "output_index": self.at, "item": item} for kind in _ITEM_EVENTS]
        return [*events[:place], *own, *(self._follow(event, item) for event in events[place:])]

    def _follow(self, event: Json, item: Json) -> Json:
        """Adjust an event that follows the item: shift its `output_index`, or add the item to its response."""
        if event["type"] in END_EVENTS:
            return {**event, "response": self._extend(event["response"], item)}
        is_later = event.get("output_index", -1) >= self.at
        return {**event, "output_index": event["output_index"] + 1} if is_later else event

    def _extend(self, response: Any, item: Json) -> Any:
        if not isinstance(response, dict) or "output" not in response:
            return response
        output = response["output"]
        return {**response, "output": [*output[: self.at], item, *output[self.at :]]}


_ITEM_EVENTS = ("added", "done")


@dataclass(frozen=True, slots=True)
class SkipNumbers(Alteration):
    """Raises the sequence numbers by `by` after `after` events, which leaves a gap."""

    after: int
    by: int = 1

    def __post_init__(self) -> None:
        _check_count("skip_numbers", self.after)
        _check_count("skip_numbers", self.by, "by")

    def alter_events(self, events: list[Json]) -> list[Json]:
        """Raise the numbers of the later events."""
        later = [{**event, "sequence_number": event["sequence_number"] + self.by} for event in events[self.after :]]
        return [*events[: self.after], *later]


@dataclass(frozen=True, slots=True)
class ErrorInStream(Alteration):
    """Ends the stream with an `error` event after `after` events.

    Recorded streams have the error in a member of the event; `flat` puts its members into the event, as in the SDK's
    types.
    """

    after: int = 2
    code: str = "server_error"
    message: str = SERVER_ERROR_MESSAGE
    flat: bool = False

    def __post_init__(self) -> None:
        _check_count("stream_error", self.after)
        copy_json([self.code, self.message], "stream_error: ")

    def alter_events(self, events: list[Json]) -> list[Json]:
        """End the stream with the error."""
        error: Json = {"code": self.code, "message": self.message, "param": None}
        event = error if self.flat else {"error": {"type": self.code, **error}}
        return _number([*events[: self.after], {"type": "error", **event}])


@dataclass(frozen=True, slots=True)
class EndOfStream(Alteration):
    """Ends the stream normally after `after` events, like a proxy that gives up."""

    after: int

    def __post_init__(self) -> None:
        _check_count("end_stream", self.after)

    def alter_events(self, events: list[Json]) -> list[Json]:
        """Drop the later events."""
        return events[: self.after]


def alter_answer(answer: Answer, turn: Sequence[TurnLine]) -> Answer:
    """Alter an answer as its turn says, in the order of its alterations."""
    for line in turn:
        if isinstance(line, Alteration):
            answer = line.alter(answer)
    return answer


def _number(events: Sequence[Json]) -> list[Json]:
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _check_object(what: str, value: Any, named: str = "type") -> None:
    """Raise ScriptError unless this is an object of JSON whose member `named` is a line of text."""
    if not isinstance(value, Mapping) or not isinstance(name := value.get(named), str) or not name.isprintable():
        raise ScriptError(f"{what} is {show(value)}. Pass an object with a `{named}`.")
    copy_json(dict(value), f"{what}: ")


def _check_count(what: str, value: Any, name: str = "after") -> None:
    if not isinstance(value, int) or not is_non_negative_number(value):
        raise ScriptError(f"{what}: {name} is {show(value)}. Pass a non-negative integer.")
