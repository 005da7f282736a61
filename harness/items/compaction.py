"""The compaction of a conversation."""

from __future__ import annotations

from harness.core.exchange import Json
from harness.items.kind import item, require_text
from harness.items.stream_grammar import Phase


# The SDK's types have an event that no recorded stream has.
@item("cmp", Phase("compacting", is_written=False), status=False)
def compaction(encrypted_content: str) -> Json:
    """The API replaces all earlier items by their encrypted compaction."""
    return {"encrypted_content": require_text("encrypted_content", encrypted_content)}
