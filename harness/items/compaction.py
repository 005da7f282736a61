"""What remains of a conversation that has become too long."""

from __future__ import annotations

from harness.core.exchange import Json
from harness.items.kind import item, require_text
from harness.items.stream_grammar import Phase


# The SDK's types know an event that no recorded stream has.
@item("cmp", Phase("compacting", is_written=False), status=False)
def compaction(encrypted_content: str) -> Json:
    """The API puts all that was said before into a ciphertext, which stands for it from now on."""
    return {"encrypted_content": require_text("encrypted_content", encrypted_content)}
