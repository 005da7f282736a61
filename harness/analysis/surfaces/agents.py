"""Results of openai-agents: a run as it ended, streamed or not, and the events of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.analysis.read_replies import called
from harness.analysis.surfaces.base import Surface, joins, plain, reads, together
from harness.analysis.surfaces.wire import items
from harness.core.exchange import Json


@reads("agents.RunResultBase")
def run(result: Any) -> Surface:
    """All that a run made; what a nested run made is in a result of its own."""
    made = items(_once(result.new_items))
    rest = [
        Surface(usage=response.usage, ids=frozenset({response.response_id or ""})) for response in result.raw_responses
    ]
    return together([made, *rest])


def _once(made: Sequence[Any]) -> list[Json]:
    """The items of a run; one that waits for leave names its call once more, and shows it where it stands alone."""
    told = [(item.type == "tool_approval_item", plain(item.raw_item)) for item in made]
    known = {id for asks, item in told if not asks for id in called(item)}
    return [item for asks, item in told if not asks or known.isdisjoint(called(item))]


@joins("agents.RawResponsesStreamEvent", "agents.RunItemStreamEvent", "agents.AgentUpdatedStreamEvent")
def events(told: Sequence[Any]) -> list[Any]:
    """The events of the API among those of a run."""
    return [event.data for event in told if event.type == "raw_response_event"]
