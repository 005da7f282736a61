"""The assets of a project, with versions that a client names: indexes of search services, and datasets.

Their members and order are those of recorded answers, 2025-07 to 2026-03.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.api.project.connections import ACCOUNT, PROJECT
from harness.api.project.versions import merge_patch
from harness.core.dates import iso_time
from harness.core.exchange import Json

ASSET_NOT_FOUND: Mapping[str, Any] = {
    "error": {
        "code": "{code}",
        "severity": None,
        "message": "{message}",
        "messageFormat": None,
        "messageParameters": None,
        "referenceCode": None,
        "detailsUri": None,
        "target": None,
        "details": [],
        "innerError": {"code": "NotFoundError", "innerError": None},
        "debugInfo": None,
        "additionalInfo": None,
    },
    "correlation": {"operation": "0" * 32, "request": "0" * 16},
    "environment": "eastus2",
    "location": "eastus2",
    "time": "{time}",
    "componentName": "{component}",
    "statusCode": "{status}",
}
"""The form of errors of the service behind assets (recorded 2026-03-21 for datasets)."""


@dataclass(frozen=True, slots=True)
class AssetKind:
    """A kind of asset: the name of its table and path, its name in ids and errors, how a version is shown.

    `render` makes the answer from the stored version; True means the answer to the request that stored it.
    """

    table: str
    part: str
    component: str
    render: Callable[[Json, bool], Json]

    def id(self, name: str, version: str, project: str = PROJECT) -> str:
        """Make the id of an asset's version."""
        return f"azureai://accounts/{ACCOUNT}/projects/{project}/{self.part}/{name}/versions/{version}"

    def patch(self, known: Json | None, body: Json, named: tuple[str, str, str], now: int) -> Json:
        """Make a version, new or changed by a merge patch; `named` is its name, its version and the project."""
        name, version, _ = named
        times = {"createdAt": known["times"]["createdAt"] if known else now, "lastModifiedAt": now}
        members = merge_patch(known["members"] if known else {}, body)
        return {"version": version, "name": name, "id": self.id(*named), "members": members, "times": times}


def _render_index(stored: Json, _patched: bool) -> Json:
    """Render an index as the service shows it: what was sent, then its name and version."""
    return {**stored["members"], "name": stored["name"], "version": stored["version"]}


def _render_dataset(stored: Json, patched: bool) -> Json:
    """Render a dataset. Recorded: the answer to the request that creates it never says that it is a single file."""
    members, times = stored["members"], stored["times"]
    kind = members.get("type", "uri_file")
    return {
        "id": stored["id"],
        "name": stored["name"],
        "version": stored["version"],
        "displayName": members.get("displayName", stored["name"]),
        "description": members.get("description"),
        "tags": members.get("tags") or {},
        "type": kind,
        "isReference": bool(members.get("isReference", False)),
        "dataUri": members.get("dataUri"),
        "isSingleFile": kind == "uri_file" and not patched,
        "connectionName": members.get("connectionName"),
        "systemData": {
            "createdAt": iso_time(times["createdAt"]),
            "createdBy": "harness",
            "createdByType": None,
            "lastModifiedAt": iso_time(times["lastModifiedAt"]),
        },
    }


INDEXES = AssetKind("indexes", "indexes", "index", _render_index)
DATASETS = AssetKind("datasets", "data", "dataset", _render_dataset)
