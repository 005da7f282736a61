"""Searches that the API executes for the model: in files, on the web, for deferred tools."""

from collections.abc import Sequence

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text import show
from harness.items.examples import between_messages, typed
from harness.items.kind import input_item, item, require_text
from harness.items.stream_elements import FinalMember, Phase

SEARCHING = (Phase("in_progress"), Phase("searching"), Phase("completed"))

ACTIONS = ("search", "open_page", "find_in_page")
EXECUTIONS = ("server", "client")


@item(
    "ws",
    FinalMember("action"),
    *SEARCHING,
    tool_types=("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"),
    example=between_messages(
        typed("web_search_call", id="ws_1", action=typed("search", query="v2", queries=["v2"]), status="completed")
    ),
)
def web_search_call(action: str | Json | None = None) -> Json:
    """Let the model search the web for a query, or do the action `search(…)`, `open_page(…)` or `find_in_page(…)`.

    A call without an action is possible as well, as recorded.
    """
    if action is None:
        return {}
    does = search(action) if isinstance(action, str) else action
    if not isinstance(does, dict) or does.get("type") not in ACTIONS:
        raise ScriptError(f"action is {show(action)}. Pass the search text, or one of: {', '.join(ACTIONS)}.")
    return {"action": does}


def search(query: str, *more: str, sources: Sequence[str | Json] | None = None) -> Json:
    """Search for queries; `sources` are the addresses found, if the request includes them."""
    queries = [require_text("query", text) for text in (query, *more)]
    action = {"type": "search", "queries": queries, "query": query}
    if sources is None:
        return action
    return {
        **action,
        "sources": [{"type": "url", "url": source} if isinstance(source, str) else source for source in sources],
    }


def open_page(url: str) -> Json:
    """Open a page."""
    return {"type": "open_page", "url": require_text("url", url)}


def find_in_page(url: str, pattern: str) -> Json:
    """Search a page for a string."""
    return {"type": "find_in_page", "pattern": require_text("pattern", pattern), "url": require_text("url", url)}


@item(
    "fs",
    FinalMember("queries", []),
    FinalMember("results", None),
    *SEARCHING,
    defaults={"results": None},
    tool_types=("file_search",),
    example=between_messages(typed("file_search_call", id="fs_1", queries=["v2"], results=None, status="completed")),
)
def file_search_call(queries: str | Sequence[str], *, results: Sequence[Json] | None = None) -> Json:
    """Let the model search vector stores.

    `results` are objects with `attributes`, `file_id`, `filename`, `score` and `text`; on the wire they are null unless
    the request includes `file_search_call.results`.
    """
    listed = [queries] if isinstance(queries, str) else list(queries)
    return {
        "queries": [require_text(f"queries[{number}]", query) for number, query in enumerate(listed)],
        "results": None if results is None else list(results),
    }


@item(
    "tsc",
    FinalMember("arguments", {}),
    defaults={"call_id": None, "execution": "server"},
    call_name="tool search call",
    tool_types=("tool_search",),
)
def tool_search_call(arguments: Json, *, execution: str = "server", call_id: str | None = None) -> Json:
    """Let the model search for deferred tools: `{"paths": ["crm"]}`, or the arguments of the client's own search.

    With `execution="client"` the client answers with a `tool_search_output`; the API's own search has no `call_id`.
    """
    return {"arguments": arguments, **_execution_members(execution, call_id)}


@item("tso", defaults={"call_id": None, "execution": "server"}, output_of="tool_search_call")
def tool_search_output(tools: Sequence[Json], *, execution: str = "server", call_id: str | None = None) -> Json:
    """Return the tools found by the API's own search, as declared; afterwards the model may call them."""
    return {"tools": list(tools), **_execution_members(execution, call_id)}


def _execution_members(execution: str, call_id: str | None) -> Json:
    if execution not in EXECUTIONS:
        raise ScriptError(f"execution is {show(execution)}. Use one of: {', '.join(EXECUTIONS)}.")
    return {"call_id": call_id, "execution": execution}


input_item("additional_tools", "Tools that the model may call from here on.")
