"""Detects answers that are not as the API sent them, because they were written or edited by hand.

Each sign is a contradiction within the recording. Errors in such an answer count neither against the mock nor against
the API. A gateway may use any ids and times, so errors in its answers remain findings.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from harness.api.http.dialects import is_host_hidden, path_below_root, provider_of_host
from harness.api.project_types import RESPONSE_PREFIXES
from harness.cassettes.format.recorded import Recorded
from harness.core.exchange import Json

MADE_UP = "the ids or times of the answer are made up"

MAX_DELAY = 600
"""The maximum difference in seconds between the time in the id of a response and its `created_at`; recorded: 34."""
MAX_AGE = 2 * 86_400
"""The maximum difference in seconds between the recorder's day and the `created_at` of a new response."""
_DAY_LENGTH = len("YYYY-MM-DD")
_CLOCK_TIME = re.compile(r".{10}[T ](?!00:00:00)\d")
"""Matches a date with a time of day: a date alone, or midnight, was not read from a clock."""
_STAMPED_ID = re.compile(r"resp_(?:[0-9a-f]{18}([0-9a-f]{8})[0-9a-f]{24}|([0-9a-f]{8})[0-9a-f]{40})")
"""Matches a response id: the second of its creation follows 18 digits; until 2025-10 it came first."""
_ITEM_ID = re.compile(r"[a-z]+_[0-9A-Za-z]{16,}")
_MASK = re.compile(r"REDACTED|SANITIZED", re.IGNORECASE)
_ID_PREFIXES = {"response": RESPONSE_PREFIXES, "conversation": ("conv_",)}


def explain_edited(recorded: Recorded) -> str:
    """Explain why the answer of an exchange is not the API's own; empty without any sign of that."""
    answered = _answered_object(recorded)
    by_gateway = not is_host_hidden(recorded.host) and not provider_of_host(recorded.host, recorded.path)
    if not answered or by_gateway or "transcribed" in recorded.flags:
        return ""
    return MADE_UP if _has_made_up_ids(answered) or _has_made_up_time(recorded, answered) else ""


def _answered_object(recorded: Recorded) -> Json | None:
    """Return the object in the answer; for a stream, the first response."""
    if recorded.events is None:
        return recorded.answer if isinstance(recorded.answer, dict) else None
    within = (event.get("response") for event in recorded.events if isinstance(event, dict))
    return next((item for item in within if isinstance(item, dict)), None)


def _has_made_up_ids(answered: Json) -> bool:
    """Return whether an id has neither the API's form nor that of a recorder's mask."""
    kind = str(answered.get("object"))
    items = answered.get("data" if kind == "list" else "output")
    own = answered.get("id", "") if kind in _ID_PREFIXES else ""
    within = [item["id"] for item in items if _is_item(item)] if isinstance(items, list) else []
    wrong = [id for id in within if not _ITEM_ID.fullmatch(id)]
    if own and not str(own).startswith(_ID_PREFIXES[kind]):
        wrong.append(str(own))
    # Recorders mask ids on purpose; people who edit a cassette make them up.
    return any(not _MASK.search(id) for id in wrong)


def _is_item(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("type"), str) and isinstance(one.get("id"), str)


def _has_made_up_time(recorded: Recorded, answered: Json) -> bool:
    """Return whether the `created_at` of a response contradicts its id or the recorder's date."""
    created = answered.get("created_at")
    if answered.get("object") != "response" or not isinstance(created, int | float):
        return False
    if stamp := _STAMPED_ID.fullmatch(str(answered.get("id"))):
        return abs(int(stamp[1] or stamp[2], 16) - created) > MAX_DELAY or _differs_from_clock(recorded, created)
    return _differs_from_clock(recorded, created)


def _differs_from_clock(recorded: Recorded, created: float) -> bool:
    is_new = recorded.method == "POST" and path_below_root(recorded.path) == "/responses"
    if not is_new or not _CLOCK_TIME.search(recorded.date):
        return False
    made = datetime.fromisoformat(recorded.date[:_DAY_LENGTH]).replace(tzinfo=UTC)
    return abs(made.timestamp() - created) > MAX_AGE
