"""`/agents`: the agents of a Foundry project, made, read, listed and forgotten in versions.

Recorded by Microsoft's own SDK tests, 2026-03 (`api-version=v1`).
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.api.operations import operation
from harness.api.paging import page
from harness.api.project import agents as foundry_agents
from harness.core.exchange import Answer, Json, Request
from harness.world.world import World

AGENT = "/agents/{agent_name}"
VERSIONS = f"{AGENT}/versions"
VERSION = f"{VERSIONS}/{{agent_version}}"


@operation("POST", VERSIONS, project=True)
def create_version(request: Request, world: World) -> Answer:
    """A new version of an agent, which is new itself when it had none."""
    name, known = _find_versions(request, world)
    made = foundry_agents.new_version(name, int(known[-1]["version"]) + 1 if known else 1, request.body, world.tick())
    world.store.agents[name] = [*known, made]
    return Answer(200, made)


@operation("GET", "/agents", project=True)
def list_all(request: Request, world: World) -> Answer:
    """The agents of the project, newest first unless `order=asc`; `kind` leaves out others."""
    every = [
        foundry_agents.render_agent(name, foundry_agents.versions_of(world, name))
        for name in foundry_agents.agent_names(world)
    ]
    kind = request.query.get("kind")
    shown = [one for one in every if kind in (None, one["versions"]["latest"]["definition"].get("kind"))]
    return Answer(200, _page_of(shown, request))


@operation("GET", AGENT, project=True)
def retrieve(request: Request, world: World) -> Answer:
    """One agent, by its newest version."""
    return Answer(200, foundry_agents.render_agent(*_find_versions(request, world)))


@operation("DELETE", AGENT, project=True)
def delete(request: Request, world: World) -> Answer:
    """Forget an agent with all its versions."""
    name, _ = _find_versions(request, world)
    world.store.agents[name] = []
    return Answer(200, {"object": "agent.deleted", "name": name, "deleted": True})


@operation("GET", VERSIONS, project=True)
def list_versions(request: Request, world: World) -> Answer:
    """The versions of an agent, newest first unless `order=asc`."""
    return Answer(200, _page_of(_find_versions(request, world)[1], request))


@operation("GET", VERSION, project=True)
def retrieve_version(request: Request, world: World) -> Answer:
    """One version of an agent."""
    number = request.params["agent_version"]
    return Answer(200, next(each for each in _find_versions(request, world)[1] if each["version"] == number))


@operation("DELETE", VERSION, project=True)
def delete_version(request: Request, world: World) -> Answer:
    """Forget one version; without any an agent is gone."""
    (name, known), number = _find_versions(request, world), request.params["agent_version"]
    world.store.agents[name] = [each for each in known if each["version"] != number]
    return Answer(200, {"object": "agent.version.deleted", "name": name, "version": number, "deleted": True})


def _find_versions(request: Request, world: World) -> tuple[str, Sequence[Json]]:
    name = request.params["agent_name"]
    return name, foundry_agents.versions_of(world, name)


def _page_of(items: Sequence[Json], request: Request) -> Json:
    """A page of a list; recorded: one that is empty names no ids."""
    limit = request.query.get("limit", "")
    bounds = {"limit": int(limit)} if isinstance(limit, str) and limit.isascii() and limit.isdigit() else {}
    shown = page(
        items, {name: request.query[name] for name in ("after", "before", "order") if name in request.query} | bounds
    )
    return shown if shown["data"] else {"data": [], "has_more": False, "object": "list"}
