"""The answers of an unscripted model: what the request demands, else small talk.

after a tool's output                    a text, so that agent loops end; after a search of tools a call of what it found
  but tool_choice is still required      a call of a tool that was not called yet, of one that is `final` if there is one
tool_choice requires or names a tool     a call of it, of whatever kind; a deferred function is searched for first
the user speaks of what a tool is for    a call as well: of `get_weather` for "What is the weather?"
an agent's instructions want its tools   a call of a tool of its project, with what it returns
memories are to be searched              what the store has of the user, who is remembered from then on
an approval of a server's call           that call
text.format requires JSON                a text that is an instance of the schema; without one, of that in the prompt
the instructions state a JSON schema     the same
a compaction is due, or triggered        a compaction after the text, or nothing else
agents are enabled, and it calls a tool  over a WebSocket the response stays open for the outputs
else                                     a text

An effort or a summary that is asked for brings reasoning before all of this.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from harness.answers.echo import echo_tools
from harness.api.multi_agent import enables_agents
from harness.api.tokens import estimate_tokens
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.ending import TurnLine, completed
from harness.items import custom_tool_call, function_call, message, reasoning, tool_search_call, tool_search_output
from harness.items.kind import Item
from harness.items.message import url_citation
from harness.unscripted.filling import Filling, make_text
from harness.unscripted.hosted_picker import pick_hosted
from harness.unscripted.hosted_tools import (
    call_approved,
    call_hosted,
    is_client_search,
    needs_client,
    page_of,
    web_site,
)
from harness.unscripted.least_instance import compact_json, filled_instance
from harness.unscripted.logprobs import make_logprobs
from harness.unscripted.project_tools import EXAMPLE_PAGE, EXAMPLE_TITLE, FINDERS, SOURCE_MARK, first_memory
from harness.unscripted.prompted_schema import find_prompted_schema
from harness.unscripted.reading import NamedTool, Reading
from harness.unscripted.tool_picker import is_final, pick_tools
from harness.world.api_call import ApiCall

GREETING = "Hello. Nothing is scripted, so this is small talk."
THANKS = "Thanks, I have what the tool returned."
FOUND = "I looked it up on {site}. Nothing is scripted, so this is small talk."
FOUND_IN_PROJECT = f"I looked it up. Nothing is scripted, so this is small talk.{SOURCE_MARK}"
REMEMBERED = "You told me: {memory} Nothing is scripted, so this is small talk."
SOURCE_TITLE = "Example Domain"
"""The title of what a search of the web cites."""
THOUGHTS = (
    "**Reading the request**\n\nNothing is scripted for it.",
    "**Thinking of an answer**\n\nA short one will do.",
)
PHASED_MODEL = re.compile(r"gpt-(5\.3-codex|5\.[4-9]|[6-9])")
"""The models whose last messages are marked as such: all of those recorded, 2026-02 to 2026-10, and none of any other."""
COMMENT = "Nothing is scripted, so a call comes first."
CUSTOM_TOOL_INPUT = "ok"
"""What a custom tool is called with."""
ANY_OBJECT: Json = {"type": "object"}
COMPACTION = Item("compaction", {"encrypted_content": None})
"""A compaction, whose ciphertext the World makes."""


def small_talk(call: ApiCall) -> list[TurnLine]:
    """The turn that answers a call when nothing is scripted; ScriptError when no instance of a schema is found."""
    reading = Reading(call.request, call.world)
    if reading.last.get("type") == "compaction_trigger":
        return [COMPACTION]
    turn = _make_items(reading)
    return [*turn, completed(awaits_outputs=True)] if enables_agents(reading.body) and needs_client(turn) else [*turn]


def _make_items(reading: Reading) -> list[Item]:
    turn = _answer(reading)
    if needs_client(turn) and _is_wordy(reading):
        turn = [message(COMMENT, phase="commentary"), *turn]
    due = turn[-1].type == "message" and _is_compaction_due(reading)
    return [*_think(reading), *turn, *([COMPACTION] if due else ())]


def _answer(reading: Reading) -> list[Item]:
    last = reading.last
    kind = str(last.get("type"))
    if kind == "mcp_approval_response":
        return [*call_approved(last, reading), _say(reading, THANKS)]
    if kind == "tool_search_output":
        found = [tool for tool in reading.named_tools if tool.namespace and not tool.search_path]
        return _call_named(reading, found, "required", reading.user_text) or [_say(reading, THANKS)]
    if kind.endswith("_output"):
        return _call_uncalled(reading) or [_say(reading, THANKS)]
    if not reading.tools:
        return [_say(reading, GREETING)]
    if called := _call_named(reading, reading.named_tools, reading.body.get("tool_choice"), reading.said):
        return called
    if tool := pick_hosted(reading):
        turn = call_hosted(tool, reading.body.get("tool_choice"), reading)
        return turn if turn and needs_client(turn) else [*turn, _say(reading, GREETING, turn)]
    return [_say(reading, GREETING)]


def _call_uncalled(reading: Reading) -> list[Item]:
    """What still has to be called where a call is required: a tool that the user's message has not led to yet."""
    choice = reading.body.get("tool_choice")
    if choice != "required" and not (isinstance(choice, dict) and choice.get("mode") == "required"):
        return []
    called = reading.names_called
    left = [named for named in reading.named_tools if named.tool["name"] not in called and not named.search_path]
    last = [named for named in left if is_final(named.tool)]
    return _call_named(reading, last or left, choice, reading.user_text) if called and left else []


