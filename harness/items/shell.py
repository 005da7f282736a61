"""Commands the model gives to a shell, the client's or one in a container of the API, and what came of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.items.examples import after_message, typed
from harness.items.kind import item, require_text
from harness.items.stream_grammar import (
    Deltas,
    EventVisitor,
    FinalMember,
    NestedObject,
    StreamedText,
    TextOrDeltas,
    replace_members,
)

COMMAND = StreamedText("command", "shell_call_command")
OUTPUT_CONTENT = "shell_call_output_content"
OUTPUT_STREAMS = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class StreamedCommands:
    """A list of texts: for each `<stem>.added`, its deltas, `<stem>.done`."""

    member: str

    def render_added(self, thing: Json) -> Json:
        """No commands at first."""
        return replace_members(thing, {self.member: []})

    def extract_deltas(self, thing: Json) -> Deltas:
        """The deltas of all commands."""
        deltas: dict[tuple[str, int], Sequence[str]] = {}
        commands = thing.get(self.member)
        if not isinstance(commands, list):
            raise ScriptError(f"{self.member} is {commands!r}. Give a list of commands.")
        for number, command in enumerate(commands):
            own = {COMMAND.member: command}
            deltas |= {(stem, number): pieces for (stem, _), pieces in COMMAND.extract_deltas(own).items()}
            commands[number] = own[COMMAND.member]
        return deltas

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """Each command, one after the other."""
        for number, command in enumerate(thing[self.member]):
            at = {**place, "command_index": number}
            visitor.visit_event(f"{COMMAND.stem}.added", {**at, COMMAND.member: ""})
            COMMAND.emit_events({COMMAND.member: command}, visitor, at)


@dataclass(frozen=True, slots=True)
class StreamedOutputs:
    """What each command printed: its deltas, then `.done` with all that is known of it."""

    member: str

    def render_added(self, thing: Json) -> Json:
        """Nothing at first."""
        return replace_members(thing, {self.member: []})

    def extract_deltas(self, thing: Json) -> Deltas:
        """What a command prints has no deltas of its own; other than a list of objects is a ScriptError."""
        outputs = thing.get(self.member)
        if not isinstance(outputs, list) or not all(isinstance(each, dict) for each in outputs):
            raise ScriptError(f"{self.member} is {outputs!r}. Give a list of what shell_output('…') returns.")
        return {}

    def emit_events(self, thing: Json, visitor: EventVisitor, place: Json) -> None:
        """Each output, one after the other."""
        for number, output in enumerate(thing[self.member]):
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
    examples={
        "local_shell_call": after_message(
            typed(
                "local_shell_call",
                id="lsh_1",
                call_id="call_1",
                action=typed("exec", command=["ls"], env={}),
                status="completed",
            ),
            typed("local_shell_call_output", id="call_1", output="a"),
        )
    },
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
    """The model runs a command, a list of words, on the client's machine."""
    if isinstance(command, str) or not all(isinstance(word, str) for word in command):
        raise ScriptError(f"command is {command!r}. Give its words: ['ls', '-a'].")
    action = {"type": "exec", "command": list(command), "env": dict(env or {})}
    known = {"timeout_ms": timeout_ms, "user": user, "working_directory": working_directory}
    return {"action": action | {name: value for name, value in known.items() if value is not None}, "call_id": call_id}


@item(
    "sh",
    NestedObject(
        "action",
        (StreamedCommands("commands"), FinalMember("max_output_length", None), FinalMember("timeout_ms", None)),
    ),
    has_item_id=False,
    defaults={"call_id": None},
    call_name="shell call",
    examples={
        "shell_call": after_message(
            typed("shell_call", call_id="call_1", action={"commands": ["ls"]}),
            typed(
                "shell_call_output",
                call_id="call_1",
                output=[{"outcome": typed("exit", exit_code=0), "stdout": "a", "stderr": ""}],
            ),
        )
    },
)
def shell_call(
    commands: str | Sequence[TextOrDeltas],
    *,
    max_output_length: int | None = None,
    timeout_ms: int | None = None,
    container_id: str | None = None,
    call_id: str | None = None,
) -> Json:
    """The model runs commands, one or several, on the client's machine, or in a container when `container_id` names it.

    A command that is a list of str is the exact deltas of it.
    """
    listed = [commands] if isinstance(commands, str) else list(commands)
    action = {"commands": listed, "max_output_length": max_output_length, "timeout_ms": timeout_ms}
    members: Json = {"action": action, "call_id": call_id}
    if container_id is None:
        return members
    return {**members, "environment": {"type": "container_reference", "container_id": container_id}}


@item(
    "sho",
    FinalMember("status", "completed"),
    StreamedOutputs("output"),
    defaults={"max_output_length": None},
    output_of="shell_call",
)
def shell_call_output(call_id: str, *output: str | Json, max_output_length: int | None = None) -> Json:
    """What the commands of a call printed in the API's container: a text for `stdout`, or `shell_output(…)`, for each."""
    printed = [shell_output(each) if isinstance(each, str) else each for each in output]
    return {"call_id": require_text("call_id", call_id), "max_output_length": max_output_length, "output": printed}


def shell_output(stdout: str = "", stderr: str = "", *, exit_code: int | None = 0) -> Json:
    """What a command printed, and how it ended; without `exit_code` its time was up."""
    outcome = {"type": "timeout"} if exit_code is None else {"type": "exit", "exit_code": exit_code}
    return {"outcome": outcome, "stderr": stderr, "stdout": stdout}
