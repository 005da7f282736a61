"""The environment that leads OpenAI clients to a World: the variables that they read, and none that leads elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
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


def client_variables(mock: Mock, key: str) -> dict[str, str]:
    """The variables that lead clients to the mock; Azure's only for its dialect, since OpenAI's client reads them too."""
    found = {"OPENAI_BASE_URL": mock.base_url, "OPENAI_API_KEY": key}
    if mock.world.dialect == "azure":
        azure = {"AZURE_OPENAI_API_KEY": key, "OPENAI_API_VERSION": AZURE_VERSION}
        return {"AZURE_OPENAI_ENDPOINT": mock.azure_endpoint, **azure}
    if mock.world.dialect == "foundry":
        project = dict.fromkeys(("AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT"), mock.project_endpoint)
        return found | project
    return found


def environment_changes(variables: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str | None]:
    """What to change in an environment for these variables to take effect; None removes one."""
    cleared = [
        *CLEARED_VARIABLES,
        *_MOCK_VARIABLES,
        *(name for name in environment if name.startswith("AZURE_OPENAI_")),
    ]
    hosts = {urlsplit(value).hostname: None for value in variables.values() if "://" in value}
    direct = {
        name: ",".join(dict.fromkeys(filter(None, [*hosts, *environment.get(name, "").split(",")])))
        for name in ("NO_PROXY", "no_proxy")
    }
    return {**dict.fromkeys(cleared), **variables, **direct}
