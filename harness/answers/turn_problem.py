"""Decides whether a model of the API could answer a request with a turn: calls, `tool_choice`, text format.

A turn that no model could produce is a mistake in the script. No answer in the recorded traffic violates any of these
checks (`tests/contract/evidence/test_turns.py`). `max_tool_calls` is not among them, as recorded answers exceed it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs
import orjson

from harness.api.http.bodies import load_json
from harness.api.http.dialects import AGENT_REFERENCE
from harness.api.responses import MULTI_AGENT_BETA, enables_agents
from harness.api.strict_schema import apply_strictness
from harness.api.tools import all_tools, declared_tools
from harness.contract.compile_schema import compile_request_schema
from harness.core.advice_wording import PYTHON, Vocabulary
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.core.registry import suggest_name
from harness.core.text import shorten, show
from harness.ending import Ending
from harness.items.kind import ITEMS, Item

MAX_COMPILED = 256
"""The number of cached schemas."""
MAX_ERRORS = 20
"""The number of errors inspected to find the most informative one."""


def describe_mismatch(text: str, schema: Json) -> str:
    """Describe how a text violates a schema; empty if it does not, or if the schema is invalid.

    A member unknown to the schema is reported first, with the nearest known name.
    """
    if (validator := _compile(orjson.dumps(schema))) is None:
        return ""
    try:
        value = load_json(text)
    except ValueError as problem:
        return f"it is not JSON: {problem}"
    if validator.is_valid(value):
        return ""
    # A long list against a wrong schema has an error for each element.
    errors = list(islice(validator.iter_errors(value), MAX_ERRORS))
    unknown = next((error for error in errors if error.kind.name == "additionalProperties"), None)
    return _describe_error(unknown or errors[0], schema)


@lru_cache(maxsize=MAX_COMPILED)
def _compile(schema: bytes) -> Any:
    """Compile a schema; None if it is invalid."""
    try:
        return compile_request_schema(orjson.loads(schema))
    except ValueError:
        return None


def _describe_error(error: jsonschema_rs.ValidationError, schema: Json) -> str:
    place = "".join(f"[{step!r}]" for step in error.instance_path)
    where = f" (at {place})" if place else ""
    if error.kind.name != "additionalProperties":
        return f"{error.message}{where}"
    names: list[str] = error.kind.as_dict()["unexpected"]
    said = f"it has no member {', '.join(map(repr, names))}{where}"
    return f"{said}. {suggest_name(names[0], known)}" if (known := _known_members(schema, error.schema_path)) else said


def _known_members(schema: Json, path: Sequence[Any]) -> list[str]:
    """Return the properties next to the keyword at `path`; behind a reference, those of the whole schema."""
    beside: Any = schema
    try:
        for step in path[:-1]:
            beside = beside[step]
        return list(beside["properties"])
    except (LookupError, TypeError):
        return list(dict.fromkeys(_all_members(schema)))


def _all_members(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(properties := schema.get("properties"), dict):
            yield from properties
        yield from _members_of_all(schema.values())
    elif isinstance(schema, list):
        yield from _members_of_all(schema)


def _members_of_all(schemas: Iterable[Any]) -> Iterator[str]:
    for schema in schemas:
        yield from _all_members(schema)


ReadItems = Callable[[], Sequence[Json]]
"""Resolves the transcript that the model reads, which may have loaded tools."""

AGENT_ITEMS = ("multi_agent_call", "multi_agent_call_output", "agent_message")
NAMED_TOOLS = ("function", "custom")
"""The types of tools that a client executes, with names of its own."""
_NAMED_NOUNS = {
    "function": "function of that name",
    "custom": "custom tool of that name",
    "mcp": "MCP server of that label",
}
MAX_SHOWN = 121
"""The maximum length of a text or of arguments in a problem."""


def find_turn_problem(
    body: Json, items: Sequence[Item], ending: Ending, read: ReadItems, words: Vocabulary = PYTHON
) -> str:
    """Describe why no model could answer this request with a turn, and on a second line the fix; empty if one could.

    `read` is called only if the request's own `tools` do not settle it.
    """
    if ending.off_schema:
        return ""
    text, choice = body.get("text"), body.get("tool_choice")
    if problem := _find_agent_problem(body, items, ending):
        return problem
    calls = [item for item in items if ITEMS[item.type].tool_types]
    if not (text or calls or choice):
        return ""
    turn = _HeldTurn(body, items, read, words)
    if text and (problem := turn.find_text_problem(text.get("format") or {})):
        return problem
    if ending.recorded or not (calls or choice):
        return ""
    problems = (
        *(turn.find_approval_problem(call) for call in calls if call.members.get("approval_request_id")),
        *(turn.find_call_problem(call) for call in calls if not _is_free(call)),
        turn.find_choice_problem(choice, calls),
        turn.find_parallel_problem(calls),
    )
    return next(filter(None, problems), "")


def _find_agent_problem(body: Json, items: Sequence[Item], ending: Ending) -> str:
    """Describe an agent's item in a response without agents."""
    acting = [item.type for item in items if item.type in AGENT_ITEMS or "agent" in item.members]
    if not acting or enables_agents(body) or ending.recorded:
        return ""
    return (
        f"{acting[0]}: the request does not enable `multi_agent`, so there are no agents.\nSend `multi_agent: "
        f'{{"enabled": true}}` with the header `OpenAI-Beta: {MULTI_AGENT_BETA}`, or script the item without an agent.'
    )


