"""What only `/v1/responses` has: statuses, its WebSocket mode, the multi-agent beta, `include`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from harness.core.exchange import Json, Request
from harness.core.json_values import as_object, omit

PENDING_STATUSES = ("queued", "in_progress")
"""The statuses of a response that is not yet complete."""
ENDED_STATUSES = ("completed", "incomplete", "failed")
"""The statuses of a response that has ended by itself, each with an event of that name; not `cancelled`."""
END_EVENTS = tuple(f"response.{status}" for status in ENDED_STATUSES)

UPGRADE = "WS /responses (upgrade)"
SOCKET = "WS /responses"
WARM_UP = "WS /responses (generate: false)"
STEER = "WS /responses (response.steer)"
INJECT = "WS /responses (response.inject)"
"""The operations of a connection: open it, create a response, prepare one, steer one, inject outputs into one."""
CREATE_EVENT, STEER_EVENT = "response.create", "response.steer"
INJECT_EVENT = "response.inject"
"""The event of a client that has requested the multi-agent beta."""
CLIENT_EVENTS = (CREATE_EVENT, STEER_EVENT)
LANE_NAME = re.compile(r"[A-Za-z0-9_.-]{1,256}")
MAX_LANES = 32
"""The maximum number of lanes per connection."""
MAX_AGE = 60 * 60
"""The maximum age of a connection in seconds."""


def requested_lane(body: Any) -> str | None:
    """Return the named lane of a `response.create`; None for the default lane and for an invalid name."""
    lane = body.get("stream_id") if isinstance(body, dict) and body.get("type") == CREATE_EVENT else None
    return lane if isinstance(lane, str) and LANE_NAME.fullmatch(lane) else None


MULTI_AGENT = "multi_agent"
MULTI_AGENT_BETA = "responses_multi_agent=v1"
"""The value in `OpenAI-Beta`, a comma-separated list."""


def has_multi_agent_beta(request: Request) -> bool:
    """Return whether a request, or the upgrade of its connection, asks for the beta."""
    return MULTI_AGENT_BETA in [beta.strip() for beta in request.headers.get("openai-beta", "").split(",")]


def enables_agents(body: Json) -> bool:
    """Return whether a request lets the model spawn agents."""
    settings = body.get(MULTI_AGENT)
    return isinstance(settings, dict) and settings.get("enabled") is True


def omit_agents(request: Request, body: Any) -> Any:
    """Drop the beta's members from a body for validation by the schema: the agents of items."""
    items = as_object(body).get("input")
    if not isinstance(items, list) or not has_multi_agent_beta(request):
        return body
    return {**body, "input": [_omit_agent(item) for item in items]}


def _omit_agent(item: Any) -> Any:
    if not isinstance(item, dict) or "agent" not in item:
        return item
    return omit(item, "agent")


ItemFilter = Callable[[Json, Collection[str]], Json]

FILE_SEARCH_RESULTS = "file_search_call.results"
WEB_SEARCH_SOURCES = "web_search_call.action.sources"
WEB_SEARCH_RESULTS = "web_search_call.results"
CODE_OUTPUTS = "code_interpreter_call.outputs"
LOGPROBS = "message.output_text.logprobs"
INPUT_IMAGES = "message.input_image.image_url"
SCREENSHOTS = "computer_call_output.output.image_url"
INCLUDE_VALUES = (
    FILE_SEARCH_RESULTS,
    WEB_SEARCH_SOURCES,
    WEB_SEARCH_RESULTS,
    CODE_OUTPUTS,
    LOGPROBS,
    INPUT_IMAGES,
    SCREENSHOTS,
)


class FullItem(NamedTuple):
    """An unfiltered item, and the `include` of the request that created it."""

    item: Json
    include: Collection[str]


def filter_item(item: Json, include: Collection[str]) -> Json:
    """Show an item to a request with this `include`; returns the item itself if nothing is hidden."""
    item_filter = _FILTERS.get(item["type"])
    return item_filter(item, include) if item_filter else item


