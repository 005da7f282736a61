"""A recorded stream, its answer used as a script: does the mock tell the same events in the same order?

Runs of deltas count as one event and ids are mapped by their place. A response in an event is compared by the names of
its members, as they were on the day: what they echo is judged with the answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from harness.ending import Ending, Line
from harness.errors import HarnessError
from harness.exchange import Json, Request
from harness.include import evident
from harness.item import Item, from_wire
from harness.judge import Verdict
from harness.operation import OPERATIONS
from harness.origin import place
from harness.reader import TERMINAL, StreamError, plain
from harness.recorded import Recorded
from harness.rule import CREATE
from harness.scrub import hide, secrets_of
from harness.stream import read
from harness.word import Deltas
from harness.world import World

ENDS = frozenset(f"response.{status}" for status in TERMINAL)
ASIDE = frozenset({"keepalive", "response.rate_limits.updated"})
"""Events that come when they like."""
NOTE = "response.output_text.annotation.added"
TEXT = "response.output_text.done"
UNTOLD = frozenset({"sequence_number", "obfuscation"})
"""Members that depend on how a text was cut into deltas."""
SINCE: Mapping[str, str] = {
    "service_tier": "2025-04-01",
    "background": "2025-06-01",
    **dict.fromkeys(("logprobs", "max_tool_calls"), "2025-06-24"),
    "top_logprobs": "2025-06-27",
    **dict.fromkeys(("prompt_cache_key", "safety_identifier"), "2025-07-11"),
    "mcp_call.status": "2025-10-01",
    "prompt_cache_retention": "2025-11-01",
    **dict.fromkeys(("completed_at", "frequency_penalty", "presence_penalty"), "2026-02-14"),
    "moderation": "2026-04-21",
    "tool_usage": "2026-06-25",
    "access_programs": "2026-09-04",
}
"""The first day from which every recorded stream has a member, of an item with that `type.`; before, it may be missing."""


RESPONSES = "/responses"
NOW = "9999"
"""A day after every other."""
INDICES = ("content_index", "summary_index", "command_index")
"""Members that say which text of an item a delta belongs to."""
RESPONSE = "…"
"""Stands for the value of each member of a response."""


class Step(NamedTuple):
    """An event, or a run of deltas: its place among the events, its type, and what is compared."""

    place: int
    type: str
    said: Json


class Difference(NamedTuple):
    """The first place where the mock tells a recorded stream otherwise: of which event, and what each side has."""

    place: int
    recorded: str
    mock: str


def respell(recorded: Recorded) -> Iterator[Verdict]:
    """The verdict on one exchange: `respelled.same`, or `respelled.different` with the first difference.

    None on what is no whole stream with which the API answered `POST /responses`.
    """
    events = recorded.events or []
    if place(recorded.path) != RESPONSES or recorded.method != "POST":
        return
    try:
        final, drift = read(events)
    except StreamError:
        return
    if any(found.rule == "unknown_kind" for found in drift):
        return
    found = _compared(recorded, events, final)
    if found is None:
        yield Verdict("respelled.same")
        return
    told = {"at": f"events[{found.place}]", "recorded": found.recorded, "mock": found.mock}
    secrets = secrets_of(recorded.headers) | secrets_of(recorded.answer_headers)
    yield Verdict("respelled.different", hide({"id": recorded.id, **told}, secrets))


def _compared(recorded: Recorded, events: Sequence[Json], final: Json) -> Difference | None:
    try:
        told = _told(recorded, final, turn(events, final))
    except HarnessError as problem:
        return Difference(len(events) - 1, str(events[-1]["type"]), str(problem))
    return difference(events, told, day=recorded.date[:10], responses=recorded.provider == "openai")


def turn(events: Sequence[Json], final: Json) -> list[Line]:
    """The script that says what a stream told: its items with their exact deltas, and how the response ended."""
    exact: list[dict[tuple[str, int], list[str]]] = [defaultdict(list) for _ in final["output"]]
    for event in events:
        stem = event["type"].removeprefix("response.")
        piece = event.get("delta", event.get("partial_image_b64"))
        if isinstance(piece, str):
            number: int = next((event[name] for name in INDICES if name in event), 0)
            exact[event["output_index"]][stem.removesuffix(".delta"), number].append(piece)
    lines: list[Line] = [_line(wire, dict(deltas)) for wire, deltas in zip(final["output"], exact, strict=True)]
    return lines if final["status"] == "completed" else [*lines, _ending(final)]


def _line(wire: Json, deltas: Deltas) -> Item:
    item = from_wire(wire)
    return Item(item.type, item.members, deltas)


def _ending(final: Json) -> Ending:
    member = "error" if final["status"] == "failed" else "incomplete_details"
    return Ending(final["status"], {member: final.get(member)}, off_schema=True)


def _told(recorded: Recorded, final: Json, lines: Sequence[Line]) -> Sequence[Json]:
    world = World(recorded.file)
    world.script(lines)
    request = Request("POST", RESPONSES, body={**_asked(recorded, final), "stream": True}, operation=CREATE)
    return OPERATIONS[CREATE].handler(request, world).events or ()


def _asked(recorded: Recorded, final: Json) -> Json:
    """The request, or where it is not known one that must be like it."""
    if isinstance(recorded.request, dict) and "no_request" not in recorded.flags:
        return recorded.request
    shown = {name: final[name] for name in ("model", "background", "conversation") if final.get(name)}
    return {**shown, "input": "", "include": evident(final["output"])}


def difference(
    recorded: Sequence[Json], mock: Sequence[Json], *, day: str = NOW, responses: bool = True
) -> Difference | None:
    """The first difference between two streams of one response, whatever the ids and the cuts of their texts.

    `day` is that of the recording (ISO 8601, empty if unknown): what came later may be missing. Without `responses` the
    members of the responses in them are not compared: other dialects have others.
    """
    for one, other in zip_longest(_steps(recorded), _steps(mock)):
        if found := _differing(one, other, day, responses):
            return Difference(one.place if one else len(recorded), *found)
    return None


def _differing(one: Step | None, other: Step | None, day: str, responses: bool) -> tuple[str, str] | None:
    if one is None or other is None or one.type != other.type:
        return (one.type if one else "the end"), (other.type if other else "the end")
    left, right = one.said, other.said
    for name in sorted({*left, *right}) if responses or "response" not in left else ():
        if not _alike({name: left[name]} if name in left else {}, {name: right[name]} if name in right else {}, day):
            return f"{one.type}: {_brief(name, left)}", f"{one.type}: {_brief(name, right)}"
    return None


def _alike(left: Any, right: Any, day: str) -> bool:
    """Whether two values are the same, but for members of the right one that came later than the left."""
    if isinstance(left, dict) and isinstance(right, dict):
        later = {name for name in right if name not in left and _is_later(name, right, day)}
        names = {*left, *right} - later
        return all(name in left and name in right and _alike(left[name], right[name], day) for name in names)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(_alike(*pair, day) for pair in zip(left, right, strict=True))
    return bool(left == right)


def _is_later(name: str, thing: Json, day: str) -> bool:
    return day < SINCE.get(name, "") or day < SINCE.get(f"{thing.get('type')}.{name}", "")


def _brief(name: str, said: Json) -> str:
    text = f"{name} {said[name]!r}" if name in said else f"no {name}"
    return text if len(text) <= 300 else f"{text[:300]}…"


def _steps(events: Sequence[Json]) -> list[Step]:
    """The events of a stream to its end; annotations stand behind the text they are in, however soon they came."""
    steps: list[Step] = []
    notes: list[Step] = []
    ids = _places(events)
    for index, event in enumerate(events):
        step = Step(index, event["type"], _comparable(event, ids))
        if step.type in ASIDE:
            continue
        if step.type == NOTE:
            notes.append(step)
            continue
        if step.type == TEXT:
            steps += notes
            notes = []
        if not (step.type.endswith(".delta") and steps and _grows(steps[-1], step)):
            steps.append(step)
        if step.type in ENDS:
            break
    return steps


def _grows(before: Step, step: Step) -> bool:
    """Whether a delta goes on with the one before it, which then holds both."""
    old, new = before.said, step.said
    if before.type != step.type or {**old, "delta": ""} != {**new, "delta": ""}:
        return False
    old["delta"] = _joined(old["delta"], new["delta"])
    return True


def _joined(old: Any, new: Any) -> Any:
    if isinstance(old, str):
        return old + str(new)
    return {name: old.get(name, "") + new.get(name, "") for name in {**old, **new}}


def _places(events: Sequence[Json]) -> dict[str, str]:
    """A name for each id that a stream gives out: that of its item's place."""
    told = ((event.get("output_index"), event.get("item")) for event in events)
    return {item["id"]: f"item {index}" for index, item in told if isinstance(item, dict) and "id" in item}


def _comparable(event: Json, ids: Mapping[str, str]) -> Json:
    if isinstance(response := event.get("response"), dict):
        return {"response": RESPONSE, **dict.fromkeys(response, RESPONSE)}
    said = {name: value for name, value in event.items() if name not in UNTOLD}
    if event["type"].endswith(".delta"):
        said.pop("logprobs", None)
    made: Json = _named(plain(said), ids)
    return made


def _named(value: Any, ids: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, list):
        return [_named(one, ids) for one in value]
    return {name: _named(one, ids) for name, one in value.items()} if isinstance(value, dict) else value
