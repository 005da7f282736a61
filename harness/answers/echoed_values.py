"""How a response echoes the parameters of its request: tools and formats with their defaults, resolved reasoning.

Read from recorded answers of 2026-06 to 2026-10; where they differ, the newest count.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.api.models import Model
from harness.api.project_types import MEMORY_TOOLS, PROJECT_DEFAULTS, PROJECT_TOOLS
from harness.api.strict_schema import apply_strictness
from harness.api.tools import as_namespace, declared_tools, loaded_tools, plain_functions
from harness.core.exchange import Json
from harness.core.json_values import as_string, omit, pick


def echo_reasoning(family: Model, reasoning: Json) -> Json:
    """Return the reasoning options with defaults; all are null for a model that does not reason."""
    if family.turns is None:
        return {"context": None, "effort": None, "summary": None}
    summary, context = reasoning.get("summary"), reasoning.get("context")
    return {
        "context": family.turns if context in (None, "auto") else context,
        "effort": reasoning.get("effort") or family.effort,
        "mode": reasoning.get("mode") or family.mode,
        "summary": "detailed" if summary == "auto" else summary,
    }


def names_summary_twice(family: Model, tools: Sequence[Json]) -> bool:
    """Return whether an answer has `reasoning.generate_summary`, the former name of `summary`.

    Recorded (2025-08, 2026-02): only with a tool of computer-use-preview, and then always.
    """
    return family.truncations != () and any(tool.get("type") == "computer_use_preview" for tool in tools)


def echo_text(text: Json) -> Json:
    """Return the text options with defaults: plain text."""
    format = text.get("format") or {"type": "text"}
    return {
        "format": _echo_format(format) if format.get("type") == "json_schema" else format,
        "verbosity": text.get("verbosity") or "medium",
    }


def _echo_format(format: Json) -> Json:
    strict = format.get("strict")
    return {
        "type": "json_schema",
        "description": format.get("description"),
        "name": format.get("name"),
        "schema": omit(format.get("schema") or {}, "$schema"),
        "strict": True if strict is None else strict,
    }


_BARE_LOADING = ("gpt-5.6", "gpt-6")
"""The models that echo a function unchanged if the client supplied it, by its own search or as an additional tool.

