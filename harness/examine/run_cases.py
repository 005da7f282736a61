"""Runs cases against a client, each in the modes that the client supports, several concurrently."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from hashlib import blake2b
from queue import Empty, SimpleQueue

import harness.examine.cases  # noqa: F401  (registers every case)
from harness.analysis.flow import NO_MESSAGES
from harness.analysis.lanes import asks_model
from harness.analysis.loss import losses_in_accepted
from harness.api.http.dialects import API_ROOTS
from harness.core.exchange import Exchange
from harness.core.text import quote, shorten
from harness.examine.adapter import Declaration, Mode, modes_of
from harness.examine.case import CASES, FEATURES, ClientCase, ObservedRun, select_entries
from harness.examine.checks import RAN
from harness.examine.client_process import ClientProcess, Crashed, Done, Hung
from harness.examine.every_case import find_repeated_runs, find_unmet
from harness.examine.results import FIX, Cell, ClientResult, Verdict, name_cell
from harness.examine.task import Outcome, Task
from harness.examine.tool_server import ToolServer, serve_tools
from harness.explain.find_causes import find_causes
from harness.report.report import sanitize_value
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from harness.viewer.build_case import CaseHead, JudgedCase, build_case
from harness.viewer.build_run import view_of_case


def find_reasons(case: ClientCase, seen: ObservedRun) -> Iterator[str]:
    """Yield why a run does not pass: what the API refused, what was lost or not requested, what the user did not see.

    The error that the user sees comes first; a reason with a fix has it in the last line.
    """
    world = seen.mock.world
    losses = [lost for lost in losses_in_accepted(world.exchanges) if lost.loss not in case.losses]
    error = seen.outcome.error
    if error is not None and not case.fails:
        yield f"the task ended in an error: {error.get('type')}: {quote(str(error.get('message')), 200)}"
    for cause in find_causes(world, losses, unused=not case.spare, strays=True):
        yield f"{cause.what}\n{FIX}{cause.fix}" if cause.fix else cause.what
    found = [reason for check in case.checks for reason in check(seen)]
    yield from found
    yield from find_unmet(seen)
    if not any(reason.startswith(RAN) for reason in found):
        yield from find_repeated_runs(seen)


ANSWER, SO_FAR, NOTHING = "the answer", "the text so far", "an empty answer"
HANGS, DIES = "it hangs", "it dies"
MAX_ERROR = 40
"""The maximum number of characters of an error's name."""
_LAST_EVENTS = frozenset({"response.completed", "response.incomplete", "response.failed"})


def describe_end(ended: Done | Crashed | Hung, exchanges: Sequence[Exchange]) -> str:
    """Describe how a run ended: `the answer`, the name of the error with its status, or what came instead.

    An answer whose last exchange with a model was incomplete is `the text so far`.
    """
    if isinstance(ended, Hung):
        return HANGS
    return DIES if isinstance(ended, Crashed) else _describe_outcome(ended.outcome, exchanges)


def _describe_outcome(outcome: Outcome, exchanges: Sequence[Exchange]) -> str:
    if error := outcome.error:
        status = error.get("status")
        return f"{shorten(str(error.get('type')), MAX_ERROR)}{f' {status}' if status else ''}"
    if not outcome.text:
        return NOTHING
    asked = [exchange for exchange in exchanges if asks_model(exchange.request)]
    return ANSWER if not asked or _is_whole(asked[-1]) else SO_FAR


def _is_whole(exchange: Exchange) -> bool:
    """Return whether an answer is complete: not cut, and a stream of a response has its final event."""
    answer = exchange.answer
    if answer.disconnection:
        return False
    types = {event.get("type", "") for event in answer.events or ()}
    return not any(type.startswith("response.") for type in types) or bool(types & _LAST_EVENTS)


DoTask = Callable[[ClientCase, Task], Done]
"""Lets a client do a task; raises Crashed or Hung if it fails to."""


def select_cases(pattern: str = "*") -> list[ClientCase]:
    """Select the cases whose ids match patterns such as `streams/*`, separated by commas. ConfigError for no match."""
    return select_entries(CASES, pattern, "no case")


def examine(
    command: Sequence[str],
    cases: Sequence[ClientCase],
    modes: Callable[[Mode], bool] = lambda mode: True,
    jobs: int = 2,
    progress: Callable[[int, int], None] = lambda done, total: None,
    adapter: str = "",
) -> ClientResult:
    """Run cases against the client behind a command, in all modes that both support and that `modes` accepts.

    `progress` is called in any thread with the numbers of runs that are done, and of all. A case that the client does
    not support gets one cell, `not applicable`. A KeyboardInterrupt ends it early, with the cells so far. `adapter` is
    what the results name as the argument of `responses-harness examine`.
    """
    began = time.monotonic()
    with ExitStack() as open_until_end:
        server = open_until_end.enter_context(serve_in_thread(MockApi(keys=())))
        tools = open_until_end.enter_context(serve_tools())
        clients = _Clients(command)
        open_until_end.callback(clients.end)
        declared = clients.first()
        plan = [(case, list(modes_of(case, declared))) for case in cases]
        runs = [(case, mode) for case, supported in plan for mode in supported if modes(mode)]
        ran: dict[int, Cell] = {}

        def run_one(number: int) -> None:
            cell = run_case(*runs[number], clients.do, server, tools, declared.client)
            if not clients.killed:
                ran[number] = cell
                progress(len(ran), len(runs))

        complete = _run_all(run_one, len(runs), jobs, clients)
        skipped = [_not_applicable(case, declared) for case, supported in plan if not supported] if complete else []
        cells = [*(ran[number] for number in sorted(ran)), *skipped]
        return ClientResult(
            declared=replace(declared, client=str(sanitize_value(declared.client))),
            adapter=adapter,
            seconds=round(time.monotonic() - began, 3),
            complete=complete,
            cells=tuple(cell.sanitize() for cell in cells),
        )


