"""The parts of `input` that hold files and images, each with its place, and bodies with one part for examples."""

from __future__ import annotations

from collections.abc import Iterator

from harness.core.exchange import Json, Request
from harness.items.transcript import input_items

CHECKED_CHARACTERS = 64
"""Characters of base64 of which the alphabet is checked: a picture is decoded after that, a file is not."""


def body_with_part(part: Json) -> Json:
    """Make the body of an example: a message with a text and this part."""
    return {"input": [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, part]}]}


def file_body(data: str) -> Json:
    """Make the body of an example with a file, given by its data."""
    return body_with_part({"type": "input_file", "filename": "sound.mp3", "file_data": data})


def image_body(url: str) -> Json:
    """Make the body of an example with an image, given by its address or its data URL."""
    return body_with_part({"type": "input_image", "image_url": url})


def _walk_parts(request: Request) -> Iterator[tuple[str, Json]]:
    """Yield the parts of messages and tool outputs with their places, a screenshot included."""
    for index, item in enumerate(input_items(request.body)):
        for holder in ("content", "output"):
            held = item.get(holder)
            if isinstance(held, dict):
                yield f"input[{index}].{holder}", held
            for number, part in enumerate(held if isinstance(held, list) else ()):
                if isinstance(part, dict):
                    yield f"input[{index}].{holder}[{number}]", part


def find_part_texts(request: Request, member: str) -> Iterator[tuple[str, str]]:
    """Yield the strings in a member of the parts of `input`, each with its place; a screenshot counts as a part."""
    for path, part in _walk_parts(request):
        if isinstance(text := part.get(member), str):
            yield f"{path}.{member}", text


def find_data_urls(request: Request, member: str) -> Iterator[tuple[str, str]]:
    """Find the data URLs in a member of the parts of `input`, each with its place."""
    return ((path, text) for path, text in find_part_texts(request, member) if text.startswith("data:"))


def find_parts(request: Request, type: str) -> Iterator[tuple[str, Json]]:
    """Find the parts of this type in messages and tool outputs, each with its place."""
    return ((path, part) for path, part in _walk_parts(request) if part.get("type") == type)


def mime_type(url: str) -> str:
    """Read the type that a data URL declares; empty when it declares no type."""
    return url[len("data:") :].partition(",")[0].partition(";")[0].strip()
