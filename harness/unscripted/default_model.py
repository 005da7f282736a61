"""Generates the turn of a model without a script: what the request demands, else always the same text.

`docs/server.md` lists what it does, under "Without a script".
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from string import ascii_lowercase
from typing import NamedTuple

from harness import items
from harness.answers.echoed_values import echo_tools
from harness.answers.item_writer import split_into_tokens
from harness.answers.turn_problem import NAMED_TOOLS, match_tools
from harness.api.project_types import MEMORY_TOOLS, PROJECT_TOOLS
from harness.api.resources.containers import CONTAINER_ID_PREFIX
from harness.api.responses import LOGPROBS, enables_agents
from harness.api.tokens import estimate_tokens
from harness.api.tools import declared_tools, loaded_tools
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string, objects_in, write_json
from harness.ending import TurnLine, completed
from harness.items import compaction, message
from harness.items.kind import ITEMS, Item
from harness.items.mcp import SERVER_TYPES
from harness.items.transcript import Transcript
from harness.unscripted.schema_instance import make_instance
from harness.world.api_call import ApiCall
from harness.world.mcp_server import needs_approval, needs_client
from harness.world.world import World

TEXT, COMMAND = "ok", "echo ok"
"""The input of a custom tool and the output of a tool that the API executes; the command that a shell runs."""
ANY_OBJECT: Json = {"type": "object"}
_VERSION = re.compile(r"(_use)?_(preview|\d{4}).*")
"""Matches the version in the type of a tool: `web_search_preview_2025_03_11` is a `web_search`."""


class Offer(NamedTuple):
    """A tool that can be called; `search_path` is the path that a tool search must find first, if any."""

    tool: Json
    namespace: str | None = None
    search_path: str = ""


def call_required(body: Json, transcript: Transcript, world: World) -> Sequence[Item]:
    """Call the first tool that the `tool_choice` of a body demands and that was not called since the user spoke."""
    choice = body.get("tool_choice")
    demand = choice if isinstance(choice, dict) else {"mode": choice}
    if demand.get("mode", "required") != "required":
        return ()
    wanted = objects_in(demand.get("tools")) if "tools" in demand else [demand]
    history = transcript.items
    declared = declared_tools(body, history)
    since = takewhile(lambda item: item.get("role") != "user", reversed(history))
    calls = [Item(kind, item) for item in since if (kind := item.get("type", "")) in ITEMS and ITEMS[kind].tool_types]
    # Those of the client first, as a message follows the others; each only once, so that agent loops end.
    for offer in sorted(_list_offers(declared, history), key=lambda offer: offer.tool["type"] not in NAMED_TOOLS):
        awaited = {"type": "tool_search"} if offer.search_path else offer.tool
        is_meant = any(_is_meant(offer.tool, entry) for entry in wanted)
        if not is_meant or any(match_tools(call, [awaited]) for call in calls):
            continue
        if offer.tool["type"] in NAMED_TOOLS:
            return _call_named(offer, declared)
        if offer.tool["type"] in SERVER_TYPES:
            return _call_server(offer.tool, demand.get("name"), history, world)
        return _CALLS[offer.tool["type"]](offer.tool, world)
    return ()


def call_approved(response: Json, transcript: Transcript, world: World) -> Sequence[Item]:
    """Build the call that an approval allows; empty if it is denied or the server is scripted."""
    requests = {item.get("id"): item for item in transcript.items_of("mcp_approval_request")}
    asked = requests.get(response.get("approval_request_id"))
    if not (asked and response.get("approve")) or world.mcp_servers.tools_of(asked) is not None:
        return ()
    label, name, arguments = asked["server_label"], asked["name"], asked["arguments"]
    return [items.mcp_call(label, name, arguments, output=TEXT, approval_request_id=asked["id"])]


def _list_offers(declared: Sequence[Json], history: Sequence[Json]) -> Iterator[Offer]:
    searches = [item for item in history if item.get("type") == "tool_search_output"]
    loaded = {name: tool for item in searches for name, tool in loaded_tools(item, declared).items()}
    # A Foundry project accepts any value as the name of its own tools.
    for tool in [*(tool for tool in declared if as_string(tool.get("name")) not in loaded), *loaded.values()]:
        is_space = tool.get("type") == "namespace"
        for inner in tool.get("tools") or () if is_space else [tool]:
            if inner.get("type") in NAMED_TOOLS:
                waits = inner.get("defer_loading") and tool["name"] not in loaded
                # The namespace of a deferred function is added as that of a scripted call.
                yield Offer(inner, tool["name"] if is_space else None, tool["name"] if waits else "")
            elif inner.get("type") in _CALLS or inner.get("type") in SERVER_TYPES:
                yield Offer(inner)


def _is_meant(tool: Json, entry: Json) -> bool:
    """Return whether a choice of tools means this tool; a tool without a type always matches."""
    if _VERSION.sub("", tool["type"]) != _VERSION.sub("", str(entry.get("type", tool["type"]))):
        return False
    # For an MCP server, `name` is one of its tools.
    member = "server_label" if tool["type"] == "mcp" else "name"
    return entry.get(member) in (None, tool.get(member))


def _call_named(offer: Offer, declared: Sequence[Json]) -> list[Item]:
    """Call a function or a custom tool, after a search if it is deferred."""
    searches = [tool for tool in declared if tool.get("type") == "tool_search"] if offer.search_path else []
    if searches and searches[0].get("execution") == "client":
        arguments = make_instance(searches[0].get("parameters") or ANY_OBJECT)
        return [items.tool_search_call(arguments, execution="client")]
    name = offer.tool["name"]
    if offer.tool["type"] == "custom":
        call = items.custom_tool_call(name, TEXT, namespace=offer.namespace)
    else:
        arguments = make_instance(offer.tool.get("parameters") or ANY_OBJECT, f"tool {name!r}")
        call = items.function_call(name, arguments, namespace=offer.namespace)
    if not searches:
        return [call]
    found = echo_tools({"tools": [tool for tool in declared if tool.get("name") == offer.search_path]}, ())
    return [items.tool_search_call({"paths": [offer.search_path]}), items.tool_search_output(found), call]


def _call_server(tool: Json, name: str | None, history: Sequence[Json], world: World) -> list[Item]:
    """List the tools of an MCP server, once in a conversation, and call the tool `name` or, without it, the first."""
    if tool["type"] != "mcp":  # a project's, whose members may be anything; only two types ask for approval
        approval = as_string(tool.get("require_approval")) or as_object(tool.get("require_approval"))
        default = "always" if tool["type"] in ("fabric_iq_preview", "web_iq_preview") else "never"
        label = as_string(tool.get("server_label")) or tool["type"]
        tool = {"type": "mcp", "server_label": label, "require_approval": approval or default}
    label, scripted = tool["server_label"], world.mcp_servers.tools_of(tool)
    lists = [item for item in history if item.get("type") == "mcp_list_tools" and item.get("server_label") == label]
    tools = [listed for item in lists for listed in item.get("tools") or ()] if scripted is None else scripted
    if scripted is None and not tools:
        allowed = tool.get("allowed_tools") or ()
        names = allowed.get("tool_names") or () if isinstance(allowed, dict) else allowed
        tools = [{"name": name or [*names, "search"][0]}]
    if not tools:
        return []
    called = min(tools, key=lambda listed: listed["name"] != name)
    name = called["name"]
    if scripted is not None:
        return [items.mcp_call(label, name)]
    waits = needs_approval(called, tool)
    call = items.mcp_approval_request(label, name) if waits else items.mcp_call(label, name, output=TEXT)
    return [call] if lists else [items.mcp_list_tools(label, tools), call]


def _run_shell(tool: Json, world: World) -> list[Item]:
    where = tool.get("environment") or {}
    if where.get("type") not in ("container_auto", "container_reference"):
        return [items.shell_call(COMMAND)]
    id, container = world.ids.call(), where.get("container_id") or world.ids.hex(CONTAINER_ID_PREFIX, 48)
    return [items.shell_call(COMMAND, container_id=container, call_id=id), items.shell_call_output(id, TEXT)]


def _run_program(tool: Json, world: World) -> list[Item]:
    id = world.ids.call()
    return [items.program(f'text("{TEXT}")', call_id=id), items.program_output(id, TEXT)]


def _capture(tool: Json, world: World) -> list[Item]:
    schema = as_object(as_object(tool.get("outputs")).get("schema"))
    return [items.structured_outputs(make_instance(schema or ANY_OBJECT, "outputs.schema"))]


def _call_in_project(tool: Json, world: World) -> list[Item]:
    """Call a tool that a Foundry project executes; what has functions is called by a name."""
    type = tool["type"]
    called = next(name for name in (f"{type}_call", f"{type}_preview_call") if name in ITEMS)
    function = as_object(as_object(tool.get("azure_function")).get("function"))
    named = as_string(function.get("name")) or as_string(as_object(tool.get("openapi")).get("name")) or type
    names = [named] if type in ("a2a", "a2a_preview", "azure_function", "openapi") else []
    return [ITEMS[called].builder(*names), ITEMS[f"{called}_output"].builder(*names)]


_CALLS: Mapping[str, Callable[[Json, World], list[Item]]] = {
    **dict.fromkeys(ITEMS["web_search_call"].tool_types, lambda tool, world: [items.web_search_call("example")]),
    "file_search": lambda tool, world: [items.file_search_call("example")],
    "code_interpreter": lambda tool, world: [items.code_interpreter_call()],
    "image_generation": lambda tool, world: [items.image_generation_call()],
    "shell": _run_shell,
    "local_shell": lambda tool, world: [items.local_shell_call(COMMAND.split())],
    "apply_patch": lambda tool, world: [items.apply_patch_call(items.create_file("hello.txt", "+ok\n"))],
    "computer": lambda tool, world: [items.computer_call([{"type": "screenshot"}])],
    "computer_use_preview": lambda tool, world: [items.computer_call({"type": "screenshot"})],
    "programmatic_tool_calling": _run_program,
    **dict.fromkeys(PROJECT_TOOLS - {*SERVER_TYPES, "reminder_preview"}, _call_in_project),
    **dict.fromkeys(MEMORY_TOOLS, lambda tool, world: [items.memory_search_call()]),
    "capture_structured_outputs": _capture,
}
"""The function that calls a tool without a name of its own, by the tool's type."""

