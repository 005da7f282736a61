"""Recordings of Foundry projects, made up in the form of Azure's test proxy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HOST = "https://Sanitized.azure.com"
PROJECT = f"{HOST}/api/projects/sanitized"
VERSIONS = f"{PROJECT}/agents/helper/versions?api-version=v1"
RESPONSES = f"{PROJECT}/openai/v1/responses"
REFERENCE = {"type": "agent_reference", "name": "helper"}
HEADERS = {"Content-Type": "application/json; charset=utf-8", "Date": "Thu, 16 Apr 2026 10:00:00 GMT"}
AT = 1776333600


def entry(
    method: str, uri: str, body: Any, answer: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return one exchange as the test proxy writes it."""
    return {
        "RequestUri": uri,
        "RequestMethod": method,
        "RequestHeaders": {"Accept": "application/json", "Content-Type": "application/json"},
        "RequestBody": body,
        "StatusCode": status,
        "ResponseHeaders": {**HEADERS, "apim-request-id": "00000000-0000-0000-0000-000000000000", **(headers or {})},
        "ResponseBody": answer,
    }


def call(line: str, body: Any = None, answer: Any = None, status: int = 200) -> dict[str, Any]:
    """Return one exchange with a project, `GET /agents`, whose client takes part in every preview."""
    method, path = line.split()
    one = entry(method, f"{PROJECT}{path}?api-version=v1", body, answer, status)
    features = ",".join(f"{name}=V1Preview" for name in ("MemoryStores", "Skills", "HostedAgents"))
    return {**one, "RequestHeaders": {**one["RequestHeaders"], "Foundry-Features": features}}


def proxy_file(folder: Path, *entries: dict[str, Any], name: str = "tape.json") -> Path:
    """Exchanges as a file of the test proxy."""
    file = folder / name
    file.write_text(json.dumps({"Entries": entries, "Variables": {}}))
    return file


def version(number: int = 1, **definition: Any) -> dict[str, Any]:
    """Return a version of the agent `helper` as the service answers it."""
    return {
        "metadata": {},
        "object": "agent.version",
        "id": f"helper:{number}",
        "name": "helper",
        "version": str(number),
        "description": "",
        "created_at": AT,
        "definition": {"kind": "prompt", "model": "gpt-4o", **definition},
        "status": "active",
    }


def made(number: int = 1, **definition: Any) -> dict[str, Any]:
    """Return the creation of a version of the agent `helper`."""
    answer = version(number, **definition)
    return entry("POST", VERSIONS, {"definition": answer["definition"]}, answer)
