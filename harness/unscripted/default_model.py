"""Generates the turn of a model without a script: what the request demands, else a text.

after a tool's output                    a text, so that agent loops end; after a tool search a call of what it found
  but tool_choice is still required      a call of a tool that was not called yet
tool_choice requires or names a tool     a call of it, of whatever kind; a deferred function is searched for first
the user names a tool                    a call as well: of `get_weather` for "What is the weather?"
a tool searches memories                 what the store knows about the user, whose message is added to it
an approval of an MCP call               that call
text.format requires JSON                a text that is an instance of the schema
a compaction threshold is reached        a text, then a compaction
a compaction is triggered                only a compaction
agents are enabled, and it calls a tool  over a WebSocket the response stays open for the outputs
else                                     a text

If the request asks for an effort or a summary, reasoning comes first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from harness.answers.echo import echo_tools
from harness.api.multi_agent import enables_agents
from harness.api.tokens import estimate_tokens
from harness.core.exchange import Json
from harness.ending import TurnLine, completed
from harness.items import (
    compaction,
    custom_tool_call,
    function_call,
    message,
    reasoning,
    tool_search_call,
    tool_search_output,
)
from harness.items.kind import Item
from harness.items.message import url_citation
from harness.unscripted.hosted_tools import (
    HOSTED_TYPES,
    call_approved,
    call_hosted,
    is_client_search,
    needs_client,
    page_of,
    web_site,
)
from harness.unscripted.instance import compact_json, make_instance
from harness.unscripted.logprobs import make_logprobs
from harness.unscripted.pick_tool import pick_tool, required_mode
from harness.unscripted.project_tools import EXAMPLE_PAGE, EXAMPLE_TITLE, FINDERS, SOURCE_MARK, first_memory
from harness.unscripted.reading import NAMED_TYPES, CallableTool, Reading
from harness.world.api_call import ApiCall

GREETING = "Hello. Nothing is scripted, so this is small talk."
THANKS = "Thanks, I have what the tool returned."
FOUND = "I looked it up on {site}. Nothing is scripted, so this is small talk."
FOUND_IN_PROJECT = f"I looked it up. Nothing is scripted, so this is small talk.{SOURCE_MARK}"
REMEMBERED = "You told me: {memory} Nothing is scripted, so this is small talk."
SUMMARY = "**Reading the request**\n\nNothing is scripted for it."
PHASED_MODEL = re.compile(r"gpt-(5\.3-codex|5\.[4-9]|[6-9])")
"""Matches the models whose last message has `phase: final_answer`; recorded 2026-02 to 2026-10, without exception."""
CUSTOM_TOOL_INPUT = "ok"
"""The input of a call of a custom tool."""
ANY_OBJECT: Json = {"type": "object"}


def small_talk(call: ApiCall) -> list[TurnLine]:
    """Generate the answer to a request without a scripted turn. ScriptError if no instance of a schema is found."""
    reading = Reading(call)
    if reading.last.get("type") == "compaction_trigger":
        return [compaction()]
    turn = _answer(reading)
    due = turn[-1].type == "message" and _is_compaction_due(reading)
    waits = enables_agents(reading.body) and needs_client(turn)
    return [
        *_think(reading),
        *turn,
        *([compaction()] if due else ()),
        *([completed(awaits_outputs=True)] if waits else ()),
    ]


def _answer(reading: Reading) -> list[Item]:
    last = reading.last
    kind = str(last.get("type"))
    choice = reading.body.get("tool_choice") or "auto"
    if kind == "mcp_approval_response":
        return [*call_approved(last, reading), _say(reading, THANKS)]
    if kind == "tool_search_output":
        # The model searched for a tool in order to call it, so one of those loaded is called.
        found = [tool for tool in reading.named_tools if tool.namespace and not tool.search_path]
        picked = pick_tool(found, "required", reading.user_text)
        return [_call_tool(picked, reading)] if picked else [_say(reading, THANKS)]
    if kind.endswith("_output"):
        # Each tool is called only once in a turn, so that agent loops end even with `tool_choice: required`.
        picked = pick_tool(_uncalled_tools(reading, choice), choice, reading.user_text)
        return [_call_tool(picked, reading)] if picked else [_say(reading, THANKS)]
    if not reading.tools:
        return [_say(reading, GREETING)]
    hosted = (CallableTool(tool) for tool in reading.tools if tool.get("type") in HOSTED_TYPES)
    picked = pick_tool([*reading.named_tools, *hosted], choice, reading.said)
    return _call(picked, choice, reading) if picked else [_say(reading, GREETING)]


def _uncalled_tools(reading: Reading, choice: str | Json) -> list[CallableTool]:
    """List the required tools that were not called yet since the user spoke, if others were."""
    called = reading.names_called
    if not called or required_mode(choice) != "required" or (isinstance(choice, dict) and "mode" not in choice):
        return []
    return [named for named in reading.named_tools if named.tool["name"] not in called and not named.search_path]


def _call(picked: CallableTool, choice: str | Json, reading: Reading) -> list[Item]:
    """Call a tool, after a search if it is deferred; a message follows a call that the API executes."""
    if picked.tool["type"] in NAMED_TYPES:
        searches = [tool for tool in reading.tools if tool["type"] == "tool_search"] if picked.search_path else []
        if any(map(is_client_search, searches)):
            schema = searches[0].get("parameters") or ANY_OBJECT
            return [tool_search_call(make_instance(schema, reading.user_text), execution="client")]
        return [*(_find_tool(picked.search_path, reading) if searches else ()), _call_tool(picked, reading)]
    turn = call_hosted(picked.tool, choice, reading)
    # A message after a call that the client must answer would end the agent's turn.
    return turn if turn and needs_client(turn) else [*turn, _say(reading, GREETING, turn)]


def _find_tool(path: str, reading: Reading) -> list[Item]:
    """Search for a deferred tool or namespace and find it, as the API itself does."""
    found = [tool for tool in reading.tools if tool.get("name") == path]
    return [tool_search_call({"paths": [path]}), tool_search_output(echo_tools({"tools": found}, ()))]


def _call_tool(named: CallableTool, reading: Reading) -> Item:
    name, schema = named.tool["name"], named.tool.get("parameters") or ANY_OBJECT
    if named.tool["type"] == "custom":
        return custom_tool_call(name, CUSTOM_TOOL_INPUT, namespace=named.namespace)
    arguments = make_instance(schema, reading.user_text, f"tool {name!r}")
    return function_call(name, arguments, namespace=named.namespace)


def _say(reading: Reading, default: str, turn: Sequence[Item] = ()) -> Item:
    """Build a message: JSON if the request wants JSON, else small talk that cites what a search in the turn found."""
    phase = "final_answer" if PHASED_MODEL.match(str(reading.body.get("model"))) else None
    wanted, called = reading.text_format, {item.type for item in turn}
    text, notes = default, list[Json]()
    if wanted.get("type") == "json_schema":
        text = compact_json(make_instance(wanted.get("schema") or {}, reading.user_text, "text.format"))
    elif wanted.get("type") == "json_object":
        text = "{}"
    elif called & FINDERS:
        text, notes = FOUND_IN_PROJECT, [url_citation(EXAMPLE_PAGE, EXAMPLE_TITLE, cite=SOURCE_MARK)]
    elif memory := first_memory(turn):
        text = REMEMBERED.format(memory=memory)
    elif "web_search_call" in called:
        site = web_site(reading)
        text, notes = FOUND.format(site=site), [url_citation(page_of(site), EXAMPLE_TITLE, cite=site)]
    logprobs = make_logprobs(text, reading.body)
    if text is default and not logprobs:
        return _say_default(text, phase)
    return message(text, annotations=notes, logprobs=logprobs, phase=phase)


@cache
def _say_default(text: str, phase: str | None) -> Item:
    """Build a message with one of the most common texts, the same item for each request."""
    return message(text, phase=phase)


def _think(reading: Reading) -> list[Item]:
    """Build reasoning if the request asks for it by an effort or a summary, which has a text."""
    updated = None if reading.stands_alone else reading.transcript.effort
    asked = reading.body.get("reasoning") or ({"effort": updated} if updated else None)
    if not asked:
        return []
    family = reading.family
    summary = asked.get("summary") or asked.get("generate_summary")
    effort = updated or asked.get("effort") or (family.effort if summary else "none")
    if effort in (None, "none", "minimal") or not family.reasons:
        return []
    shown = (SUMMARY,) if summary else ()
    if family.turns == "all_turns":  # recorded: the newest models return encrypted content, included or not
        return [Item("reasoning", {**reasoning(shown, content=[]).members, "encrypted_content": None})]
    return [reasoning(shown)]


def _is_compaction_due(reading: Reading) -> bool:
    """Return whether the tokens since the last compaction reach the threshold of the request."""
    managed = (entry for entry in reading.body.get("context_management") or () if entry.get("type") == "compaction")
    threshold = next((entry.get("compact_threshold") for entry in managed), None)
    if threshold is None or reading.transcript.tokens < int(threshold):
        return False
    items = reading.transcript.items
    # What an earlier compaction replaced is still in the transcript, but no longer in the context.
    places = (place for place in range(len(items), 0, -1) if items[place - 1].get("type") == "compaction")
    return estimate_tokens(items[next(places, 0) :]) >= int(threshold)