def filter_stored_items(
    items: Sequence[Json], include: Collection[str], full_items: Mapping[str, FullItem]
) -> list[Json]:
    """Show stored items as in a list: with the members included at their creation or by this request."""
    return [_filter_stored_item(item, include, full_items.get(item.get("id", ""))) for item in items]


def filter_page(page: Json, include: Collection[str], full_items: Mapping[str, FullItem]) -> Json:
    """Show a page of items to a request. Recorded: a file that the client sent is shown without its data."""
    return {**page, "data": [_omit_file_data(item) for item in filter_stored_items(page["data"], include, full_items)]}


def _omit_file_data(item: Json) -> Json:
    if not _has_part_member(item, "file_data"):
        return item
    content = [omit(part, "file_data") if isinstance(part, dict) else part for part in item["content"]]
    return {**item, "content": content}


def infer_include(items: Sequence[Json]) -> list[str]:
    """Infer the values of `include` in a request from the items in its answer."""
    return [name for name in INCLUDE_VALUES if any(_is_revealed_by(name, item) for item in items)]


def _is_revealed_by(name: str, item: Json) -> bool:
    return filter_item(item, [name]) != filter_item(filter_item(item, ()), [name])


def _filter_stored_item(item: Json, include: Collection[str], full: FullItem | None) -> Json:
    return filter_item(full.item, {*include, *full.include}) if full else filter_item(item, include)


def _list_filter(member: str, name: str) -> ItemFilter:
    """Make a filter for a member that is null unless included."""

    def filter_list(item: Json, include: Collection[str]) -> Json:
        shown, included = item.get(member), name in include
        return item if included == (shown is not None) else {**item, member: [] if included else None}

    return filter_list


def _filter_web_search(item: Json, include: Collection[str]) -> Json:
    if "results" in item and WEB_SEARCH_RESULTS not in include:
        item = omit(item, "results")
    action = item.get("action")
    if not isinstance(action, dict) or ("sources" in action) == (WEB_SEARCH_SOURCES in include):
        return item
    if WEB_SEARCH_SOURCES in include:
        return {**item, "action": {**action, "sources": []}} if action.get("type") == "search" else item
    return {**item, "action": omit(action, "sources")}


def _filter_message(item: Json, include: Collection[str]) -> Json:
    content = item.get("content")
    if not isinstance(content, list) or not [True for part in content if part.get("logprobs") or part.get("image_url")]:
        return item  # most messages
    hidden = [
        member for member, (name, _) in _PART_MEMBERS.items() if name not in include and _has_part_member(item, member)
    ]
    return {**item, "content": [_blank_members(part, hidden) for part in item["content"]]} if hidden else item


_PART_MEMBERS: Mapping[str, tuple[str, object]] = {"logprobs": (LOGPROBS, []), "image_url": (INPUT_IMAGES, None)}


def _has_part_member(item: Json, member: str) -> bool:
    content = item.get("content")
    if isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get(member):  # not every kind of item has parts in its schema
                return True
    return False


def _blank_members(part: Json, hidden: Sequence[str]) -> Json:
    return {name: _PART_MEMBERS[name][1] if name in hidden and value else value for name, value in part.items()}


def _filter_screenshot(item: Json, include: Collection[str]) -> Json:
    output = item.get("output")
    if SCREENSHOTS in include or not isinstance(output, dict) or not output.get("image_url"):
        return item
    return {**item, "output": {**output, "image_url": None}}


_FILTERS: Mapping[str, ItemFilter] = {
    "file_search_call": _list_filter("results", FILE_SEARCH_RESULTS),
    "web_search_call": _filter_web_search,
    "code_interpreter_call": _list_filter("outputs", CODE_OUTPUTS),
    "message": _filter_message,
    "computer_call_output": _filter_screenshot,
}
