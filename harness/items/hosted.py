"""What the API executes for the model: searches, Python in a container, programs that call tools, images."""

from collections.abc import Sequence

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import pick
from harness.core.text import show
from harness.items.examples import PNG, between_messages, typed
from harness.items.kind import input_item, item, require_text
from harness.items.stream_elements import Deltas, EventVisitor, FinalMember, Phase, StreamedText, TextOrDeltas

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


OUTPUT_TYPES = ("logs", "image")
PLACEHOLDER_CIPHERTEXT = "gAAAAABhYXJuZXNz"
"""The default value of an encrypted member."""


@item(
    "ci",
    FinalMember("outputs", []),
    Phase("in_progress"),
    StreamedText("code", "code_interpreter_call_code", required=False),
    Phase("interpreting"),
    Phase("completed"),
    defaults={"container_id": None, "outputs": None},
    tool_types=("code_interpreter",),
    example=between_messages(
        typed("code_interpreter_call", id="ci_1", code="1", container_id="cntr_1", outputs=None, status="completed")
    ),
)
def code_interpreter_call(
    code: TextOrDeltas | None = "", *, container_id: str | None = None, outputs: Sequence[str | Json] | None = None
) -> Json:
    """Let the model run Python in its container; without `container_id` the World generates one.

    An output is a string, shown as logs, or `{"type": "image", "url": "https://…"}`; on the wire `outputs` is null
    unless the request includes `code_interpreter_call.outputs`.
    """
    shown = None if outputs is None else [_build_output(number, output) for number, output in enumerate(outputs)]
    return {"code": code, "container_id": container_id, "outputs": shown}


def _build_output(number: int, output: str | Json) -> Json:
    if isinstance(output, str):
        return {"type": "logs", "logs": output}
    if not isinstance(output, dict) or output.get("type") not in OUTPUT_TYPES:
        raise ScriptError(
            f"outputs[{number}] is {show(output)}. Pass a string, or an object of type {' or '.join(OUTPUT_TYPES)}."
        )
    return output


@item(
    "cm",
    FinalMember("code", ""),
    status=False,
    defaults={"call_id": None, "fingerprint": PLACEHOLDER_CIPHERTEXT},
    tool_types=("programmatic_tool_calling",),
)
def program(code: str, *, call_id: str | None = None, fingerprint: str = PLACEHOLDER_CIPHERTEXT) -> Json:
    """Let the model write a program that calls tools; its calls follow with `caller={"type": "program", …}`."""
    return {"call_id": call_id, "code": require_text("code", code), "fingerprint": fingerprint}


@item("cmo", FinalMember("result", ""), FinalMember("status", "completed"), listed_status=False)
def program_output(call_id: str, result: str) -> Json:
    """Return the output of the program with that `call_id`."""
    return {"call_id": require_text("call_id", call_id), "result": result}


ONE_PIXEL_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
"""A white PNG of one pixel."""

PARTIAL_IMAGE = "image_generation_call.partial_image"


class StreamedImage(FinalMember):
    """An image with its partial images, the last of which is the image itself."""

    __slots__ = ()

    def extract_deltas(self, value: Json) -> Deltas:
        """Split an image into its partial images, the last of which becomes the result."""
        shown = value.get(self.member)
        if shown is None or isinstance(shown, str):
            return {}
        if not isinstance(shown, list) or not shown or not all(isinstance(image, str) for image in shown):
            raise ScriptError(
                f"{self.member} is {show(shown)}. Pass base64, or a list of it: each image shown, in order."
            )
        value[self.member] = shown[-1]
        return {(PARTIAL_IMAGE, 0): tuple(shown)}

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit one event per image, with its properties."""
        like = ("background", "output_format", "quality", "size")
        visitor.visit_images(PARTIAL_IMAGE, {**place, **pick(value, *like)}, value.get(self.member))


@item(
    "ig",
    *map(FinalMember, ("action", "background", "error", "output_format", "quality", "revised_prompt", "size")),
    Phase("in_progress"),
    Phase("generating"),
    StreamedImage("result"),
    Phase("completed"),
    tool_types=("image_generation",),
    example=between_messages(
        typed("image_generation_call", id="ig_1", result=PNG.partition(",")[2], status="completed")
    ),
)
def image_generation_call(
    result: str | Sequence[str] | None = ONE_PIXEL_PNG,
    *,
    revised_prompt: str = "An image.",
    action: str | None = None,
    size: str = "1024x1024",
    quality: str = "high",
    background: str = "opaque",
    output_format: str = "png",
    error: Json | None = None,
) -> Json:
    """Let the model generate an image: base64, or a list of the partial images in its stream, the last being the result.

    A stream always shows the finished image. With `error` there is no image and the call has failed.
    """
    like = {"background": background, "output_format": output_format, "quality": quality, "size": size}
    if error is not None:
        return {"error": error, "result": None, "status": "failed"}
    members = {**like, "result": result, "revised_prompt": revised_prompt}
    return members if action is None else {**members, "action": action}
