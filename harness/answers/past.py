"""What the answers of an earlier day lack or say otherwise: members that came later, defaults that changed.

Read from recorded answers of 2025-03 to 2026-10. What a request asks for is echoed on every day.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.answers.parameters import PARAMETERS
from harness.api.models import Model
from harness.core.exchange import Json

ALWAYS_READ = ("background", "service_tier")
"""Parameters of a response that are kept on every day, since what makes the response reads them."""
IN_MEMORY_SINCE = "2026-04-18"
"""The day from which an answer names the retention of its cache: null the day before, of any model that was there."""
INNER_SINCE: Mapping[str, Mapping[str, str]] = {
    "reasoning": {"context": "2026-05-28", "mode": "2026-06-30"},
    "text": {"verbosity": "2025-08-07"},
}
"""The first recorded day of a member of an echoed object."""
NEWEST_CHANGE = max(
    IN_MEMORY_SINCE,
    *(known.since for known in PARAMETERS.values()),
    *(day for members in INNER_SINCE.values() for day in members.values()),
)
"""The day from which on answers are as they are now, but for the models whose own defaults changed later."""


def apply_day(response: Json, body: Json, family: Model, day: str) -> None:
    """Change a response that began, in place, to one of this day (YYYY-MM-DD)."""
    if day >= NEWEST_CHANGE and day >= family.retention_since:
        return
    if body.get("prompt_cache_retention") is None:
        response["prompt_cache_retention"] = default_retention(family, day)
    for name, known in PARAMETERS.items():
        if day < known.since and name not in ALWAYS_READ and body.get(name) is None:
            response.pop(name, None)
    for name, members in INNER_SINCE.items():
        asked = body.get(name) or {}
        late = {member for member, since in members.items() if day < since and not asked.get(member)}
        if late and isinstance(response.get(name), dict):
            response[name] = {member: value for member, value in response[name].items() if member not in late}


def default_retention(family: Model, day: str) -> str | None:
    """The `prompt_cache_retention` of an answer on this day to a request without it."""
    if day < IN_MEMORY_SINCE:
        return None
    return family.retention if family.retention_since <= day else "in_memory"
