"""One exchange three times: as it was recorded, as the live API answers it now, and as the mock would.

What differs between two honest answers is not compared: ids, times, texts, what a model chose to say, what it cost. Words
of errors, names of members, kinds of values, and the values that the API chooses itself are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from harness.cassettes.format.recorded import Recorded
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.verify.compare import ABSENT, ERROR, Profile, compare, describe_kind, map_strings, select_error_members
from harness.verify.judging.judge import answer_object
from harness.verify.judging.mock_answer import is_response_request, render_mock_answer, renderable_response
from harness.verify.judging.rerender import UNORDERED_EVENTS
from harness.verify.judging.unverifiable import ACCOUNT_STATUSES
from harness.verify.run import FINDING_VERDICTS
from harness.world.world import World

COMPARED_MEMBERS = frozenset({"type", "object", "status", "role"})
"""Members whose value is compared wherever they stand."""
IGNORED_MEMBERS = re.compile(r"(?:.*_)?(?:id|at)|usage|output_text|metadata")
"""Members of an answer itself whose value is another in each; those below them are compared by their kind."""
ID_MEMBERS = re.compile(r"(?:.*_)?id|encrypted_content")
"""Members whose value a later request repeats, so that it has to say the new one."""
ANSWER, EVENTS = "answer", "events"

MODEL_OUTPUT_PLACES = re.compile(r"answer\.output\[|events\[[^]]*\]\.(?:item|part|annotation|response\.output\[)")
"""Where the mock's answer repeats what the model has said."""
MODEL_GONE_CODES = ("model_not_found", "DeploymentNotFound")
"""Codes of errors about a model that is not there."""
TRANSIENT_CODES = ("server_error", "rate_limit_exceeded", "vector_store_timeout", "websocket_connection_limit_reached")
"""Codes of errors that say nothing about the request; the last one ends a connection after its hour."""

Summary = Mapping[str, frozenset[str]]
"""What of an answer is compared: by the place, without indices, the kinds or values that stand there."""
Verdicts = Mapping[str, Sequence[Json | None]]
"""What the judge says of an exchange: by the name of each verdict what it is about."""


class DriftDifference(NamedTuple):
    """A place where the live API says otherwise than it did, or than the mock.

    `mock` is which of the two the mock says: live, recording, neither, or both when those two agree against it.
    """

    at: str
    recorded: str
    live: str
    mock: str


def translate_ids(value: Any, names: Mapping[str, str]) -> Any:
    """A value with every recorded id replaced by the one that the live API gave in its place, also within texts."""
    return map_strings(value, lambda text: names[text] if text in names else _translate_text(text, names))


def _translate_text(text: str, names: Mapping[str, str]) -> str:
    for old in sorted((old for old in names if len(old) > 5 and old in text), key=len, reverse=True):
        text = text.replace(old, names[old])
    return text


def pair_ids(recorded: Any, live: Any) -> Iterator[tuple[str, str]]:
    """Each id of a recorded answer with the one that stands in its place in the live one; items pair by their type."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        for name in recorded.keys() & live.keys():
            one, other = recorded[name], live[name]
            if ID_MEMBERS.fullmatch(name) and isinstance(one, str) and isinstance(other, str):
                yield one, other
            yield from pair_ids(one, other)
    elif isinstance(recorded, list) and isinstance(live, list):
        for kind, several in _group_by_type(recorded).items():
            for one, other in zip(several, _group_by_type(live).get(kind, ()), strict=False):
                yield from pair_ids(one, other)


def ids_in(answer: Any) -> set[str]:
    """The ids that an answer gives out."""
    return {old for old, _ in pair_ids(answer, answer)}


def _group_by_type(values: list[Any]) -> Mapping[Any, list[Any]]:
    found: dict[Any, list[Any]] = defaultdict(list)
    for one in values:
        found[_type_of(one)].append(one)
    return found


def find_transient(recorded: Recorded) -> str:
    """What of an answer is about the account or the hour: its status, or the code of its error; empty when nothing is."""
    if recorded.status in ACCOUNT_STATUSES or recorded.status >= 500:
        return str(recorded.status)
    answer = answer_object(recorded)
    failed = [answer.get("error"), answer.get("last_error")] if isinstance(answer, dict) else []
    told = [_error_object(event) for event in recorded.events or () if _type_of(event) == "error"]
    codes = [error.get("code") for error in (*failed, *told) if isinstance(error, dict)]
    return next((code for code in TRANSIENT_CODES if code in codes), "")


def compare_answers(
    recorded: Recorded, live: Recorded, verdicts: tuple[Verdicts, Verdicts], mock: Recorded | None
) -> list[DriftDifference]:
    """Where the two answers differ, and which of them the mock says.

    `verdicts` are the judge's of both, `mock` the mock's answer to the same request where there is one to compare.
    """
    sides = _side_of_mock(*verdicts)
    error = _error_object(live.answer)
    if error.get("code") in MODEL_GONE_CODES and error.get("code") != _error_object(recorded.answer).get("code"):
        model = live.request.get("model") if isinstance(live.request, dict) else None
        return [DriftDifference("model", str(model), _status_line(live), "")]
    if recorded.status and recorded.status != live.status:
        return [DriftDifference("status", _status_line(recorded), _status_line(live), sides)]
    if live.status >= 300:
        errors = [select_error_members(_error_object(one.answer)) for one in (recorded, live)]
        found = compare(errors[0], errors[1], ERROR)
        return [DriftDifference(f"error.{at}", one, other, sides) for at, one, other in found]
    return list(_compare_summaries(recorded, live, mock, verdicts)) or list(_new_findings(*verdicts))


def _new_findings(then: Verdicts, now: Verdicts) -> Iterator[DriftDifference]:
    """What the judge holds against the live answer, of a kind that it does not hold against the recorded one."""
    for at in sorted(now.keys() & set(FINDING_VERDICTS) - then.keys()):
        for told in (entry or {} for entry in now[at]):
            yield DriftDifference(told.get("at") or at, "conforms", told.get("message") or "does not", "recording")


def _side_of_mock(then: Verdicts, now: Verdicts) -> str:
    """Which of the two the mock says, by the judge's verdicts on them."""
    good = ("requests.accepted", "refusals.same")
    agrees = any(at in then for at in good), any(at in now for at in good)
    return {(True, True): "both", (True, False): "recording", (False, True): "live"}.get(agrees, "neither")


