"""`/agents/{agent_name}/versions`: the versions of an agent, from a definition, a manifest or code.

Recorded by Microsoft's own SDK tests, 2026-02 to 2026-07 (`api-version=v1`); manifests and code are those of its types.
"""

from __future__ import annotations

from typing import Any

from harness.api.operations import operation
from harness.api.project import agents as foundry_agents
from harness.api.project.agent_definitions import sent_version
from harness.core.exchange import Answer, Request
from harness.core.stored_content import read_content
from harness.world.api_call import ApiCall
from harness.world.project_agents import add_version, forget_versions, provision

VERSIONS = "/agents/{agent_name}/versions"
VERSION = f"{VERSIONS}/{{agent_version}}"


@operation("POST", VERSIONS, project=True, content="form or json")
def create_version(call: ApiCall) -> Answer:
    """Add a version to an agent, from a definition or, in a form, from code: a part `metadata` and a part `code`."""
    return Answer(200, add_version(call.world, call.params["agent_name"], *_sent_version(call.request)))


def _sent_version(request: Request) -> tuple[Any, bytes | None]:
    body = request.body
    code = body.get("code") if isinstance(body.get("code"), dict) else None
    return sent_version(request), None if code is None else read_content(code["data"])


@operation("POST", f"{VERSIONS}:import", project=True)
def import_version(call: ApiCall) -> Answer:
    """Add a version to an agent, from a manifest: a prompt agent with the values of its parameters (assumed)."""
    body = call.body or {}
    values = body.get("parameter_values") or {}
    definition = {"kind": "prompt", "model": "", **values}
    return Answer(200, add_version(call.world, call.params["agent_name"], {**body, "definition": definition}))


@operation("GET", VERSIONS, project=True)
def list_versions(call: ApiCall) -> Answer:
    """List the versions of an agent, newest first unless `order=asc`; drafts only with `include_drafts=true`."""
    with_drafts = str(call.query.get("include_drafts")).lower() == "true"
    known = provision(call.world, call.params["agent_name"])
    shown = [version for version in known if with_drafts or not version.get("draft")]
    return Answer(200, foundry_agents.page_of(shown, call.query))


@operation("GET", VERSION, project=True)
def retrieve_version(call: ApiCall) -> Answer:
    """Read one version of an agent."""
    number = call.params["agent_version"]
    known = provision(call.world, call.params["agent_name"])
    return Answer(200, next(version for version in known if version["version"] == number))


@operation("DELETE", VERSION, project=True)
def delete_version(call: ApiCall) -> Answer:
    """Forget one version; without any an agent is gone."""
    name, number = call.params["agent_name"], call.params["agent_version"]
    known = foundry_agents.versions_of(call.world, name)
    forget_versions(call.world, name, [version for version in known if version["version"] != number])
    return Answer(200, {"object": "agent.version.deleted", "name": name, "version": number, "deleted": True})


@operation("GET", "/agents/{agent_name}/code:download", project=True)
def download_code(call: ApiCall) -> Answer:
    """Read the zip of which a version of an agent was made, by default the newest."""
    known = foundry_agents.versions_of(call.world, call.params["agent_name"])
    number = call.query.get("agent_version") or foundry_agents.newest_version(known)["version"]
    data = call.store.agent_code[f"{call.params['agent_name']}:{number}"]
    return Answer(200, data, {"content-type": "application/zip"})
