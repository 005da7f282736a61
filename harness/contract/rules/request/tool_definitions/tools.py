"""Tools that the API itself reaches, MCP servers and vector stores, and tools that are gone."""

import re
from collections.abc import Iterator

from harness.api.http.dialects import OPENAI
from harness.contract.phrasing import exclusive_parameters, missing_exclusive_parameters
from harness.contract.rule import LIMITED_ACCOUNT, Case, RuleScope, WorldView, assumed, reported, rule
from harness.contract.rules.example_requests import ON_FOUNDRY
from harness.core.account import Organization
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(when="tools", reads=())


def _mcp_tool(label: str, url: str = "https://mcp.example.org/sse") -> Json:
    return {"type": "mcp", "server_label": label, "server_url": url}


def _declared_mcp_tools(request: Request) -> list[Json]:
    return [tool for tool in request.body.get("tools") or () if tool["type"] == "mcp"]


_MCP_SOURCES = ("server_url", "connector_id", "tunnel_id")
_CONNECTED: Json = {"type": "mcp", "server_label": "crm", "project_connection_id": "crm"}
"""A tool of a Foundry project, whose connection holds what signs in to a server but does not name one."""
_TUNNEL = f"tunnel_{'0' * 32}"


@rule(
    missing_exclusive_parameters("'server_url', 'connector_id', or 'tunnel_id'"),
    reported("public notes of two origins on agents of Foundry, one with the code", "2026"),
    reported("public notes of a third, from before there were tunnels", "2026"),
    reported("public notes of two more: on Foundry a connection alone is no server, whole error", "2026-08"),
    rejects={
        "tools[0]": {"tools": [{"type": "mcp", "server_label": "a"}]},
        "tools[1]": Case({"model": "gpt-4o", "input": "hi", "tools": [_mcp_tool("a"), _CONNECTED]}, on=ON_FOUNDRY),
    },
    accepts=[
        {"tools": [_mcp_tool("a")]},
        {"tools": [{"type": "mcp", "server_label": "a", "tunnel_id": _TUNNEL}]},
        Case(
            {"model": "gpt-4o", "input": "hi", "tools": [{**_CONNECTED, "server_url": "https://crm.example.org/mcp"}]},
            on=ON_FOUNDRY,
        ),
    ],
    fix="Name the server: `server_url`, or `connector_id` for a connector of OpenAI. A connection only signs in.",
)
def mcp_without_server(request: Request) -> Iterator[Json]:
    """An MCP tool must name its server by a URL, a connector or a tunnel."""
    for index, tool in enumerate(request.body.get("tools") or ()):
        if tool["type"] == "mcp" and all(tool.get(name) is None for name in _MCP_SOURCES):
            yield {"path": f"tools[{index}]"}


@rule(
    exclusive_parameters("{names}"),
    reported("public probe: each pair of the three", "2026-10-01"),
    assumed("that the code is that of other such pairs, and the words for all three"),
    rejects={
        ("tools[0]", "'server_url' or 'connector_id'"): {
            "tools": [{**_mcp_tool("a"), "connector_id": "connector_gmail"}]
        },
        ("tools[0]", "'server_url' or 'tunnel_id'"): {"tools": [{**_mcp_tool("a"), "tunnel_id": _TUNNEL}]},
    },
    fix="Name the server in one way only.",
)
def mcp_with_two_servers(request: Request) -> Iterator[Json]:
    """An MCP tool must name its server in only one way."""
    for index, tool in enumerate(request.body.get("tools") or ()):
        given = [f"'{name}'" for name in _MCP_SOURCES if tool["type"] == "mcp" and tool.get(name) is not None]
        if len(given) > 1:
            *most, last = given
            yield {"path": f"tools[{index}]", "names": f"{', '.join(most)}{',' * (len(most) > 1)} or {last}"}


_CONNECTOR: Json = {"type": "mcp", "server_label": "a", "connector_id": "connector_gmail"}


@rule(
    bad_request("Must specify 'authorization' parameter with 'connector_id'", "tools"),
    reported("public probe: gpt-5.6-sol; with `authorization` it is accepted", "2026-10-01"),
    reported("the firmware of another origin, after a refusal of its own", "2026-08-07"),
    reported("openai/openai-agents-js, which expects it of its example of a connector", "2026"),
    assumed("status, param and code, those of other errors about MCP servers"),
    mentions='"connector_id"',
    dialects=OPENAI,
    rejects=[{"tools": [_CONNECTOR]}],
    accepts=[{"tools": [{**_CONNECTOR, "authorization": "ya29.token"}]}],
    fix="Send the OAuth token of the connector's user as `authorization`.",
)
def mcp_connector_without_token(request: Request) -> bool:
    """OpenAI calls its connectors with a token of their user, which a request must have."""
    return any(
        tool.get("connector_id") is not None and tool.get("authorization") is None
        for tool in _declared_mcp_tools(request)
    )