def _call_named(reading: Reading, tools: Sequence[NamedTool], choice: str | Json | None, said: str) -> list[Item]:
    """Calls of functions or custom tools, after the search that one waits for; empty when none is called."""
    body = {**reading.body, "tool_choice": choice}
    picked = pick_tools(body, [each.tool for each in tools], said)
    if not picked:
        return []
    first, *others = (next(each for each in tools if each.tool is tool) for tool in picked)
    calls = [_call_tool(named, reading.user_text) for named in others if not named.search_path]
    return [*_call_first(reading, first), *(calls if not first.search_path else ())]


def _call_first(reading: Reading, named: NamedTool) -> list[Item]:
    searches = [tool for tool in reading.tools if tool["type"] == "tool_search"] if named.search_path else []
    if any(map(is_client_search, searches)):
        return [_search_as_client(searches[0], reading)]
    call = _call_tool(named, reading.user_text)
    return [*_find_tool(named.search_path, reading), call] if searches else [call]


def _search_as_client(tool: Json, reading: Reading) -> Item:
    return tool_search_call(
        filled_instance(tool.get("parameters") or ANY_OBJECT, reading.user_text), execution="client"
    )


def _find_tool(path: str, reading: Reading) -> list[Item]:
    """The API's own search of a deferred tool or namespace, and what it finds."""
    found = [tool for tool in reading.tools if tool.get("name") == path]
    return [tool_search_call({"paths": [path]}), tool_search_output(echo_tools({"tools": found}, ()))]


def _call_tool(named: NamedTool, said: str) -> Item:
    tool = named.tool
    if tool["type"] == "custom":
        return custom_tool_call(tool["name"], CUSTOM_TOOL_INPUT, namespace=named.namespace)
    return function_call(
        tool["name"],
        filled_instance(tool.get("parameters") or ANY_OBJECT, said, f"tool {tool['name']!r}"),
        namespace=named.namespace,
    )


def _say(reading: Reading, default: str, turn: Sequence[Item] = ()) -> Item:
    """A message: JSON where the request wants JSON, else small talk, which cites what a search of the web has found."""
    wanted = reading.text_format
    searched = any(item.type == "web_search_call" for item in turn)
    found = any(item.type in FINDERS for item in turn)
    site = web_site(reading)
    if wanted.get("type") == "json_schema":
        text = compact_json(filled_instance(wanted.get("schema") or {}, reading.user_text, "text.format"))
    elif prompted := _follow_prompt(reading):
        text = prompted
    elif wanted.get("type") == "json_object":
        text = compact_json(Filling(reading.user_text).object())
    elif found:
        text = FOUND_IN_PROJECT
    elif memory := first_memory(turn):
        text = REMEMBERED.format(memory=memory)
    else:
        text = FOUND.format(site=site) if searched else make_text(reading.user_text) or default
    phase = "final_answer" if _marks_phases(reading) else None
    if text is default and not make_logprobs(text, reading.body):
        return _say_default(text, phase)
    cited = searched and not text.startswith("{")
    notes = [url_citation(page_of(site), SOURCE_TITLE, cite=site)] if cited else ()
    if text is FOUND_IN_PROJECT:
        notes = [url_citation(EXAMPLE_PAGE, EXAMPLE_TITLE, cite=SOURCE_MARK)]
    return message(text, annotations=notes, logprobs=make_logprobs(text, reading.body), phase=phase)


def _follow_prompt(reading: Reading) -> str:
    """An instance of the schema that the prompt states; empty where there is none, or none is found."""
    schema = find_prompted_schema(reading)
    try:
        return compact_json(filled_instance(schema, reading.user_text)) if schema else ""
    except ScriptError:
        return ""


@cache
def _say_default(text: str, phase: str | None) -> Item:
    """One of the texts that are said most: the item is the same for each request."""
    return message(text, phase=phase)


def _is_wordy(reading: Reading) -> bool:
    """Whether a comment comes before a call: recorded of the models with phases, at times; here where verbosity is high."""
    return _marks_phases(reading) and (reading.body.get("text") or {}).get("verbosity") == "high"


def _marks_phases(reading: Reading) -> bool:
    return PHASED_MODEL.match(str(reading.body.get("model"))) is not None


def _think(reading: Reading) -> list[Item]:
    """The reasoning that the request asks for: by an effort, or a summary, which shows a text."""
    updated = None if reading.stands_alone else reading.transcript.effort
    asked = reading.body.get("reasoning") or ({"effort": updated} if updated else None)
    if not asked:
        return []
    family = reading.family
    summary = asked.get("summary") or asked.get("generate_summary")
    effort = updated or asked.get("effort") or (family.effort if summary else "none")
    if effort in (None, "none", "minimal") or not family.reasons:
        return []
    shown = THOUGHTS if summary else ()
    if family.turns == "all_turns":  # recorded: the newest models show a ciphertext, included or not
        return [Item("reasoning", {**reasoning(shown, content=[]).members, "encrypted_content": None})]
    return [reasoning(shown)]


def _is_compaction_due(reading: Reading) -> bool:
    """Whether what is read, from the last compaction on, reaches the threshold of the request."""
    managed = (each for each in reading.body.get("context_management") or () if each.get("type") == "compaction")
    threshold = next((each.get("compact_threshold") for each in managed), None)
    if threshold is None or reading.transcript.tokens < int(threshold):
        return False
    items = reading.transcript.items
    places = (place for place in range(len(items), 0, -1) if items[place - 1].get("type") == "compaction")
    since = items[next(places, 0) :]
    return estimate_tokens(since) >= int(threshold)
