"""Compares a recorded answer with the mock's answer to the same request, with the same output items of the model.

In a stream, the events and their order are compared as well: consecutive deltas of a text count as one event, ids are
matched by their place. A profile selects what is compared in a response. Members that no schema has are drift,
which the judge reports.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from harness.answers.parameters import ITEM_SINCE, PARAMETERS, RESULT_SINCE, parameters_decided_by
from harness.answers.reader import StreamError, strip_volatile
from harness.answers.recorded_stream import read_recorded
from harness.api.http.dialects import AZURE_DIALECTS, FOUNDRY, OPENAI, agent_of
from harness.api.responses import END_EVENTS
from harness.cassettes.format.recorded import Recorded
from harness.contract.call import WorldCall
from harness.contract.check import check, check_answer, conforms_to_schema
from harness.contract.ordered_validator import find_unknown_members
from harness.contract.schema import RESPONSE_EVENT_SCHEMA
from harness.core.errors import HarnessError
from harness.core.exchange import Answer, Json, Request
from harness.core.json_values import map_strings, omit
from harness.core.secret_prefixes import redact, secrets_in_headers
from harness.items.transcript import conversation_id
from harness.verify.compare import ABSENT, Difference, Profile, compare, describe_kind
from harness.verify.judging.circumstances import enter_day, rebuild_request
from harness.verify.judging.mock_answer import (
    find_project_differences,
    find_refusal_differences,
    is_response_request,
    render_mock_answer,
    renderable_response,
)
from harness.verify.judging.streams import judge_response_stream
from harness.verify.judging.unverifiable import explain_edited, has_unrecorded_history
from harness.verify.judging.verdict import Verdict, VerdictKind
from harness.world.world import World

_MEMBERS_BY_DAY = {
    "2025-09-12": ("response.content_filters",),
    "2026-05-06": ("web_search.return_token_budget",),
    "2026-05-28": ("reasoning.context",),
    "2026-06-24": ("web_search.search_content_types", "web_search_preview.search_content_types"),
    "2026-07-03": ("reasoning.mode",),
    "2026-07-13": ("function.output_schema", "object.$schema"),
}
MEMBER_SINCE: Mapping[str, str] = {
    **{name: day for day, names in _MEMBERS_BY_DAY.items() for name in names},
    **{f"{type}.{name}": day for type, members in ITEM_SINCE.items() for name, day in members.items()},
    **{f"response.{name}": day for name, day in RESULT_SINCE.items()},
    **{f"response.{parameter.name}": parameter.since for parameter in PARAMETERS.values()},
}
"""The day since which every recording has a member; the key is the `type` or name of its object, and its name.

