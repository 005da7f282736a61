"""The viewer of a running server: its page, and the data that the page requests, which needs the control token."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from time import perf_counter, time
from typing import TypeVar

import orjson
from fastapi import Request, Response
from fastapi.responses import HTMLResponse

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.loss import losses_in_accepted
from harness.core.errors import COMMAND
from harness.core.json_values import as_object, objects_in
from harness.core.text import item_text, pluralize, shorten
from harness.explain.verdict import collect_findings, find_verdict
from harness.items.transcript import input_items
from harness.report.report import RunFacts
from harness.server.control_plane.requests import EventNumber, join_rows, named_world, send_json
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.server.observe.health import harness_version, uptime
from harness.viewer.build_case import CaseHead, JudgedCase, build_case, build_row
from harness.viewer.build_run import assemble_run
from harness.viewer.page import empty_page
from harness.viewer.page_data import CaseRow
from harness.world.world import World

VIEW_PATH = f"{CONTROL_ROOT}/view"
NEWEST_OF_ROW = 50
"""How many of a World's newest exchanges its row covers: their texts can be searched, their lanes are named."""
NEWEST_JUDGED = 1_000
"""How many exchanges a World may have to be searched for losses; a longer one takes too long to judge repeatedly."""
WAIT_PER_SECOND = 30.0
"""Seconds of pause after each second of work for the viewer while requests arrive, so they slow down by 3 % at most."""
LONGEST_WAIT = 5.0
HASH_LETTERS = 8
"""How much of the hash of its key a World is named by, before the client's first words."""
MAX_WORDS = 40
JUDGED_IN_PASSING = 100
"""How many exchanges a World may have to be judged while requests arrive; a longer one is judged once it is quiet."""
QUIET_SECONDS = 1.0
_ROOT = os.getcwd()
_Made = TypeVar("_Made")
_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


