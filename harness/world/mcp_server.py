"""A remote MCP server scripted by a test: its tools, those a request allows, approvals, and the results of calls."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard

import orjson

from harness.analysis.call_ledger import MCP_CALL, parse_arguments
from harness.answers.response import check_item
from harness.answers.writer import MCP_LIST_TOOLS
from harness.api.tools import declared_tools
from harness.core.delivery import Fault
from harness.core.errors import ConfigError, ScriptError, raise_as_script_error
from harness.core.exchange import Json
from harness.core.json_values import pick
from harness.core.text import show
from harness.ending import TurnLine
from harness.items import mcp_approval_request, mcp_call, mcp_list_tools
from harness.items.kind import CLIENT_CALL_NAMES, Item
from harness.items.transcript import APPROVAL_REQUEST, APPROVAL_RESPONSE, Transcript
from harness.world.script import PlayedTurn

TOOL_MEMBERS = ("annotations", "description", "input_schema")
"""The members that a tool may declare besides its result, as shown in `mcp_list_tools`."""


class ToolError(Exception):
    """Raised by a scripted tool, or given as its result, when a call fails: `ToolError("no such ref")`.

    A string is the tool's message; an object is the `error` on the wire, such as `{"type": "http_error", "code": 500,
    "message": "…"}`.
    """

    def __init__(self, reason: str | Json) -> None:
        super().__init__(reason)
        error = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": reason}]}
        self.error: Json = error if isinstance(reason, str) else reason


@dataclass(frozen=True, slots=True)
class McpServer:
    """A scripted MCP server: its `tools` as shown in `mcp_list_tools`, and the result of each by name."""

    label: str
    tools: Sequence[Json]
    results: Mapping[str, Any]

    def allowed_tools(self, offer: Json) -> list[Json]:
        """Return the tools that the model may call under a request's `mcp` tool."""
        allowed = offer.get("allowed_tools")
        chosen = {"tool_names": allowed} if isinstance(allowed, list) else allowed
        return [tool for tool in self.tools if _is_selected(tool, chosen, blank=True)]

    def find_tool(self, name: str, offer: Json) -> Json:
        """Return a tool by name; ScriptError if the model could not call it."""
        tools = self.allowed_tools(offer)
        for tool in tools:
            if tool["name"] == name:
                return tool
        known = ", ".join(tool["name"] for tool in tools) or "none"
        raise ScriptError(
            f"mcp_call({show(self.label)}, {show(name)}): the model can call {known} of this server. Add the tool to "
            f"mock.mcp({show(self.label)}, …), or to the request's allowed_tools."
        )

    def call(self, name: str, arguments: str, approval_request_id: str | None = None) -> Item:
        """Make a call with its output or error; ScriptError for what a tool's function raises, except a ToolError."""
        if name not in self.results:
            self.find_tool(name, {})
        where = f"mcp_call({show(self.label)}, {show(name)})"
        ended: dict[str, Any]
        try:
            ended = {"output": _output_text(_run_tool(self.results[name], arguments, where))}
        except ToolError as failure:
            ended = {"error": failure.error}
        except BaseException as problem:
            raise_as_script_error(problem, f"{where}: it raised ")
        made = mcp_call(self.label, name, arguments, approval_request_id=approval_request_id, **ended)
        if finding := check_item(made):
            raise ScriptError(f"{where} is not valid output of the API: {finding.message}")
        return made


def _run_tool(result: Any, arguments: str, where: str) -> Any:
    if isinstance(result, ToolError):
        raise result
    if not callable(result):
        return result
    try:
        named = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        named = None
    if not isinstance(named, dict):
        raise ScriptError(
            f"{where}: the arguments are {arguments}. A tool function takes the members of an object by name."
        )
    return result(**named)


def _output_text(result: Any) -> str:
    """Serialize a result for `output`: None as an empty string, a string unchanged, anything else as JSON."""
    return result if isinstance(result, str) else "" if result is None else orjson.dumps(result).decode()


def build_server(label: str, tools: Mapping[str, Any]) -> McpServer:
    """Build a server from its label and tools, declared as for `Mock.mcp`; ConfigError for an invalid declaration."""
    if not isinstance(tools, Mapping):
        raise ConfigError(
            f"mcp({show(label)}): tools is {show(tools)}. Pass a dict: by the name of each tool its result."
        )
    own = {name: _tool_declaration(label, name, tool) for name, tool in tools.items()}
    shown = [{"name": name, **pick(tool, *TOOL_MEMBERS)} for name, tool in own.items()]
    listing = mcp_list_tools(label, shown)
    if finding := check_item(listing):
        raise ConfigError(f"mcp({show(label)}): {finding.message}")
    return McpServer(label, listing.members["tools"], {name: tool["result"] for name, tool in own.items()})


def _tool_declaration(label: str, name: str, tool: Any) -> Json:
    """Complete a tool to a declaration with its `result`.

    A dict is already a declaration if it has a `result`, or only members of the wire.
    """
    if not isinstance(tool, dict) or not ("result" in tool or tool.keys() & {*TOOL_MEMBERS}):
        return {"result": tool}
    if "result" in tool and tool.keys() <= {*TOOL_MEMBERS, "result"}:
        return tool
    raise ConfigError(
        f"mcp({show(label)}): tool {show(name)} has {', '.join(tool)}. A dict with `result` may have "
        f"{', '.join(TOOL_MEMBERS)} beside it; "
        f'if this is the result itself, write {{"result": …}} around it.'
    )


def _is_selected(tool: Json, chosen: Json | None, *, blank: bool) -> bool:
    """Return whether a tool meets a filter, `{"tool_names": […], "read_only": …}`; `blank` for an empty filter."""
    names, read_only = ((chosen or {}).get(name) for name in ("tool_names", "read_only"))
    # `{}` selects nothing in one place and everything in another: the caller knows which.
    if names is None and read_only is None:
        return blank
    annotated = bool((tool.get("annotations") or {}).get("read_only"))
    return (names is None or tool["name"] in names) and read_only in (None, annotated)


def needs_approval(tool: Json, offer: Json) -> bool:
    """Return whether a call needs approval: always, unless `never` exempts it.

    Recorded: a tool in neither list needs it.
    """
    required = offer.get("require_approval")
    if not isinstance(required, dict):
        return bool(required != "never")
    return _is_selected(tool, required.get("always"), blank=False) or not _is_selected(
        tool, required.get("never"), blank=False
    )


_OF_SERVERS = (MCP_LIST_TOOLS, MCP_CALL, APPROVAL_REQUEST)
MAX_ROUNDS = 100
"""The maximum number of turns in one response; each but the last ends with a call that is made."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to be made later, so that none is made for a request that no turn answers."""

    server: McpServer
    name: str
    arguments: str
    approval_request_id: str | None = None

    def execute(self) -> Item:
        """Make the call."""
        return self.server.call(self.name, self.arguments, self.approval_request_id)


PlannedLine = TurnLine | PlannedCall
TakeTurn = Callable[[], PlayedTurn]
"""Takes the next turn of the script."""
OfferedServers = Mapping[str, Json]
"""A request's `mcp` tools whose servers are scripted, by label."""


class AwaitingApproval(NamedTuple):
    """Lines held back until all these approval requests are approved."""

    ids: frozenset[str]
    turn: PlayedTurn


class McpServers:
    """The scripted MCP servers of one key by label, and the lines that wait for an approval."""

    def __init__(self) -> None:
        self.by_label: dict[str, McpServer] = {}
        self._awaiting_approval: list[AwaitingApproval] = []

    def add(self, server: McpServer) -> None:
        """Add a server, replacing one with the same label."""
        self.by_label[server.label] = server

    def tools_of(self, offer: Json) -> Sequence[Json] | None:
        """Return the tools of a server that a request's `mcp` tool allows; None if the server is not scripted."""
        server = self.by_label.get(offer.get("server_label", ""))
        return None if server is None else server.allowed_tools(offer)

    def call(self, label: str, name: str, arguments: str) -> Json:
        """Call a tool and return the members of the call, with its `output` or `error`."""
        return dict(self.by_label[label].call(name, arguments).members)

    def plan_turn(self, body: Json, read: Sequence[Json], take_turn: TakeTurn) -> tuple[PlayedTurn, PlayedTurn | None]:
        """Plan the turn for a request with the transcript `read`: tool listings, approved calls, then scripted lines.

        Lines that waited for an approval come first, otherwise the next turn is taken; without lines nothing is listed
        or called. Also returns the lines held back until the turn's calls are approved.
        """
        servers = (tool for tool in declared_tools(body) if tool.get("type") == "mcp")
        offers = {tool["server_label"]: tool for tool in servers if tool.get("server_label") in self.by_label}
        granted = {
            request["id"]: request for request in _approved_requests(read) if request["server_label"] in self.by_label
        }
        # All approvals of a turn must be there: the API continues when the last one comes.
        awaited = (waiting.turn for waiting in self._awaiting_approval if waiting.ids <= granted.keys())
        taken = next(awaited, None) or take_turn()
        if not taken.lines:
            return taken, None
        lines, taken, held = self._decide_calls(taken, offers, granted, take_turn)
        own = [step for step in lines if isinstance(step, Item)]
        made = {item.members["approval_request_id"] for item in own if item.type == MCP_CALL}
        approved = [self._plan_approved_call(request) for id, request in granted.items() if id not in made]
        steps = [*self._tool_listings(offers, read, own), *approved, *lines]
        # Calls are made only now: no further turn needs to be taken, which may raise.
        made_lines = [step.execute() if isinstance(step, PlannedCall) else step for step in steps]
        return taken._replace(lines=made_lines), taken._replace(lines=held) if held else None

    def hold_for_approval(self, output: Sequence[Json], held: PlayedTurn) -> None:
        """Hold lines back until the approval requests in an output are approved."""
        ids = frozenset(item["id"] for item in output if item["type"] == APPROVAL_REQUEST)
        self._awaiting_approval.append(AwaitingApproval(ids, held))

    def _tool_listings(self, offers: OfferedServers, read: Sequence[Json], scripted: Sequence[Item]) -> Iterator[Item]:
        listed = {item.get("server_label") for item in read if item.get("type") == MCP_LIST_TOOLS}
        listed |= {item.members["server_label"] for item in scripted if item.type == MCP_LIST_TOOLS}
        for label, offer in offers.items():
            if label not in listed:
                yield mcp_list_tools(label, self.by_label[label].allowed_tools(offer))

    def _plan_approved_call(self, request: Json) -> PlannedCall:
        return PlannedCall(self.by_label[request["server_label"]], request["name"], request["arguments"], request["id"])

    def _decide_calls(
        self, taken: PlayedTurn, offers: OfferedServers, granted: dict[str, Json], take_turn: TakeTurn
    ) -> tuple[list[PlannedLine], PlayedTurn, Sequence[TurnLine]]:
        """Decide each scripted call; returns the lines, the last turn taken, and the lines that wait for an approval.

        A scripted call that the client has approved is that call; its request is removed from `granted`. After a call
        that is made, the model continues the same response with the next turn.
        """
        lines: list[PlannedLine] = []
        for _ in range(MAX_ROUNDS):
            held = self._decide_turn(lines, taken.lines, offers, granted)
            last = next(step for step in reversed(lines) if not _is_fault(step))
            if not isinstance(last, PlannedCall) or any(map(needs_client, lines)):
                # Faults concern the whole response and end a turn, also where several turns make one response.
                return sorted(lines, key=_is_fault), taken, held
            taken = take_turn()
        raise ScriptError(f"{MAX_ROUNDS} consecutive turns end with an MCP call. Let one end with a message.")

    def _decide_turn(
        self, decided: list[PlannedLine], words: Sequence[TurnLine], offers: OfferedServers, granted: dict[str, Json]
    ) -> Sequence[TurnLine]:
        """Decide the lines of one turn; returns those after an approval request, which are held back."""
        for place, line in enumerate(words):
            if any(isinstance(step, Item) and step.type == APPROVAL_REQUEST for step in decided) and not _is_call(line):
                # A fault is of the response that is sent now; the rest waits for the approval.
                decided += filter(_is_fault, words[place:])
                return [rest for rest in words[place:] if not _is_fault(rest)]
            # Recorded: an approved call comes first, so that one after other items is another, without its approval.
            is_later = any(isinstance(step, Item) and step.type not in _OF_SERVERS for step in decided)
            decided.append(self._decide_call(line, offers, granted, is_later) if _names_no_approval(line) else line)
        return ()

    def _decide_call(
        self, call: Item, offers: OfferedServers, granted: dict[str, Json], is_later: bool
    ) -> Item | PlannedCall:
        label, name, arguments = (call.members[member] for member in ("server_label", "name", "arguments"))
        if label not in self.by_label or call.members["output"] is not None or call.members["error"]:
            return _name_approval(call, _take_request(call, granted))  # the script says the result
        if not is_later and (request := _take_request(call, granted)):
            return self._plan_approved_call(request)
        if label not in offers:
            raise ScriptError(
                f"mcp_call({show(label)}, {show(name)}): the request has no such server, so the model cannot call it. "
                f'Declare it in its tools: {{"type": "mcp", "server_label": "{label}", "server_url": "…"}}.'
            )
        server, offer = self.by_label[label], offers[label]
        if needs_approval(server.find_tool(name, offer), offer):
            return mcp_approval_request(label, name, arguments)
        return PlannedCall(server, name, arguments)


def name_approvals(items: Sequence[Item], transcript: Transcript) -> Sequence[Item]:
    """Name in each MCP call that names none the approved request that it carries out."""
    if not any(map(_names_no_approval, items)):
        return items
    made = {item.members["approval_request_id"] for item in items if item.type == MCP_CALL}
    granted = {request["id"]: request for request in _approved_requests(transcript.items) if request["id"] not in made}
    return [_name_approval(item, _take_request(item, granted)) if _names_no_approval(item) else item for item in items]


def _names_no_approval(line: TurnLine) -> TypeGuard[Item]:
    return isinstance(line, Item) and line.type == MCP_CALL and not line.members["approval_request_id"]


def _name_approval(call: Item, request: Json | None) -> Item:
    return replace(call, members={**call.members, "approval_request_id": request["id"]}) if request else call


def _take_request(call: Item, granted: dict[str, Json]) -> Json | None:
    """Remove the approval request for a scripted call from `granted` and return it; the call may omit the arguments."""
    own = call.members
    alike = [
        request
        for request in granted.values()
        if (request["server_label"], request["name"]) == (own["server_label"], own["name"])
    ]
    wanted = parse_arguments(own["arguments"])
    same = [request for request in alike if parse_arguments(request["arguments"]) == wanted]
    found = next(iter(same or ([] if wanted else alike)), None)
    return granted.pop(found["id"]) if found else None


def _is_call(line: TurnLine) -> bool:
    return isinstance(line, Item) and line.type.endswith("_call")


def _is_fault(step: PlannedLine) -> bool:
    """Return whether a line is a fault, which belongs to this response and is never held back."""
    return isinstance(step, Fault)


def needs_client(step: PlannedLine) -> bool:
    """Return whether a response ends at this line for the client to act."""
    if not isinstance(step, Item):
        return False
    return step.type == APPROVAL_REQUEST or (
        step.type in CLIENT_CALL_NAMES and step.members.get("execution") != "server"
    )


def _approved_requests(read: Sequence[Json]) -> Iterator[Json]:
    """Yield the approval requests that the client has approved and that have not led to a call yet."""
    answers = {item["approval_request_id"]: item["approve"] for item in read if item.get("type") == APPROVAL_RESPONSE}
    made = {item.get("approval_request_id") for item in read if item.get("type") == MCP_CALL}
    for item in read if answers else ():
        if item.get("type") == APPROVAL_REQUEST and answers.get(item["id"]) and item["id"] not in made:
            yield item
