"""One exchange three times: as it was recorded, as the live API answers it now, and as the mock would.

What differs between two honest answers is not compared: ids, times, texts, what a model chose to say, what it cost. Words
of errors, names of members, kinds of values, and the values that the API chooses itself are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from harness.errors import HarnessError
from harness.exchange import Json, Request
from harness.item import from_wire
from harness.judge import MEMBERS, said
from harness.operation import OPERATIONS
from harness.origin import place
from harness.recorded import Recorded
from harness.rule import CREATE
from harness.verify import FINDINGS
from harness.world import World

CHOSEN = frozenset({"type", "object", "status", "role"})
"""Members whose value is compared wherever they stand."""
FREE = re.compile(r"(?:.*_)?(?:id|at)|usage|output_text|metadata")
"""Members of an answer itself whose value is another in each; those below them are compared by their kind."""
NAMES = re.compile(r"(?:.*_)?id|encrypted_content")
"""Members whose value a later request repeats, so that it has to say the new one."""
ANSWER, EVENTS = "answer", "events"
ABSENT = "absent"

Profile = Mapping[str, frozenset[str]]


class Difference(NamedTuple):
    """A place where the live API says otherwise than it did, or than the mock.

    `mock` is which of the two the mock says: live, recording, neither, or both when those two agree against it.
    """

    at: str
    recorded: str
    live: str
    mock: str


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A value with every recorded id replaced by the one that the live API gave in its place, also within texts."""
    if isinstance(value, str):
        return names[value] if value in names else _within(value, names)
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    return {name: renamed(one, names) for name, one in value.items()} if isinstance(value, dict) else value


def _within(text: str, names: Mapping[str, str]) -> str:
    for old in sorted((old for old in names if len(old) > 5 and old in text), key=len, reverse=True):
        text = text.replace(old, names[old])
    return text


def names_of(recorded: Any, live: Any) -> Iterator[tuple[str, str]]:
    """Each id of a recorded answer with the one that stands in its place in the live one; items pair by their type."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        for name in recorded.keys() & live.keys():
            one, other = recorded[name], live[name]
            if NAMES.fullmatch(name) and isinstance(one, str) and isinstance(other, str):
                yield one, other
            yield from names_of(one, other)
    elif isinstance(recorded, list) and isinstance(live, list):
        for kind, several in _by_type(recorded).items():
            for one, other in zip(several, _by_type(live).get(kind, ()), strict=False):
                yield from names_of(one, other)


def ids_in(answer: Any) -> set[str]:
    """The ids that an answer gives out."""
    return {old for old, _ in names_of(answer, answer)}


def _by_type(values: list[Any]) -> Mapping[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for one in values:
        found[str(one.get("type")) if isinstance(one, dict) else ""].append(one)
    return found


def differences(
    recorded: Recorded, live: Recorded, verdicts: tuple[frozenset[str], frozenset[str]], mock: Recorded | None
) -> list[Difference]:
    """Where the two answers differ, and which of them the mock says.

    `verdicts` are the judge's of both, `mock` the mock's answer to the same request where there is one to compare.
    """
    sides = _side(*verdicts)
    if recorded.status and recorded.status != live.status:
        return [Difference("status", _status(recorded), _status(live), sides)]
    if live.status >= 300:
        return [Difference(f"error.{name}", one, other, sides) for name, one, other in _errors(recorded, live)]
    found = list(_shapes(recorded, live, mock))
    wrong = sorted(at for at in verdicts[1] if at in FINDINGS and at not in verdicts[0])
    return found or [Difference(at, "conforms", "does not", "recording") for at in wrong]


def _side(then: frozenset[str], now: frozenset[str]) -> str:
    """Which of the two the mock says, by the judge's verdicts on them."""
    good = ("requests.accepted", "refusals.same")
    agrees = any(at in then for at in good), any(at in now for at in good)
    return {(True, True): "both", (True, False): "recording", (False, True): "live"}.get(agrees, "neither")


def _status(recorded: Recorded) -> str:
    error = _error(recorded).get("message", "")
    return f"{recorded.status} {error}".strip()


