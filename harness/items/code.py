"""Code that the API runs: Python in a container, and programs that call tools."""

from collections.abc import Sequence

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text import show
from harness.items.examples import between_messages, typed
from harness.items.kind import item, require_text
from harness.items.stream_elements import FinalMember, Phase, StreamedText, TextOrDeltas

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
