"""Recorded exchanges held to the contract while they pass: the request before it is sent, the answer when it is there.

One thread judges, in the order in which the requests came, as `harness verify` would judge the cassette.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from harness.api.upstream import Upstream
from harness.cassettes.format.interaction import Interaction
from harness.verify.judging.judge import Verdict, expected
from harness.verify.judging.websocket_exchanges import exchanges
from harness.verify.run import Tally, counted, judged
from harness.world.world import World


class Watch:
    """Who judges what passes: `tally` of all that has ended; `notice` is told at once what the contract refuses.

    `name` is that of the recording, `folder` an empty one for the findings.
    """

    def __init__(self, name: str, behind: Upstream, folder: Path, notice: Callable[[str], None]) -> None:
        self.tally = Tally(respelled=True)
        self._name = name
        self._behind = behind
        self._folder = folder
        self._notice = notice
        self._world = World(name)
        self._thread = ThreadPoolExecutor(1, "harness-judge")
        self._ended: dict[int, Interaction | None] = {}
        self._next = 1
        self._kept = 0

    async def before(self, number: int, sent: Interaction) -> None:
        """Judge a request, or a message of a WebSocket, that is about to be sent."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._expect, number, sent)

    def after(self, number: int, take: Interaction | None) -> None:
        """Judge an exchange that has ended, once all before it have."""
        self._thread.submit(self._end, number, take)

    def close(self) -> None:
        """Judge what still waits for exchanges that never ended."""
        self._thread.submit(self._rest).result()
        self._thread.shutdown()

    def _expect(self, number: int, sent: Interaction) -> None:
        for each in exchanges(sent, f"{self._name}#{number}", self._behind):
            with suppress(Exception):  # a rule that fails is told when the whole exchange is judged
                if refusal := expected(each, self._world):
                    what = f"request {number}, {each.method} {each.path}"
                    self._notice(f"{what}: the contract refuses it ({refusal.rule.id}): {refusal.error.message}")

    def _end(self, number: int, take: Interaction | None) -> None:
        self._ended[number] = take
        while self._next in self._ended:
            self._judge(self._ended.pop(self._next))
            self._next += 1

    def _rest(self) -> None:
        for number in sorted(self._ended):
            self._judge(self._ended[number])

    def _judge(self, take: Interaction | None) -> None:
        if take is not None:
            self._kept += 1
            self.tally.add(counted(self._judged(take), self._folder / f"{self._kept}.jsonl"))

    def _judged(self, take: Interaction) -> Iterator[Verdict]:
        for each in exchanges(take, f"{self._name}#{self._kept}", self._behind):
            if each.status:
                yield Verdict("exchanges")
                yield from judged(each, self._world, respelled=True)
