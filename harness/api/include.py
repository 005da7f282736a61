"""What a request's `include` shows of items: results, sources, outputs, logprobs, addresses of images.

As recorded: without it they are null, empty or left out; with it they are there, though maybe empty. Reasoning is left
alone: newer models give its ciphertext unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from harness.core.exchange import Json

Veil = Callable[[Json, Collection[str]], Json]

RESULTS = "file_search_call.results"
SOURCES = "web_search_call.action.sources"
PAGES = "web_search_call.results"
OUTPUTS = "code_interpreter_call.outputs"
LOGPROBS = "message.output_text.logprobs"
IMAGES = "message.input_image.image_url"
SCREENS = "computer_call_output.output.image_url"
NAMES = (RESULTS, SOURCES, PAGES, OUTPUTS, LOGPROBS, IMAGES, SCREENS)
"""The values of `include` that decide about something here."""


class Whole(NamedTuple):
    """An item of which not everything is shown, and what was included when it was made."""

    item: Json
    include: Collection[str]


def veiled(item: Json, include: Collection[str]) -> Json:
    """The item as a request shows it that includes these; itself where nothing of it is hidden."""
    veil = _VEILS.get(item["type"])
    return veil(item, include) if veil else item


def unveiled(items: Sequence[Json], include: Collection[str], wholes: Mapping[str, Whole]) -> list[Json]:
    """Stored items as they are listed: what was included when they were made, and what is now."""
    return [_unveiled(item, include, wholes.get(item.get("id", ""))) for item in items]


def listed(page: Json, include: Collection[str], wholes: Mapping[str, Whole]) -> Json:
    """A list of items as it is shown. Recorded: of a file that was sent, the name stays and the data goes."""
    return {**page, "data": [_without_files(item) for item in unveiled(page["data"], include, wholes)]}


def _without_files(item: Json) -> Json:
    if not _holds(item, "file_data"):
        return item
    kept = [{name: value for name, value in part.items() if name != "file_data"} for part in item["content"]]
    return {**item, "content": kept}


def evident(items: Sequence[Json]) -> list[str]:
    """What must have been included for items to be shown like this."""
    return [name for name in NAMES if any(_reveals(name, item) for item in items)]


def _reveals(name: str, item: Json) -> bool:
    return veiled(item, [name]) != veiled(veiled(item, ()), [name])


def _unveiled(item: Json, include: Collection[str], whole: Whole | None) -> Json:
    return veiled(whole.item, {*include, *whole.include}) if whole else veiled(item, include)


def _member(member: str, name: str) -> Veil:
    """A list that is null unless it is included."""

    def veil(item: Json, include: Collection[str]) -> Json:
        known, asked = item.get(member), name in include
        return item if asked == (known is not None) else {**item, member: [] if asked else None}

    return veil


def _web_search(item: Json, include: Collection[str]) -> Json:
    if "results" in item and PAGES not in include:
        item = {name: value for name, value in item.items() if name != "results"}
    action = item.get("action")
    if not isinstance(action, dict) or ("sources" in action) == (SOURCES in include):
        return item
    if SOURCES in include:
        return {**item, "action": {**action, "sources": []}} if action.get("type") == "search" else item
    return {**item, "action": {name: value for name, value in action.items() if name != "sources"}}


def _message(item: Json, include: Collection[str]) -> Json:
    content = item.get("content")
    if not isinstance(content, list) or not [True for part in content if part.get("logprobs") or part.get("image_url")]:
        return item  # most messages: one look at each part
    hidden = [member for member, (name, _) in _OF_PARTS.items() if name not in include and _holds(item, member)]
    return {**item, "content": [_without(part, hidden) for part in item["content"]]} if hidden else item


_OF_PARTS: Mapping[str, tuple[str, object]] = {"logprobs": (LOGPROBS, []), "image_url": (IMAGES, None)}


def _holds(item: Json, member: str) -> bool:
    content = item.get("content")
    if isinstance(content, list):
        for part in content:
            if part.get(member):
                return True
    return False


def _without(part: Json, hidden: Sequence[str]) -> Json:
    return {name: _OF_PARTS[name][1] if name in hidden and value else value for name, value in part.items()}


def _screen(item: Json, include: Collection[str]) -> Json:
    output = item.get("output")
    if SCREENS in include or not isinstance(output, dict) or not output.get("image_url"):
        return item
    return {**item, "output": {**output, "image_url": None}}


_VEILS: Mapping[str, Veil] = {
    "file_search_call": _member("results", RESULTS),
    "web_search_call": _web_search,
    "code_interpreter_call": _member("outputs", OUTPUTS),
    "message": _message,
    "computer_call_output": _screen,
}
