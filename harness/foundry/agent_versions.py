"""The versions of a project's agents: definitions, their form by day, and which of them answers a request.

Agents are named and versioned; by default the newest version answers. Those of the account
(`mock.organization(agents={…})`) exist from the start, as version 1. Read from recorded answers of 2026-02 to 2026-07.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from harness.api.http.dialects import FOUNDRY, agent_of, is_at_agent_endpoint
from harness.api.operations import OPERATIONS
from harness.api.project_types import AGENT_KINDS, PROMPT, NamedAgent, order_tool
from harness.contract.dialect_body import AGENT_RESOLVERS
from harness.contract.rule import WorldView
from harness.core.exchange import Json, Request
from harness.core.ids import Ids
from harness.core.json_values import as_object, merge_patch, omit, pick
from harness.core.registry import TableKind, declare_table

AGENTS: TableKind[Sequence[Json]] = declare_table("agents")
"""The versions of each agent created by requests, by name; empty for a deleted agent."""
AGENT_SETTINGS: TableKind[Json] = declare_table("agent_settings")
"""The configuration of agents by name: `state`, `agent_endpoint`, `agent_card`; `served` counts requests."""
AGENT_CODE: TableKind[bytes] = declare_table("agent_code")
"""The zip of a version made of code, by the version's id."""
MAKING_VERSIONS = ("POST /agents", "POST /agents/{agent_name}", "POST /agents/{agent_name}/versions")
STATUS_DATE = "2026-03-18"
"""The first day on which a version has a status; no version recorded earlier has one."""
IDENTITY_DATE = "2026-04-17"
"""The first day on which an agent was recorded with identities and an endpoint; the last day without is 2026-03-17."""
GUID_DATE = "2026-05-05"
"""The first day on which a version was recorded with the `agent_guid`; the last day without it is 2026-04-17."""
STATE_DATE = "2026-07-01"
"""The first day on which an agent has its state and the configuration of its protocols.

The last day without them is 2026-06-06 (both recorded).
"""
LISTED_DATE = "2026-06-06"
"""The day on which lists of agents were recorded."""
_LISTED_MEMBERS = ("object", "id", "name", "versions")
AGENT_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_IDENTITY_MEMBERS = ("instance_identity", "blueprint", "blueprint_reference")
NEWEST_VERSION = "@latest"
"""The placeholder for the newest version in rules that direct traffic."""
DEFAULT_ENDPOINT: Json = {
    "version_selector": {
        "version_selection_rules": [{"type": "FixedRatio", "agent_version": NEWEST_VERSION, "traffic_percentage": 100}]
    },
    "protocols": ["responses"],
    "protocol_configuration": {"responses": {}},
    "authorization_schemes": [{"type": "Entra", "isolation_key_source": {"kind": "Entra"}}],
}
"""The endpoint of an unconfigured agent: the members as recorded, the version assumed."""
PROVISIONED_KINDS = ("hosted",)
"""The kinds of agents whose versions are `creating` until they are first read (recorded)."""
EXTERNAL = "external"
"""The kind of agents that run elsewhere: they have neither identities nor an endpoint (recorded of the .NET client)."""
REQUEST_MEMBERS = ("model", "instructions", "tools", "tool_choice", "temperature", "top_p", "text", "reasoning")
"""The members of a definition that are members of a request."""
_TEMPLATED_MEMBERS = ("instructions", "tools")
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*\}\}")
_FIRST_MEMBERS = ("kind", "type", "container_protocol_versions", "model")
"""The first members of a definition as shown, in whatever order they were sent (recorded)."""


def make_identity(name: str, ids: Ids) -> Json:
    """Make the identities of a new agent, which all its versions share."""
    instance, principal, client, guid = (ids.guid() for _ in range(4))
    return {
        "instance_identity": {"principal_id": instance, "client_id": instance},
        "blueprint": {"principal_id": principal, "client_id": client},
        "blueprint_reference": {"type": "ManagedAgentIdentityBlueprint", "blueprint_id": f"{name}-{guid[:5]}"},
        "agent_guid": guid,
    }


def new_version(known: Sequence[Json], name: str, body: Json, now: int, as_of: str, ids: Ids) -> Json:
    """Make the version of an agent that follows the `known` ones, in its form on a day.

    `body` has its `definition` and optionally a `description`, `metadata`, `blueprint_reference` and `draft`. `ids`
    makes the identities of an agent without versions.
    """
    number = int(known[-1]["version"]) + 1 if known else 1
    made = {
        "metadata": body.get("metadata") or {},
        "object": "agent.version",
        "id": f"{name}:{number}",
        "name": name,
        "version": str(number),
        "description": body.get("description") or "",
        "created_at": now,
        "definition": body["definition"],
    }
    if body.get("draft"):
        made["draft"] = True
    if as_of >= STATUS_DATE:
        made["status"] = "creating" if body["definition"].get("kind") in PROVISIONED_KINDS else "active"
    if as_of >= IDENTITY_DATE:
        made |= identity_of(known, name, ids)
        if as_of < GUID_DATE:
            del made["agent_guid"]
        if is_external(made):
            made = omit(made, *_IDENTITY_MEMBERS)
        if body.get("blueprint_reference"):
            made["blueprint_reference"] = body["blueprint_reference"]
    return made


