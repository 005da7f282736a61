"""Every kind of item, as the builder that makes it; importing this registers all of them."""

from harness.items.calls import function_call
from harness.items.message import (
    container_file_citation,
    file_citation,
    file_path,
    message,
    output_text,
    refusal,
    url_citation,
)
from harness.items.reasoning import reasoning

__all__ = [
    "container_file_citation",
    "file_citation",
    "file_path",
    "function_call",
    "message",
    "output_text",
    "reasoning",
    "refusal",
    "url_citation",
]
