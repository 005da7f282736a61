"""A scripted MCP server: its tools, what a request allows and wants to be asked about, and what a call returns."""

from __future__ import annotations

from typing import Any

import pytest

from harness.core.errors import ConfigError, ScriptError
from harness.world.mcp_server import McpServer, ToolError, build_server, needs_approval

READ_ONLY = {"annotations": {"read_only": True}, "result": "up"}


@pytest.fixture
def prod() -> McpServer:
    return build_server("prod", {"deploy": lambda ref: f"{ref} is live", "status": READ_ONLY})


def test_its_tools_are_shown_as_the_list_of_the_wire():
    schema = {"type": "object", "properties": {"ref": {"type": "string"}}, "required": ["ref"]}
    writes = {"annotations": {"read_only": False}}
    described = {**writes, "description": "Puts a version live.", "input_schema": schema, "result": "ok"}
    assert build_server("prod", {"deploy": described, "status": "up"}).tools == [
        {**writes, "description": "Puts a version live.", "input_schema": schema, "name": "deploy"},
        {**writes, "description": "", "input_schema": {"type": "object"}, "name": "status"},
    ]


@pytest.mark.parametrize(
    ("allowed", "left"),
    [
        (None, ["deploy", "status"]),
        (["status"], ["status"]),
        ([], []),
        ({}, ["deploy", "status"]),
        ({"tool_names": None, "read_only": None}, ["deploy", "status"]),
        ({"tool_names": ["deploy", "else"]}, ["deploy"]),
        ({"read_only": True}, ["status"]),
        ({"read_only": False}, ["deploy"]),
        ({"tool_names": ["deploy"], "read_only": True}, []),
    ],
)
def test_a_request_allows_some_of_them(prod, allowed, left):
    assert [tool["name"] for tool in prod.allowed_tools({"allowed_tools": allowed})] == left


@pytest.mark.parametrize(
    ("require_approval", "asked_for"),
    [
        ("nothing", ["deploy", "status"]),
        (None, ["deploy", "status"]),
        ("always", ["deploy", "status"]),
        ("never", []),
        ({"never": {"tool_names": ["status"]}}, ["deploy"]),
        ({"never": {"read_only": True}}, ["deploy"]),
        ({"never": {}}, ["deploy", "status"]),
        ({"always": {"tool_names": ["deploy"]}}, ["deploy", "status"]),
        ({"always": {"tool_names": ["deploy"]}, "never": {"tool_names": ["status"]}}, ["deploy"]),
        ({"always": {"tool_names": ["status"]}, "never": {"tool_names": ["deploy", "status"]}}, ["status"]),
        ({"always": None, "never": None}, ["deploy", "status"]),
    ],
)
def test_a_call_needs_leave_unless_never_names_it(prod, require_approval, asked_for):
    offer = {} if require_approval == "nothing" else {"require_approval": require_approval}
    assert [tool["name"] for tool in prod.tools if needs_approval(tool, offer)] == asked_for


@pytest.mark.parametrize(
    ("result", "output"),
    [
        ("18 °C", "18 °C"),
        ("", ""),
        ({"c": 18}, '{"c":18}'),
        ([1, 2], "[1,2]"),
        (None, ""),
        (lambda city: f"{city}: 18", "Oslo: 18"),
        (lambda **given: given, '{"city":"Oslo"}'),
        ({"result": {"description": "mild"}}, '{"description":"mild"}'),
    ],
)
def test_a_call_returns_the_result_as_text(result, output):
    members = build_server("weather", {"now": result}).call("now", '{"city":"Oslo"}').members
    assert (members["output"], members["error"], members["approval_request_id"]) == (output, None, None)


def test_an_approved_call_names_the_request(prod):
    members = prod.call("deploy", '{"ref":"v2"}', "mcpr_1").members
    assert (members["output"], members["approval_request_id"]) == ("v2 is live", "mcpr_1")


DOWN = {"type": "http_error", "code": 503, "message": "down"}
LOCKED = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "locked"}]}


DEPLOYING = r"mcp_call\('prod', 'deploy'\)"


def raising(error: Exception) -> Any:
    def tool(**given: Any) -> Any:
        raise error

    return tool


@pytest.mark.parametrize(
    ("result", "error"),
    [(ToolError("locked"), LOCKED), (raising(ToolError("locked")), LOCKED), (ToolError(DOWN), DOWN)],
)
def test_a_tool_fails_by_a_tool_error(result, error):
    members = build_server("prod", {"deploy": result}).call("deploy", "{}").members
    assert (members["error"], members["output"], members["status"]) == (error, None, "failed")


@pytest.mark.parametrize(
    ("result", "arguments", "says"),
    [
        (raising(KeyError("ref")), "{}", rf"^{DEPLOYING}: it raised KeyError: 'ref', at .*\.py:\d+\n  at "),
        (lambda ref: ref, "{}", "it raised TypeError: .*'ref'"),
        (lambda: object(), "{}", "it raised TypeError: Type is not JSON serializable"),
        (lambda ref: ref, "[]", r"the arguments are \[\]\. A tool function takes the members of an object by name"),
        (lambda ref: ref, "{", r"the arguments are \{\. A tool function"),
        (raising(ScriptError("mine")), "{}", r"^mine, at .*\.py:\d+\n  at "),
        (ToolError({"type": "odd"}), "{}", r"is not valid output of the API: .* \(at output\[0\]\.error"),
    ],
)
def test_what_else_goes_wrong_in_a_tool_is_told_to_its_author(result, arguments, says):
    with pytest.raises(ScriptError, match=says):
        build_server("prod", {"deploy": result}).call("deploy", arguments)


@pytest.mark.parametrize(
    ("name", "offer", "says"),
    [
        ("rollback", {}, r"^mcp_call\('prod', 'rollback'\): the model can call deploy, status of this server\. Add"),
        ("deploy", {"allowed_tools": ["status"]}, "the model can call status of this server"),
        ("deploy", {"allowed_tools": []}, "the model can call none of this server"),
    ],
)
def test_a_tool_that_the_model_cannot_call_is_a_fault_of_the_script(prod, name, offer, says):
    with pytest.raises(ScriptError, match=says):
        prod.find_tool(name, offer)


def test_an_approved_call_of_no_tool_is_one_too(prod):
    with pytest.raises(ScriptError, match="the model can call deploy, status of this server"):
        prod.call("rollback", "{}", "mcpr_1")


@pytest.mark.parametrize(
    ("label", "tools", "error", "says"),
    [
        ("prod", ["deploy"], ConfigError, r"mcp\('prod'\): tools is \['deploy'\]\. Pass a dict"),
        ("", {}, ScriptError, "server_label is ''"),
        ("prod", {"": "x"}, ScriptError, r"tools\[0\] is .*Pass a name"),
        (
            "prod",
            {"deploy": {"description": "Deploys."}},
            ConfigError,
            "tool 'deploy' has description. A dict with `result` may have annotations, description, input_schema",
        ),
        ("prod", {"deploy": {"result": "x", "schema": {}}}, ConfigError, "tool 'deploy' has result, schema"),
        ("prod", {"deploy": {"description": 1, "result": "x"}}, ConfigError, r"expected a string.*\(at output\[0\]"),
    ],
)
def test_a_server_that_is_declared_wrongly(label, tools, error, says):
    with pytest.raises(error, match=says):
        build_server(label, tools)
