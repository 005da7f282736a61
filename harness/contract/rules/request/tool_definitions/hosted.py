"""Hosted tools that the model does not support, and the settings of the one that draws images: checked last."""

import re
from base64 import b64decode
from collections.abc import Iterator

from harness.api.http.dialects import AZURE
from harness.api.models import Model
from harness.api.skill_files import read_header
from harness.api.tools import function_namespaces
from harness.contract.rule import CREATE_RESPONSE, Case, RuleScope, WorldView, assumed, documented, reported, rule
from harness.contract.rules.example_requests import KEY_HEADERS, ON_AZURE
from harness.contract.rules.request.capability import tool_types
from harness.core.errors import COMMAND, ApiError, bad_request
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


IMAGE_ERROR = "image_generation_user_error"
"""The type of errors about the settings of the tool that draws images."""
IMAGE_DEPLOYMENT = "x-ms-oai-image-generation-deployment"


def _drawing_error(message: str, code: str) -> ApiError:
    return bad_request(message, "tools", code, IMAGE_ERROR)


def _draw_on_azure(**headers: str) -> Case:
    return Case(
        {"model": "gpt-5.5", "input": "hi", "tools": [{"type": "image_generation"}]},
        on=ON_AZURE,
        headers={**KEY_HEADERS, **headers},
    )


@rule(
    _drawing_error(f"imagegen deployment must be provided through header: {IMAGE_DEPLOYMENT}", "invalid_request_error"),
    reported("https://github.com/editor-code-assistant/eca/issues/612: the whole body", "2026-09-18"),
    reported("https://github.com/openai/codex/issues/31815", "2026-07-09"),
    reported("public notes of a live probe: with a namespace `image_gen` too, which alone is accepted", "2026-08-10"),
    reported("public reports of three more origins", "2026"),
    reads=f"request.headers.{IMAGE_DEPLOYMENT}",
    mentions='"image_generation"',
    dialects=AZURE,
    since="2026-07-09",
    rejects=[_draw_on_azure()],
    accepts=[_draw_on_azure(**{IMAGE_DEPLOYMENT: "gpt-image-2"})],
    fix=f"Name a deployment that generates images, in the header `{IMAGE_DEPLOYMENT}`.",
)
def image_deployment_missing(request: Request) -> bool:
    """Azure needs the name of the deployment that draws images, even if the model draws none."""
    return "image_generation" in tool_types(request) and not request.headers.get(IMAGE_DEPLOYMENT)


def _drawing_tools(request: Request) -> list[Json]:
    return [tool for tool in request.body.get("tools") or () if tool["type"] == "image_generation"]


_WITHOUT_FIDELITY = "gpt-image-2"
"""The beginning of the names of image models without this setting."""
_WITHOUT_TRANSPARENCY = "gpt-image-2"


def _draw(**settings: str | int) -> Json:
    return {"model": "gpt-5.5", "tools": [{"type": "image_generation", **settings}]}


@rule(
    _drawing_error(
        "The model '{model}' does not support the 'input_fidelity' parameter.", "invalid_input_fidelity_model"
    ),
    reported("public reports of five origins, of the Images API: gpt-image-2", "2026-07-05"),
    reported("the same of both models 2.5, by two origins", "2026-09-20"),
    reported("a public program: the Responses API refuses it as well", "2026"),
    assumed("param, that of other errors about the tool"),
    mentions='"input_fidelity"',
    since="2026-07-05",
    rejects={
        "gpt-image-2": _draw(model="gpt-image-2", input_fidelity="high"),
        "gpt-image-2.5-flare": _draw(model="gpt-image-2.5-flare", input_fidelity="low"),
    },
    accepts=[
        _draw(model="gpt-image-1.5", input_fidelity="high"),
        _draw(model="gpt-image-2"),
        _draw(input_fidelity="high"),
    ],
    fix="Leave `input_fidelity` out: these models always keep the details of an input image.",
)
def image_fidelity_unsupported(request: Request) -> Iterator[Json]:
    """Image models from gpt-image-2 on have no setting for how close they stay to an input image."""
    for tool in _drawing_tools(request):
        model = tool.get("model") or ""
        if tool.get("input_fidelity") and model.startswith(_WITHOUT_FIDELITY):
            yield {"model": model}


def _sized(size: str) -> Json:
    return _draw(model="gpt-image-2", size=size)


_DRAWS_AT_ANY_SIZE = re.compile(r"gpt-image-2(-2026.*|\.5-.*)?")
_SIZE = re.compile(r"([1-9][0-9]{0,9})x([1-9][0-9]{0,9})")
_LONGEST_EDGE, _FEWEST_PIXELS, _MOST_PIXELS, _WIDEST = 3_840, 655_360, 8_294_400, 3
"""The bounds of a size: https://developers.openai.com/api/docs/guides/image-generation, measured by six origins."""