def is_external(version: Json) -> bool:
    """Return whether a version is that of an agent that runs elsewhere."""
    return bool(version["definition"].get("kind") == EXTERNAL)


def identity_of(known: Sequence[Json], name: str, ids: Ids) -> Json:
    """Return the identities of an agent with these versions, or make them if it has none yet."""
    if not known or "blueprint" not in known[-1]:
        return make_identity(name, ids)
    shared = pick(known[-1], *_IDENTITY_MEMBERS)
    return {**shared, "agent_guid": known[-1].get("agent_guid") or ids.guid()}


def render_agent(world: WorldView, name: str) -> Json:
    """Render an agent as the API shows it, with its newest version; before IDENTITY_DATE with nothing else."""
    newest, settings = newest_version(versions_of(world, name)), world.store.table(AGENT_SETTINGS).get(name, {})
    shown: Json = {"object": "agent", "id": name, "name": name}
    if world.as_of < IDENTITY_DATE:
        return {**shown, "versions": {"latest": newest}}
    endpoint = settings.get("agent_endpoint", DEFAULT_ENDPOINT)
    if world.as_of >= STATE_DATE:
        shown["state"] = settings.get("state", "enabled")
    else:
        endpoint = omit(endpoint, "protocol_configuration")
    shown["versions"] = {"latest": newest}
    if settings.get("agent_card"):
        shown["agent_card"] = settings["agent_card"]
    if not is_external(newest):
        shown["agent_endpoint"] = endpoint
    return shown | pick(newest, *_IDENTITY_MEMBERS)


def render_listed_agent(world: WorldView, name: str) -> Json:
    """Render an agent as a list shows it: recorded of agents of every kind, with nothing but its newest version."""
    shown = render_agent(world, name)
    return shown if world.as_of < LISTED_DATE else {member: shown[member] for member in _LISTED_MEMBERS}


def versions_of(world: WorldView, name: str) -> Sequence[Json]:
    """Return the versions of an agent, oldest first; empty for an unknown one."""
    if name in world.store.table(AGENTS):
        return world.store.table(AGENTS)[name]
    scripted = (world.account.agents or {}).get(name)
    if scripted is None:
        return ()
    made = new_version((), name, {"definition": {"kind": "prompt", **scripted}}, 0, world.as_of, Ids(name))
    return [{**made, "status": "active"} if "status" in made else made]


def check_agent_exists(world: WorldView, name: str, version: str | None) -> Iterator[Json]:
    """Yield the facts of an agent, or of a version of it, that does not exist."""
    versions = [stored["version"] for stored in versions_of(world, name)]
    if not versions or (version is not None and version not in versions):
        yield {"name": name, "version": f"{version} " if version is not None else ""}


def newest_version(known: Sequence[Json]) -> Json:
    """Return the newest of an agent's versions that is not a draft, or else the newest draft."""
    if not known[-1].get("draft"):
        return known[-1]
    return next((version for version in reversed(known) if not version.get("draft")), known[-1])


def agent_names(world: WorldView) -> list[str]:
    """Return the names of a project's agents, oldest first."""
    return [
        name
        for name in dict.fromkeys([*(world.account.agents or ()), *world.store.table(AGENTS)])
        if versions_of(world, name)
    ]


def answering_version(world: WorldView, reference: Any, at_endpoint: bool) -> Json | None:
    """Return the version of a referenced agent that answers; None for an unknown agent or version.

    A request at the agent's own endpoint is answered by one of the versions that share its traffic; any other by the
    newest, unless it names one. An agent of the account is the same in all versions.
    """
    if not isinstance(reference, dict) or not isinstance(reference.get("name"), str):
        return None
    name, version = reference["name"], reference.get("version")
    known = versions_of(world, name)
    if not known:
        return None
    if version is not None and name in world.store.table(AGENTS):
        return next((stored for stored in known if stored["version"] == version), None)
    settings = world.store.table(AGENT_SETTINGS).get(name, {})
    directed = _direct_traffic(known, settings) if at_endpoint and version is None else None
    return directed or newest_version(known)


