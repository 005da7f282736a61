"""Items of remote MCP servers that the API calls: tool lists, calls, approval requests."""

from collections.abc import Mapping, Sequence
from typing import Any

from harness.api.project_types import SERVER_TOOLS
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text import show
from harness.items.calls import encode_arguments
from harness.items.examples import Examples, after_message, between_messages, typed
from harness.items.kind import input_item, item, require_text
from harness.items.stream_elements import Deltas, EventVisitor, FinalMember, Phase, StreamedText, TextOrDeltas

SERVER_TYPES = ("mcp", *SERVER_TOOLS)
"""The types of tools that belong to a server."""
STARTED, COMPLETED, FAILED = map(Phase, ("in_progress", "completed", "failed"))


class McpArguments(StreamedText):
    """The arguments of a call that the API makes: a single delta contains all; with an error the call has failed."""

    __slots__ = ()

    def extract_deltas(self, value: Json) -> Deltas:
        """Split a text into its deltas."""
        if value.get("error"):
            value.setdefault("status", "failed")
        exact = StreamedText.extract_deltas(self, value)
        return exact or ({(self.stem, 0): (value[self.member],)} if value[self.member] else {})

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the delta, then the complete arguments."""
        visitor.visit_text(self.stem, place, value[self.member])
        # Recorded: an approved call starts again when its arguments are complete.
        if value.get("approval_request_id"):
            STARTED.emit_events(value, visitor, place)
        visitor.visit_event(f"{self.stem}.done", {**place, self.member: value[self.member]})


@item(
    "mcpl",
    FinalMember("tools", []),
    FinalMember("error"),
    STARTED,
    COMPLETED,
    FAILED,
    status=False,
    defaults={"tools": []},
    tool_types=SERVER_TYPES,
    example=between_messages(
        typed(
            "mcp_list_tools",
            id="mcpl_1",
            server_label="prod",
            tools=[{"name": "deploy", "input_schema": {"type": "object"}}],
        )
    ),
)
def mcp_list_tools(server_label: str, tools: Sequence[str | Json] = (), *, error: str | None = None) -> Json:
    """List the tools of a server, as the API does before the model can call them.

    A tool is a name, or an object with `name`, `input_schema`, `description` and `annotations`. `error` says why the
    list could not be read.
    """
    listed = [_build_tool(f"tools[{number}]", tool) for number, tool in enumerate(tools)]
    members: Json = {"server_label": require_text("server_label", server_label), "tools": listed}
    return members if error is None else {**members, "error": error}


def _build_tool(at: str, tool: str | Json) -> Json:
    own = {"name": tool} if isinstance(tool, str) else tool
    if not isinstance(own, dict) or not own.get("name"):
        raise ScriptError(f"{at} is {show(tool)}. Pass a name, or an object with a name.")
    blank = {"annotations": {"read_only": False}, "description": "", "input_schema": {"type": "object"}}
    return {**blank, **own}


@item(
    "mcp",
    FinalMember("error", None),
    FinalMember("output", None),
    STARTED,
    McpArguments("arguments", "mcp_call_arguments"),
    COMPLETED,
    FAILED,
    listed_status=False,
    defaults={"approval_request_id": None, "error": None, "output": None},
    tool_types=SERVER_TYPES,
    example=between_messages(
        typed("mcp_call", id="mcp_1", server_label="prod", name="deploy", arguments="{}", output="live")
    ),
)
def mcp_call(
    server_label: str,
    name: str,
    arguments: Mapping[str, Any] | TextOrDeltas = "{}",
    *,
    output: str | None = None,
    error: str | Json | None = None,
    approval_request_id: str | None = None,
) -> Json:
    """Let the API call a tool of a server; `output` is its result.

    With `error`, an object or a string (the server's answer over HTTP), the call has failed. `approval_request_id`
    names the request that the client approved; without it, an approved request for the same call is named.
    """
    reason = {"type": "http_error", "code": 424, "message": error} if isinstance(error, str) else error
    return {
        "approval_request_id": approval_request_id,
        "error": reason,
        "output": output,
        **_call_members(server_label, name, arguments),
    }


def _approval_examples() -> Examples:
    request = typed("mcp_approval_request", id="mcpr_1", server_label="prod", name="deploy", arguments="{}")
    response = typed("mcp_approval_response", approval_request_id="mcpr_1", approve=True)
    return {
        "mcp_approval_response": after_message(request, response),
        "mcp_approval_response that declines": after_message(
            request, {**response, "approve": False, "reason": "Not today."}
        ),
    }


@item("mcpr", status=False, examples=_approval_examples(), tool_types=SERVER_TYPES)
def mcp_approval_request(server_label: str, name: str, arguments: Mapping[str, Any] | TextOrDeltas = "{}") -> Json:
    """Let the model request approval to call a tool of a server; the client answers with an `mcp_approval_response`."""
    return _call_members(server_label, name, arguments)


input_item("mcp_approval_response", "Whether the client approves a call of a tool of an MCP server.")


def _call_members(server_label: str, name: str, arguments: Mapping[str, Any] | TextOrDeltas) -> Json:
    return {
        "arguments": encode_arguments(arguments),
        "name": require_text("name", name),
        "server_label": require_text("server_label", server_label),
    }
