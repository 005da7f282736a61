"""What a coding agent did in a run: shell commands with their outputs, and changed files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.call_ledger import parse_arguments
from harness.analysis.lanes import asks_model
from harness.core.exchange import Exchange, Json
from harness.core.json_values import as_object
from harness.core.text import item_text, quote, shorten
from harness.items.transcript import input_items


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A command that the model asked for: its text, and the output sent to the model (None: no output)."""

    text: str
    output: str | None = None


@dataclass(frozen=True, slots=True)
class Ran:
    """Whether commands with a text ran; true or false in an assertion, and shown with all commands."""

    holds: bool
    claim: str
    run: CodingRun
    first: int = -1

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        listed = "".join(
            f"\n  {number}. {shorten(command.text, 200)}" for number, command in enumerate(self.run.commands, 1)
        )
        return f"{self.claim}: {'yes' if self.holds else 'no'}; it ran{listed or ' no command'}"

    def before(self, text: str) -> Ran:
        """Return whether the first command with this text came before the first with another, and both ran."""
        other = self.run.ran(text)
        return Ran(
            self.holds and other.holds and self.first < other.first, f"{self.claim} before {quote(text)}", self.run
        )


@dataclass(frozen=True, slots=True)
class CodingRun:
    """The outcome of a run: exit code, what it printed, the changed `files` and the `commands`, in order.

    `files` maps the path of each file that was written, relative to the folder, to its text, and of a deleted one to None.
    """

    exit_code: int
    output: str
    errors: str
    files: Mapping[str, str | None]
    commands: Sequence[ShellCommand]

    def ran(self, text: str) -> Ran:
        """Return whether a command with this text ran: `run.ran("pytest").before("git commit")`."""
        first = next((number for number, command in enumerate(self.commands) if text in command.text), -1)
        return Ran(first >= 0, f"ran {quote(text)}", self, first)


def list_commands(exchanges: Iterable[Exchange]) -> list[ShellCommand]:
    """List the commands of the shell calls in the answers, each with the output in a later request."""
    calls: dict[str, str] = {}
    outputs: dict[str, str] = {}
    for exchange in exchanges:
        if not asks_model(exchange.request) or exchange.status >= 300:
            continue
        for item in input_items(exchange.request.body):
            if str(item.get("type")).endswith("_output") and isinstance(item.get("call_id"), str):
                outputs.setdefault(item["call_id"], item_text(item) or str(item.get("output")))
        for item in as_object(exchange.answer.body).get("output") or ():
            for text in _command_texts(item):
                calls[item["call_id"]] = text
    return [ShellCommand(text, outputs.get(call)) for call, text in calls.items()]


def _command_texts(item: Json) -> Iterator[str]:
    """Yield the command of a call of a shell, whatever the client calls that tool."""
    arguments: Any = item.get("action") if item.get("type") in ("shell_call", "local_shell_call") else None
    if item.get("type") == "function_call":
        arguments = parse_arguments(item["arguments"])
    for name in ("cmd", "command", "commands"):
        command = as_object(arguments).get(name)
        if isinstance(command, str):
            yield command
        elif isinstance(command, list):
            yield "\n".join(map(str, command)) if name == "commands" else " ".join(map(str, command))
