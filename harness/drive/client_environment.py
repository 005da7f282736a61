"""The environment that points OpenAI clients at a World: variables to set, and variables to clear."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from harness.api.http.dialects import API_ROOTS, AZURE, FOUNDRY, OPENAI, PROJECT_VARIABLES

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
"""Variables that change a client's requests, in addition to those that begin with AZURE_OPENAI_."""

_OF_OTHERS = ("PROJECT_ENDPOINT",)
"""Variables that point clients at the mock but mean something else to other programs, so they are not cleared."""
_MOCK_VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_KEY", *(name for name in PROJECT_VARIABLES if name not in _OF_OTHERS))
"""Variables that point clients at the mock and are cleared before new values are set."""
READ_BY_CLIENTS: Mapping[str, Sequence[str]] = {
    OPENAI: ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    AZURE: ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"),
    FOUNDRY: PROJECT_VARIABLES,
}
"""The variables of which a dialect's clients must read at least one to find the mock."""


def client_variables(mock: Mock, key: str) -> dict[str, str]:
    """Return the variables that point clients at the mock.

    Azure's are set for its dialect alone, since OpenAI's client reads them, too.
    """
    found = {"OPENAI_BASE_URL": mock.base_url, "OPENAI_API_KEY": key}
    if mock.world.dialect == AZURE:
        azure = {"AZURE_OPENAI_API_KEY": key, "OPENAI_API_VERSION": AZURE_VERSION}
        return {"AZURE_OPENAI_ENDPOINT": mock.azure_endpoint, **azure}
    if mock.world.dialect == FOUNDRY:
        return found | dict.fromkeys(PROJECT_VARIABLES, mock.project_endpoint)
    return found


def server_variables(origin: str, dialect: str, key: str) -> dict[str, str]:
    """Return the variables that point clients at the World of a key on a server (`https://127.0.0.1:8765`)."""
    from harness.world.mock import Mock
    from harness.world.world import World, WorldOptions

    spoken = None if dialect == OPENAI else dialect
    options = WorldOptions(dialect=spoken)
    return client_variables(Mock(World(key, api_key=key, base_url=origin + API_ROOTS[dialect], options=options)), key)


def environment_changes(
    variables: Mapping[str, str], environment: Mapping[str, str], direct: Iterable[str] = ()
) -> dict[str, str | None]:
    """Return the changes that make these variables take effect in an environment; None removes a variable.

    Requests to the hosts of the variables, and to those in `direct`, do not go through the user's proxy.
    """
    cleared = [
        *CLEARED_VARIABLES,
        *_MOCK_VARIABLES,
        *(name for name in environment if name.startswith("AZURE_OPENAI_")),
    ]
    hosts = {urlsplit(value).hostname: None for value in variables.values() if "://" in value}
    without_proxy = {
        name: ",".join(dict.fromkeys(filter(None, [*hosts, *direct, *environment.get(name, "").split(",")])))
        for name in ("NO_PROXY", "no_proxy")
    }
    return {**dict.fromkeys(cleared), **variables, **without_proxy}
