"""Requests that the API is documented to refuse, in words that nobody has recorded: the mock accepts them."""

from collections.abc import Iterator, Mapping

from harness.analysis.client_mistake import OK, MistakeFacts, SeenClient, Sending, client_mistake, refused, seen
from harness.contract.rule import CREATE_RESPONSE
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string, objects_in

_WINDOWS = ("2h", "8h")
_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("gpt-6-sol", "gpt-6.1-sol", "gpt-6-astra"), ("standard", "daybreak_blue")),
    **dict.fromkeys(("gpt-5.6-cyber", "gpt-6-cyber", "gpt-daybreak-red-latest"), ("daybreak_red",)),
    "gpt-daybreak-blue-latest": ("daybreak_blue",),
}
"""The values of `access_programs.cyber` by model, where they are documented."""
_TYPED = "the types of openai 3.57"
_DAYBREAK = "https://developers.openai.com/api/docs/guides/daybreak, 2026-11"
_SVG: Json = {"type": "image_generation", "svg": {"model": "gpt-6-sol"}}
_GIF: Json = {"type": "image_generation", "output_format": "gif"}
_RED: Json = {"access_programs": {"cyber": "daybreak_red"}}


def _window(window: str = "2h", **members: object) -> Json:
    return {"background_options": {"completion_window": window}, **members}


def _asked(body: Json) -> SeenClient:
    return seen(Sending(0, OK, body))


@client_mistake(
    message="request {number} has {what}: the API refuses it, says {where}, in words unknown to the mock, which accepts it",
    fix="Change the request as the source says; a recording of the refusal makes the mock refuse it, too.",
    source="each message names its own",
    certain=True,
    shows=[
        _asked(_window()),
        _asked(_window(background=True, stream=True)),
        _asked(_window("8h", background=True, service_tier="flex")),
        _asked({"model": "gpt-6-sol", **_RED}),
        _asked({"access_programs": None}),
        _asked({"tools": [_SVG]}),
        _asked({"tools": [{**_GIF, "partial_images": 1}]}),
    ],
    lacks=[
        _asked(_window(background=True, service_tier="default")),
        _asked(_window("soonest")),
        seen(Sending(0, refused(400), _window())),
        _asked({"model": "gpt-6-cyber", **_RED}),
        _asked({"model": "gpt-4.1", **_RED}),
        _asked({"tools": [{**_SVG, "output_format": "svg"}, _GIF]}),
    ],
)
def documented_refusal(client: SeenClient) -> Iterator[MistakeFacts]:
    """Requests have a combination of members that the API is documented to refuse."""
    for exchange in client.exchanges:
        body = exchange.request.body
        if exchange.request.operation == CREATE_RESPONSE and exchange.status == 200 and isinstance(body, dict):
            for members, where in (*_in_background(body), *_in_programs(body), *_in_images(body)):
                yield {"number": exchange.number, "what": members, "where": where, "certain": True}


def _in_background(body: Json) -> Iterator[tuple[str, str]]:
    window = as_object(body.get("background_options")).get("completion_window")
    if window in _WINDOWS:
        if not body.get("background"):
            yield f"`completion_window: {window}` without `background: true`", _TYPED
        elif body.get("stream"):
            yield f"`completion_window: {window}` with `stream: true`", _TYPED
        elif (tier := body.get("service_tier")) not in (None, "auto", "default"):
            yield f"`completion_window: {window}` with `service_tier: {tier}`", _TYPED


def _in_programs(body: Json) -> Iterator[tuple[str, str]]:
    programs = body.get("access_programs", {})
    model, program = as_string(body.get("model")), as_object(programs).get("cyber", "")
    if programs is None or program is None:
        yield "`access_programs` with null", _DAYBREAK
    elif program and program not in _PROGRAMS.get(model, (program,)):
        yield f"`access_programs.cyber: {program}` for {model} (invalid_access_program)", _DAYBREAK


def _in_images(body: Json) -> Iterator[tuple[str, str]]:
    for tool in objects_in(body.get("tools")):
        if tool.get("type") == "image_generation":
            format = tool.get("output_format")
            if tool.get("svg") and format != "svg":
                yield "a tool `image_generation` with `svg`, but without `output_format: svg`", _TYPED
            if format == "gif" and (tool.get("partial_images") or tool.get("input_image_mask")):
                yield "a tool `image_generation` of gif with `partial_images` or `input_image_mask`", _TYPED