def _errors(recorded: Recorded, live: Recorded) -> Iterator[tuple[str, str, str]]:
    then, now = _error(recorded), _error(live)
    for name in MEMBERS:
        if name in then and then[name] != now.get(name):
            yield name, str(then[name]), str(now.get(name, ABSENT))


def _error(recorded: Recorded) -> Json:
    body = recorded.answer if isinstance(recorded.answer, dict) else {}
    error = body.get("error") or body
    return error if isinstance(error, dict) else {}


def _shapes(recorded: Recorded, live: Recorded, mock: Recorded | None) -> Iterator[Difference]:
    then, now = profile(recorded), profile(live)
    third = profile(mock) if mock else {}
    same_items = _kinds(recorded) == _kinds(live)
    for at in sorted(then.keys() | now.keys()):
        if then.get(at) == now.get(at) or not _compared(at, then, now, same_items):
            continue
        one, other = _told(then.get(at)), _told(now.get(at))
        mine = _told(third.get(at))
        side = "" if mock is None else "live" if mine == other else "recording" if mine == one else "neither"
        yield Difference(at, one, other, side)


def _kinds(recorded: Recorded) -> set[str]:
    answer = said(recorded)
    output = answer.get("output") if isinstance(answer, dict) else None
    return {str(item.get("type")) for item in output if isinstance(item, dict)} if isinstance(output, list) else set()


def _compared(at: str, then: Profile, now: Profile, same_items: bool) -> bool:
    """Whether a place tells something: not when what holds it was not said this time, or then."""
    if at in then and at in now:
        return True
    parent = at.rpartition("[" if at.endswith("]") else ".")[0]
    if at.endswith("]"):
        return same_items and parent == EVENTS
    return parent in then and parent in now


def _told(values: frozenset[str] | None) -> str:
    return ABSENT if values is None else ", ".join(sorted(values))


def profile(recorded: Recorded) -> Profile:
    """What of an answer is compared: by the place, without indices, the kinds or values that stand there."""
    found: dict[str, set[str]] = defaultdict(set)
    if recorded.events is None:
        _note(found, ANSWER, recorded.answer, True)
    else:
        _note(found, EVENTS, recorded.events, False)
    return {at: frozenset(values) for at, values in found.items()}


def _note(found: dict[str, set[str]], at: str, value: Any, outer: bool) -> None:
    found[at].add(_kind(value))
    if isinstance(value, list):
        for one in value:
            named = one.get("type", one.get("event", "")) if isinstance(one, dict) else ""
            _note(found, f"{at}[{named}]", one, False)
    elif isinstance(value, dict):
        for name, own in value.items():
            _member(found, f"{at}.{name}", name, own, outer)


def _member(found: dict[str, set[str]], at: str, name: str, own: Any, outer: bool) -> None:
    if name == "metadata":
        found[at].add(_kind(own))
    elif not isinstance(own, dict | list) and (name in CHOSEN or (outer and not FREE.fullmatch(name))):
        found[at].add(repr(own))
    else:
        _note(found, at, own, name == "response" and at.startswith(EVENTS))


def _kind(value: Any) -> str:
    kinds = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return kinds.get(type(value), "an object")


def by_mock(live: Recorded, world: World) -> Recorded | None:
    """The same answer as the mock tells it, which says the same items; None where it has nothing to go by.

    `world` is what the live answers before have left behind.
    """
    final = said(live)
    if live.method != "POST" or place(live.path) != "/responses" or not isinstance(live.request, dict):
        return None
    if not isinstance(final, dict) or final.get("status") != "completed":
        return None
    mine = World("threeway")
    mine.responses, mine.conversations, mine.items = dict(world.responses), {**world.conversations}, dict(world.items)
    try:
        mine.script([from_wire(item) for item in final["output"]])
        request = Request("POST", "/responses", body=live.request, operation=CREATE)
        answer = OPERATIONS[CREATE].handler(request, mine)
    except (HarnessError, KeyError, TypeError):
        return None
    return live._replace(answer=answer.body, events=None if answer.events is None else list(answer.events))
