"""Records beside the journal: what the tools of a client returned, and what a chat UI sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.core.exchange import Json


class ToolRun(NamedTuple):
    """A finished execution of a tool: its `name`, the `arguments` by name, the value `returned`; or it has `failed`."""

    name: str
    arguments: Mapping[str, Any]
    returned: Any = None
    failed: bool = False


class SentTurn(NamedTuple):
    """A turn of a chat UI: its `number` from 1 on, the `items` of its conversation by then, the new message last."""

    number: int
    items: Sequence[Json]


@dataclass(slots=True, eq=False)
class ToolRuns:
    """The executions of the recorded tools, oldest first, and the names of these tools, executed or not.

    `turns` are those of the chat UIs of the test, oldest first.
    """

    finished: list[ToolRun] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    turns: list[SentTurn] = field(default_factory=list)
