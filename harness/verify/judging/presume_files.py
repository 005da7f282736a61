"""What a recording shows to have been there before it began: the files and vector stores that taken requests name.

Nothing in the way they are used depends on what is in them, so an empty one will do.
"""

from __future__ import annotations

from harness.contract.check import Violation
from harness.world.world import World

MISSING_FILE_RULES = (
    *("file_not_found", "input_file_not_found", "files_not_found", "vector_store_not_found"),
    *("file_search_store_not_found", "vector_store_file_not_found"),
)
"""The rules that say so of a file or a vector store; their facts hold the `missing` ids, maybe the `store` around them."""


def presume_files(world: World, violation: Violation) -> bool:
    """Take what the mock misses to be there, since the API took the request; whether that changes anything."""
    if violation.rule.id not in MISSING_FILE_RULES:
        return False
    uploads, store = world.uploads, violation.facts.get("store", "")
    missing = [id for id in violation.facts["missing"] if not uploads.has_id(id, store)]
    for id in missing:
        uploads.presume(id, store)
    return bool(missing)
