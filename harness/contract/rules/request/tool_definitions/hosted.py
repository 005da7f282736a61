"""Hosted tools that the model does not support, and names that only they may have: checked last."""

import re
from base64 import b64decode
from collections.abc import Iterator

from harness.api.http.dialects import AZURE_DIALECTS
from harness.api.models import Model
from harness.api.skill_files import read_header
from harness.api.tools import function_namespaces, has_async
from harness.contract.rule import (
    CREATE_RESPONSE,
    Case,
    RuleScope,
    WorldView,
    assumed,
    documented,
    recorded,
    reported,
    rule,
)
from harness.contract.rules.example_requests import ASYNC_GUIDE, ASYNC_TOOL, ON_AZURE
from harness.contract.rules.request.capability import tool_types
from harness.core.errors import COMMAND, bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object, objects_in

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
            {"type": type, "model": request.body["model"]}
            for type in tool_types(request)
            if type in family.lacks and type != "custom"
        )


@rule(
    bad_request("Invalid value: 'custom'", "tools", "unknown_parameter"),
    reported("a public report of the whole error, of a model behind a gateway", "2026-05-08"),
    reported("the tests of a public client of Codex: the whole error, as observed", "2026-08"),
    reported("public reports of four more origins: gpt-4.1 and gpt-4o-mini, the words", "2026-09"),
    reads=(),
    rejects=[_offer("gpt-4.1", {"type": "web_search"}, {"type": "custom", "name": "apply_patch"})],
    accepts=[
        _offer("gpt-5", {"type": "custom", "name": "apply_patch"}),
        _offer("my-deployment", {"type": "custom", "name": "apply_patch"}),
    ],
    fix=f"Declare a function with a text as its parameter, or use another model: `{COMMAND} models NAME`.",
)
def custom_tool_unsupported(request: Request, family: Model | None) -> bool:
    """Models before GPT-5 call functions alone; no full stop ends the message."""
    return family is not None and "custom" in family.lacks and "custom" in tool_types(request)


