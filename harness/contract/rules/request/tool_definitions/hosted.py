"""Hosted tools that the model does not support: checked last, by its family and its effort."""

from collections.abc import Iterator

from harness.api.models import Model
from harness.api.tools import function_namespaces
from harness.contract.rule import RuleScope, WorldView, assumed, reported, rule
from harness.contract.rules.request.models.research import tool_types
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(when="tools")


def _offer(model: str, *tools: Json) -> Json:
    return {"model": model, "tools": [*tools]}


@rule(
    bad_request("Hosted tool '{type}' is not supported with {model}.", "tools"),
    reported("Azure-Samples/computer-use, issue 8: the words, of a deployment", "2025-04-01"),
    reported("recorded by ruby-openai: file_search of gpt-4", "2025"),
    reported("public reports of two more origins", "2025-09"),
    until="2025-12",
    rejects={("file_search", "gpt-4"): _offer("gpt-4", {"type": "file_search", "vector_store_ids": ["vs_1"]})},
    fix="Declare tools that the model has, or use another model.",
)
def hosted_tool_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """The message of 2025 for a hosted tool that the model's family lacks."""
    yield from _unsupported_tools(request, family)


@rule(
    bad_request("Tool '{type}' is not supported with {model}.", "tools"),
    reported("public reports of twelve origins", "2026-08"),
    reported(
        "public logs of four origins, of gpt-4o-mini, gpt-4.1, gpt-5 and gpt-5.4-nano: the snapshot", "2026-09-28"
    ),
    reads=(),
    since="2026-01",
    rejects={
        ("shell", "gpt-4o-mini-2024-07-18"): _offer(
            "gpt-4o-mini", {"type": "shell", "environment": {"type": "container_auto"}}
        ),
        ("image_generation", "gpt-5.3-codex-spark"): _offer("gpt-5.3-codex-spark", {"type": "image_generation"}),
        ("computer_use_preview", "gpt-5.5-2026-04-23"): _offer(
            "gpt-5.5",
            {"type": "web_search"},
            {"type": "computer_use_preview", "display_height": 1, "display_width": 1, "environment": "mac"},
        ),
    },
    accepts=[_offer("gpt-5.5", {"type": "computer"}), _offer("my-deployment", {"type": "image_generation"})],
    fix="Declare tools that the model has, or use another model.",
)
def tool_unsupported(request: Request, world: WorldView, family: Model | None) -> Iterator[Json]:
    """A family refuses hosted tools that it is known to lack, from a refusal or from the documentation.

    The message names the snapshot that an alias stands for.
    """
    for facts in _unsupported_tools(request, family):
        yield {**facts, "model": world.models.defaults(facts["model"]).snapshot}


def _unsupported_tools(request: Request, family: Model | None) -> Iterator[Json]:
    if family and family.lacks:
        yield from (
            {"type": type, "model": request.body["model"]} for type in tool_types(request) if type in family.lacks
        )


