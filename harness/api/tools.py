"""The functions of a request, and how each is called: by its name alone, or in a namespace.

A function at the top level of `tools` is called by its name, a function of a namespace in that namespace. A deferred
one (`defer_loading`) at the top level is called in a namespace of its own name, once a tool search has loaded it.
Recorded by tests of langchain-ai/langchain and pydantic/pydantic-ai (2026-03 to 2026-08).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from harness.core.exchange import Json
from harness.core.json_values import objects_in, omit


def declared_tools(body: Json, items: Iterable[Json] | None = None) -> list[Json]:
    """Return the tools of a request: its own, then those of `additional_tools` items in its input.

    `items` are the input items, if already known.
    """
    tools = list(body.get("tools") or ())
    if items is None:
        items = listed if isinstance(listed := body.get("input"), list) else ()
    for item in items:
        if item.get("type") == "additional_tools":
            tools += item.get("tools") or ()
    return tools


def is_deferred(tool: Json) -> bool:
    """Return whether a tool, or one inside it, is deferred until a tool search loads it."""
    return bool(tool.get("defer_loading")) or any(inner.get("defer_loading") for inner in _namespace_tools(tool))


def has_async(tools: Any) -> bool:
    """Return whether one of these tools, or one in a namespace, may be answered later; what is no tool is passed over."""
    return any(tool.get("async") is True or has_async(tool.get("tools")) for tool in objects_in(tools))


def plain_functions(tools: Iterable[Json]) -> set[str]:
    """Return the functions that are called by their name alone."""
    return {tool["name"] for tool in tools if _is_function(tool) and not tool.get("defer_loading")}


def function_namespaces(tools: Iterable[Json], *, found: bool = False) -> dict[str, str]:
    """Return the functions that are called in a namespace, with the namespace's name.

    Deferred functions are included only if `found`, once a search has loaded them.
    """
    return {
        function["name"]: space
        for space, function in _namespaced_functions(tools)
        if found or not function.get("defer_loading")
    }


def _namespaced_functions(tools: Iterable[Json]) -> Iterator[tuple[str, Json]]:
    for tool in tools:
        if _is_function(tool) and tool.get("defer_loading"):
            yield tool["name"], tool
        yield from ((tool["name"], inner) for inner in _namespace_tools(tool) if _is_function(inner))


def loaded_tools(item: Json, waiting: Iterable[Json]) -> dict[str, Json]:
    """Return the tools that a `tool_search_output` has loaded, by name; `waiting` are the request's own definitions.

    A deferred function becomes a namespace of its own name. A function that is not deferred anywhere is omitted, as it
    is unknown how it is called.
    """
    own = {tool["name"]: tool for tool in waiting if _is_function(tool) and tool.get("defer_loading")}
    found = {}
    for tool in item.get("tools") or ():
        if tool.get("type") == "namespace":
            found[tool["name"]] = tool
        elif _is_function(tool) and (tool["name"] in own or tool.get("defer_loading")):
            found[tool["name"]] = as_namespace(own.get(tool["name"], tool))
    return found


def as_namespace(function: Json) -> Json:
    """Wrap a function in a namespace of its own name."""
    bare = omit(function, "defer_loading")
    return {
        "type": "namespace",
        "description": function.get("description") or "",
        "name": function["name"],
        "tools": [bare],
    }


def namespace_of(name: str, tools: Sequence[Json], items: Iterable[Json]) -> str | None:
    """Return the namespace in which a model calls a function, or None; `items` may have loaded the function."""
    if name in plain_functions(tools):
        return None
    known = function_namespaces(tools, found=True)
    for item in items:
        if item.get("type") == "tool_search_output":
            known |= function_namespaces(loaded_tools(item, tools).values(), found=True)
    return known.get(name)


def all_tools(tools: Iterable[Json]) -> Iterator[Json]:
    """Yield all tools, including those in namespaces."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _namespace_tools(tool)
        else:
            yield tool


def _is_function(tool: Json) -> bool:
    return tool.get("type") == "function" and "name" in tool


def _namespace_tools(tool: Json) -> Sequence[Json]:
    return tool.get("tools") or () if tool.get("type") == "namespace" else ()
