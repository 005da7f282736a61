"""`verify` on recordings of Foundry projects: who answered, and what is judged there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.recordings import error, judged
from tests.verify.foundry import HOST, PROJECT, REFERENCE, RESPONSES, VERSIONS, entry, made, proxy_file, version

AGENT = f"{PROJECT}/agents/helper?api-version=v1"
GONE = {"object": "agent.deleted", "name": "helper", "deleted": True}


def verdicts(tmp_path: Path, *entries: dict[str, Any]) -> dict[str, Any]:
    return judged(tmp_path, proxy_file(tmp_path, *entries))[1]


@pytest.mark.parametrize("headers", [{"openai-version": "2020-10-01"}, {}])
@pytest.mark.parametrize("host", [HOST, "https://REDACTED", "https://Sanitized.services.ai.azure.com"])
def test_the_path_of_a_project_tells_foundry_whatever_masks_the_host(
    tmp_path: Path, host: str, headers: dict[str, str]
) -> None:
    refused = error("Model must match the agent's model 'gpt-4o' when agent is specified.")
    one = entry("POST", f"{host}/api/projects/REDACTED/openai/v1/responses", {}, refused, 400, headers)
    report = verdicts(tmp_path, {**one, "RequestBody": {"agent_reference": REFERENCE, "input": "hi"}})
    assert report["skipped"] == 0
    assert report["requests"]["judged"] + report["refusals"]["judged"] == 1
    assert "model" not in str(report["refusals"]["different"])


def test_operations_on_agents_are_judged(tmp_path: Path) -> None:
    report = verdicts(
        tmp_path,
        made(),
        entry("GET", f"{PROJECT}/agents/helper/versions/1?api-version=v1", None, version()),
        entry("DELETE", AGENT, None, GONE),
    )
    assert report["requests"]["accepted"] == 3
    assert report["skipped"] == 0


def test_an_operation_that_the_mock_has_not_is_named(tmp_path: Path) -> None:
    report = verdicts(tmp_path, entry("POST", f"{PROJECT}/agents/helper:teleport?api-version=v1", {}, {}))
    assert report["skipped_why"] == {"not judged: /agents": 1}


def test_a_version_that_the_mock_would_refuse_is_a_finding(tmp_path: Path) -> None:
    report = verdicts(tmp_path, entry("POST", VERSIONS, {"description": "none"}, version()))
    assert [found["rule"] for found in report["requests"]["refused"]] == ["agent_version_incomplete"]


@pytest.mark.parametrize("again", [1, 7])
def test_an_agent_is_known_from_its_creation_until_it_is_deleted(tmp_path: Path, again: int) -> None:
    """Whatever version the service has come to: a definition that did not change gives the version that is there."""
    number = f"{PROJECT}/agents/helper/versions/{again}?api-version=v1"
    report = verdicts(
        tmp_path,
        made(again),
        made(again),
        entry("GET", AGENT, None, {"object": "agent", "name": "helper", "versions": {"latest": version(again)}}),
        entry("DELETE", number, None, {**GONE, "object": "agent.version.deleted", "version": str(again)}),
    )
    assert report["requests"]["accepted"] == 4
    assert report["requests"]["unverifiable"] == 0


def test_a_request_is_judged_by_the_definition_of_its_agent(tmp_path: Path) -> None:
    body = {"agent_reference": REFERENCE, "input": "hi", "model": "o3"}
    refused = error(
        "Model must match the agent's model 'gpt-4o' when agent is specified.", param="model", code="invalid_payload"
    )
    report = verdicts(tmp_path, made(), entry("POST", RESPONSES, body, refused, 400))
    assert report["refusals"]["same"] == 1


def test_an_id_of_a_workflow_or_a_hosted_agent_is_not_made_up(tmp_path: Path) -> None:
    wrong = {"object": "response", "output": 3, "created_at": 1776679200}
    named = [
        entry("POST", RESPONSES, {"agent_reference": REFERENCE, "input": "hi"}, {**wrong, "id": id})
        for id in ("wfresp_662dd709d07d95ea00UIxFMPr55o6qkSX0", "caresp_662dd709d07d95ea00UIxFMPr55o6qkSX0", "resq_1")
    ]
    report = verdicts(tmp_path, *named)
    assert len(report["answers"]["findings"]) == 2
    assert report["answers"]["unverifiable"] == 1