@dataclass(frozen=True, slots=True)
class _HeldTurn:
    """A turn with the request that it answers."""

    body: Json
    items: Sequence[Item]
    read: ReadItems
    words: Vocabulary

    def find_text_problem(self, format: Json) -> str:
        """Describe a finished text that violates a strict schema. Recorded: comments and refusals need not conform."""
        if format.get("type") != "json_schema" or format.get("strict") is False:
            return ""
        for text in _output_texts(self.items):
            if reason := describe_mismatch(text, format["schema"]):
                return (
                    f"message: {show(shorten(text, MAX_SHOWN))} is not what text.format ({format.get('name')}) asks for: "
                    f"{reason}{'' if reason.endswith('?') else '.'}\nThe API's models keep to the schema: script a text "
                    f"that does, or opt out with {self.words.off_schema_turn('message')}."
                )
        return ""

    def find_call_problem(self, call: Item) -> str:
        """Describe what is wrong with a call: its tool is not declared, or does not accept its arguments."""
        matching = match_tools(call, self.body.get("tools") or ())
        if not matching and not _has_hidden_tools(self.body):
            tools = self._find_all_tools()
            if not (matching := match_tools(call, tools)):
                return self._describe_undeclared(call, tools)
        return self._find_argument_problem(call, matching) if call.type == "function_call" else ""

    def _find_all_tools(self) -> list[Json]:
        """Return the tools of the request, and those that its transcript and the turn itself have added or loaded."""
        read = self.read()
        said = ({"type": item.type, **item.members} for item in self.items)
        return [*declared_tools(self.body, read), *_loaded_tools([*read, *said])]

    def _describe_undeclared(self, call: Item, tools: Sequence[Json]) -> str:
        types = ITEMS[call.type].tool_types
        member = _name_member(types)
        declared = [tool[member] for tool in all_tools(tools) if tool.get("type") in types and member in tool]
        if declared:
            near = f" {suggest_name(call.members[member], declared)}"
        elif not tools and self.body.get("previous_response_id"):
            near = " It has no tools: those of the response before are not taken over, each request declares its own."
        else:
            near = "" if tools else " It has no tools."
        return (
            f"{self._name_call(call)}: the request declares no "
            f"{_NAMED_NOUNS.get(types[0], f'tool of type {show(types[0])}')}, so no model can call it.{near}\n"
            f"Declare it in the `tools` of the request, or opt out with {self._off_schema_form(call)}."
        )

    def _find_argument_problem(self, call: Item, tools: Sequence[Json]) -> str:
        """Describe arguments that violate the schema of a strict function, or of each function with that name."""
        arguments, problem = call.members["arguments"], ""
        for tool in tools:
            parameters, strict = apply_strictness(tool.get("parameters"), tool.get("strict"))
            problem = describe_mismatch(arguments, parameters) if strict and isinstance(parameters, dict) else ""
            if not problem:
                return ""
        if not problem:
            return ""
        default = (
            "" if tools[-1].get("strict") else ", as it is without `strict` and the API then requires every property"
        )
        shown = shorten(arguments, MAX_SHOWN)
        return (
            f"{self._name_call(call)}: the arguments {shown} break the tool's schema, which is strict"
            f"{default}: {problem}{'' if problem.endswith(('?', '.')) else '.'}\nThe API's models keep to a strict schema: "
            "correct the arguments, declare the tool with `strict: false`, or opt out with "
            f"{self._off_schema_form(call)}."
        )

    def find_approval_problem(self, call: Item) -> str:
        """Describe a call whose approval request the client has not approved."""
        id = call.members["approval_request_id"]
        if any(item.get("approval_request_id") == id and item.get("approve") for item in self.read()):
            return ""
        return (
            f"{self._name_call(call)}: the client has not approved the request {id!r} that `approval_request_id` names, so "
            "the API does not make this call.\nLeave `approval_request_id` out, which names the request that the client "
            f"has approved, or opt out with {self._off_schema_form(call)}."
        )

    def find_choice_problem(self, choice: str | Json | None, calls: Sequence[Item]) -> str:
        """Describe how a turn contradicts `tool_choice`."""
        if choice in (None, "auto"):
            return ""
        # Listing a server's tools is not a choice of the model.
        made = [call for call in calls if call.type != "mcp_list_tools"]
        wrong = next((call for call in made if not _is_free(call) and not _is_chosen(call, choice)), None)
        if wrong:
            return (
                f"{self._name_call(wrong)}: tool_choice is {_show_choice(choice)}, so no model makes this call.\nScript "
                f"what it permits, opt out with {self._off_schema_form(wrong)}, or change the request's tool_choice."
            )
        if made or choice == "none" or as_object(choice).get("mode") == "auto":
            return ""
        return (
            f"the turn has no call, but tool_choice is {_show_choice(choice)}: a model has to make one.\nScript that call, "
            f"opt out with {self.words.off_schema_turn('message')}, or change the request's tool_choice."
        )

    def find_parallel_problem(self, calls: Sequence[Item]) -> str:
        """Describe several simultaneous calls of the client's tools; a program's calls do not count."""
        if self.body.get("parallel_tool_calls") is not False:
            return ""
        named = [
            call for call in calls if ITEMS[call.type].tool_types[0] in NAMED_TOOLS and "caller" not in call.members
        ]
        if len(named) < 2 or any(call.off_schema for call in named):
            return ""
        return (
            f"the turn has {len(named)} calls ({', '.join(map(self._name_call, named))}), but parallel_tool_calls is "
            "false: a model makes one at a time.\nScript them as separate turns, opt out with "
            f"{self.words.off_schema_turn(named[-1].type)}, or change the request."
        )

    def _name_call(self, call: Item) -> str:
        member = _name_member(ITEMS[call.type].tool_types)
        return self.words.name_call(call.type, call.members[member] if member else "")

    def _off_schema_form(self, call: Item) -> str:
        client = call.type in ("function_call", "custom_tool_call")
        return self.words.off_schema_call(call.type) if client else self.words.off_schema_turn(call.type)


