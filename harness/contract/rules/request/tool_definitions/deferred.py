"""Deferred tools (`defer_loading`, `tool_search`) and namespaces: checked when the tools become part of the prompt."""

from collections.abc import Iterable, Iterator

from harness.api.tools import declared_tools, function_namespaces, is_deferred, loaded_tools, plain_functions
from harness.contract.phrasing import missing_parameter
from harness.contract.rule import Case, RuleScope, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import CALL, HI, OUTPUT
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.items.transcript import Transcript, input_items

SCOPE = RuleScope(when="tools")

SOL = "gpt-5.6-sol"
FUNCTION_TOOL: Json = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
DEFERRED_FUNCTION: Json = {**FUNCTION_TOOL, "defer_loading": True}
TOOL_SEARCH: Json = {"type": "tool_search"}
CLIENT_TOOL_SEARCH: Json = {**TOOL_SEARCH, "execution": "client", "description": "d", "parameters": {"type": "object"}}
CRM_NAMESPACE: Json = {"type": "namespace", "name": "crm", "description": "", "tools": [FUNCTION_TOOL]}
DEFERRED_CRM_NAMESPACE: Json = {**CRM_NAMESPACE, "tools": [DEFERRED_FUNCTION]}
_ACCOUNT_WITH_PROMPT = Organization(prompts=frozenset(["pmpt_1"]))


def _has_all_tools(request: Request) -> bool:
    """Return whether the request contains all its tools: a stored prompt may add others."""
    return not request.body.get("prompt")


def _offer(*tools: Json) -> Json:
    return {"model": SOL, "tools": [*tools]}


@rule(
    bad_request(
        "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search.", "tools.defer_loading"
    ),
    reported("https://github.com/pydantic/pydantic-ai: verified live on gpt-5.6", "2026-08"),
    reported("https://github.com/router-for-me/CLIProxyAPI/issues/3008, with the whole error", "2026"),
    reported("https://github.com/Wei-Shaw/sub2api/issues/5942", "2026-08-21"),
    assumed("that it holds for MCP servers and custom tools as for functions"),
    mentions="defer_loading",
    rejects=[_offer(DEFERRED_CRM_NAMESPACE, FUNCTION_TOOL)],
    accepts=[
        _offer(DEFERRED_FUNCTION, TOOL_SEARCH),
        _offer(DEFERRED_FUNCTION, CLIENT_TOOL_SEARCH),
        _offer({**FUNCTION_TOOL, "defer_loading": False}),
        Case({"model": SOL, "prompt": {"id": "pmpt_1"}, "tools": [DEFERRED_FUNCTION]}, account=_ACCOUNT_WITH_PROMPT),
    ],
    fix='Add `{"type": "tool_search"}`, or leave `defer_loading` out.',
)
def deferred_without_search(request: Request) -> bool:
    """A deferred tool, at the top level or in a namespace, needs a tool search that can find it."""
    deferred = any(map(is_deferred, request.body.get("tools") or ()))
    return deferred and _has_all_tools(request) and not _tool_searches(declared_tools(request.body))


def _tool_searches(tools: Iterable[Json]) -> list[Json]:
    return [tool for tool in tools if tool["type"] == "tool_search"]


@rule(
    bad_request(
        "Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred tool.",
        "tools.tool_search",
    ),
    reported("https://github.com/justrach/codegraff/issues/746", "2026-09-05"),
    reported("public reports of five more origins, of a namespace without deferred functions too", "2026-07"),
    recorded("langchain-ai/langchain: a search by the client needs none", "2026-03"),
    assumed("that param is `tools.tool_search`, as for `tools.defer_loading`"),
    mentions="tool_search",
    rejects=[_offer(TOOL_SEARCH, FUNCTION_TOOL, CRM_NAMESPACE)],
    accepts=[
        _offer(CLIENT_TOOL_SEARCH),
        _offer(TOOL_SEARCH, DEFERRED_CRM_NAMESPACE),
        _offer(TOOL_SEARCH, {"type": "mcp", "server_label": "s", "server_url": "https://a.b/c", "defer_loading": True}),
        Case({"model": SOL, "prompt": {"id": "pmpt_1"}, "tools": [TOOL_SEARCH]}, account=_ACCOUNT_WITH_PROMPT),
    ],
    fix="Defer a tool (`defer_loading: true`), or leave the tool search out.",
)
def search_without_deferred(request: Request) -> bool:
    """A tool search by the API needs something to find; one by the client (`execution`) does not."""
    searches = _tool_searches(request.body.get("tools") or ())
    hosted = any(search.get("execution") != "client" for search in searches) and _has_all_tools(request)
    return (
        hosted
        and not any(map(is_deferred, declared_tools(request.body)))
        and not _has_search_output(input_items(request.body))
    )


@rule(
    missing_parameter("tools[{index}].description"),
    reported("pydantic-ai 2.68: the API refuses a search by the client without one, null, too", "2026-11"),
    assumed("the words"),
    mentions="tool_search",
    rejects={"0": _offer({**TOOL_SEARCH, "execution": "client", "parameters": {"type": "object"}})},
    accepts=[_offer(CLIENT_TOOL_SEARCH), _offer(DEFERRED_FUNCTION, TOOL_SEARCH)],
    fix="Describe what the search finds.",
)
def search_undescribed(request: Request) -> Iterator[Json]:
    """A tool search by the client needs a `description`."""
    for index, tool in enumerate(request.body.get("tools") or ()):
        if tool["type"] == "tool_search" and tool.get("execution") == "client" and tool.get("description") is None:
            yield {"index": index}


