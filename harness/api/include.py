"""Filters items by a request's `include`: results, sources, outputs, logprobs, image URLs.

As recorded, these are null, empty or absent unless included, and present if included, though possibly empty. Reasoning
is not filtered: newer models always return its encrypted content.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from harness.core.exchange import Json

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
"""The values of `include` that have a filter."""


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
    content = [
        {name: value for name, value in part.items() if name != "file_data"} if isinstance(part, dict) else part
        for part in item["content"]
    ]
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
        item = {name: value for name, value in item.items() if name != "results"}
    action = item.get("action")
    if not isinstance(action, dict) or ("sources" in action) == (WEB_SEARCH_SOURCES in include):
        return item
    if WEB_SEARCH_SOURCES in include:
        return {**item, "action": {**action, "sources": []}} if action.get("type") == "search" else item
    return {**item, "action": {name: value for name, value in action.items() if name != "sources"}}


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
