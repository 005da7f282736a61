"""Calls that act on a computer, the client's or a container of the API: shell commands, the screen, files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.json_values import without_nulls
from harness.core.text import show
from harness.items.examples import after_message, typed
from harness.items.kind import input_item, item, require_text
from harness.items.stream_elements import (
    Deltas,
    EventVisitor,
    FinalMember,
    NestedObject,
    StreamedList,
    StreamedText,
    TextOrDeltas,
)

COMMAND = StreamedText("command", "shell_call_command")
OUTPUT_CONTENT = "shell_call_output_content"
OUTPUT_STREAMS = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class StreamedCommands(StreamedList):
    """A list of commands: for each one `<stem>.added`, its deltas, `<stem>.done`."""

    def extract_deltas(self, value: Json) -> Deltas:
        """Split all commands into their deltas."""
        deltas: dict[tuple[str, int], Sequence[str]] = {}
        commands = value.get(self.member)
        if not isinstance(commands, list):
            raise ScriptError(f"{self.member} is {show(commands)}. Pass a list of commands.")
        for number, command in enumerate(commands):
            own = {COMMAND.member: command}
            deltas |= {(stem, number): pieces for (stem, _), pieces in COMMAND.extract_deltas(own).items()}
            commands[number] = own[COMMAND.member]
        return deltas

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the commands one after the other."""
        for number, command in enumerate(value[self.member]):
            at = {**place, "command_index": number}
            visitor.visit_event(f"{COMMAND.stem}.added", {**at, COMMAND.member: ""})
            COMMAND.emit_events({COMMAND.member: command}, visitor, at)


@dataclass(frozen=True, slots=True)
class StreamedOutputs(StreamedList):
    """The outputs of commands: for each one its deltas, then `.done` with the complete output."""

    def extract_deltas(self, value: Json) -> Deltas:
        """Return no deltas, as outputs have no exact ones; ScriptError unless the value is a list of objects."""
        outputs = value.get(self.member)
        if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
            raise ScriptError(f"{self.member} is {show(outputs)}. Pass a list of what shell_output('…') returns.")
        return {}

    def emit_events(self, value: Json, visitor: EventVisitor, place: Json) -> None:
        """Emit the outputs one after the other."""
        for number, output in enumerate(value[self.member]):
            at = {**place, "command_index": number}
            visitor.visit_object_deltas(
                OUTPUT_CONTENT, at, {name: output[name] for name in OUTPUT_STREAMS if output.get(name)}
            )
            visitor.visit_event(f"{OUTPUT_CONTENT}.done", {**at, self.member: [output]})


@item(
    "lsh",
    NestedObject("action", (FinalMember("command", []), FinalMember("env", {}))),
    defaults={"call_id": None},
    call_name="local shell call",
    tool_types=("local_shell",),
    example=after_message(
        typed(
            "local_shell_call",
            id="lsh_1",
            call_id="call_1",
            action=typed("exec", command=["ls"], env={}),
            status="completed",
        ),
        typed("local_shell_call_output", id="call_1", output="a"),
    ),
)
def local_shell_call(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    working_directory: str | None = None,
    timeout_ms: int | None = None,
    user: str | None = None,
    call_id: str | None = None,
) -> Json:
    """Let the model run a command, a list of words, on the client's machine."""
    if isinstance(command, str) or not all(isinstance(word, str) for word in command):
        raise ScriptError(f"command is {show(command)}. Pass its words: ['ls', '-a'].")
    action = {"type": "exec", "command": list(command), "env": dict(env or {})}
    known = {"timeout_ms": timeout_ms, "user": user, "working_directory": working_directory}
    return {"action": action | without_nulls(known), "call_id": call_id}


input_item(
    "local_shell_call_output", "What a command printed; its `id` is the `call_id`.", output_of="local_shell_call"
)


