"""Adapters that do what an adapter must not."""

import asyncio
import os
import time
from typing import Any

from harness.examine.adapter import Adapter
from harness.examine.task import Outcome, Task


class Silent(Adapter):
    """Says nothing to the API and shows nothing."""

    package = "silent"
    features = ("tools",)

    async def run(self, task: Task) -> Outcome:
        return Outcome()


class Talkative(Silent):
    """Prints where its outcomes go."""

    async def run(self, task: Task) -> Outcome:
        print("thinking …")
        os.write(1, b"still thinking\n")
        return Outcome(texts=["printed"])


class Stuck(Silent):
    """Never ends, and holds its loop."""

    async def run(self, task: Task) -> Outcome:
        time.sleep(3600)
        return Outcome()


class Dying(Silent):
    """Ends its process."""

    async def run(self, task: Task) -> Outcome:
        os._exit(7)


class Raising(Silent):
    """Has a mistake of its own."""

    async def run(self, task: Task) -> Outcome:
        raise LookupError("no such thing")


class Unable(Silent):
    """Has a client that fails before it asks for anything."""

    async def run(self, task: Task) -> Outcome:
        return Outcome(error={"type": "ImportError", "message": "no module of this name"})


class Rubbish(Silent):
    """Returns what is no outcome."""

    async def run(self, task: Task) -> Any:
        return "Sunny."


class Misnamed(Silent):
    """Declares a feature that there is not."""

    features = ("tool",)


class Leaking(Silent):
    """Leaves a task running each time."""

    async def run(self, task: Task) -> Outcome:
        self.left = asyncio.create_task(asyncio.sleep(3600))
        return Outcome(texts=["left"])


not_an_adapter = object
