"""Models of recordings that the table of models does not have: nothing is known of what they can do."""

from __future__ import annotations

from harness.api.http.dialects import OPENAI
from harness.api.models import MODELS
from harness.cassettes.format.recorded import Recorded

_FINE_TUNED = "ft:"
_MAX_LENGTH = 80


def unlisted_model(recorded: Recorded) -> str:
    """Name a model that answered on OpenAI and is not in the table, cut if the name is long; else empty."""
    body = recorded.request
    if recorded.provider != OPENAI or not recorded.path.endswith("/responses") or recorded.status != 200:
        return ""
    name = body.get("model") if isinstance(body, dict) else None
    if not isinstance(name, str) or name.startswith(_FINE_TUNED) or MODELS.find(name):
        return ""
    return name[:_MAX_LENGTH]
