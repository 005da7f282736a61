"""The environment of a test: the variables that lead the clients of the code under test to the mock, and no others."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from harness.world.mock import Mock

AZURE_VERSION = "2025-04-01-preview"
CLEARED_VARIABLES = (
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT",
    "OPENAI_PROJECT_ID",
    "OPENAI_CUSTOM_HEADERS",
    "OPENAI_API_TYPE",
    "OPENAI_API_VERSION",
)
"""Variables that change the requests of a client, beside those that begin with AZURE_OPENAI_."""

_MOCK_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT")
"""Variables that lead clients to the mock."""


def set_environment(mock: Mock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lead every OpenAI client that is made while the test runs to its World."""
    for variable in [
        *CLEARED_VARIABLES,
        *_MOCK_VARIABLES,
        *(name for name in os.environ if name.startswith("AZURE_OPENAI_")),
    ]:
        monkeypatch.delenv(variable, raising=False)
    for variable, value in _mock_environment(mock).items():
        monkeypatch.setenv(variable, value)
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1", prepend=",")


def _mock_environment(mock: Mock) -> dict[str, str]:
    """The variables that lead clients to the mock; Azure's only for its dialect, since OpenAI's client reads them too."""
    found = {"OPENAI_BASE_URL": mock.base_url, "OPENAI_API_KEY": mock.api_key}
    if mock.world.dialect == "azure":
        key = {"AZURE_OPENAI_API_KEY": mock.api_key, "OPENAI_API_VERSION": AZURE_VERSION}
        return {"AZURE_OPENAI_ENDPOINT": mock.azure_endpoint, **key}
    if mock.world.dialect == "foundry":
        project = dict.fromkeys(("AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT"), mock.project_endpoint)
        return found | project
    return found
