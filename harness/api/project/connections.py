"""The resources of a project that no request creates: connections to other services, and model deployments.

Their members and order are those of recorded answers, 2025-05 to 2026-03.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.core.exchange import Json

ACCOUNT = "harness"
"""The name of the account that a project belongs to."""
PROJECT = "harness"
"""The name of the project in resources that a test creates."""
SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/harness/providers"
NO_KEY: Json = {"type": "AAD"}
"""The credentials of a connection with neither key nor token: Entra ID."""


def project_of(root: str) -> str:
    """Return the name of the project in the root of a path."""
    return root.rpartition("/projects/")[2].partition("/")[0] or PROJECT


def new_connection(name: str, members: Json) -> Json:
    """Make a connection with its credentials; `members`: `type`, `target`, `credentials`, `isDefault`, `metadata`.

    The credentials end with their type (recorded).
    """
    given = members.get("credentials") or NO_KEY
    credentials = {"key": given, "type": "ApiKey"} if isinstance(given, str) else given
    kind = credentials.get("type", "CustomKeys")
    account = f"{SUBSCRIPTION}/Microsoft.CognitiveServices/accounts/{ACCOUNT}"
    return {
        "name": name,
        "id": f"{account}/projects/{PROJECT}/connections/{name}",
        "type": members.get("type", "AzureOpenAI"),
        "target": members.get("target", "https://harness.example/"),
        "isDefault": members.get("isDefault", False),
        "credentials": {**{member: value for member, value in credentials.items() if member != "type"}, "type": kind},
        "metadata": members.get("metadata") or {},
    }


def hide_credentials(connection: Json) -> Json:
    """Hide the credentials of a connection except their type, as everyone may see it."""
    return {**connection, "credentials": {"type": connection["credentials"]["type"]}}


def new_deployment(name: str, members: Json) -> Json:
    """Make a model deployment; without `modelName`, of the model with the same name."""
    model = members.get("modelName", name)
    made = {
        "name": name,
        "type": "ModelDeployment",
        "modelName": model,
        "modelVersion": members.get("modelVersion", "1"),
        "modelPublisher": members.get("modelPublisher", "OpenAI"),
        "capabilities": members.get("capabilities", {"chat_completion": "true"}),
        "sku": members.get("sku", {"name": "GlobalStandard", "capacity": 100}),
    }
    return {**made, "connectionName": members["connectionName"]} if "connectionName" in members else made


def fits_query(resource: Json, query: Mapping[str, Any], filters: Mapping[str, str]) -> bool:
    """Return whether a resource matches the filters in a query; `filters` maps a parameter to its member."""
    return all(name not in query or str(resource.get(member)) == query[name] for name, member in filters.items())