def _direct_traffic(known: Sequence[Json], settings: Json) -> Json | None:
    """Return the version whose share of past requests is furthest below its percentage; None if none is selected."""
    served: Mapping[str, int] = settings.get("served", {})
    selector = settings.get("agent_endpoint", {}).get("version_selector") or {}
    by_number = {stored["version"]: stored for stored in known} | {NEWEST_VERSION: newest_version(known)}
    total, found, most = sum(served.values()) + 1, None, 0
    for rule in selector.get("version_selection_rules") or ():
        version = by_number.get(rule.get("agent_version"))
        if version is not None:
            lag = (rule.get("traffic_percentage") or 0) * total - 100 * served.get(version["version"], 0)
            if found is None or lag > most:
                found, most = version, lag
    return found


def count_served(settings: Json, version: str) -> Json:
    """Count a request answered by a version at an agent's endpoint; returns the agent's settings."""
    served = settings.get("served", {})
    return {**settings, "served": {**served, version: served.get(version, 0) + 1}}


def change_settings(settings: Json, patch: Json) -> Json:
    """Apply `PATCH /agents/{name}` to an agent's settings; when traffic is redirected, counting restarts."""
    changed = dict(settings)
    if "agent_endpoint" in patch:
        endpoint = merge_patch(settings.get("agent_endpoint", DEFAULT_ENDPOINT), patch["agent_endpoint"])
        protocols = endpoint and (patch["agent_endpoint"].get("protocol_configuration") or {})
        changed["agent_endpoint"] = {
            **(endpoint or DEFAULT_ENDPOINT),
            **({"protocols": [*protocols]} if protocols else {}),
        }
        changed.pop("served", None)
    if "agent_card" in patch:
        changed["agent_card"] = patch["agent_card"]
    return changed


def resolve_agent(request: Request, world: WorldView) -> NamedAgent | None:
    """Return the agent that a request names, in the version that answers; None if it names none."""
    if not (named := agent_of(request)):
        return None
    version = answering_version(world, named, is_at_agent_endpoint(request))
    if version is None:
        return NamedAgent(named)
    definition = as_object(version.get("definition"))
    kind = AGENT_KINDS.get(str(definition.get("kind")), PROMPT)
    members = _request_members(definition, request.body.get("structured_inputs"))
    return NamedAgent(named, version, definition, kind, members)


AGENT_RESOLVERS.add(FOUNDRY, resolve_agent, __name__)


def order_definition(definition: Json) -> Json:
    """Order a definition for storage: `kind` first, then the model; its tools as a project writes them.

    Recorded 2026-05-28: a hosted agent with `protocol_versions` also shows the former member, as an empty list.
    """
    if definition.get("kind") == "hosted" and "protocol_versions" in definition:
        definition = {"container_protocol_versions": [], **definition}
    ordered = pick(definition, *_FIRST_MEMBERS) | definition
    if isinstance(tools := ordered.get("tools"), list):
        ordered["tools"] = [order_tool(tool) if isinstance(tool, dict) else tool for tool in tools]
    return ordered


def sent_version(request: Request) -> Any:
    """Return the new version in a request: in a form it is JSON in `metadata`; None for any other content."""
    if not OPERATIONS[request.operation].reads_form(request.headers.get("content-type", "")):
        return request.body
    try:
        return orjson.loads(request.body.get("metadata", ""))
    except (orjson.JSONDecodeError, TypeError):
        return None


def _request_members(definition: Json, inputs: Any) -> Json:
    """Return the request members that a definition sets.

    `inputs` are the structured inputs of the request, which fill `{{name}}` in instructions and tools.
    """
    given = {name: definition[name] for name in REQUEST_MEMBERS if definition.get(name) is not None}
    if isinstance(declared := definition.get("structured_inputs"), dict):
        values = _input_values(declared, inputs)
        given |= {name: _fill(given[name], values) for name in _TEMPLATED_MEMBERS if name in given}
    return given


def _input_values(declared: Mapping[str, Any], inputs: Any) -> Mapping[str, str | None]:
    """Return the text of each declared structured input: the request's, the default, or an empty string.

    None stands for a required input without a value: its placeholder stays.
    """
    sent = as_object(inputs)
    values: dict[str, str | None] = {}
    for name, declaration in declared.items():
        known = as_object(declaration)
        value = sent[name] if sent.get(name) is not None else known.get("default_value")
        values[name] = None if value is None and known.get("required") else _as_text(value)
    return values


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _fill(part: Any, values: Mapping[str, str | None]) -> Any:
    """Fill the placeholders in a part of a definition; list elements that become empty strings are left out."""
    if isinstance(part, str):
        return _PLACEHOLDER.sub(lambda found: found[0] if (text := values.get(found[1])) is None else text, part)
    if isinstance(part, dict):
        return {name: _fill(value, values) for name, value in part.items()}
    if isinstance(part, list):
        filled = [(element, _fill(element, values)) for element in part]
        return [after for before, after in filled if after != "" or before == ""]
    return part
