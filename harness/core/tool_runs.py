"""What the tools of a client returned, as far as a test records it; the journal shows only what was sent of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class ToolRun(NamedTuple):
    """A finished execution of a tool: its `name`, its `arguments` by name, what it `returned`; or it has `failed`."""

    name: str
    arguments: Mapping[str, Any]
    returned: Any = None
    failed: bool = False


@dataclass(slots=True, eq=False)
class ToolRuns:
    """The executions of the recorded tools, oldest first, and the names of these tools, executed or not."""

    finished: list[ToolRun] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