Older recordings may lack it, and those of Azure at any time, since members reach Azure region by region.
"""
COMPARABLE_SINCE: Mapping[str, str] = {OPENAI: "2026-04-01", **dict.fromkeys(AZURE_DIALECTS, "2026-08-01")}
"""The day since which a dialect echoes requests as the mock does; for older recordings only names are compared."""
VOLATILE_MEMBERS = frozenset({"id", "created_at", "completed_at", "usage", "model", "tool_usage", "moderation"})
"""Members of a response that differ each time: only the types of their values are compared."""
BILLING_MEMBERS = frozenset({"billing", "content_filters"})
"""Members that depend on the account and are not request parameters."""
IGNORED_VALUE = "…"
"""Stands for a value that is not compared."""
THIS_RESPONSE = "this response"
"""Replaces the id of the response itself, which its items may repeat."""


def make_profile(recorded: Recorded, request: Request, world: World) -> Profile:
    """Build the profile for the recorded answer to this request; `world` remembers the earlier exchanges."""
    day = recorded.date[:10]
    known = "no_request" not in recorded.flags and isinstance(request.body, dict)
    ignored = ignored_members(request, world, day) if known else None
    since = day if recorded.provider == OPENAI else ""  # no day is known for Azure
    return Profile(
        view=lambda response: mask_ignored(response, ignored),
        is_optional=lambda holder, name: since < MEMBER_SINCE.get(f"{holder}.{name}", ""),
    )


def ignored_members(request: Request, world: World, day: str) -> Collection[str] | None:
    """List the members of a response whose values are not compared; None, for recordings that are too old, means all."""
    if day < COMPARABLE_SINCE[request.dialect]:
        return None
    body = request.body
    requested = {name for name, value in body.items() if isinstance(value, bool | int | float | str)} - {"service_tier"}
    names = BILLING_MEMBERS | parameters_decided_by("account")
    if body.get("prompt") or agent_of(request):
        names |= parameters_decided_by("template")
    elif world.models.find(str(body.get("model"))) is None:
        names |= parameters_decided_by("model")
    conversation = conversation_id(body)
    if has_unrecorded_history(body, world) or (conversation and conversation not in world.store.conversations):
        names |= {"tools"}
    return names - requested


def mask_ignored(response: Json, ignored: Collection[str] | None) -> Json:
    """Mask a response for comparison: replace ids with what they refer to, ignored values with IGNORED_VALUE."""
    if ignored is None:
        return dict.fromkeys(response, IGNORED_VALUE)
    ids = {item["id"]: f"item {index}" for index, item in enumerate(response.get("output") or ()) if item.get("id")}
    ids[str(response.get("id"))] = THIS_RESPONSE
    compared = {name: _mask_member(name, value, ignored) for name, value in response.items()}
    masked: Json = map_strings(compared, lambda text: ids.get(text, text))
    return masked


def _mask_member(name: str, value: Any, ignored: Collection[str]) -> Any:
    if name in ignored:
        return IGNORED_VALUE
    return describe_kind(value) if name in VOLATILE_MEMBERS else strip_volatile(value)


UNORDERED_EVENTS = frozenset({"keepalive", "response.rate_limits.updated"})
"""Events that may come anywhere in a stream."""
ITEM_ADDED = "response.output_item.added"
ANNOTATION_ADDED = "response.output_text.annotation.added"
LISTED = "response.mcp_list_tools.completed"
TEXT_DONE = "response.output_text.done"
IGNORED_EVENT_MEMBERS = frozenset({"sequence_number", "obfuscation"})
"""Members that depend on how a text was split into deltas."""
VARYING_ITEM_MEMBERS: Mapping[str, Collection[str]] = {"tool_search_call": {"status", "call_id"}}
"""Members of an added item that vary, by its type; by default its status. Recorded: a message of one delta, every item
of o3-pro and, until 2026-02, the output of a shell are added as completed."""
REASONING_SUMMARY = "response.reasoning_summary"
"""Prefix of summary events, which the API repeats or omits in an incomplete response. Recorded in 2025 and 2026."""
ResponseView = Callable[[Json], Json]
"""Reduces a response to what is compared."""


class ComparedEvent(NamedTuple):
    """An event, or several deltas merged: its place among the events, its type, and the members to compare."""

    place: int
    type: str
    members: Json


def judge_rerendering(recorded: Recorded, world: World | None = None) -> Iterator[Verdict]:
    """Judge one rerendering: `respelled.same`, `.unverifiable`, or a `respelled.different` for each difference.

    `world` remembers the earlier exchanges and is not changed. Nothing is judged unless the recording has a complete
    answer to `POST /responses` with items of known types only.
    """
    world = world or World(recorded.file)
    enter_day(world, recorded)
    found = _find_rendering_differences(recorded, world)
    if found is None:
        return
    if found and (why := explain_edited(recorded)):
        yield Verdict(VerdictKind.RESPELLED_UNVERIFIABLE, {"why": why})
        return
    secrets = secrets_in_headers(recorded.headers) | secrets_in_headers(recorded.answer_headers)
    for place, expected, actual in found:
        entry = redact({"id": recorded.id, "at": place, "recorded": expected, "mock": actual}, secrets)
        yield Verdict(VerdictKind.RESPELLED_DIFFERENT, entry)
    if not found:
        yield Verdict(VerdictKind.RESPELLED_SAME)


def _find_rendering_differences(recorded: Recorded, world: World) -> list[Difference] | None:
    """Find the differences between the answers; None if they cannot be compared."""
    if "transcribed" in recorded.flags:
        return None
    operation, request = rebuild_request(recorded)
    if operation is not None and request.dialect == FOUNDRY and "no_request" not in recorded.flags:
        if 400 <= recorded.status < 500:
            return find_refusal_differences(recorded, request, world)
        if operation.is_project:
            return find_project_differences(recorded, operation, request, world)
    if not 200 <= recorded.status < 300 or not is_response_request(recorded):
        return None
    try:
        final = _recorded_response(recorded)
        return None if final is None else _compare_with_mock(recorded, final, request, world)
    except Exception:
        if _is_well_formed(recorded, request, world):
            raise
        return None  # the mock only handles conforming exchanges; the judge reports why this one is not


def _is_well_formed(recorded: Recorded, request: Request, world: World) -> bool:
    """Return whether the answer, and the request if it is known, of a `POST /responses` conform."""
    if "no_request" not in recorded.flags and not conforms_to_schema(
        call := WorldCall(request, world), check(call).violation
    ):
        return False
    if recorded.events is None:
        return check_answer("Response", recorded.answer, dialect=recorded.provider) is None
    return not judge_response_stream(recorded).findings


def _recorded_response(recorded: Recorded) -> Json | None:
    """Return the recorded response; None if it is incomplete or the mock cannot render it."""
    if recorded.events is None:
        return renderable_response(recorded.answer)
    try:
        final, drift = read_recorded(recorded.events)
    except StreamError:
        return None
    return None if any(finding.rule == "unknown_kind" for finding in drift) else final


def _compare_with_mock(recorded: Recorded, final: Json, request: Request, world: World) -> list[Difference] | None:
    """Compare with the mock's answer; None if the recorded one does not conform, which the judge reports."""
    try:
        mock = render_mock_answer(recorded, final, world)
    except HarnessError as problem:
        if recorded.events is None and check_answer("Response", final, dialect=recorded.provider):
            return None
        at = "output" if recorded.events is None else f"events[{len(recorded.events) - 1}]"
        return [Difference(at, str(final["status"]), str(problem))]
    return list(_compare_answers(recorded, mock, make_profile(recorded, request, world)))


