"""`responses-harness serve -- COMMAND`: runs a command with the mock behind its clients, and judges what they did."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.analysis.loss import Lost
from harness.api.http.dialects import FOUNDRY, OPENAI
from harness.cli.program import ExitCode, print_note
from harness.cli.run_command import run_command
from harness.cli.serve_options import (
    EVERY_ADDRESS,
    TOKEN_VARIABLE,
    Secured,
    ServeOptions,
    context_of,
    origin_for_clients,
)
from harness.contract.rules.http.access import mask_key
from harness.core.json_values import without_nulls
from harness.core.limits import small_collections
from harness.core.text import pluralize
from harness.drive.client_environment import READ_BY_CLIENTS, environment_changes, server_variables
from harness.drive.coding_agents import Setup, find_coding_agent
from harness.explain.turn import unknown_key_cause
from harness.report.api_coverage import Coverage, measure_coverage, merge_coverage
from harness.report.fill_case import fill_case
from harness.report.formats import is_page, write_report
from harness.report.judge_world import Permitted, judge_world
from harness.report.replace_file import explain_write_errors
from harness.report.report import (
    Report,
    ReportCase,
    RunFacts,
    UnknownModels,
    count_unknown_models,
    merge_unknown_models,
)
from harness.server.api_observers import ApiObserver
from harness.server.control_plane.access import ControlAccess
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.viewer.build_run import collect_facts, show_world, view_of_case
from harness.viewer.trace import write_trace
from harness.world.mock import Mock
from harness.world.world import World

UNUSED = "unused"
"""The name of unused turns in the list of what a run permits."""
STRAYS = "requests with an unknown key"


class CommandReport(ApiObserver):
    """The cases of a run; `permitted` applies unless a World was judged over HTTP with other settings.

    `with_views` adds complete views of the cases for a page. A World with a verdict leaves a trace in the folder
    `traces`, if given.
    """

    def __init__(
        self,
        api: MockApi,
        command: Sequence[str],
        permitted: Permitted,
        with_views: bool = False,
        traces: Path | None = None,
    ) -> None:
        self._with_views = with_views
        self._traces = traces
        self._command = command
        self._began = time.time()
        self._api = api
        self._file = next((part for part in command[1:] if Path(part).is_file()), command[0])
        self._permitted = permitted
        self._permitted_by_name: dict[str, Permitted] = {}
        self._cases: list[ReportCase] = []
        self._hits: list[Coverage] = []
        self._unknown_models: list[UnknownModels] = []
        api.observers.add(self)

    def write(self, files: Sequence[Path]) -> None:
        """Write the report, including the remaining Worlds; ConfigError if that fails."""
        for world in self._api.worlds.values():
            self._add(world)
        self._add_strays()
        unknown_models = merge_unknown_models(self._unknown_models)
        facts = self._facts("serve")
        report = Report(self._cases, hit=merge_coverage(self._hits), unknown_models=unknown_models, facts=facts)
        for file in files:
            write_report(report, file, file.suffix)

    def on_judged(self, mock: Mock, permitted: Permitted) -> None:
        """Record what the command permits in a World."""
        self._permitted_by_name[mock.world.name] = permitted

    def on_closed(self, world: World) -> None:
        """Add the case of a World that the command has ended."""
        self._add(world)

    def _add_strays(self) -> None:
        """Add a case for the requests without a World, if there were any, as if one World had refused them all."""
        if not (cause := unknown_key_cause(self._api.strays)):
            return
        world = World(STRAYS)
        for _, stray in self._api.strays.kept:
            world.add_exchange(stray.request, stray.answer)
        self._keep(ReportCase(STRAYS, self._file, 1, "failed", 0.0, why=cause.what, explained=[cause]), world)

    def _keep(self, case: ReportCase, world: World, losses: Sequence[Lost] = (), allowed: Collection[str] = ()) -> None:
        case = fill_case(case, world, losses, allowed)
        shown = show_world(case, world, root=str(Path.cwd())) if self._with_views or self._traces else None
        if shown and self._traces and case.causes:
            with explain_write_errors(str(self._traces), "Pass another folder"):
                write_trace(self._traces, self._facts("trace"), shown)
        self._cases.append(replace(case, view=view_of_case(shown)) if shown and self._with_views else case)

    def _facts(self, source: str) -> RunFacts:
        return collect_facts(source, Path(), self._began, time.time() - self._began, self._command)

    def _add(self, world: World) -> None:
        """Add the case of a World that received requests or has a script."""
        if not (world.exchanges or world.unused):
            return
        permitted = self._permitted_by_name.pop(world.name, self._permitted)
        judged = judge_world(Mock(world), permitted)
        allowed = {lost.loss for lost in judged.losses if permitted.losses.permits(lost)}
        allowed |= {UNUSED} if permitted.unused else set()
        name = mask_key(world.name) if world.name == world.api_key else world.name
        file = next((part for part in name.split()[:1] if Path(part).suffix), self._file)
        case = ReportCase(name, file, 1, "passed", 0.0)
        if judged.verdict:
            case = replace(case, outcome="failed", why=judged.verdict, explained=judged.causes)
        self._keep(case, world, judged.losses, allowed)
        self._hits.append(measure_coverage(world.exchanges, world))
        self._unknown_models.append(count_unknown_models(world))


URL_VARIABLE = "HARNESS_URL"
"""The variable with the origin of the server, under which the control plane is."""
NO_REQUEST = (
    "the command sent no request, so nothing was tested. Its clients must read {variables}, or be passed {values}."
    "{more}"
)
PLAIN_PROJECT = " Azure's clients send no token over plain HTTP: serve with --tls."


def run_with_mock(options: ServeOptions, api: MockApi, access: ControlAccess, secured: Secured | None = None) -> int:
    """Run a command against the mock, print the report of each World on stderr, and return the exit code.

    That is the command's own exit code; if it is 0, then 1 if any World has a verdict, or 2 if there is nothing to
    judge.
    """
    command, host, dialect = options.command or [], options.host, options.dialect or OPENAI
    permitted, reports = options.permitted, options.reports or []
    report = None
    if reports or options.trace:
        report = CommandReport(api, command, permitted, any(map(is_page, reports)), options.trace)
    with (
        serve_in_thread(api, host, options.port or 0, access=access, tls=context_of(secured)) as server,
        small_collections(),
        TemporaryDirectory(prefix="harness-home-", ignore_cleanup_errors=True) as home,
    ):
        origin = origin_for_clients(secured, EVERY_ADDRESS.get(host, server.host), server.port)
        environment = {**os.environ, **({TOKEN_VARIABLE: access.token} if access.token else {})}
        environment |= options.webhook_variables
        environment |= secured.variables if secured else {}
        environment = _command_environment(origin, dialect, options.key, environment)
        if options.coding_agent:
            setup = Setup(Path(home), environment["OPENAI_BASE_URL"], environment["OPENAI_API_KEY"])
            environment |= find_coding_agent(options.coding_agent).configure(setup)
        code = run_command(command, environment)
    if report:
        report.write(reports)
    if not api.request_count and not api.strays.number:
        print_note(_describe_silence(dialect, is_plain=secured is None))
        return code or ExitCode.NOTHING_JUDGED
    problems = list(_problems(api, permitted))
    end = f"the command ended with {code}" if code else "nothing is wrong"
    for text in problems or [f"{pluralize(api.request_count, 'request')}, {end}"]:
        print_note(text)
    return code or int(bool(problems))


def _command_environment(origin: str, dialect: str, key: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Build the environment of a command whose clients should reach the World of a key."""
    changes = environment_changes(server_variables(origin, dialect, key), environment)
    return without_nulls({**environment, **changes, URL_VARIABLE: origin})


def _describe_silence(dialect: str, *, is_plain: bool) -> str:
    """Explain why no request may have come."""
    *first, last = READ_BY_CLIENTS[dialect]
    is_project = dialect == FOUNDRY
    return NO_REQUEST.format(
        variables=f"{', '.join(first)} {'or' if is_project else 'and'} {last}",
        values="its value" if is_project else "their values",
        more=PLAIN_PROJECT if is_project and is_plain else "",
    )


def _problems(api: MockApi, permitted: Permitted) -> Iterator[str]:
    """Yield why a run fails although its command passed, for each World and for requests that reached none."""
    if cause := unknown_key_cause(api.strays):
        yield cause.what
    for world in api.worlds.values():
        mock = Mock(world)
        judged = judge_world(mock, permitted)
        if judged.verdict:
            yield f"{world.name}:\n\n{judged.report}\n"