async def view(request: Request) -> HTMLResponse:
    """Show the viewer: a self-contained page that asks for the token where one is needed."""
    page = empty_page()
    policy = _POLICY.search(page)
    assert policy, "the page has lost its policy"
    headers = {
        "content-security-policy": f"{policy[1]}; frame-ancestors 'none'",
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    return HTMLResponse(page, headers=headers)


async def view_run(request: Request) -> Response:
    """Return what the viewer shows first: the Worlds of this server with their causes, the last used at the end."""
    live = _live_of(request)
    return await live.answer(live.run)


async def view_case(request: Request, id: str, after: EventNumber = 0) -> Response:
    """Return the viewer's data of a World, named by `id`: its exchanges with a number above `after`."""
    live = _live_of(request)

    async def case() -> object:
        return live.case(named_world(live.api, id), after)

    return await live.answer(case)


def _live_of(request: Request) -> _LiveView:
    state = request.app.state
    if not hasattr(state, "live_view"):
        state.live_view = _LiveView(state.api)
    live: _LiveView = state.live_view
    return live


@dataclass(frozen=True, slots=True)
class _KnownRow:
    """The row of a World, cached for the `state` that the World was in."""

    state: tuple[object, ...]
    row: CaseRow


@dataclass(frozen=True, slots=True)
class _KnownJudgement:
    """What was wrong in a World, cached for the `state` that the World was in."""

    state: tuple[object, ...]
    judged: JudgedCase


@dataclass(slots=True)
class _LiveView:
    """Builds the viewer's data of a server, one piece at a time, with pauses while requests arrive.

    A long World is judged once it is quiet; the event `judged` then makes the page ask again.
    """

    api: MockApi
    rows: dict[str, _KnownRow] = field(default_factory=dict)
    judgements: dict[str, _KnownJudgement] = field(default_factory=dict)
    postponed: set[str] = field(default_factory=set)
    free_at: float = 0.0
    request_count: int = -1
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer(self, make: Callable[[], Awaitable[object]]) -> Response:
        """Answer with the JSON of what `make` returns, after earlier calls and a pause if the server is busy."""
        async with self.lock:
            if self.request_count != self.api.request_count:
                await asyncio.sleep(max(0.0, min(self.free_at - perf_counter(), LONGEST_WAIT)))
            self.request_count = self.api.request_count
            began = perf_counter()
            made = send_json(await make())
            ended = perf_counter()
            self.free_at = ended + (ended - began) * WAIT_PER_SECOND
        return made

    async def run(self) -> object:
        """Build the run: one row for each World, with pauses for the server's clients."""
        rows, encoded = list[CaseRow](), list[bytes]()
        async for world in self.api.each_world():
            rows.append(self._row(world))
            encoded.append(orjson.dumps(rows[-1]))
        self.rows = {row.id: self.rows[row.id] for row in rows}
        self.judgements = {row.id: self.judgements[row.id] for row in rows if row.id in self.judgements}
        began = time() - uptime()
        facts = RunFacts(
            "serve", f"{COMMAND} serve", began, uptime(), versions={"responses-harness": harness_version()}
        )
        exchanges = sum(row.exchanges for row in rows)
        run = assemble_run(rows, facts, line=f"{pluralize(len(rows), 'World')}, {pluralize(exchanges, 'exchange')}")
        await asyncio.sleep(0)
        return replace(run, cases=join_rows(encoded))

    def case(self, world: World, after: int) -> object:
        head = _head(world)
        return build_case(head, world, self._judge(head.id, world).judged, after)

    def _row(self, world: World) -> CaseRow:
        head = _head(world)
        judgement = self._judge(head.id, world)
        state = (_state_of(world), judgement.state)
        known = self.rows.get(head.id)
        if known is None or known.state != state:
            known = self.rows[head.id] = _KnownRow(state, build_row(head, world, judgement.judged, NEWEST_OF_ROW))
        return replace(known.row, seconds=head.seconds)

    def _judge(self, name: str, world: World) -> _KnownJudgement:
        """Judge a World in its current state; while it is busy, return the last judgement."""
        state, known = _state_of(world), self.judgements.get(name)
        if known is None or known.state != state:
            if _is_busy(world):
                self._postpone(name, world)
                return known or _KnownJudgement((), JudgedCase(secrets=[world.api_key]))
            known = self.judgements[name] = _KnownJudgement(state, _judge(world))
        return known

    def _postpone(self, name: str, world: World) -> None:
        """Make the page ask again once the World may be quiet."""

        def tell() -> None:
            self.postponed.discard(name)
            self.api.observers.on_changed(world, "judged")

        if name not in self.postponed:
            self.postponed.add(name)
            asyncio.get_running_loop().call_later(QUIET_SECONDS * 1.5, tell)


def _state_of(world: World) -> tuple[object, ...]:
    return id(world), world.exchange_count, len(world.problems), world.shown_otherwise, sum(world.all_failed.values())


def _is_busy(world: World) -> bool:
    """Return whether requests come to a World that takes long to judge."""
    if len(world.exchanges) <= JUDGED_IN_PASSING:
        return False
    last = world.edge.get(world.exchanges[-1].number)
    return last is not None and time() - last.arrived < QUIET_SECONDS


def _head(world: World) -> CaseHead:
    name = shown_name(world)
    title = "" if world.name != world.api_key else _name_by_words(name, world)
    seconds = round(time() - world.created, 3)
    return CaseHead(name, outcome="open", seconds=seconds, began=world.created, name=title, root=_ROOT)


def _name_by_words(name: str, world: World) -> str:
    """Name a World whose key has no owner: by the beginning of its hash and the client's first words."""
    sent = (
        item for exchange in world.exchanges[:1] for item in objects_in(input_items(as_object(exchange.request.body)))
    )
    words = next((item_text(item) for item in sent if item.get("role") == "user"), "")
    return f"{name.removeprefix('key-')[:HASH_LETTERS]} {shorten(' '.join(words.split()), MAX_WORDS)}".strip()


def _judge(world: World) -> JudgedCase:
    """Judge a World that is still in use: unused turns do not count yet, long Worlds are not searched for losses."""
    is_short = len(world.exchanges) <= NEWEST_JUDGED
    losses = losses_in_accepted(world.exchanges, tool_runs=world.tool_runs) if is_short else ()
    causes = find_verdict(world, losses, unused=False)
    findings = collect_findings(world, world.exchanges, losses, passed=False, allowed=("unused",)) if is_short else ()
    return JudgedCase(causes, findings, [world.api_key])
