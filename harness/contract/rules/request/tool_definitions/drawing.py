"""The settings of the hosted tool that draws images, `image_generation`: checked last."""

import re
from collections.abc import Iterator

from harness.api.http.dialects import AZURE
from harness.contract.rule import Case, RuleScope, assumed, documented, reported, rule
from harness.contract.rules.example_requests import KEY_HEADERS, ON_AZURE
from harness.contract.rules.request.capability import tool_types
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(area="hosted", when="tools")

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
