"""Records kept beside the journal: what a client's tools returned, and what a chat UI sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.core.exchange import Json


class ToolRun(NamedTuple):
    """A finished tool run: the tool's `name`, the `arguments` by name, the value `returned`, or whether it `failed`."""

    name: str
    arguments: Mapping[str, Any]
    returned: Any = None
    failed: bool = False


class SentTurn(NamedTuple):
    """A turn of a chat UI: its `number` from 1, and the `items` of the conversation so far, the new message last."""

    number: int
    items: Sequence[Json]


@dataclass(slots=True, eq=False)
class ToolRuns:
    """The runs of recorded tools, oldest first, and the names of all these tools, run or not.

    `turns` holds the turns of the test's chat UIs, oldest first.
    """

    finished: list[ToolRun] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    turns: list[SentTurn] = field(default_factory=list)