def _compare_answers(recorded: Recorded, mock: Answer, profile: Profile) -> Iterator[Difference]:
    if recorded.events is None and mock.events is None:
        found = compare(recorded.answer, mock.body, profile, "response")
        yield from _drop_unknown_members(found, "Response", recorded.answer)
    elif recorded.events is None or mock.events is None:
        forms = ("JSON" if events is None else "a stream" for events in (recorded.events, mock.events))
        yield Difference("answer", *forms)
    else:
        yield from _compare_streams(recorded.events, mock.events, profile)


def _drop_unknown_members(found: Iterator[Difference], root: str, body: Any) -> Iterator[Difference]:
    """Drop the differences in members that no schema has: these are drift."""
    if differences := list(found):
        unknown = {member.at for member in find_unknown_members(root, body)}
        yield from (difference for difference in differences if difference.at not in unknown)


def _compare_streams(recorded: Sequence[Json], mock: Sequence[Json], profile: Profile) -> Iterator[Difference]:
    """Find the first difference among the events with a response, and the first among the others."""
    reported: set[bool] = set()
    selected = (_select_events(events, profile.view) for events in (recorded, mock))
    viewed = profile._replace(view=Profile().view)  # _select_events has applied it
    for left, right in zip_longest(*selected):
        if left is None or right is None or left.type != right.type:
            at = f"events[{left.place if left else len(recorded)}]"
            yield Difference(at, *(side.type if side else "the end" for side in (left, right)))
            return
        carries = "response" in left.members
        if carries not in reported and (found := list(_compare_events(left, right, viewed, recorded[left.place]))):
            reported.add(carries)
            yield from found