@rule(
    bad_request(
        "Invalid input {label}: 'server_label' must start with a letter and consist of only letters, digits, '-' and '_'",
        "tools",
    ),
    reported("public report with the whole error", "2025"),
    reported("public code of two more origins that quotes it", "2025-10"),
    rejects={"Notion MCP": {"tools": [_mcp_tool("Notion MCP")]}, "1st": {"tools": [_mcp_tool("a"), _mcp_tool("1st")]}},
    accepts=[{"tools": [_mcp_tool("Notion_MCP-1")]}],
    fix="Use a label of letters, digits, `-` and `_`.",
)
def mcp_label_characters(request: Request) -> Iterator[Json]:
    """An MCP server's label must start with a letter and consist of letters, digits, `-` and `_`."""
    yield from (
        {"label": tool["server_label"]}
        for tool in _declared_mcp_tools(request)
        if not _MATCH_LABEL(tool["server_label"])
    )


_MATCH_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]*").fullmatch


@rule(
    bad_request("Duplicate MCP server_label '{label}' found in 'tools' parameter.", "tools"),
    reported("https://github.com/smg-project/smg, which copies the API's words", "2026"),
    rejects={"A": {"tools": [_mcp_tool("a"), _mcp_tool("A")]}},
    accepts=[{"tools": [_mcp_tool("a"), _mcp_tool("b")]}],
    fix="Give every server a label of its own.",
)
def mcp_label_twice(request: Request) -> Iterator[Json]:
    """Two MCP servers cannot have the same label, ignoring case."""
    seen: set[str] = set()
    for tool in _declared_mcp_tools(request):
        label = tool["server_label"]
        if label.lower() in seen:
            yield {"label": label}
        seen.add(label.lower())


@rule(
    bad_request(
        "Invalid '{path}'. Expected a valid URL, but got a value with an invalid format.", "{path}", "invalid_value"
    ),
    reported("public probe, project smg: a loopback address gets a 400", "2026-10-09"),
    assumed("the words are those of other addresses"),
    rejects={"tools[0].server_url": {"tools": [_mcp_tool("a", "http://127.0.0.1:9/mcp")]}},
    accepts=[{"tools": [_mcp_tool("a", "http://localhost.example.org/mcp")]}],
    dialects="openai",
    fix="Give an address that the API can reach, or script the MCP server: its address is never asked.",
)
def mcp_loopback(request: Request) -> Iterator[Json]:
    """The API itself calls an MCP server, so an address of the client's own machine leads nowhere."""
    for index, tool in enumerate(request.body.get("tools") or ()):
        if tool["type"] == "mcp" and _IS_LOOPBACK(tool.get("server_url") or ""):
            yield {"path": f"tools[{index}].server_url"}


_IS_LOOPBACK = re.compile(r"https?://(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?(/.*)?", re.I | re.S).fullmatch


def _listing_error(answer: str) -> ApiError:
    said = f"Error retrieving tool list from MCP server: '{{label}}'. Http status code: {answer}"
    return ApiError(424, said, "tools", "http_error", type="external_connector_error")


def _mcp_case(account: Organization) -> Case:
    return Case({"tools": [_mcp_tool("a")]}, account=account)


_NAMED, _OTHER = frozenset(["https://mcp.example.org/sse"]), frozenset(["https://mcp.example.org/x"])


@rule(
    _listing_error("404 (Not Found)"),
    reported("public reports of two origins, with other status codes", "2025"),
    when=LIMITED_ACCOUNT,
    reads="tools",
    rejects={"a": _mcp_case(Organization(unreachable=_NAMED))},
    accepts=[_mcp_case(Organization(unreachable=_OTHER))],
    fix="Scripted: `mock.organization(unreachable=…)`. With the real API, make sure that the server answers it.",
)
def mcp_unreachable(request: Request, world: WorldView) -> Iterator[Json]:
    """The API lists an MCP server's tools before the model runs; a failure has the status 424."""
    for tool in _declared_mcp_tools(request):
        if tool.get("server_url") in world.account.unreachable:
            yield {"label": tool["server_label"]}