def _output_texts(items: Sequence[Item]) -> Iterator[str]:
    for item in items:
        if item.type == "message" and item.members.get("phase") != "commentary":
            yield from (part["text"] for part in item.members["content"] if part["type"] == "output_text")


def _is_free(call: Item) -> bool:
    """Return whether a call may be of any tool: the script says so, or an earlier request offered the tool."""
    return call.off_schema or bool(call.members.get("approval_request_id"))


def _has_hidden_tools(body: Json) -> bool:
    """Return whether a request may have tools that it does not show: those of a prompt template or an agent."""
    return bool(body.get("prompt")) or (AGENT_REFERENCE in body and not body.get("tools"))


def _loaded_tools(items: Iterable[Json]) -> Iterator[Json]:
    for item in items:
        if item.get("type") == "tool_search_output":
            yield from item.get("tools") or ()


def match_tools(call: Item, tools: Iterable[Json]) -> list[Json]:
    """Return the tools that a call may belong to."""
    types = ITEMS[call.type].tool_types
    offered = [tool for tool in all_tools(tools) if tool.get("type") in types]
    member = _name_member(types)
    # A tool without its optional name, such as a project's with a server behind it, matches any name.
    return (
        [tool for tool in offered if tool.get(member, call.members[member]) == call.members[member]]
        if member
        else offered
    )


def _name_member(types: Sequence[str]) -> str:
    """Return the member by which a call names its tool; empty if the tool needs no name."""
    return "name" if types[0] in NAMED_TOOLS else "server_label" if types[0] == "mcp" else ""


def _show_choice(choice: str | Json | None) -> str:
    if not isinstance(choice, dict):
        return repr(choice)
    shown = ", ".join(_name_choice(tool) for tool in choice.get("tools") or (choice,))
    return f"{choice['mode']} of {shown}" if "mode" in choice else shown


def _name_choice(choice: Json) -> str:
    name = choice.get("name") or choice.get("server_label")
    return f"the {choice.get('type')} {show(name)}" if name else repr(choice.get("type"))


def _is_chosen(call: Item, choice: str | Json | None) -> bool:
    if not isinstance(choice, dict):
        return choice != "none"
    types = ITEMS[call.type].tool_types
    member = _name_member(types)
    return any(
        tool.get("type") in types and (member not in tool or tool[member] == call.members[member])
        for tool in choice.get("tools") or (choice,)
    )
