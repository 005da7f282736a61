"""`/agents`: the agents of a Foundry project: create, retrieve, list, configure, enable, disable and delete.

A version is created from a definition, a manifest or code. Recorded by Microsoft's own SDK tests, 2026-02 to 2026-07
(`api-version=v1`); manifests and code follow its types.
"""

from __future__ import annotations

from harness.api.http.multipart import sent_file
from harness.api.operations import operation
from harness.api.project import agents as foundry_agents
from harness.api.project.agent_definitions import sent_version
from harness.api.project.lists import agent_page
from harness.core.exchange import Answer
from harness.world.api_call import ApiCall
from harness.world.project_agents import add_version, forget_versions, provision

AGENT = "/agents/{agent_name}"


@operation("POST", "/agents", project=True)
def create(call: ApiCall) -> Answer:
    """Create an agent with its first version, or add a version to an existing one."""
    name = call.body["name"]
    add_version(call.world, name, call.body)
    return Answer(200, foundry_agents.render_agent(call.world, name))


@operation("POST", AGENT, project=True)
def update(call: ApiCall) -> Answer:
    """Add a version with a new definition to an agent."""
    name = call.params["agent_name"]
    add_version(call.world, name, call.body)
    return Answer(200, foundry_agents.render_agent(call.world, name))


@operation("GET", "/agents", project=True)
def list_all(call: ApiCall) -> Answer:
    """List the agents of the project, newest first unless `order=asc`, optionally by `kind`."""
    every = [foundry_agents.render_agent(call.world, name) for name in foundry_agents.agent_names(call.world)]
    kind = call.query.get("kind")
    shown = [agent for agent in every if kind in (None, agent["versions"]["latest"]["definition"].get("kind"))]
    return Answer(200, agent_page(shown, call.query))


@operation("GET", AGENT, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Retrieve an agent with its newest version."""
    provision(call.world, name := call.params["agent_name"])
    return Answer(200, foundry_agents.render_agent(call.world, name))


@operation("PATCH", AGENT, project=True)
def configure(call: ApiCall) -> Answer:
    """Change an agent's endpoint and card by a merge patch."""
    name = call.params["agent_name"]
    settings = call.store.agent_settings.get(name, {})
    call.store.agent_settings[name] = foundry_agents.change_settings(settings, call.body or {})
    return Answer(200, foundry_agents.render_agent(call.world, name))


@operation("POST", f"{AGENT}:enable", project=True)
def enable(call: ApiCall) -> Answer:
    """Enable an agent, whether it is disabled or not."""
    return _set_state(call, "enabled")


@operation("POST", f"{AGENT}:disable", project=True)
def disable(call: ApiCall) -> Answer:
    """Disable an agent, whether it is enabled or not."""
    return _set_state(call, "disabled")


@operation("DELETE", AGENT, project=True)
def delete(call: ApiCall) -> Answer:
    """Delete an agent with all its versions, settings and sessions."""
    name = call.params["agent_name"]
    forget_versions(call.world, name, ())
    return Answer(200, {"object": "agent.deleted", "name": name, "deleted": True})


def _set_state(call: ApiCall, state: str) -> Answer:
    name = call.params["agent_name"]
    call.store.agent_settings[name] = {**call.store.agent_settings.get(name, {}), "state": state}
    return Answer(204, b"")


VERSIONS = f"{AGENT}/versions"
VERSION = f"{VERSIONS}/{{agent_version}}"


@operation("POST", VERSIONS, project=True, content="form or json")
def create_version(call: ApiCall) -> Answer:
    """Add a version to an agent, from a definition or, in a form with the parts `metadata` and `code`, from code."""
    data = sent_file(call.request, "code").read() if isinstance(call.body.get("code"), dict) else None
    return Answer(200, add_version(call.world, call.params["agent_name"], sent_version(call.request), data))


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
    return Answer(200, agent_page(shown, call.query))


@operation("GET", VERSION, project=True)
def retrieve_version(call: ApiCall) -> Answer:
    """Retrieve a version of an agent."""
    number = call.params["agent_version"]
    known = provision(call.world, call.params["agent_name"])
    return Answer(200, next(version for version in known if version["version"] == number))


@operation("DELETE", VERSION, project=True)
def delete_version(call: ApiCall) -> Answer:
    """Delete a version; an agent without versions is gone."""
    name, number = call.params["agent_name"], call.params["agent_version"]
    known = foundry_agents.versions_of(call.world, name)
    forget_versions(call.world, name, [version for version in known if version["version"] != number])
    return Answer(200, {"object": "agent.version.deleted", "name": name, "version": number, "deleted": True})


@operation("GET", f"{AGENT}/code:download", project=True)
def download_code(call: ApiCall) -> Answer:
    """Return the zip from which a version of an agent was created, by default the newest."""
    known = foundry_agents.versions_of(call.world, call.params["agent_name"])
    number = call.query.get("agent_version") or foundry_agents.newest_version(known)["version"]
    data = call.store.agent_code[f"{call.params['agent_name']}:{number}"]
    return Answer(200, data, {"content-type": "application/zip"})
