"""Rewrites bodies of other dialects for validation by OpenAI's schemas, without what only their dialect has.

An item or tool of a type that only the dialect has is accepted with any members; only the `id` of an item is validated.
Another item or tool takes its place, so that the indexes of all that follow stay the same.

An answer is completed with the members that only the dialect leaves out. Recorded by Microsoft's own SDK tests, 2025-11
to 2026-07: a Foundry project shows a response without its usage until it has ended; a workflow's and a hosted agent's
without the settings of a model; a web search begins without a type.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

import orjson

from harness.api.http.dialects import FOUNDRY, OPENAI, omit_dialect_members
from harness.api.project_types import PROJECT_DEFAULTS, PROJECT_MEMBERS, PROJECT_TOOLS, RESPONSE_PREFIXES, NamedAgent
from harness.contract.first_violation import find_violation
from harness.contract.overrides import repair_body
from harness.contract.rule import WorldView
from harness.core.exchange import Json, Request
from harness.core.json_values import as_string, omit
from harness.core.registry import Registry
from harness.items.kind import item_types

ITEM_LISTS = ("input", "items")
"""The members of bodies that hold items."""
PROMPT_SCHEMAS = ("CreateResponse", "InputTokenCount", "CompactResponse")
"""Bodies that a model reads; the tools that an assistant may have are defined in the schemas."""
OPEN_ITEM = "multi_agent_call"
"""A type of item of which the schemas only know the member `id`."""
ANY_TOOL: Json = {"type": "web_search"}
MEMORIES, ANY_INCLUDE = "memory_search_call.results", "file_search_call.results"
"""An `include` value of projects only (typed in azure-ai-agentserver-responses 2.4), and its replacement."""
MAX_UNKNOWN_MEMBERS = 20
"""The maximum number of unknown members in a definition; one with more is ignored."""
AGENT_RESOLVERS: Registry[Callable[[Request, WorldView], NamedAgent | None]] = Registry("resolver of agents")
"""What finds the agent of a request, by dialect; the package that stores agents declares it."""
_VALID_BODY: Json = {"model": "gpt-4.1", "input": "hi"}


def read_by_schema(request: Request) -> Any:
    """Return the body, or else the query, in the form validated by the request's schema."""
    members = omit_dialect_members(request)
    if request.dialect == OPENAI or request.body is None or not isinstance(members, dict):
        return members
    own = {name: _replace_items(members[name], request.dialect) for name in ITEM_LISTS if name in members}
    if request.dialect == FOUNDRY and request.schema in PROMPT_SCHEMAS:
        own |= {name: _replace_in_prompt(name, value) for name, value in members.items() if name not in own}
    return {**members, **own}


def resolve_agent(request: Request, world: WorldView) -> NamedAgent | None:
    """Return the agent that a request names, in the version that answers; None if it names none."""
    resolver = AGENT_RESOLVERS.get(request.dialect)
    return resolver(request, world) if resolver else None


def known_definition(agent: NamedAgent | None, root: str | None, as_of: str) -> Json:
    """Return the definition of an agent as far as a schema of requests knows its members.

    The client has not sent these members, so no schema refuses them.
    """
    if agent is None or agent.version is None or not root:
        return {}
    return _known_members(orjson.dumps(agent.members), root, as_of)


@lru_cache(maxsize=256)
def _known_members(definition: bytes, root: str, as_of: str) -> Json:
    """Return the members and tools of a definition that conform to a schema of requests, apart from unknown members."""

    def conforms(name: str, value: Any) -> bool:
        request = Request("POST", "", body={**_VALID_BODY, name: value}, schema=root, dialect=FOUNDRY)
        return _conforms_but_for_names(read_by_schema(request), root, as_of)

    given = orjson.loads(definition)
    if isinstance(tools := given.get("tools"), list):
        given["tools"] = [tool for tool in tools if conforms("tools", [tool])]
    return {name: value for name, value in given.items() if conforms(name, value)}


def _conforms_but_for_names(body: Any, root: str, as_of: str) -> bool:
    for _ in range(MAX_UNKNOWN_MEMBERS):
        found = find_violation(root, body, as_of)
        if found is None or found.keyword != "additionalProperties":
            return found is None
        body = repair_body(body, found.path, found.filler)
    return False


def _replace_items(items: Any, dialect: str) -> Any:
    if not isinstance(items, list):
        return items
    known = _own_types(dialect)
    return [
        {**item, "type": OPEN_ITEM} if isinstance(item, dict) and _type_of(item) in known else item for item in items
    ]


@cache
def _own_types(dialect: str) -> frozenset[str]:
    return frozenset(item_types(dialect).keys() - item_types().keys())


def _replace_tool(tool: Any) -> Any:
    if not isinstance(tool, dict):
        return tool
    if (type := _type_of(tool)) in PROJECT_TOOLS:
        return ANY_TOOL
    omitted = PROJECT_MEMBERS.get(type, ())
    return PROJECT_DEFAULTS.get(type, {}) | {name: value for name, value in tool.items() if name not in omitted}


def _replace_in_prompt(name: str, value: Any) -> Any:
    """Return a member of a body that a model reads, without what only a project has."""
    match name:
        case "include" if isinstance(value, list):
            return [ANY_INCLUDE if named == MEMORIES else named for named in value]
        case "tools" if isinstance(value, list):
            return [*map(_replace_tool, value)]
        case "tool_choice" if isinstance(value, dict) and _type_of(value) in PROJECT_TOOLS:
            return "auto"
        case "previous_response_id" if isinstance(value, str) and value.startswith(RESPONSE_PREFIXES):
            return "resp_"  # one made by an agent
    return value


def _type_of(part: Json) -> str:
    return as_string(part.get("type"))


OPTIONAL_MEMBERS: Mapping[str, Json] = {
    "response": {
        **dict.fromkeys(("error", "incomplete_details", "instructions", "temperature", "top_p", "usage")),
        "metadata": {},
        "parallel_tool_calls": True,
        "reasoning": {},
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "truncation": "disabled",
    }
}
"""The members that Foundry may leave out of an object, with valid values, by the type of the object."""
ITEM_ADDED = "response.output_item.added"


def read_answer_by_schema(body: Any, dialect: str) -> Any:
    """Add the members that a dialect leaves out to an answer or a stream's event; others are returned unchanged."""
    if dialect != FOUNDRY or not isinstance(body, dict):
        return body
    if isinstance(response := body.get("response"), dict):
        return {**body, "response": _complete(response)}
    # A project begins a call with an empty action, which the SDK's types do not know.
    if body.get("type") == ITEM_ADDED and isinstance(item := body.get("item"), dict) and item.get("action") == {}:
        return {**body, "item": omit(item, "action")}
    return _complete(body)


def _complete(body: Json) -> Json:
    return {**OPTIONAL_MEMBERS.get(str(body.get("object")), {}), **body}