@rule(
    bad_request("Async tools are not supported with {model}.", "tools", "unsupported_value"),
    recorded("vllm-project/agentic-api: gpt-5.5", "2026-10-08"),
    reported("public notes of three origins: gpt-5.6-luna and -terra, over WebSocket, too; every GPT-5", "2026-10-05"),
    documented(f"{ASYNC_GUIDE}: GPT-6 Astra and later", "2026-11"),
    reads=(),
    mentions='"async"',
    rejects={
        "gpt-5.5": _offer("gpt-5.5", ASYNC_TOOL),
        "gpt-5.6-luna": _offer(
            "gpt-5.6-luna", {"type": "namespace", "name": "n", "description": "d", "tools": [ASYNC_TOOL]}
        ),
    },
    accepts=[
        _offer("gpt-6-astra", ASYNC_TOOL),
        _offer("gpt-6-luna", ASYNC_TOOL),
        _offer("my-deployment", ASYNC_TOOL),
        _offer("gpt-daybreak-blue-latest", ASYNC_TOOL),
        _offer("gpt-5.5", {**ASYNC_TOOL, "async": False}),
    ],
    fix="Leave out `async` and answer the call before the next turn, or use GPT-6 or newer.",
)
def async_tools_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Models before GPT-6 wait for the outputs of all tools."""
    if family and family.precedes_gpt_6 and has_async(request.body.get("tools")):
        yield {"model": request.body["model"]}


_SKILL_PACKAGE = (
    "UEsDBBQAAAAAAAAAIQCQAsm4KQAAACkAAAAKAAAAYS9TS0lMTC5tZC0tLQpuYW1lOiBhCmRlc2NyaXB0aW9uOiBBZGRzLgotLS0KCkFkZC4KUEsB"
    "AhQDFAAAAAAAAAAhAJACybgpAAAAKQAAAAoAAAAAAAAAAAAAAIABAAAAAGEvU0tJTEwubWRQSwUGAAAAAAEAAQA4AAAAUQAAAAAA"
)
"""A zip with `a/SKILL.md`: name `a`, description `Adds.`."""


def _skill(name: str, description: str, data: str = _SKILL_PACKAGE) -> Json:
    source = {"type": "base64", "media_type": "application/zip", "data": data}
    return {"type": "inline", "name": name, "description": description, "source": source}


def _mount(skill: Json) -> Json:
    return _offer("gpt-5.6-sol", {"type": "shell", "environment": {"type": "container_auto", "skills": [skill]}})


@rule(
    bad_request("Inline skill name/description must match the values in SKILL.md/Skills.md front matter."),
    reported("public notes of a run against Azure: a new container, the whole error", "2026-07-18"),
    reported("https://github.com/openai/openai-python/issues/2882: a shell tool in the dashboard's chat", "2026-02-22"),
    reported("the tests of a public program: the words", "2026"),
    assumed("that a package without a readable header is not refused, nor one whose values go over several lines"),
    on=(CREATE_RESPONSE, "POST /containers"),
    when=("tools", "skills"),
    mentions='"inline"',
    reads=(),
    rejects=[_mount(_skill("a", "Subtracts."))],
    accepts=[
        _mount(_skill("a", "Adds.")),
        _mount(_skill("b", "Adds.", "UEs=")),
        Case({"name": "data", "skills": [_skill("a", "Adds.")]}, on="POST /containers"),
    ],
    fix="Give the skill the name and the description that its SKILL.md begins with.",
)
def inline_skill_differs(request: Request) -> bool:
    """A skill in the request has the name and the description of the header in its package."""
    mounted = [request.body, *(as_object(tool.get("environment")) for tool in objects_in(request.body.get("tools")))]
    return any(
        _differs(skill, _read_skill(skill["source"]["data"]))
        for holder in mounted
        for skill in objects_in(holder.get("skills"))
        if skill.get("type") == "inline"
    )


def _read_skill(data: str) -> dict[str, str]:
    try:
        return read_header(b64decode(data))
    except ValueError:
        return {}


_PLAIN = re.compile(r"[A-Za-z0-9][^\\'\"#]*")
"""A value of a header that means the same in each reading of YAML, unless it goes on in the next line."""


def _differs(skill: Json, header: dict[str, str]) -> bool:
    return any(
        _PLAIN.fullmatch(header.get(member, "")) is not None and not skill[member].strip().startswith(header[member])
        for member in ("name", "description")
    )


@rule(
    bad_request("Parameter 'filters' not supported with model '{model}'", "tools"),
    reported("public reports of eight origins: gpt-4o-mini and gpt-4.1-mini; no full stop follows", "2026-08-20"),
    reads=(),
    rejects={
        "gpt-4.1-mini": _offer("gpt-4.1-mini", {"type": "web_search", "filters": {"allowed_domains": ["example.com"]}})
    },
    accepts=[
        *(
            _offer(model, {"type": type, "filters": {"allowed_domains": ["example.com"]}})
            for model, type in (("gpt-5", "web_search"), ("gpt-4o", "web_search_preview"))
        ),
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


def _think(effort: str, *tools: Json) -> Json:
    return {"model": "gpt-5", "reasoning": {"effort": effort}, "tools": [*tools]}


@rule(
    bad_request("The following tools cannot be used with reasoning.effort 'minimal': {names}.", "tools"),
    reported("https://github.com/dimagi/open-chat-studio/issues/2583: file_search, the whole error", "2025-12-15"),
    reported("public reports of two origins", "2026"),
    when="reasoning",
    reads="tools",
    rejects={
        "file_search": _think("minimal", {"type": "file_search", "vector_store_ids": ["vs_1"]}),
        "image_gen, web_search": _think("minimal", {"type": "image_generation"}, {"type": "web_search"}),
    },
    accepts=[_think("low", {"type": "web_search"})],
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
def function_named_like_hosted(request: Request, family: Model | None) -> bool:
    """The hosted image generation is `image_gen.imagegen` to the model: no function next to it may have this name."""
    if not family or family.turns != "current_turn" or "image_generation" not in tool_types(request):
        return False
    return ("imagegen", "image_gen") in function_namespaces(request.body["tools"], found=True).items()


@rule(
    bad_request(
        "Invalid Value: 'tools.namespace'. User-defined namespace '{name}' collides with an existing tool namespace.",
        "tools.namespace",
    ),
    reported("https://github.com/openai/codex/issues/28464: image_gen, gpt-5.5", "2026-06-16"),
    reported(
        "public reports of three more origins: image_gen on Azure, gpt-5.6-sol, too, without the hosted tool; web",
        "2026-10",
    ),
    assumed("that at OpenAI the hosted tool has to be in the request: image_gen alone is accepted there"),
    reads=(),
    rejects={
        "web": _offer("gpt-5.5", _WEB_NAMESPACE, {"type": "web_search"}),
        "image_gen": Case({**_offer("gpt-5.6-sol", _IMAGEGEN), "input": "hi"}, on=ON_AZURE),
    },
    accepts=[
        _offer("gpt-5.5", _WEB_NAMESPACE),
        _offer("gpt-5.5", _IMAGEGEN),
        _offer("gpt-5.6-sol", _WEB_NAMESPACE, {"type": "web_search"}),
    ],
    fix="Name the namespace differently.",
)
def namespace_named_like_hosted(request: Request, family: Model | None) -> Iterator[Json]:
    """A namespace in the request cannot have the name of a hosted tool's namespace."""
    taken = {"image_gen"} if request.dialect in AZURE_DIALECTS else set()
    if family and family.turns == "current_turn" and _searches(request):
        taken.add("web")
    tools = request.body.get("tools") or ()
    yield from ({"name": tool["name"]} for tool in tools if tool["type"] == "namespace" and tool["name"] in taken)
