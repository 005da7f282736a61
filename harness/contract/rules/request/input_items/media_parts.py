"""The parts of `input` that contain files and images, with their places, and example bodies with one part."""

from __future__ import annotations

from collections.abc import Iterator

from harness.core.exchange import Json, Request
from harness.items.transcript import input_items

CHECKED_CHARACTERS = 64
"""How many characters of base64 are checked for their alphabet; images are then decoded, files are not."""


def body_with_part(part: Json) -> Json:
    """Make an example body: a message with a text and this part."""
    return {"input": [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, part]}]}


def file_body(data: str) -> Json:
    """Make an example body with a file, given its data."""
    return body_with_part({"type": "input_file", "filename": "sound.mp3", "file_data": data})


def image_body(url: str) -> Json:
    """Make an example body with an image, given its URL or data URL."""
    return body_with_part({"type": "input_image", "image_url": url})


def _walk_parts(request: Request) -> Iterator[tuple[str, Json]]:
    """Yield the parts of messages and tool outputs with their places, including screenshots."""
    for index, item in enumerate(input_items(request.body)):
        for holder in ("content", "output"):
            held = item.get(holder)
            if isinstance(held, dict):
                yield f"input[{index}].{holder}", held
            for number, part in enumerate(held if isinstance(held, list) else ()):
                if isinstance(part, dict):
                    yield f"input[{index}].{holder}[{number}]", part


def find_part_texts(request: Request, member: str) -> Iterator[tuple[str, str]]:
    """Yield the strings in a member of the parts of `input`, with their places; a screenshot counts as a part."""
    for path, part in _walk_parts(request):
        if isinstance(text := part.get(member), str):
            yield f"{path}.{member}", text


def find_data_urls(request: Request, member: str) -> Iterator[tuple[str, str]]:
    """Return the data URLs in a member of the parts of `input`, with their places."""
    return ((path, text) for path, text in find_part_texts(request, member) if text.startswith("data:"))


def find_parts(request: Request, type: str) -> Iterator[tuple[str, Json]]:
    """Return the parts of this type in messages and tool outputs, with their places."""
    return ((path, part) for path, part in _walk_parts(request) if part.get("type") == type)


def mime_type(url: str) -> str:
    """Return the type that a data URL declares; empty if it declares none."""
    return url[len("data:") :].partition(",")[0].partition(";")[0].strip()
