"""Judges exchanges while they are recorded: requests before they are sent, answers when they are complete.

A single thread judges in the order of the requests, as `responses-harness verify` would judge the cassette.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from harness.api.http.dialects import Upstream
from harness.cassettes.format.interaction import Interaction
from harness.contract.overrides import Overrides
from harness.verify.judging.judge import predict_violation
from harness.verify.judging.verdict import Verdict, VerdictKind
from harness.verify.judging.websockets.exchanges import to_recorded
from harness.verify.run import Tally, judge_exchange, tally_verdicts
from harness.world.world import World


class RecordingJudge:
    """Judges the exchanges of a recording: `tally` holds the outcome, `notice` is called for each refused request.

    `name` is the name of the recording, `folder` an empty folder for the findings. `overrides` takes precedence over
    the mock's contract.
    """

    def __init__(
        self,
        name: str,
        upstream: Upstream,
        folder: Path,
        notice: Callable[[str], None],
        overrides: Overrides | None = None,
    ) -> None:
        self.tally = Tally(respelled=True)
        self._name = name
        self._upstream = upstream
        self._folder = folder
        self._notice = notice
        self._world = World(name)
        self._world.overrides = overrides
        self._thread = ThreadPoolExecutor(1, "harness-judge")
        self._ended_early: dict[int, Interaction | None] = {}
        self._next_number = 1
        self._judged_count = 0

    async def before_send(self, number: int, request: Interaction) -> None:
        """Judge a request or a WebSocket message before it is sent."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._judge_request, number, request)

    def after_interaction(self, number: int, interaction: Interaction | None) -> None:
        """Judge a complete exchange after all exchanges before it."""
        self._thread.submit(self._judge_in_order, number, interaction)

    def close(self) -> None:
        """Judge the exchanges that were still waiting for one that never ended, and stop the thread."""
        self._thread.submit(self._judge_waiting).result()
        self._thread.shutdown()

    def _judge_request(self, number: int, request: Interaction) -> None:
        for recorded in to_recorded(request, f"{self._name}#{number}", self._upstream):
            with suppress(Exception):  # a rule that fails is reported with the complete exchange
                if violation := predict_violation(recorded, self._world):
                    what = f"request {number}, {recorded.method} {recorded.path}"
                    self._notice(f"{what}: the contract refuses it ({violation.rule.id}): {violation.error.message}")

    def _judge_in_order(self, number: int, interaction: Interaction | None) -> None:
        # Exchanges may end in any order, but the World must see them in the order of the requests.
        self._ended_early[number] = interaction
        while self._next_number in self._ended_early:
            self._judge_interaction(self._ended_early.pop(self._next_number))
            self._next_number += 1

    def _judge_waiting(self) -> None:
        for number in sorted(self._ended_early):
            self._judge_interaction(self._ended_early[number])

    def _judge_interaction(self, interaction: Interaction | None) -> None:
        if interaction is not None:
            self._judged_count += 1
            self.tally.merge(tally_verdicts(self._verdicts(interaction), self._folder / f"{self._judged_count}.jsonl"))

    def _verdicts(self, interaction: Interaction) -> Iterator[Verdict]:
        for recorded in to_recorded(interaction, f"{self._name}#{self._judged_count}", self._upstream):
            if recorded.status:
                yield Verdict(VerdictKind.EXCHANGE)
                yield from judge_exchange(recorded, self._world, respelled=True)
