"""Commands the model gives to a shell, the client's or one in a container of the API, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.items.kind import item, named
from harness.items.stream_grammar import Deltas, Grow, Inside, Later, Pen, Text, blanked

COMMAND = Grow("command", "shell_call_command")
CONTENT = "shell_call_output_content"
PRINTED = ("stdout", "stderr")


@dataclass(frozen=True, slots=True)
class Commands:
    """A list of texts: for each `<stem>.added`, its deltas, `<stem>.done`."""

    member: str

    def announce(self, thing: Json) -> Json:
        """No commands at first."""
        return blanked(thing, {self.member: []})

    def settle(self, thing: Json) -> Deltas:
        """The deltas of all commands."""
        deltas: dict[tuple[str, int], Sequence[str]] = {}
        given = thing.get(self.member)
        if not isinstance(given, list):
            raise ScriptError(f"{self.member} is {given!r}. Give a list of commands.")
        for number, command in enumerate(given):
            own = {COMMAND.member: command}
            deltas |= {(stem, number): pieces for (stem, _), pieces in COMMAND.settle(own).items()}
            given[number] = own[COMMAND.member]
        return deltas

    def tell(self, thing: Json, pen: Pen, place: Json) -> None:
        """Each command, one after the other."""
        for number, command in enumerate(thing[self.member]):
            at = {**place, "command_index": number}
            pen.put(f"{COMMAND.stem}.added", {**at, COMMAND.member: ""})
            COMMAND.tell({COMMAND.member: command}, pen, at)


@dataclass(frozen=True, slots=True)
class Outputs:
    """What each command printed: its deltas, then `.done` with all that is known of it."""

    member: str

    def announce(self, thing: Json) -> Json:
        """Nothing at first."""
        return blanked(thing, {self.member: []})

    def settle(self, thing: Json) -> Deltas:
        """What a command prints has no deltas of its own; other than a list of objects is a ScriptError."""
        given = thing.get(self.member)
        if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
            raise ScriptError(f"{self.member} is {given!r}. Give a list of what shell_output('…') returns.")
        return {}

    def tell(self, thing: Json, pen: Pen, place: Json) -> None:
        """Each output, one after the other."""
        for number, output in enumerate(thing[self.member]):
            at = {**place, "command_index": number}
            pen.printed(CONTENT, at, {name: output[name] for name in PRINTED if output.get(name)})
            pen.put(f"{CONTENT}.done", {**at, self.member: [output]})


@item(
    "sh",
    Inside("action", (Commands("commands"), Later("max_output_length", None), Later("timeout_ms", None))),
    named=False,
    fills={"call_id": None},
)
def shell_call(
    commands: str | Sequence[Text],
    *,
    max_output_length: int | None = None,
    timeout_ms: int | None = None,
    container_id: str | None = None,
    call_id: str | None = None,
) -> Json:
    """The model runs commands, one or several, on the client's machine, or in a container when `container_id` names it.

    A command that is a list of str is the exact deltas of it.
    """
    given = [commands] if isinstance(commands, str) else list(commands)
    action = {"commands": given, "max_output_length": max_output_length, "timeout_ms": timeout_ms}
    members: Json = {"action": action, "call_id": call_id}
    if container_id is None:
        return members
    return {**members, "environment": {"type": "container_reference", "container_id": container_id}}


@item("sho", Later("status", "completed"), Outputs("output"), fills={"max_output_length": None})
def shell_call_output(call_id: str, *output: str | Json, max_output_length: int | None = None) -> Json:
    """What the commands of a call printed in the API's container: a text for `stdout`, or `shell_output(…)`, for each."""
    printed = [shell_output(each) if isinstance(each, str) else each for each in output]
    return {"call_id": named("call_id", call_id), "max_output_length": max_output_length, "output": printed}


def shell_output(stdout: str = "", stderr: str = "", *, exit_code: int | None = 0) -> Json:
    """What a command printed, and how it ended; without `exit_code` its time was up."""
    outcome = {"type": "timeout"} if exit_code is None else {"type": "exit", "exit_code": exit_code}
    return {"outcome": outcome, "stderr": stderr, "stdout": stdout}
