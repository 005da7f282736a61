"""Imports the `openai` package, and explains the error if it is missing or older than the Responses API."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from harness.core.errors import ConfigError, missing_extra

_FIRST = "1.66"
"""The first release with the Responses API."""


def import_openai(who: str) -> Any:
    """Import the package; ConfigError, naming `who` needs it, if it is missing or has no Responses API."""
    try:
        import openai
    except ImportError as problem:
        raise missing_extra(who, "openai", "openai") from problem
    try:
        found = find_spec("openai.resources.responses")
    except ImportError:
        found = None
    if found is None:
        installed = getattr(openai, "__version__", "?")
        raise ConfigError(
            f"{who} needs openai {_FIRST} or newer: openai {installed}, which is installed, has no Responses API. "
            f'pip install "openai>={_FIRST}"; if another package keeps it back, `pip check` names it.'
        )
    return openai