@rule(
    _drawing_error("Invalid size '{size}'. {reason}", "invalid_value"),
    reported("public logs of two programs, with the whole error: too few pixels", "2026-05-20"),
    reported("the records of two more, with the whole error: edges that 16 does not divide", "2026-05-24"),
    reported("public reports of twelve origins, of the Images API: the other reasons", "2026-09"),
    assumed("the order of the reasons, where a size has two"),
    reads=(),
    mentions='"size"',
    since="2026-04-21",
    rejects={
        ("256x256", "Requested resolution is below the current minimum pixel budget."): _sized("256x256"),
        ("2880x1620", "Width and height must both be divisible by 16."): _sized("2880x1620"),
        ("4096x4096", "The longest edge must be less than or equal to 3840."): _sized("4096x4096"),
        ("1424x176", "The maximum supported aspect ratio is 3:1."): _draw(model="gpt-image-2.5-flare", size="1424x176"),
        ("3840x3408", "Requested resolution exceeds the current pixel budget."): _sized("3840x3408"),
        ("0x0", "Expected WIDTHxHEIGHT, for example '1824x1024'."): _sized("0x0"),
    },
    accepts=[
        *map(_sized, ("auto", "1152x640", "3840x1280", "3840x2160")),
        _draw(size="256x256"),
    ],
    fix="Use edges of at most 3840 pixels in steps of 16, a ratio of at most 3:1, 655,360 to 8,294,400 pixels; or `auto`.",
)
def image_size_invalid(request: Request) -> Iterator[Json]:
    """gpt-image-2 and 2.5 draw at any size within bounds; the sizes of other models are not checked."""
    for tool in _drawing_tools(request):
        size = tool.get("size")
        if size and _DRAWS_AT_ANY_SIZE.fullmatch(tool.get("model") or ""):
            yield from ({"size": size, "reason": reason} for reason in _size_problems(size))


def _size_problems(size: str) -> Iterator[str]:
    if size == "auto":
        return
    match = _SIZE.fullmatch(size)
    if match is None:
        yield "Expected WIDTHxHEIGHT, for example '1824x1024'."
        return
    short, long = sorted(map(int, match.groups()))
    if long > _LONGEST_EDGE:
        yield f"The longest edge must be less than or equal to {_LONGEST_EDGE}."
    if short % 16 or long % 16:
        yield "Width and height must both be divisible by 16."
    if long > _WIDEST * short:
        yield f"The maximum supported aspect ratio is {_WIDEST}:1."
    if short * long < _FEWEST_PIXELS:
        yield "Requested resolution is below the current minimum pixel budget."
    if short * long > _MOST_PIXELS:
        yield "Requested resolution exceeds the current pixel budget."


@rule(
    _drawing_error(
        "Compression less than 100 is not supported for PNG output format", "invalid_png_output_compression"
    ),
    reported("the tests of a public program, with the whole error of the Responses API", "2026"),
    reported("public reports of four more origins, of the Images API", "2026-06-17"),
    reads=(),
    mentions='"output_compression"',
    rejects=[_draw(output_format="png", output_compression=99)],
    accepts=[
        _draw(output_format="png", output_compression=100),
        _draw(output_compression=50),
        *(_draw(output_format=format, output_compression=50) for format in ("jpeg", "webp")),
    ],
    fix="Set `output_format` to `jpeg` or `webp`, or leave `output_compression` out.",
)
def image_compression_of_png(request: Request) -> bool:
    """PNG has no lossy compression. Without `output_format` nothing is refused: reports about the default differ."""
    given = [tool.get("output_compression") for tool in _drawing_tools(request) if tool.get("output_format") == "png"]
    return any(compression is not None and compression < 100 for compression in given)


@rule(
    _drawing_error("Transparent background is not supported for this model.", "invalid_value"),
    reported("https://github.com/gaoren002/GPT2Image-Pro/issues/2: of the Responses API, type and code", "2026-05-30"),
    reported("the notes of a public program, with the whole error of the Responses API", "2026"),
    reported("public reports of seven more origins, of the Images API", "2026-10-08"),
    documented("https://github.com/openai/openai-python/pull/3703: a preview since then", "2026-08-20"),
    assumed("that it began with the model, and that the preview is open to each account"),
    reads=(),
    mentions='"transparent"',
    since="2026-04-21",
    until="2026-08-19",
    rejects=[_draw(model="gpt-image-2", background="transparent")],
    accepts=[
        _draw(model="gpt-image-1.5", background="transparent"),
        _draw(model="gpt-image-2", background="opaque"),
        _draw(background="transparent"),
    ],
    fix="Draw with gpt-image-1.5, or in front of a background that your program removes.",
)
def image_transparent_unsupported(request: Request) -> bool:
    """gpt-image-2 drew no transparency at first; on later days some accounts are still refused."""
    return any(
        tool.get("background") == "transparent" and (tool.get("model") or "").startswith(_WITHOUT_TRANSPARENCY)
        for tool in _drawing_tools(request)
    )


@rule(
    _drawing_error(
        "Transparent background is not supported for JPEG output format", "invalid_transparent_background_output_format"
    ),
    reported("the notes of a live probe, with the whole error of the Images API", "2026-08-23"),
    reported("public reports of three more origins: the message", "2026"),
    assumed("param, that of other errors about the tool"),
    reads=(),
    mentions='"transparent"',
    rejects=[_draw(background="transparent", output_format="jpeg")],
    accepts=[
        _draw(background="transparent"),
        *(_draw(background="transparent", output_format=format) for format in ("png", "webp")),
        _draw(background="opaque", output_format="jpeg"),
    ],
    fix="Set `output_format` to `png` or `webp`.",
)
def image_transparent_jpeg(request: Request) -> bool:
    """JPEG has no transparency."""
    return any(
        tool.get("background") == "transparent" and tool.get("output_format") == "jpeg"
        for tool in _drawing_tools(request)
    )
