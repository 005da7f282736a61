"""What the API runs for the model: code in a container, and programs that call tools."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.items.kind import item, named
from harness.items.stream_grammar import Grow, Later, Phase, Text

OUTPUTS = ("logs", "image")
SEALED = "gAAAAABhYXJuZXNz"
"""A ciphertext that nobody can read, where none is given."""


@item(
    "ci",
    Later("outputs", []),
    Phase("in_progress"),
    Grow("code", "code_interpreter_call_code", needed=False),
    Phase("interpreting"),
    Phase("completed"),
    fills={"container_id": None, "outputs": None},
)
def code_interpreter_call(
    code: Text | None = "", *, container_id: str | None = None, outputs: Sequence[str | Json] | None = None
) -> Json:
    """The model runs Python in its container; without `container_id` the World gives one out.

    An output is a text, as logs, or `{"type": "image", "url": "https://…"}`; on the wire they are null unless the
    request includes `code_interpreter_call.outputs`.
    """
    shown = None if outputs is None else [_output(number, each) for number, each in enumerate(outputs)]
    return {"code": code, "container_id": container_id, "outputs": shown}


def _output(number: int, output: str | Json) -> Json:
    if isinstance(output, str):
        return {"type": "logs", "logs": output}
    if not isinstance(output, dict) or output.get("type") not in OUTPUTS:
        raise ScriptError(f"outputs[{number}] is {output!r}. Give a text, or an object of type {' or '.join(OUTPUTS)}.")
    return output


@item("cm", Later("code", ""), status=False, fills={"call_id": None, "fingerprint": SEALED})
def program(code: str, *, call_id: str | None = None, fingerprint: str = SEALED) -> Json:
    """The model writes a program that calls tools; its calls follow with `caller={"type": "program", …}`."""
    return {"call_id": call_id, "code": named("code", code), "fingerprint": fingerprint}


@item("cmo", Later("result", ""), Later("status", "completed"))
def program_output(call_id: str, result: str) -> Json:
    """What the program with that `call_id` printed."""
    return {"call_id": named("call_id", call_id), "result": result}