@rule(
    bad_request("Parameter 'filters' not supported with model '{model}'", "tools"),
    reported("public reports of eight origins: gpt-4o-mini and gpt-4.1-mini; no full stop follows", "2026-08-20"),
    reads=(),
    rejects={
        "gpt-4.1-mini": _offer("gpt-4.1-mini", {"type": "web_search", "filters": {"allowed_domains": ["example.com"]}})
    },
    accepts=[
        _offer("gpt-5", {"type": "web_search", "filters": {"allowed_domains": ["example.com"]}}),
        _offer("gpt-4.1-mini", {"type": "web_search"}),
    ],
    fix="Leave the filters out, or use a newer model.",
)
def search_filters_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Small models before GPT-5 only search the web without filters."""
    if family and not family.search_filters and any(tool.get("filters") for tool in _searches(request)):
        yield {"model": request.body["model"]}


def _searches(request: Request) -> list[Json]:
    return [tool for tool in request.body.get("tools") or () if tool["type"].startswith("web_search")]


_UNUSABLE_WITH_MINIMAL = {
    "file_search": "file_search",
    "web_search": "web_search",
    "web_search_preview": "web_search",
    "image_generation": "image_gen",
}


@rule(
    bad_request("The following tools cannot be used with reasoning.effort 'minimal': {names}.", "tools"),
    reported("https://github.com/dimagi/open-chat-studio/issues/2583: file_search, the whole error", "2025-12-15"),
    reported("public reports of two origins", "2026"),
    when="reasoning",
    reads="tools",
    rejects={
        "file_search": {
            "model": "gpt-5",
            "reasoning": {"effort": "minimal"},
            "tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}],
        },
        "image_gen, web_search": {
            "model": "gpt-5",
            "reasoning": {"effort": "minimal"},
            "tools": [{"type": "image_generation"}, {"type": "web_search"}],
        },
    },
    accepts=[{"model": "gpt-5", "reasoning": {"effort": "low"}, "tools": [{"type": "web_search"}]}],
    fix="Raise the effort or leave these tools out.",
)
def tools_with_minimal_effort(request: Request) -> Iterator[Json]:
    """With effort `minimal` some hosted tools cannot be used."""
    effort = (request.body.get("reasoning") or {}).get("effort")
    names = sorted({_UNUSABLE_WITH_MINIMAL[type] for type in tool_types(request) if type in _UNUSABLE_WITH_MINIMAL})
    if names and effort == "minimal":
        yield {"names": ", ".join(names)}


def _namespace(name: str, description: str, function: str) -> Json:
    functions = [{"type": "function", "name": function}]
    return {"type": "namespace", "name": name, "description": description, "tools": functions}


_IMAGEGEN, _WEB_NAMESPACE = _namespace("image_gen", "", "imagegen"), _namespace("web", "d", "f")


@rule(
    bad_request(
        "Invalid Value: 'tools'. Function 'image_gen.imagegen' conflicts with a hosted tool in the same request.",
        "tools",
    ),
    reported(
        "https://github.com/router-for-me/CLIProxyAPI/issues/4187: gpt-5.4 and gpt-5.5, not gpt-5.6", "2026-07-10"
    ),
    reported("https://github.com/Wei-Shaw/sub2api/issues/4022: with either alone it is accepted", "2026-07-12"),
    reported("public reports of eight more origins", "2026-08"),
    reads=(),
    rejects=[_offer("gpt-5.5", _IMAGEGEN, {"type": "image_generation"})],
    accepts=[
        _offer("gpt-5.6-sol", _IMAGEGEN, {"type": "image_generation"}),
        _offer("gpt-5.5", _IMAGEGEN),
        _offer("gpt-5.5", {**_IMAGEGEN, "name": "pictures"}, {"type": "image_generation"}),
    ],
    fix="Declare one of them, or name the namespace differently.",
)
def function_named_like_hosted(request: Request, family: Model | None) -> Iterator[Json]:
    """The hosted image generation is `image_gen.imagegen` to the model: no function next to it may have this name."""
    if family and family.turns == "current_turn" and "image_generation" in tool_types(request):
        functions = function_namespaces(request.body["tools"], found=True)
        yield from ({} for name, space in functions.items() if (space, name) == ("image_gen", "imagegen"))


@rule(
    bad_request(
        "Invalid Value: 'tools.namespace'. User-defined namespace '{name}' collides with an existing tool namespace.",
        "tools.namespace",
    ),
    reported("https://github.com/openai/codex/issues/28464: image_gen, gpt-5.5", "2026-06-16"),
    reported("public reports of three more origins: image_gen on Azure, web", "2026-08-10"),
    assumed("that at OpenAI the hosted tool has to be in the request: image_gen alone is accepted there"),
    reads=(),
    rejects={"web": _offer("gpt-5.5", _WEB_NAMESPACE, {"type": "web_search"})},
    accepts=[_offer("gpt-5.5", _WEB_NAMESPACE), _offer("gpt-5.6-sol", _WEB_NAMESPACE, {"type": "web_search"})],
    fix="Name the namespace differently.",
)
def namespace_named_like_hosted(request: Request, family: Model | None) -> Iterator[Json]:
    """A namespace in the request cannot have the name of a hosted tool's namespace."""
    if family and family.turns == "current_turn" and _searches(request):
        yield from (
            {"name": "web"}
            for tool in request.body.get("tools") or ()
            if tool["type"] == "namespace" and tool["name"] == "web"
        )