@item(
    "sh",
    NestedObject(
        "action",
        (StreamedCommands("commands"), FinalMember("max_output_length", None), FinalMember("timeout_ms", None)),
    ),
    has_item_id=False,
    defaults={"call_id": None},
    call_name="shell call",
    tool_types=("shell",),
    example=after_message(
        typed("shell_call", call_id="call_1", action={"commands": ["ls"]}),
        typed(
            "shell_call_output",
            call_id="call_1",
            output=[{"outcome": typed("exit", exit_code=0), "stdout": "a", "stderr": ""}],
        ),
    ),
)
def shell_call(
    commands: str | Sequence[TextOrDeltas],
    *,
    max_output_length: int | None = None,
    timeout_ms: int | None = None,
    container_id: str | None = None,
    call_id: str | None = None,
) -> Json:
    """Let the model run one or more commands, on the client's machine or in the container of `container_id`.

    A command may be a list of str, its exact deltas.
    """
    listed = [commands] if isinstance(commands, str) else list(commands)
    action = {"commands": listed, "max_output_length": max_output_length, "timeout_ms": timeout_ms}
    members: Json = {"action": action, "call_id": call_id}
    if container_id is None:
        return members
    return {**members, "environment": {"type": "container_reference", "container_id": container_id}}


@item("sho", StreamedOutputs("output"), defaults={"max_output_length": None}, output_of="shell_call")
def shell_call_output(call_id: str, *output: str | Json, max_output_length: int | None = None) -> Json:
    """Return the outputs of a call's commands in the API's container, each a string (`stdout`) or `shell_output(…)`."""
    outputs = [shell_output(shown) if isinstance(shown, str) else shown for shown in output]
    return {"call_id": require_text("call_id", call_id), "max_output_length": max_output_length, "output": outputs}


def shell_output(stdout: str = "", stderr: str = "", *, exit_code: int | None = 0) -> Json:
    """Build the output of a command and its exit code; None means a timeout."""
    outcome = {"type": "timeout"} if exit_code is None else {"type": "exit", "exit_code": exit_code}
    return {"outcome": outcome, "stderr": stderr, "stdout": stdout}


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
    """Let the model use a screen: `{"type": "click", "button": "left", "x": 1, "y": 2}`.

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


input_item("computer_call_output", "A screenshot.", output_of="computer_call", status=True)


@item(
    "apc",
    NestedObject("operation", (StreamedText("diff", "apply_patch_call_operation_diff", required=False),)),
    defaults={"call_id": None},
    call_name="apply patch call",
    tool_types=("apply_patch",),
    example=after_message(
        typed("apply_patch_call", call_id="call_1", operation=typed("delete_file", path="a"), status="completed"),
        typed("apply_patch_call_output", call_id="call_1", output="done", status="completed"),
    ),
)
def apply_patch_call(operation: Json, *, call_id: str | None = None) -> Json:
    """Let the model change a file of the client: `create_file(…)`, `update_file(…)` or `delete_file(…)`."""
    if not isinstance(operation, dict) or operation.get("type") not in PATCH_OPERATIONS:
        raise ScriptError(f"operation is {show(operation)}. Pass one of: {', '.join(PATCH_OPERATIONS)}.")
    return {"call_id": call_id, "operation": operation}


def create_file(path: str, diff: str | Sequence[str]) -> Json:
    """Write a new file, each line after a plus; a list of str is the exact deltas."""
    return {"type": "create_file", "diff": diff, "path": require_text("path", path)}


def update_file(path: str, diff: str | Sequence[str]) -> Json:
    """Change a file, as a diff in the V4A format; a list of str is the exact deltas."""
    return {"type": "update_file", "diff": diff, "path": require_text("path", path)}


def delete_file(path: str) -> Json:
    """Delete a file."""
    return {"type": "delete_file", "path": require_text("path", path)}


@item("apo", FinalMember("status", "completed"), output_of="apply_patch_call")
def apply_patch_call_output(call_id: str, output: str | None = None, *, status: str = "completed") -> Json:
    """Return the result of a patch that the API applied itself; `status` is completed or failed."""
    if status not in ("completed", "failed"):
        raise ScriptError(f"status is {show(status)}. Use one of: completed, failed.")
    members: Json = {"call_id": require_text("call_id", call_id), "output": output}
    return members if status == "completed" else {**members, "status": status}