Older ones echo it in a namespace, as all models do with what the API's search has loaded (recorded 2026-07).
"""
_TOOL_ORDER = {"tool_search": 1, "namespace": 2}
"""The types of tools that come after all others, which keep their order."""


def echo_tools(body: Json, items: Sequence[Json]) -> list[Json]:
    """Return the tools of a request with their defaults, and those that `items` have loaded or added."""
    declared = list(body.get("tools") or ())
    added = declared_tools(body)[len(declared) :]
    if not declared and not added and not [True for item in items if item.get("type") == "tool_search_output"]:
        return []
    # These models echo tools that a client has loaded as plain tools, others in namespaces.
    bare = str(body.get("model")).startswith(_BARE_LOADING)
    spaces = _loaded_namespaces([*declared, *added], [item for item in items if not (bare and _is_clients(item))])
    loaded = _loaded_namespaces([*declared, *added], [item for item in items if bare and _is_clients(item)])
    brought = [tool for space in loaded.values() for tool in space["tools"]]
    if not bare:
        spaces |= {tool["name"]: as_namespace(tool) for tool in added if tool["type"] == "function"}
    names = {*spaces, *loaded, *(as_string(tool.get("name")) for tool in added)}
    rest = [tool for tool in declared if not (tool.get("defer_loading") and as_string(tool.get("name")) in names)]
    rest += [tool for tool in added if as_string(tool.get("name")) not in spaces]
    return sorted(
        map(_echo_tool, [*rest, *brought, *spaces.values()]), key=lambda tool: _TOOL_ORDER.get(tool["type"], 0)
    )


def _is_clients(item: Json) -> bool:
    return item.get("execution") == "client"


def _loaded_namespaces(tools: Sequence[Json], items: Sequence[Json]) -> dict[str, Json]:
    """Return the tools that searches have loaded and that are not declared, as namespaces by name."""
    searches = [item for item in items if item.get("type") == "tool_search_output"]
    if not searches:
        return {}
    declared = plain_functions(tools) | {tool["name"] for tool in tools if tool["type"] == "namespace"}
    spaces = {name: space for item in searches for name, space in loaded_tools(item, tools).items()}
    return {name: space for name, space in spaces.items() if name not in declared}


def _echo_tool(tool: Json) -> Json:
    return _TOOL_ECHOES.get(tool["type"], dict)(tool)


def _echo_function(tool: Json) -> Json:
    parameters, strict = apply_strictness(tool.get("parameters"), tool.get("strict"))
    return {
        "type": "function",
        "description": tool.get("description") or None,
        "name": tool["name"],
        "output_schema": tool.get("output_schema"),
        "parameters": parameters,
        "strict": strict,
        **pick(tool, "defer_loading", "async", "allowed_callers"),
    }


def _echo_file_search(tool: Json) -> Json:
    ranking = {"ranker": "auto", "score_threshold": 0.0, **(tool.get("ranking_options") or {})}
    return {"filters": None, "max_num_results": 20, **tool, "ranking_options": ranking}


_EMPTY_LOCATION: Json = {"type": "approximate", "city": None, "country": None, "region": None, "timezone": None}


def _echo_web_search_preview(tool: Json) -> Json:
    where = tool.get("user_location") or {"country": "US"}
    searching = {"search_content_types": ["text"], "search_context_size": "medium"}
    given = omit(tool, "external_web_access")  # recorded 2026-07: not echoed
    return {**searching, **given, "user_location": {**_EMPTY_LOCATION, **where}}


def _echo_image_generation(tool: Json) -> Json:
    members = omit(tool, *_NOT_ECHOED)
    automatic = dict.fromkeys(("background", "moderation", "quality", "size"), "auto")
    return {**automatic, "n": 1, "output_compression": 100, "output_format": "png", **members}


_NOT_ECHOED = ("action", "input_fidelity", "input_image_mask", "partial_images")
"""Members of an image generation tool that its echo omits."""


def _echo_mcp(tool: Json) -> Json:
    defaults = {"allowed_tools": None, "headers": None, "require_approval": "always", "server_description": None}
    here = {"server_url": None} if tool.get("connector_id") else {}
    # Recorded: the names of headers are echoed, their values never; reported: nor the token (2025-08, documented since).
    hidden: Json = {"headers": dict.fromkeys(tool.get("headers") or {}, "<redacted>") or None}
    if tool.get("authorization"):
        hidden["authorization"] = "<redacted>"
    echoed = {**defaults, **here, **tool, **hidden}
    if isinstance(allowed := tool.get("allowed_tools"), dict):
        echoed["allowed_tools"] = _echo_tool_filter(allowed)
    if isinstance(approval := tool.get("require_approval"), dict):
        echoed["require_approval"] = {
            name: approval.get(name) and _echo_tool_filter(approval[name]) for name in ("always", "never")
        }
    return echoed


def _echo_tool_filter(tools: Json) -> Json:
    return {"read_only": None, **tools}


def _echo_project_tool(tool: Json) -> Json:
    """Echo a tool of a Foundry project. Recorded 2026-03: a memory search has another name, and no delay."""
    shown = {"type": tool["type"].removesuffix("_preview") if tool["type"] in MEMORY_TOOLS else tool["type"]}
    return shown | omit(tool, "type", "update_delay")


_TOOL_ECHOES: Mapping[str, Callable[[Json], Json]] = {
    "custom": lambda tool: {**tool, "format": tool.get("format") or {"type": "text"}},
    "function": _echo_function,
    "namespace": lambda tool: {**tool, "tools": [_echo_tool(member) for member in tool["tools"]]},
    "tool_search": lambda tool: {"description": None, "parameters": None, **tool},
    "file_search": _echo_file_search,
    "image_generation": _echo_image_generation,
    "mcp": _echo_mcp,
    "code_interpreter": lambda tool: tool if tool.get("container") else {**tool, **PROJECT_DEFAULTS[tool["type"]]},
    **dict.fromkeys(PROJECT_TOOLS, _echo_project_tool),
    **dict.fromkeys(
        ("web_search", "web_search_2025_08_26"),
        lambda tool: {"return_token_budget": "default", **_echo_web_search_preview(tool)},
    ),
    **dict.fromkeys(("web_search_preview", "web_search_preview_2025_03_11"), _echo_web_search_preview),
}


def echo_unchanged(value: Any) -> Any:
    """Return the value itself."""
    return value


def echo_prompt(prompt: Json) -> Json:
    """Return a prompt template; the default version is 1."""
    return {"id": prompt["id"], "variables": prompt.get("variables") or {}, "version": prompt.get("version") or "1"}


def echo_cache_options(options: Json) -> Json:
    """Return the cache options with defaults; `prewarm` is not among them (typed)."""
    return {"mode": "implicit", "ttl": "30m", **omit(options, "prewarm")}


def echo_moderation(moderation: Json) -> Json:
    """Return the results of the requested moderation, in which neither input nor output is flagged."""
    verdict: Json = {"categories": {}, "category_applied_input_types": {}, "category_scores": {}, "flagged": False}
    result = {"type": "moderation_result", **verdict, "model": moderation["model"]}
    return {"input": result, "output": result}
