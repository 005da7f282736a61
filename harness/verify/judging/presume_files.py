"""Files and vector stores that existed before a recording began, since the API accepted requests that name them.

No rule depends on their content, so empty ones are presumed.
"""

from __future__ import annotations

from harness.contract.check import Violation
from harness.world.world import World

MISSING_FILE_RULES = (
    *("file_not_found", "input_file_not_found", "files_not_found", "vector_store_not_found"),
    *("file_search_store_not_found", "vector_store_file_not_found"),
)
"""Rules about missing files and vector stores; their facts hold the `missing` ids, and the `store` of a file in one."""


def presume_files(world: World, violation: Violation) -> bool:
    """Presume what this violation reports as missing, since the API accepted the request; whether that changes the World."""
    if violation.rule.id not in MISSING_FILE_RULES:
        return False
    uploads, store = world.uploads, violation.facts.get("store", "")
    missing = [id for id in violation.facts["missing"] if not uploads.has_id(id, store)]
    for id in missing:
        uploads.presume(id, store)
    return bool(missing)
