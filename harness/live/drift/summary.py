"""A summary of an answer: what two valid answers to one request have in common.

Ids, times, texts, the model's output and its cost differ from answer to answer. Names of members, kinds of values, and
values that the API chooses itself are in the summary.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from harness.cassettes.format.recorded import Recorded
from harness.live.drift.ids import type_of
from harness.verify.compare import Profile, describe_kind
from harness.verify.judging.rerender import UNORDERED_EVENTS

COMPARED_MEMBERS = frozenset({"type", "object", "status", "role"})
"""Members whose values are in the summary wherever they are."""
IGNORED_MEMBERS = re.compile(r"(?:.*_)?(?:id|at)|usage|output_text|metadata")
"""Members of the answer itself whose values differ each time; the values of its other members are in the summary."""
ANSWER, EVENTS = "answer", "events"
Summary = Mapping[str, frozenset[str]]
"""The kinds or values at each place; a place has types for indices: `answer.output[message].content`."""


def render_values(values: frozenset[str]) -> str:
    """Render the kinds or values at a place, as a difference shows them."""
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
