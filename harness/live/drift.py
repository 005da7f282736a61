"""Compares three answers to one request: the recorded one, the live API's current one, and the mock's.

Errors are compared by their members, other answers by their summaries, which have what two valid answers to one request
have in common: names of members, types of values, and values that the API itself chooses. Ids, times, texts, the
model's output and its cost differ from answer to answer.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from harness.cassettes.format.recorded import Recorded
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.json_values import as_object, map_strings, objects_in
from harness.verify.compare import ABSENT, ERROR, Profile, compare, describe_kind, select_error_members
from harness.verify.judging.judge import answer_object
from harness.verify.judging.mock_answer import is_response_request, render_mock_answer, renderable_response
from harness.verify.judging.rerender import UNORDERED_EVENTS
from harness.verify.judging.unverifiable import ACCOUNT_STATUSES
from harness.verify.judging.verdict import AGREEMENTS, DRIFTS, FINDINGS, VerdictKind
from harness.world.world import World

ID_MEMBERS = re.compile(r"(?:.*_)?id|encrypted_content")
"""Matches members whose values later requests may repeat."""


def translate_ids(value: Any, live_ids: Mapping[str, str]) -> Any:
    """Replace the recorded ids in a JSON value with live ones, also within longer strings."""
    return map_strings(value, lambda text: live_ids[text] if text in live_ids else _translate_text(text, live_ids))


def _translate_text(text: str, live_ids: Mapping[str, str]) -> str:
    for id in sorted((id for id in live_ids if len(id) > 5 and id in text), key=len, reverse=True):
        text = text.replace(id, live_ids[id])
    return text


def pair_ids(recorded: Any, live: Any) -> Iterator[tuple[str, str]]:
    """Yield each id in a recorded answer with the id in the same place of the live one; items are paired by type."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        for name in recorded.keys() & live.keys():
            before, after = recorded[name], live[name]
            if ID_MEMBERS.fullmatch(name) and isinstance(before, str) and isinstance(after, str):
                yield before, after
            yield from pair_ids(before, after)
    elif isinstance(recorded, list) and isinstance(live, list):
        for type, items in _group_by_type(recorded).items():
            for before, after in zip(items, _group_by_type(live).get(type, ()), strict=False):
                yield from pair_ids(before, after)


def ids_in(answer: Any) -> set[str]:
    """Collect the ids in an answer."""
    return {id for id, _ in pair_ids(answer, answer)}


def type_of(value: Any) -> str:
    """Return the type of an item or event; for an event of a run, its name."""
    return str(value.get("type", value.get("event", ""))) if isinstance(value, dict) else ""


def _group_by_type(values: list[Any]) -> Mapping[str, list[Any]]:
    grouped: dict[str, list[Any]] = defaultdict(list)
    for value in values:
        grouped[type_of(value)].append(value)
    return grouped


COMPARED_MEMBERS = frozenset({"type", "object", "status", "role"})
"""Members whose values are in the summary wherever they are."""
IGNORED_MEMBERS = re.compile(r"(?:.*_)?(?:id|at)|usage|output_text|metadata")
"""Top-level members of an answer whose values differ each time; the values of the others are in the summary."""
ANSWER, EVENTS = "answer", "events"
Summary = Mapping[str, frozenset[str]]
"""The types or values at each place; places have types instead of indexes: `answer.output[message].content`."""


def render_values(values: frozenset[str]) -> str:
    """Render the types or values at a place for a difference."""
    return ", ".join(sorted(values))


SUMMARY = Profile(render=render_values)


def summarize_answer(recorded: Recorded) -> Summary:
    """Summarize an answer or the events of a stream."""
    found: dict[str, set[str]] = defaultdict(set)
    if recorded.events is None:
        _add_value(found, ANSWER, recorded.answer, True)
    else:
        events = [event for event in recorded.events if type_of(event) not in UNORDERED_EVENTS]
        _add_value(found, EVENTS, events, False)
    return {place: frozenset(values) for place, values in found.items()}


def _add_value(found: dict[str, set[str]], at: str, value: Any, outer: bool) -> None:
    found[at].add(describe_kind(value))
    if isinstance(value, list):
        for element in value:
            _add_value(found, f"{at}[{type_of(element)}]", element, False)
    elif isinstance(value, dict):
        for name, member in value.items():
            _add_member(found, f"{at}.{name}", name, member, outer)


def _add_member(found: dict[str, set[str]], at: str, name: str, value: Any, outer: bool) -> None:
    if name == "metadata":
        found[at].add(describe_kind(value))
    elif not isinstance(value, dict | list) and (
        name in COMPARED_MEMBERS or (outer and not IGNORED_MEMBERS.fullmatch(name))
    ):
        found[at].add(repr(value))
    else:
        _add_value(found, at, value, name == "response" and at.startswith(EVENTS))


MODEL_OUTPUT_PLACES = re.compile(r"answer\.output\[|events\[[^]]*\]\.(?:item|part|annotation|response\.output\[)")
"""Matches places in the model's output, which the mock copies from the live answer."""
_ITEM_OF_EVENT = re.compile(r"events\[[^]]*\]\.item\b")
MODEL_GONE_CODES = ("model_not_found", "DeploymentNotFound")
"""Codes of errors about a missing model."""
TRANSIENT_CODES = ("server_error", "rate_limit_exceeded", "vector_store_timeout", "websocket_connection_limit_reached")
"""Codes of errors that have nothing to do with the request; the last one ends a WebSocket after an hour."""

Verdicts = Mapping[VerdictKind, Sequence[Json | None]]


class DriftDifference(NamedTuple):
    """A place where the live answer differs from the recorded one.

    `mock` is the side that the mock agrees with: live, recording, neither or both; empty if unknown.
    """

    at: str
    recorded: str
    live: str
    mock: str