@rule(
    bad_request(
        "Invalid Value: 'tools.tool_search.description'. Server-executed tool_search does not accept a description.",
        "tools",
    ),
    reported("https://github.com/router-for-me/CLIProxyAPI/issues/3043, with the whole error", "2026-04-25"),
    reported("public notes of a user of Codex behind a relay, with the whole error", "2026-04"),
    reported("the code of a public gateway, which strips it for OpenAI", "2026"),
    mentions="tool_search",
    rejects=[_offer(DEFERRED_FUNCTION, {**TOOL_SEARCH, "description": "Finds tools."})],
    accepts=[_offer(CLIENT_TOOL_SEARCH), _offer(DEFERRED_FUNCTION, {**TOOL_SEARCH, "description": None})],
    fix="Leave `description` out, or search in the client (`execution: client`).",
)
def search_described(request: Request) -> bool:
    """A tool search by the API accepts no `description`."""
    searches = _tool_searches(request.body.get("tools") or ())
    return any(search.get("execution") != "client" and search.get("description") for search in searches)


def _has_search_output(items: Iterable[Json]) -> bool:
    # Tools that an earlier search has loaded may count as deferred; no refusal of these is known.
    return any(item.get("type") == "tool_search_output" for item in items)


_SEARCH_ITEMS: list[Json] = [
    {"type": "tool_search_call", "execution": "server", "arguments": {"paths": ["f"]}},
    {"type": "tool_search_output", "execution": "server", "tools": [DEFERRED_FUNCTION]},
]


def _history_body(*items: Json, tools: list[Json]) -> Json:
    return {"model": SOL, "tools": tools, "input": [HI, *items, OUTPUT]}


@rule(
    bad_request(
        "Missing namespace for function_call '{name}'. It does not exist in the default namespace. Round-trip the "
        "model's function_call item with its namespace field included.",
        "input[{index}].namespace",
    ),
    recorded("vercel/ai"),
    reported(
        "https://github.com/dust-tt/dust/pull/31323: a live test, what the search of the input has found",
        "2026-08-28",
    ),
    reported("https://github.com/vercel/ai/pull/15193", "2026-05-12"),
    reported("https://github.com/earendil-works/pi/issues/7709", "2026-08-06"),
    reported("https://github.com/experientiallabs/experiential/pull/784: a namespace, nothing deferred", "2026-09-04"),
    reported("public notes of a live probe: before the search, or offered undeferred too, it is taken", "2026-10-05"),
    when="input[]",
    items="function_call",
    rejects={
        "f": _history_body(*_SEARCH_ITEMS, CALL, tools=[DEFERRED_FUNCTION, TOOL_SEARCH]),
        "g": _history_body({**CALL, "name": "g"}, tools=[{**CRM_NAMESPACE, "tools": [{**FUNCTION_TOOL, "name": "g"}]}]),
    },
    accepts=[
        _history_body(*_SEARCH_ITEMS, {**CALL, "namespace": "f"}, tools=[DEFERRED_FUNCTION, TOOL_SEARCH]),
        _history_body(CALL, *_SEARCH_ITEMS, tools=[DEFERRED_FUNCTION, TOOL_SEARCH]),
        _history_body(*_SEARCH_ITEMS, CALL, tools=[FUNCTION_TOOL]),
        _history_body(CALL, tools=[DEFERRED_FUNCTION, TOOL_SEARCH]),
        _history_body(CALL, tools=[DEFERRED_CRM_NAMESPACE, TOOL_SEARCH]),
        _history_body(CALL, tools=[CRM_NAMESPACE, FUNCTION_TOOL]),
        _history_body({**CALL, "name": "gone"}, tools=[CRM_NAMESPACE]),
        _history_body({**CALL, "namespace": "elsewhere"}, tools=[FUNCTION_TOOL]),
    ],
    fix="Send the `function_call` back as the model gave it, with its `namespace`.",
)
def call_without_namespace(request: Request, transcript: Transcript) -> Iterator[Json]:
    """A call of a function that exists only in a namespace, declared or found by an earlier search, must name it.

    A deferred function at the top level of `tools` is found in a namespace of its own name. Undeclared functions are
    accepted.
    """
    if "function_call" not in transcript.added_by_type or not _has_all_tools(request):
        return
    tools = declared_tools(request.body, transcript.added_by_type.get("additional_tools", ()))
    alone, known = plain_functions(tools), function_namespaces(tools)
    items = transcript.items_from_first("tool_search_output")
    found = "tool_search_output" in transcript.added_by_type or items is not transcript.added
    if not known and not found:
        return
    for index, item in enumerate(items, len(transcript.added) - len(items)):
        if item.get("type") == "tool_search_output":
            known |= function_namespaces(loaded_tools(item, tools).values(), found=True)
        elif index >= 0 and _is_bare_call(item) and item["name"] in known and item["name"] not in alone:
            yield {"name": item["name"], "index": index}


def _is_bare_call(item: Json) -> bool:
    return item.get("type") == "function_call" and not item.get("namespace")