SMALL_TALK = "Hello. Nothing is scripted, so this is small talk."
UPDATE = "configuration_update"
PHASED_MODEL = re.compile(r"gpt-(5\.3-codex|5\.[4-9]|[6-9])")
"""Matches the models whose last message has `phase: final_answer`; recorded 2026-02 to 2026-10, without exception."""
_SMALL_TALK = {phase: message(SMALL_TALK, phase=phase) for phase in (None, "final_answer")}
"""The most common message by its phase, the same item for each request, as its encoding is cached."""
COMPACTION = compaction()
"""A compaction, whose encrypted content the World creates."""
MAX_LOGPROBS = 2_000
"""The maximum number of entries for a text; longer texts get longer tokens."""


def small_talk(call: ApiCall) -> list[TurnLine]:
    """Generate the answer to a request without a scripted turn. ScriptError if no instance of a schema is found."""
    body = call.members
    transcript = call.transcript
    last = transcript.added[-1] if transcript.added else {}
    if last.get("type") == "compaction_trigger":
        return [COMPACTION]
    is_approval = last.get("type") == "mcp_approval_response"
    turn = call_approved(last, transcript, call.world) if is_approval else call_required(body, transcript, call.world)
    # A message after a call that the client must answer would end the agent's turn.
    if turn and needs_client(turn[-1]):
        return [*turn, completed(awaits_outputs=True)] if enables_agents(body) else [*turn]
    return [*turn, _say(body, transcript), *([COMPACTION] if _is_compaction_due(body, transcript) else ())]