def find_transient(recorded: Recorded) -> str:
    """Return the status or error code of an answer that depends on the account or the time; empty for other answers."""
    if recorded.status in ACCOUNT_STATUSES or recorded.status >= 500:
        return str(recorded.status)
    answer = as_object(answer_object(recorded))
    reported = (_error_object(event) for event in recorded.events or () if type_of(event) == "error")
    codes = [as_object(error).get("code") for error in (answer.get("error"), answer.get("last_error"), *reported)]
    return next((code for code in TRANSIENT_CODES if code in codes), "")


def compare_answers(
    recorded: Recorded, live: Recorded, verdicts: tuple[Verdicts, Verdicts], mock: Recorded | None
) -> list[DriftDifference]:
    """Compare two answers; return the differences, each with the side that the mock agrees with.

    `verdicts` are those on the recorded and the live answer, `mock` is the mock's answer to the same request, if any.
    """
    side = _side_of_mock(*verdicts)
    error = _error_object(live.answer)
    if error.get("code") in MODEL_GONE_CODES and error.get("code") != _error_object(recorded.answer).get("code"):
        return [DriftDifference("model", str(as_object(live.request).get("model")), _status_line(live), "")]
    if recorded.status and recorded.status != live.status:
        return [DriftDifference("status", _status_line(recorded), _status_line(live), side)]
    if live.status >= 300:
        errors = [select_error_members(_error_object(exchange.answer)) for exchange in (recorded, live)]
        found = compare(errors[0], errors[1], ERROR)
        return [DriftDifference(f"error.{place}", was, became, side) for place, was, became in found]
    return list(_compare_summaries(recorded, live, mock, verdicts)) or list(_new_findings(*verdicts))


def _new_findings(then: Verdicts, now: Verdicts) -> Iterator[DriftDifference]:
    """Yield the findings about the live answer whose kind the recorded one does not have."""
    for kind in sorted(now.keys() & set(FINDINGS) - then.keys()):
        for entry in (entry or {} for entry in now[kind]):
            yield DriftDifference(
                entry.get("at") or kind.value, "conforms", entry.get("message") or "does not", "recording"
            )


def _side_of_mock(then: Verdicts, now: Verdicts) -> str:
    """Return the answers that the mock agrees with, according to their verdicts."""
    agrees = any(kind in then for kind in AGREEMENTS), any(kind in now for kind in AGREEMENTS)
    return {(True, True): "both", (True, False): "recording", (False, True): "live"}.get(agrees, "neither")


def _status_line(recorded: Recorded) -> str:
    error = _error_object(recorded.answer).get("message", "")
    return f"{recorded.status} {error}".strip()


def _error_object(value: Any) -> Json:
    """Return the error object of an answer or an event; the value itself if it has no `error`."""
    return as_object(as_object(value).get("error") or value)


def _compare_summaries(
    recorded: Recorded, live: Recorded, mock: Recorded | None, verdicts: tuple[Verdicts, Verdicts]
) -> Iterator[DriftDifference]:
    then, now = summarize_answer(recorded), summarize_answer(live)
    third = summarize_answer(mock) if mock else {}
    same_items = _output_types(recorded) == _output_types(live)
    for place, was, became in sorted(compare(then, now, SUMMARY)):
        if not _is_compared(place, then, now, same_items):
            continue
        mocked = render_values(third[place]) if place in third else ABSENT
        by_itself = "live" if mocked == became else "recording" if mocked == was else "neither"
        by_form = mock is None or MODEL_OUTPUT_PLACES.match(place)
        yield DriftDifference(place, was, became, _side_by_form(place, *verdicts) if by_form else by_itself)


def _side_by_form(at: str, then: Verdicts, now: Verdicts) -> str:
    """Return the side of the mock if it has no answer of its own: the conforming side, if only one conforms."""
    name = at.rpartition(".")[2].partition("[")[0]
    return {(True, False): "live", (False, True): "recording"}.get(
        (_has_fault_at(then, name), _has_fault_at(now, name)), ""
    )


def _has_fault_at(verdicts: Verdicts, name: str) -> bool:
    """Return whether a finding or drift concerns a member with this name."""
    kinds = (VerdictKind.ANSWER_FINDING, VerdictKind.STREAM_FINDING, *DRIFTS, VerdictKind.REFUSAL_DRIFT)
    entries = (entry for kind in kinds for entry in verdicts.get(kind, ()))
    return any(name in re.split(r"[.\[\]]", entry["at"]) for entry in entries if entry)


def _output_types(recorded: Recorded) -> set[str]:
    return {str(item.get("type")) for item in objects_in(as_object(answer_object(recorded)).get("output"))}


def _is_compared(at: str, then: Summary, now: Summary, same_items: bool) -> bool:
    """Return whether a difference at a place matters; it does not if only one answer has the object around it."""
    if _ITEM_OF_EVENT.match(at) and not same_items:
        return False
    if at in then and at in now:
        return True
    parent = at.rpartition("[" if at.endswith("]") else ".")[0]
    if at.endswith("]"):
        # Other events mean something only if the model's output is alike.
        return same_items and parent == EVENTS
    return parent in then and parent in now


def render_by_mock(live: Recorded, world: World) -> Recorded | None:
    """Render the mock's answer to the same request with the same items, after the live answers in `world`, or None."""
    final = renderable_response(answer_object(live))
    if final is None or not is_response_request(live) or final["status"] != "completed":
        return None
    try:
        answer = render_mock_answer(live._replace(events=None), final, world)
    except HarnessError:
        return None
    return live._replace(answer=answer.body, events=None if answer.events is None else list(answer.events))