def _run_all(run_one: Callable[[int], None], count: int, jobs: int, clients: _Clients) -> bool:
    """Run all cases; return False if interrupted, which aborts the running ones."""
    pool = ThreadPoolExecutor(jobs)
    try:
        for ended in [pool.submit(run_one, number) for number in range(count)]:
            ended.result()
    except KeyboardInterrupt:
        return False
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        clients.kill()
        pool.shutdown()
    return True


class _Clients:
    """A pool of the client's processes; each does one task at a time, and those that ended are replaced."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._idle: SimpleQueue[ClientProcess] = SimpleQueue()
        self._every: list[ClientProcess] = []
        self.killed = False

    def first(self) -> Declaration:
        client = self._start()
        self._idle.put(client)
        return client.declared

    def _start(self) -> ClientProcess:
        client = ClientProcess(self._command)
        self._every.append(client)
        return client

    def do(self, case: ClientCase, task: Task) -> Done:
        """Let an idle or new client do a task, and return the outcome."""
        try:
            client = self._idle.get_nowait()
        except Empty:
            client = self._start()
        if self.killed:
            client.kill()
        done = client.do(task, case.seconds)
        self._idle.put(client)
        return done

    def kill(self) -> None:
        """Kill all processes; threads that wait for one get `Crashed`."""
        self.killed = True
        for client in list(self._every):
            client.kill()

    def end(self) -> None:
        for client in self._every:
            client.end()


def run_case(case: ClientCase, mode: Mode, do: DoTask, server: Server, tools: ToolServer, client: str) -> Cell:
    """Run one case in one mode; `do` lets the client do the task; reports name the `client`."""
    name = f"{case.id}[{mode}]"
    run = blake2b(name.encode(), digest_size=8).hexdigest()
    base_url = server.base_url.removesuffix(API_ROOTS["openai"]) + API_ROOTS[mode.dialect]
    mock = server.api.open(f"sk-examine-{run}", name, base_url)
    mock.world.dialect = mode.dialect
    case.script(mock)
    # A correct client may avoid the refusal that the case is about, so it is not required.
    for rule in case.refused:
        mock.world.refusals.expect(rule, required=False)
    task = mode.lead(tools.offer(run, case.task), base_url, mock.api_key)
    began = time.monotonic()
    ended: Done | Crashed | Hung
    try:
        ended = do(case, task)
    except (Crashed, Hung) as problem:
        ended = problem
    seconds = time.monotonic() - began
    executions = tools.close(run)
    server.api.close(mock.api_key)
    if isinstance(ended, Done):
        seen = ObservedRun(task, ended.outcome, mock, executions)
        reasons = [*find_reasons(case, seen)]
        if ended.leaked:
            reasons.append(
                f"{ended.leaked} asyncio tasks were left running\n{FIX}Await or cancel what the client starts."
            )
        verdict: Verdict = "pass" if not reasons else "fail" if case.severity == "must" else "warn"
    else:
        reasons, verdict = [str(ended)], "crash" if isinstance(ended, Crashed) else "hang"
    drawn = mock.flow.sequence if reasons else NO_MESSAGES
    cell = Cell(
        case=case.id,
        severity=case.severity,
        mode=str(mode),
        verdict=verdict,
        reasons=tuple(
            reason if f"\n{FIX}" in reason else f"{reason}\n{FIX}expected behaviour: {case.shows}" for reason in reasons
        ),
        flow=mock.flow.text,
        diagram=drawn.mermaid if reasons else "",
        requests=len(mock.exchanges),
        seconds=round(seconds, 3),
        printed=tuple(ended.printed) if isinstance(ended, Done) else (),
        sequence=drawn,
        ended=describe_end(ended, mock.exchanges),
        asks=sum(asks_model(exchange.request) for exchange in mock.exchanges),
    )
    head = CaseHead(name_cell(client, case.id, str(mode)), outcome=cell.outcome, seconds=cell.seconds)
    return replace(cell, view=view_of_case(build_case(head, mock.world, JudgedCase(findings=cell.findings))))


def _not_applicable(case: ClientCase, declared: Declaration) -> Cell:
    missing = [f"{need} ({FEATURES[need]})" for need in sorted(case.needs - declared.features)]
    reasons = (f"the adapter does not declare {', '.join(missing)}",) if missing else ()
    return Cell(case=case.id, severity=case.severity, mode="", verdict="not applicable", reasons=reasons)