def _compare_events(one: ComparedEvent, other: ComparedEvent, profile: Profile, event: Json) -> Iterator[Difference]:
    found = compare(one.members, other.members, profile)
    for member, *sides in _drop_unknown_members(found, RESPONSE_EVENT_SCHEMA, event):
        texts = (f"no {member}" if value == ABSENT else f"{member} {value}" for value in sides)
        yield Difference(f"events[{one.place}]", *(f"{one.type}: {text}" for text in texts))


def _select_events(events: Sequence[Json], view: ResponseView) -> list[ComparedEvent]:
    """Select the events to compare, up to the terminal one; annotations move to the end of their text."""
    steps: list[ComparedEvent] = []
    notes: list[ComparedEvent] = []
    ids, cut = _label_ids(events), events[-1]["type"] == "response.incomplete"
    for index, event in enumerate(events):
        step = ComparedEvent(index, event["type"], _mask_event(event, ids, view))
        # The API sends these whenever they are ready, and not all of them in an incomplete response.
        if step.type in UNORDERED_EVENTS or (cut and step.type.startswith(REASONING_SUMMARY)):
            continue
        if step.type == ANNOTATION_ADDED:
            notes.append(step)
            continue
        if step.type == TEXT_DONE:
            steps += notes
            notes = []
        # The API splits texts into deltas differently each time; only the whole text is stable.
        if not (step.type.endswith(".delta") and steps and _merge_delta(steps[-1], step)):
            steps.insert(_place_among_listings(steps, step), step)
        if step.type in END_EVENTS:
            break
    return steps


def _place_among_listings(steps: Sequence[ComparedEvent], step: ComparedEvent) -> int:
    """Return the place of a step: last, but the tool lists of several MCP servers, ready in any order, are sorted."""
    place = len(steps)
    while (
        step.type == LISTED
        and steps[place - 1].type == LISTED
        and steps[place - 1].members["output_index"] > step.members["output_index"]
    ):
        place -= 1
    return place


def _merge_delta(before: ComparedEvent, step: ComparedEvent) -> bool:
    """Merge a delta into the previous event if it continues that event; return whether it was merged."""
    old, new = before.members, step.members
    if before.type != step.type or {**old, "delta": ""} != {**new, "delta": ""}:
        return False
    old["delta"] = _join_deltas(old["delta"], new["delta"])
    return True


def _join_deltas(old: Any, new: Any) -> Any:
    if isinstance(old, str):
        return old + str(new)
    return {name: old.get(name, "") + new.get(name, "") for name in {**old, **new}}


def _label_ids(events: Sequence[Json]) -> dict[str, str]:
    """Label each id in a stream: the response's, which items may repeat, and items' with their index."""
    own = (event["response"].get("id") for event in events if isinstance(event.get("response"), dict))
    items = ((event.get("output_index"), event.get("item")) for event in events)
    labels = {item["id"]: f"item {index}" for index, item in items if isinstance(item, dict) and "id" in item}
    return {**labels, **{id: THIS_RESPONSE for id in own if isinstance(id, str)}}


def _mask_event(event: Json, ids: Mapping[str, str], view: ResponseView) -> Json:
    if isinstance(response := event.get("response"), dict):
        return {"response": view(response)}
    members = omit(event, *IGNORED_EVENT_MEMBERS)
    if event["type"].endswith(".delta"):
        members.pop("logprobs", None)
    if event["type"] == ITEM_ADDED:
        varying = VARYING_ITEM_MEMBERS.get(event["item"]["type"], ("status",))
        members["item"] = {name: value for name, value in event["item"].items() if name not in varying}
    labelled: Json = map_strings(strip_volatile(members), lambda text: ids.get(text, text))
    return labelled
