"""The viewer of a running server: its page, and the data that the page requests, which needs the control token."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter, time
from typing import Generic, TypeVar

from fastapi import Request, Response
from fastapi.responses import HTMLResponse

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.loss import losses_in_accepted
from harness.core.errors import COMMAND
from harness.core.json_values import as_object, objects_in
from harness.core.text import item_text, pluralize, shorten
from harness.explain.find_causes import collect_findings, find_causes
from harness.items.transcript import input_items
from harness.report.report import RunFacts
from harness.server.control_plane.requests import EventNumber, Worker, encode_each, named_world, send_json
from harness.server.keyed_worlds import shown_name
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.server.observe.health import harness_version, uptime
from harness.viewer.build_case import CaseHead, JudgedCase, build_case, build_row
from harness.viewer.build_run import assemble_run, empty_page
from harness.viewer.page_data import CaseRow
from harness.world.snapshot import take_snapshot
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
AT_ONCE = 100
"""How many Worlds are handed to the worker together."""
_Made = TypeVar("_Made")
_ROOT = os.getcwd()
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
    live: LiveView = request.app.state.live_view
    return await live.answer(live.run)


async def view_case(request: Request, id: str, after: EventNumber = 0) -> Response:
    """Return the viewer's data of a World, named by `id`: its exchanges with a number above `after`."""
    live: LiveView = request.app.state.live_view
    return await live.answer(lambda: live.case(id, after))


@dataclass(frozen=True, slots=True)
class _Known(Generic[_Made]):
    """The row or the judgement of a World, cached for the `state` in which it was made."""

    state: tuple[object, ...]
    made: _Made


@dataclass(frozen=True, slots=True)
class _WatchedWorld:
    """A World, its state, and its last judgement; with `is_due` it is judged again."""

    name: str
    world: World
    state: tuple[object, ...]
    known: _Known[JudgedCase]
    is_due: bool

    @property
    def row_state(self) -> tuple[object, ...]:
        """The state of its row."""
        return self.state, self.state if self.is_due else self.known.state

    def copy(self) -> _WatchedWorld:
        """Return the same with a copy of the World, for the worker."""
        return replace(self, world=take_snapshot(self.world))


@dataclass(slots=True)
class LiveView:
    """Builds the viewer's data of a server, one piece at a time, with pauses while requests arrive.

    A long World is judged once it is quiet; the event `judged` then makes the page ask again.
    """

    api: MockApi
    worker: Worker
    rows: dict[str, _Known[CaseRow]] = field(default_factory=dict)
    judgements: dict[str, _Known[JudgedCase]] = field(default_factory=dict)
    postponed: set[str] = field(default_factory=set)
    free_at: float = 0.0
    request_count: int = -1
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def answer(self, make: Callable[[], Awaitable[Response]]) -> Response:
        """Answer with what `make` returns, after earlier calls and a pause if the server is busy."""
        async with self.lock:
            if self.request_count != self.api.request_count:
                await asyncio.sleep(max(0.0, min(self.free_at - perf_counter(), LONGEST_WAIT)))
            self.request_count = self.api.request_count
            began = perf_counter()
            made = await make()
            ended = perf_counter()
            self.free_at = ended + (ended - began) * WAIT_PER_SECOND
        return made

    async def run(self) -> Response:
        """Build the run: one row for each World."""
        rows, part = list[CaseRow](), list[_Known[CaseRow] | _WatchedWorld]()
        async for world in self.api.each_world():
            seen = self._see(world)
            known = self.rows.get(seen.name)
            part.append(known if known and known.state == seen.row_state else seen.copy())
            if len(part) == AT_ONCE:
                rows += await self.worker.run(partial(self._build_rows, part))
                part = []
        rows += await self.worker.run(partial(self._build_rows, part))
        self.rows = {row.id: self.rows[row.id] for row in rows}
        self.judgements = {row.id: self.judgements[row.id] for row in rows if row.id in self.judgements}
        return await self.worker.run(partial(_assemble, rows))

    async def case(self, id: str, after: int) -> Response:
        """Build the case of a World."""
        seen = self._see(named_world(self.api, id)).copy()
        return await self.worker.run(partial(self._build_case, seen, after))

    def _see(self, world: World) -> _WatchedWorld:
        """Look whether a World is to be judged; one that is busy keeps its last judgement."""
        name, state = shown_name(world), _state_of(world)
        known = self.judgements.get(name) or _Known((), JudgedCase(secrets=[world.api_key]))
        is_busy = known.state != state and _is_busy(world)
        if is_busy:
            self._postpone(name, world)
        return _WatchedWorld(name, world, state, known, is_due=known.state != state and not is_busy)

    def _build_rows(self, part: Sequence[_Known[CaseRow] | _WatchedWorld]) -> list[CaseRow]:
        rows = (entry.made if isinstance(entry, _Known) else self._build_row(entry) for entry in part)
        return [replace(row, seconds=_seconds_since(row.began or 0)) for row in rows]

    def _build_row(self, seen: _WatchedWorld) -> CaseRow:
        row = build_row(_head(seen.world), seen.world, self._judge(seen), NEWEST_OF_ROW)
        self.rows[seen.name] = _Known(seen.row_state, row)
        return row

    def _build_case(self, seen: _WatchedWorld, after: int) -> Response:
        case = build_case(_head(seen.world), seen.world, self._judge(seen), after)
        return send_json(replace(case, exchanges=encode_each(case.exchanges), pool=encode_each(case.pool)))

    def _judge(self, seen: _WatchedWorld) -> JudgedCase:
        if not seen.is_due:
            return seen.known.made
        judged = _judge(seen.world)
        self.judgements[seen.name] = _Known(seen.state, judged)
        return judged

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


def _assemble(rows: Sequence[CaseRow]) -> Response:
    """Assemble the run of these rows."""
    began = time() - uptime()
    facts = RunFacts("serve", f"{COMMAND} serve", began, uptime(), versions={"responses-harness": harness_version()})
    exchanges = sum(row.exchanges for row in rows)
    run = assemble_run(rows, facts, line=f"{pluralize(len(rows), 'World')}, {pluralize(exchanges, 'exchange')}")
    return send_json(replace(run, cases=encode_each(rows)))


def _seconds_since(moment: float) -> float:
    return round(time() - moment, 3)


def _head(world: World) -> CaseHead:
    name = shown_name(world)
    title = "" if world.name != world.api_key else _name_by_words(name, world)
    seconds = _seconds_since(world.created)
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
    losses = losses_in_accepted(world.exchanges, tool_runs=world.observed) if is_short else ()
    causes = find_causes(world, losses, unused=False)
    findings = collect_findings(world, world.exchanges, losses, passed=False, allowed=("unused",)) if is_short else ()
    return JudgedCase(causes, findings, [world.api_key])