def _say(body: Json, transcript: Transcript) -> Item:
    """Build a message: JSON if the request wants JSON, else small talk."""
    phase = "final_answer" if PHASED_MODEL.match(str(body.get("model"))) else None
    # The last `configuration_update` with a format counts, else that of the body.
    updates = [item for item in transcript.items_from_first(UPDATE) if item.get("type") == UPDATE]
    texts = [body.get("text"), *(item.get("text") for item in updates)]
    format: Json = next((text["format"] for text in reversed(texts) if text and text.get("format")), {})
    if format.get("type") == "json_schema":
        text = write_json("text.format", make_instance(format.get("schema") or {}, "text.format"))
    else:
        text = "{}" if format.get("type") == "json_object" else SMALL_TALK
    if LOGPROBS in (body.get("include") or ()):
        return message(text, logprobs=_make_logprobs(text, int(body.get("top_logprobs") or 0)), phase=phase)
    return _SMALL_TALK[phase] if text is SMALL_TALK else message(text, phase=phase)


def _make_logprobs(text: str, number: int) -> list[Json]:
    """Build an entry for each token of a text, almost certain, with the `number` most likely tokens."""

    def entry(token: str, place: int) -> Json:
        return {"bytes": list(token.encode("utf-8", "surrogatepass")), "logprob": -0.01 - 4.0 * place, "token": token}

    tokens, entries = split_into_tokens(text), []
    # A long text gets fewer, longer tokens, so that the answer stays bounded.
    size = -(-len(tokens) // MAX_LOGPROBS)
    for token in ("".join(tokens[start : start + size]) for start in range(0, len(tokens), size)):
        likely = [token, *(letter for letter in ascii_lowercase if letter != token)][:number]
        top = [entry(choice, place) for place, choice in enumerate(likely)]
        entries.append({**entry(token, 0), "top_logprobs": top})
    return entries


def _is_compaction_due(body: Json, transcript: Transcript) -> bool:
    """Return whether the tokens since the last compaction reach the threshold of the request."""
    managed = (entry for entry in body.get("context_management") or () if entry.get("type") == "compaction")
    threshold = next((entry.get("compact_threshold") for entry in managed), None)
    if threshold is None or transcript.tokens < int(threshold):
        return False
    # What an earlier compaction replaced is still in the transcript, but no longer in the context.
    items = transcript.items
    since = max((number for number, item in enumerate(items, 1) if item.get("type") == "compaction"), default=0)
    return estimate_tokens(items[since:]) >= int(threshold)
