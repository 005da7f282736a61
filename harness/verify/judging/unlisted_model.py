"""Finds models in recordings that are missing in the table of models, so that their abilities are unknown."""

from __future__ import annotations

from harness.api.http.dialects import OPENAI
from harness.api.models import MODELS
from harness.cassettes.format.recorded import Recorded

_FINE_TUNED = "ft:"
_MAX_LENGTH = 80


def unlisted_model(recorded: Recorded) -> str:
    """Return the name, shortened if long, of a model that answered at OpenAI and is not in the table; else empty."""
    body = recorded.request
    if recorded.provider != OPENAI or not recorded.path.endswith("/responses") or recorded.status != 200:
        return ""
    name = body.get("model") if isinstance(body, dict) else None
    if not isinstance(name, str) or name.startswith(_FINE_TUNED) or MODELS.find(name):
        return ""
    return name[:_MAX_LENGTH]
