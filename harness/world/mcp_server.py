"""A remote MCP server scripted by a test: its tools, those that a request allows, and the results of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from harness.answers.response import check_item
from harness.core.errors import ConfigError, ScriptError, raise_as_script_error
from harness.core.exchange import Json
from harness.core.text import show
from harness.items import mcp_call, mcp_list_tools
from harness.items.kind import Item

TOOL_MEMBERS = ("annotations", "description", "input_schema")
"""The members that a tool may declare besides its result, as shown in `mcp_list_tools`."""


class ToolError(Exception):
    """Raised by a scripted tool, or given as its result, when a call fails: `ToolError("no such ref")`.

    A string is the tool's message; an object is the `error` on the wire, such as `{"type": "http_error", "code": 500,
    "message": "…"}`.
    """

    def __init__(self, reason: str | Json) -> None:
        super().__init__(reason)
        told = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": reason}]}
        self.error: Json = told if isinstance(reason, str) else reason


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
        where = f"mcp_call({show(self.label)}, {show(self.find_tool(name, {})['name'])})"
        ended: dict[str, Any]
        try:
            ended = {"output": _output_text(_run_tool(self.results[name], arguments, where))}
        except ToolError as failure:
            ended = {"error": failure.error}
        except BaseException as problem:
            raise_as_script_error(problem, f"{where}: it raised ")
        made = mcp_call(self.label, name, arguments, approval_request_id=approval_request_id, **ended)
        if finding := check_item(made):
            raise ScriptError(f"{where} is not valid output of the API: {finding.message} (at {finding.at})")
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
    shown = [{"name": name, **{key: tool[key] for key in TOOL_MEMBERS if key in tool}} for name, tool in own.items()]
    listing = mcp_list_tools(label, shown)
    if finding := check_item(listing):
        raise ConfigError(f"mcp({show(label)}): {finding.message} (at {finding.at})")
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
