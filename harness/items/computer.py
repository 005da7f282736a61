"""Calls that act on the client's computer: on its screen and its files."""

from __future__ import annotations

from collections.abc import Sequence

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text import show
from harness.items.examples import after_message, typed
from harness.items.kind import item, require_text
from harness.items.stream_grammar import FinalMember, NestedObject, StreamedText

PATCH_OPERATIONS = ("create_file", "update_file", "delete_file")


@item(
    "cu",
    defaults={"call_id": None, "pending_safety_checks": []},
    call_name="computer call",
    tool_types=("computer", "computer_use_preview"),
)
def computer_call(
    action: Json | Sequence[Json], *, call_id: str | None = None, pending_safety_checks: Sequence[Json] = ()
) -> Json:
    """The model uses a screen: `{"type": "click", "button": "left", "x": 1, "y": 2}`.

    One action becomes `action`, a list becomes `actions`, as in the two generations of the tool.
    """
    doing = [action] if isinstance(action, dict) else list(action)
    for number, step in enumerate(doing):
        if not isinstance(step, dict) or not step.get("type"):
            raise ScriptError(
                f"action {number} is {show(step)}. Pass an object with a type, such as {{'type': 'screenshot'}}."
            )
    what: Json = {"action": action} if isinstance(action, dict) else {"actions": doing}
    return {**what, "call_id": call_id, "pending_safety_checks": list(pending_safety_checks)}


@item(
    "apc",
    NestedObject("operation", (StreamedText("diff", "apply_patch_call_operation_diff", required=False),)),
    defaults={"call_id": None},
    call_name="apply patch call",
    tool_types=("apply_patch",),
    examples={
        "apply_patch_call": after_message(
            typed("apply_patch_call", call_id="call_1", operation=typed("delete_file", path="a"), status="completed"),
            typed("apply_patch_call_output", call_id="call_1", output="done", status="completed"),
        )
    },
)
def apply_patch_call(operation: Json, *, call_id: str | None = None) -> Json:
    """The model changes a file of the client: `create_file(…)`, `update_file(…)` or `delete_file(…)`."""
    if not isinstance(operation, dict) or operation.get("type") not in PATCH_OPERATIONS:
        raise ScriptError(f"operation is {show(operation)}. Pass one of: {', '.join(PATCH_OPERATIONS)}.")
    return {"call_id": call_id, "operation": operation}


def create_file(path: str, diff: str | Sequence[str]) -> Json:
    """The operation to write a new file, each line after a plus; a list of str is the exact deltas."""
    return {"type": "create_file", "diff": diff, "path": require_text("path", path)}


def update_file(path: str, diff: str | Sequence[str]) -> Json:
    """The operation to change a file, as a diff in the V4A format; a list of str is the exact deltas."""
    return {"type": "update_file", "diff": diff, "path": require_text("path", path)}


def delete_file(path: str) -> Json:
    """The operation to delete a file."""
    return {"type": "delete_file", "path": require_text("path", path)}


@item("apo", FinalMember("status", "completed"), output_of="apply_patch_call")
def apply_patch_call_output(call_id: str, output: str | None = None, *, status: str = "completed") -> Json:
    """The result of a patch that the API applied itself; `status` is completed or failed."""
    if status not in ("completed", "failed"):
        raise ScriptError(f"status is {show(status)}. Use one of: completed, failed.")
    members: Json = {"call_id": require_text("call_id", call_id), "output": output}
    return members if status == "completed" else {**members, "status": status}
