"""Reads results of openai-agents: finished runs, streamed or not, and the events of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.analysis.collect_replies import ids_of_call
from harness.analysis.surfaces.base import Surface, merge_surfaces, register_joiner, register_reader, to_plain_json
from harness.analysis.surfaces.wire import read_items
from harness.core.exchange import Json


@register_reader("agents.RunResultBase")
def read_run(result: Any) -> Surface:
    """Read the surface of a run without its nested runs, which have results of their own."""
    made = read_items(_unique_items(result.new_items))
    rest = [
        Surface(usage=response.usage, ids=frozenset({response.response_id or ""})) for response in result.raw_responses
    ]
    return merge_surfaces([made, *rest])


def _unique_items(run_items: Sequence[Any]) -> list[Json]:
    """List the items of a run; an approval request repeats its call and counts only if the call is missing."""
    items = [(item.type == "tool_approval_item", to_plain_json(item.raw_item)) for item in run_items]
    known = {id for is_approval, item in items if not is_approval for id in ids_of_call(item)}
    return [item for is_approval, item in items if not is_approval or known.isdisjoint(ids_of_call(item))]


@register_joiner("agents.RawResponsesStreamEvent", "agents.RunItemStreamEvent", "agents.AgentUpdatedStreamEvent")
def join_events(events: Sequence[Any]) -> list[Any]:
    """Extract the API's events from the events of a run."""
    return [event.data for event in events if event.type == "raw_response_event"]
