"""`/agents`: create, retrieve, list, configure, enable, disable and delete the agents of a Foundry project.

A version is created from a definition, a manifest or code. Recorded by Microsoft's own SDK tests, 2026-02 to 2026-07
(`api-version=v1`); manifests and code follow its types.
"""

from collections.abc import Sequence
from hashlib import sha256

from harness.api.http.multipart import sent_file
from harness.api.operations import operation
from harness.core.errors import ConfigError
from harness.core.exchange import Answer, Json
from harness.core.text import show
from harness.foundry.agent_sessions import AGENT_SESSIONS, session_key
from harness.foundry.agent_versions import (
    AGENT_CODE,
    AGENT_NAME,
    AGENT_SETTINGS,
    AGENTS,
    agent_names,
    change_settings,
    new_version,
    newest_version,
    order_definition,
    render_agent,
    render_listed_agent,
    sent_version,
    versions_of,
)
from harness.foundry.resources import agent_page
from harness.world.api_call import ApiCall
from harness.world.resources import declare_resource
from harness.world.world import World

AGENT = "/agents/{agent_name}"
VERSIONS = f"{AGENT}/versions"
VERSION = f"{VERSIONS}/{{agent_version}}"
_COMPARED_MEMBERS = ("definition", "description", "metadata", "draft")
"""The members that decide whether a version differs from the one before."""


def add_version(world: World, name: str, body: Json, code: bytes | None = None) -> Json:
    """Add a version to a new or existing agent; without a change, return its last version.

    Recorded: a request without a change makes no new version. `code` is the zip of an agent made of code.
    """
    known, now = versions_of(world, name), world.tick()
    definition = order_definition(body["definition"])
    if code is not None:
        configured = {**(definition.get("code_configuration") or {}), "content_hash": sha256(code).hexdigest()}
        definition = {**definition, "code_configuration": configured}
    described = {**body, "definition": definition}
    made = new_version(known, name, described, now, world.as_of, world.ids)
    # An unchanged definition keeps its version, so that deploying twice is harmless.
    if known and all(known[-1].get(member) == made.get(member) for member in _COMPARED_MEMBERS):
        return known[-1]
    world.store.table(AGENTS)[name] = [*known, made]
    if code is not None:
        world.store.table(AGENT_CODE)[made["id"]] = code
    return made


def forget_versions(world: World, name: str, kept: Sequence[Json]) -> None:
    """Drop all versions of an agent but `kept`; without any, the agent, its settings and its sessions are gone."""
    numbers = {remaining["version"] for remaining in kept}
    for stored in versions_of(world, name):
        if stored["version"] not in numbers:
            world.store.table(AGENT_CODE).pop(f"{name}:{stored['version']}", None)
    world.store.table(AGENTS)[name] = list(kept)
    if not kept:
        world.store.table(AGENT_SETTINGS).pop(name, None)
        for key in [key for key in world.store.table(AGENT_SESSIONS) if key.startswith(session_key(name, ""))]:
            del world.store.table(AGENT_SESSIONS)[key]


def provision(world: World, name: str) -> Sequence[Json]:
    """Return the versions of an agent that is read, making those that were `creating` active.

    Recorded of a hosted agent, ten seconds after it was made.
    """
    versions = versions_of(world, name)
    if any(version.get("status") == "creating" for version in versions):
        versions = [
            {**version, "status": "active"} if version.get("status") == "creating" else version for version in versions
        ]
        world.store.table(AGENTS)[name] = versions
    return versions


@declare_resource("agent", None)
def make_agent(world: World, name: str, members: Json) -> str:
    """Create a version of an agent for a test, active at once, and return its id; ConfigError if it is invalid.

    `description` and `metadata` describe it, all other members are those of the definition of its `kind`.
    """
    described = {member: members[member] for member in ("description", "metadata")}
    definition = {member: value for member, value in members.items() if member not in described}
    kind = definition["kind"]
    if not AGENT_NAME.fullmatch(name):
        raise ConfigError(f"agent({show(name)}): a name is at most 63 letters and digits, with hyphens between them.")
    if kind == "prompt" and not definition.get("model"):
        raise ConfigError(f"agent({show(name)}): a prompt agent needs a model: agent({show(name)}, model='gpt-4.1').")
    made = add_version(world, name, {**described, "definition": definition})
    provision(world, name)
    return str(made["id"])


@operation("POST", "/agents", project=True)
def create(call: ApiCall) -> Answer:
    """Create an agent with its first version, or add a version to an existing one."""
    name = call.body["name"]
    add_version(call.world, name, call.body)
    return Answer(200, render_agent(call.world, name))


@operation("POST", AGENT, project=True)
def update(call: ApiCall) -> Answer:
    """Add a version with a new definition to an agent."""
    name = call.params["agent_name"]
    add_version(call.world, name, call.body)
    return Answer(200, render_agent(call.world, name))


@operation("GET", "/agents", project=True)
def list_all(call: ApiCall) -> Answer:
    """List the agents of the project, newest first unless `order=asc`, optionally by `kind`."""
    every = [render_listed_agent(call.world, name) for name in agent_names(call.world)]
    kind = call.query.get("kind")
    shown = [agent for agent in every if kind in (None, agent["versions"]["latest"]["definition"].get("kind"))]
    return Answer(200, agent_page(shown, call.query))


@operation("GET", AGENT, project=True)
def retrieve(call: ApiCall) -> Answer:
    """Retrieve an agent with its newest version."""
    provision(call.world, name := call.params["agent_name"])
    return Answer(200, render_agent(call.world, name))


@operation("PATCH", AGENT, project=True)
def configure(call: ApiCall) -> Answer:
    """Change an agent's endpoint and card by a merge patch."""
    name = call.params["agent_name"]
    settings = call.store.table(AGENT_SETTINGS).get(name, {})
    call.store.table(AGENT_SETTINGS)[name] = change_settings(settings, call.body or {})
    return Answer(200, render_agent(call.world, name))


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
    call.store.table(AGENT_SETTINGS)[name] = {**call.store.table(AGENT_SETTINGS).get(name, {}), "state": state}
    return Answer(204, b"")


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
    known = versions_of(call.world, name)
    forget_versions(call.world, name, [version for version in known if version["version"] != number])
    return Answer(200, {"object": "agent.version.deleted", "name": name, "version": number, "deleted": True})


@operation("GET", f"{AGENT}/code:download", project=True)
def download_code(call: ApiCall) -> Answer:
    """Return the zip from which a version of an agent was created, by default the newest."""
    known = versions_of(call.world, call.params["agent_name"])
    number = call.query.get("agent_version") or newest_version(known)["version"]
    data = call.store.table(AGENT_CODE)[f"{call.params['agent_name']}:{number}"]
    return Answer(200, data, {"content-type": "application/zip"})