@rule(
    _listing_error("424 (Failed Dependency)"),
    reported("public reports of two origins: the whole error with another status code", "2025"),
    reported("a public report: 424 (Failed Dependency)", "2026"),
    when=LIMITED_ACCOUNT,
    reads="tools",
    rejects={"a": _mcp_case(Organization(unlisted=_NAMED))},
    accepts=[_mcp_case(Organization(unlisted=_OTHER))],
    fix="Scripted: `mock.organization(unlisted=…)`. With the real API, make sure that the server answers `tools/list`.",
)
def mcp_unlisted(request: Request, world: WorldView) -> Iterator[Json]:
    """MCP servers may fail to list their tools; the API answers with the status of that failure."""
    for tool in _declared_mcp_tools(request):
        if tool.get("server_url") in world.account.unlisted:
            yield {"label": tool["server_label"]}


@rule(
    bad_request("The local_shell tool is no longer supported.", "tools"),
    reported("public probes of three origins: every model", "2026-05"),
    assumed("that param is `tools`, as for other tools"),
    rejects=[{"tools": [{"type": "local_shell"}]}],
    accepts=[{"model": "gpt-5.3-codex", "tools": [{"type": "shell"}]}],
    since="2026-05",
    fix="Declare `shell`; calls and outputs of the old tool may stay in the input.",
)
def local_shell_retired(request: Request) -> bool:
    """The tool `local_shell` is gone; only `codex-mini-latest` had it."""
    return any(tool["type"] == "local_shell" for tool in request.body.get("tools") or ())


MOST_VECTOR_STORES = 2


@rule(
    bad_request(
        f"Invalid input: maximum of {MOST_VECTOR_STORES} vector stores allowed.", "tools", "integer_above_max_value"
    ),
    reported("public notes of a probe with one, two and three stores, with the whole error", "2026-08-18"),
    reported("https://github.com/dimagi/open-chat-studio/pull/3815 and four more origins", "2026-07-13"),
    assumed("that each `file_search` is counted on its own, and that Azure has no such limit"),
    mentions="file_search",
    dialects=OPENAI,
    rejects=[{"tools": [{"type": "file_search", "vector_store_ids": ["vs_1", "vs_2", "vs_3"]}]}],
    accepts=[{"tools": [{"type": "file_search", "vector_store_ids": ["vs_1", "vs_2"]}]}],
    fix="Name at most two vector stores; put what must be searched together into one.",
)
def many_vector_stores(request: Request) -> bool:
    """A `file_search` can search at most two vector stores."""
    return any(len(tool.get("vector_store_ids") or ()) > MOST_VECTOR_STORES for tool in request.body.get("tools") or ())


_ASSISTANT_WITH_SCHEMA: Json = {
    "model": "gpt-4o",
    "response_format": {"type": "json_schema", "json_schema": {"name": "out", "schema": {"type": "object"}}},
}
_FUNCTION: Json = {"type": "function", "function": {"name": "f"}}


@rule(
    bad_request("Invalid tools: all tools must be of type `function` when `response_format` is of type `json_schema`"),
    reported("public notes of three origins, one with the status, two of `file_search`", "2024-12"),
    assumed(
        "that it names no param and has no code; that the tools of a changed assistant count only if they are sent"
    ),
    on=("POST /assistants", "POST /assistants/{assistant_id}"),
    when="response_format",
    reads="tools",
    dialects=OPENAI,
    rejects=[Case({**_ASSISTANT_WITH_SCHEMA, "tools": [_FUNCTION, {"type": "file_search"}]}, on="POST /assistants")],
    accepts=[
        Case({**_ASSISTANT_WITH_SCHEMA, "tools": [_FUNCTION]}, on="POST /assistants"),
        Case({"model": "gpt-4o", "response_format": "auto", "tools": [{"type": "file_search"}]}, on="POST /assistants"),
    ],
    fix="Let the assistant answer by calling a function with this schema, or move to `POST /responses`.",
)
def assistant_schema_tools(request: Request) -> bool:
    """An assistant that answers by a schema may only have functions."""
    form = request.body.get("response_format")
    return (
        isinstance(form, dict)
        and form.get("type") == "json_schema"
        and any(tool["type"] != "function" for tool in request.body.get("tools") or ())
    )
