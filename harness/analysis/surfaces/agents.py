"""Results of openai-agents: a run as it ended, streamed or not, and the events of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.analysis.collect_replies import ids_of_call
from harness.analysis.surfaces.base import Surface, merge_surfaces, register_joiner, register_reader, to_plain_json
from harness.analysis.surfaces.wire import read_items
from harness.core.exchange import Json


@register_reader("agents.RunResultBase")
def read_run(result: Any) -> Surface:
    """All that a run made; what a nested run made is in a result of its own."""
    made = read_items(_unique_items(result.new_items))
    rest = [
        Surface(usage=response.usage, ids=frozenset({response.response_id or ""})) for response in result.raw_responses
    ]
    return merge_surfaces([made, *rest])


def _unique_items(made: Sequence[Any]) -> list[Json]:
    """The items of a run; one that waits for leave names its call once more, and shows it where it stands alone."""
    told = [(item.type == "tool_approval_item", to_plain_json(item.raw_item)) for item in made]
    known = {id for asks, item in told if not asks for id in ids_of_call(item)}
    return [item for asks, item in told if not asks or known.isdisjoint(ids_of_call(item))]


@register_joiner("agents.RawResponsesStreamEvent", "agents.RunItemStreamEvent", "agents.AgentUpdatedStreamEvent")
def join_events(told: Sequence[Any]) -> list[Any]:
    """The events of the API among those of a run."""
    return [event.data for event in told if event.type == "raw_response_event"]