def _status_line(recorded: Recorded) -> str:
    error = _error_object(recorded.answer).get("message", "")
    return f"{recorded.status} {error}".strip()


def _error_object(told: Any) -> Json:
    """The error that an answer or an event is."""
    error = (told.get("error") or told) if isinstance(told, dict) else {}
    return error if isinstance(error, dict) else {}


def _compare_summaries(
    recorded: Recorded, live: Recorded, mock: Recorded | None, verdicts: tuple[Verdicts, Verdicts]
) -> Iterator[DriftDifference]:
    then, now = summarize_answer(recorded), summarize_answer(live)
    third = summarize_answer(mock) if mock else {}
    same_items = _output_types(recorded) == _output_types(live)
    for at, one, other in sorted(compare(then, now, SUMMARY)):
        if not _is_compared(at, then, now, same_items):
            continue
        mine = _render_values(third[at]) if at in third else ABSENT
        by_itself = "live" if mine == other else "recording" if mine == one else "neither"
        by_form = mock is None or MODEL_OUTPUT_PLACES.match(at)
        yield DriftDifference(at, one, other, _side_by_form(at, *verdicts) if by_form else by_itself)


def _side_by_form(at: str, then: Verdicts, now: Verdicts) -> str:
    """Which of two forms the mock knows, where it tells no answer of its own; empty when that is both, or none."""
    name = at.rpartition(".")[2].partition("[")[0]
    return {(True, False): "live", (False, True): "recording"}.get(
        (_has_fault_at(then, name), _has_fault_at(now, name)), ""
    )


def _has_fault_at(verdicts: Verdicts, name: str) -> bool:
    """Whether the judge finds fault with a member of this name, or knows no such member."""
    entries = (entry for at in verdicts if at.endswith((".findings", ".drift")) for entry in verdicts[at])
    return any(name in re.split(r"[.\[\]]", entry["at"]) for entry in entries if entry)


def _output_types(recorded: Recorded) -> set[str]:
    answer = answer_object(recorded)
    output = answer.get("output") if isinstance(answer, dict) else None
    return {str(item.get("type")) for item in output if isinstance(item, dict)} if isinstance(output, list) else set()


def _is_compared(at: str, then: Summary, now: Summary, same_items: bool) -> bool:
    """Whether a place tells something: not when what holds it was not said this time, or then."""
    if at in then and at in now:
        return True
    parent = at.rpartition("[" if at.endswith("]") else ".")[0]
    if at.endswith("]"):
        return same_items and parent == EVENTS
    return parent in then and parent in now


def _render_values(values: frozenset[str]) -> str:
    return ", ".join(sorted(values))


SUMMARY = Profile(render=_render_values)


def summarize_answer(recorded: Recorded) -> Summary:
    """What of an answer is compared: kinds of values, and the values of COMPARED_MEMBERS and of the answer's own members."""
    found: dict[str, set[str]] = defaultdict(set)
    if recorded.events is None:
        _add_value(found, ANSWER, recorded.answer, True)
    else:
        _add_value(found, EVENTS, [one for one in recorded.events if _type_of(one) not in UNORDERED_EVENTS], False)
    return {at: frozenset(values) for at, values in found.items()}


def _type_of(one: Any) -> str:
    """What one of several is: an item or an event by its type, an event of a run by its name."""
    return str(one.get("type", one.get("event", ""))) if isinstance(one, dict) else ""


def _add_value(found: dict[str, set[str]], at: str, value: Any, outer: bool) -> None:
    found[at].add(describe_kind(value))
    if isinstance(value, list):
        for one in value:
            _add_value(found, f"{at}[{_type_of(one)}]", one, False)
    elif isinstance(value, dict):
        for name, own in value.items():
            _add_member(found, f"{at}.{name}", name, own, outer)


def _add_member(found: dict[str, set[str]], at: str, name: str, own: Any, outer: bool) -> None:
    if name == "metadata":
        found[at].add(describe_kind(own))
    elif not isinstance(own, dict | list) and (
        name in COMPARED_MEMBERS or (outer and not IGNORED_MEMBERS.fullmatch(name))
    ):
        found[at].add(repr(own))
    else:
        _add_value(found, at, own, name == "response" and at.startswith(EVENTS))


def render_by_mock(live: Recorded, world: World) -> Recorded | None:
    """The same answer as the mock tells it, which says the same items; None where it has nothing to go by.

    `world` is what the live answers before have left behind.
    """
    final = renderable_response(answer_object(live))
    if final is None or not is_response_request(live) or final["status"] != "completed":
        return None
    try:
        answer = render_mock_answer(live._replace(events=None), final, world)
    except HarnessError:
        return None
    return live._replace(answer=answer.body, events=None if answer.events is None else list(answer.events))
