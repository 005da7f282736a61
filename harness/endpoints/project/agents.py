"""`/agents`: the agents of a Foundry project: made, read, listed, configured, switched off and on, and forgotten.

Recorded by Microsoft's own SDK tests, 2026-02 to 2026-07 (`api-version=v1`). Their versions are made in
`harness.endpoints.project.agent_versions`.
"""

from __future__ import annotations

from harness.api.operations import operation
from harness.api.project import agents as foundry_agents
from harness.core.exchange import Answer
from harness.world.api_call import ApiCall
from harness.world.project_agents import add_version, forget_versions, provision

AGENT = "/agents/{agent_name}"


@operation("POST", "/agents", project=True)
def create(call: ApiCall) -> Answer:
    """Make an agent by its first version, or add a version to a known agent."""
    name = call.body["name"]
    add_version(call.world, name, call.body)
    return Answer(200, foundry_agents.render_agent(call.world, name))


@operation("POST", AGENT, project=True)
def update(call: ApiCall) -> Answer:
    """Add a version to an agent, by its new definition."""
    name = call.params["agent_name"]
    add_version(call.world, name, call.body)
    return Answer(200, foundry_agents.render_agent(call.world, name))


@operation("GET", "/agents", project=True)
def list_all(call: ApiCall) -> Answer:
    """List the agents of the project, newest first unless `order=asc`; `kind` leaves out others."""
    every = [foundry_agents.render_agent(call.world, name) for name in foundry_agents.agent_names(call.world)]
    kind = call.query.get("kind")
    shown = [agent for agent in every if kind in (None, agent["versions"]["latest"]["definition"].get("kind"))]
    return Answer(200, foundry_agents.page_of(shown, call.query))


@operation("GET", AGENT, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Read one agent, by its newest version."""
    provision(call.world, name := call.params["agent_name"])
    return Answer(200, foundry_agents.render_agent(call.world, name))


@operation("PATCH", AGENT, project=True)
def configure(call: ApiCall) -> Answer:
    """Change the endpoint and the card of an agent by a merge patch."""
    name = call.params["agent_name"]
    settings = call.store.agent_settings.get(name, {})
    call.store.agent_settings[name] = foundry_agents.change_settings(settings, call.body or {})
    return Answer(200, foundry_agents.render_agent(call.world, name))


@operation("POST", f"{AGENT}:enable", project=True)
def enable(call: ApiCall) -> Answer:
    """Switch an agent on, whether it is off or not."""
    return _set_state(call, "enabled")


@operation("POST", f"{AGENT}:disable", project=True)
def disable(call: ApiCall) -> Answer:
    """Switch an agent off, whether it is on or not."""
    return _set_state(call, "disabled")


@operation("DELETE", AGENT, project=True)
def delete(call: ApiCall) -> Answer:
    """Forget an agent with all its versions, settings and sessions."""
    name = call.params["agent_name"]
    forget_versions(call.world, name, ())
    return Answer(200, {"object": "agent.deleted", "name": name, "deleted": True})


def _set_state(call: ApiCall, state: str) -> Answer:
    name = call.params["agent_name"]
    call.store.agent_settings[name] = {**call.store.agent_settings.get(name, {}), "state": state}
    return Answer(204, b"")
