"""The smallest inputs with an item of each type, declared next to it; a server must accept each of them."""

from collections.abc import Mapping
from typing import Any

from harness.core.exchange import Json

Examples = Mapping[str, list[Json]]
"""Values of `input` by the name of the example."""

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)
"""An image of one pixel."""
PDF = (
    "data:application/pdf;base64,JVBERi0xLjQKMSAwIG9iago8PC9UeXBlL0NhdGFsb2cvUGFnZXMgMiAwIFI+PgplbmRvYmoKMiAwIG9iago8PC9U"
    "eXBlL1BhZ2VzL0tpZHNbMyAwIFJdL0NvdW50IDE+PgplbmRvYmoKMyAwIG9iago8PC9UeXBlL1BhZ2UvUGFyZW50IDIgMCBSL01lZGlhQm94WzAg"
    "MCA5IDldPj4KZW5kb2JqCnRyYWlsZXI8PC9Sb290IDEgMCBSPj4="
)
"""A document of one empty page."""
FIRST_MESSAGE: Json = {"role": "user", "content": "Ship v2."}
NEXT_MESSAGE: Json = {"role": "user", "content": "And now?"}


def typed(type: str, **members: Any) -> Json:
    """Make an item, part or tool of this type."""
    return {"type": type, **members}


def after_message(*items: Json) -> list[Json]:
    """Make an input that begins with a user message."""
    return [FIRST_MESSAGE, *items]


def between_messages(*items: Json) -> list[Json]:
    """Make an input that begins and ends with a user message."""
    return [FIRST_MESSAGE, *items, NEXT_MESSAGE]
