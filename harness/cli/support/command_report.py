"""A report of what a command exchanged with its mock.

It has a case for each World, including those that the command has ended, and one for requests whose keys lead to no
World.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.report.replace_file import explain_write_errors
from harness.server.api_observers import ApiObserver

if TYPE_CHECKING:
    from harness.explain.model import Cause
    from harness.report.api_coverage import Coverage
    from harness.report.report import ReportCase, RunFacts, UnknownModels
    from harness.server.judgement import Permitted
    from harness.server.mock_api import MockApi
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
        from harness.report.api_coverage import merge_coverage
        from harness.report.formats import write_report
        from harness.report.report import Report, merge_unknown_models

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
        from harness.explain.stray import unknown_key_cause
        from harness.report.fill_case import fill_case
        from harness.report.report import ReportCase
        from harness.world.world import World

        if not (cause := unknown_key_cause(self._api.strays)):
            return
        world = World(STRAYS)
        for _, stray in self._api.strays.kept:
            world.add_exchange(stray.request, stray.answer)
        self._keep(
            fill_case(ReportCase(STRAYS, self._file, 1, "failed", 0.0, why=cause.what), world, ()), world, [cause]
        )

    def _keep(self, case: ReportCase, world: World, causes: Sequence[Cause]) -> None:
        from harness.viewer.build_run import show_world, view_of_case

        shown = show_world(case, world, causes, root=str(Path.cwd())) if self._with_views or self._traces else None
        if shown and self._traces and causes:
            from harness.viewer.trace import write_trace

            with explain_write_errors(str(self._traces), "Pass another folder"):
                write_trace(self._traces, self._facts("trace"), shown)
        self._cases.append(replace(case, view=view_of_case(shown)) if shown and self._with_views else case)

    def _facts(self, source: str) -> RunFacts:
        from harness.viewer.run_facts import collect_facts

        return collect_facts(source, Path(), self._began, time.time() - self._began, self._command)

    def _add(self, world: World) -> None:
        """Add the case of a World that received requests or has a script."""
        from harness.contract.rules.http.access import mask_key
        from harness.report.api_coverage import measure_coverage
        from harness.report.fill_case import fill_case
        from harness.report.report import ReportCase, count_unknown_models
        from harness.server.judgement import judge_world
        from harness.world.mock import Mock

        if not (world.exchanges or world.unused):
            return
        permitted = self._permitted_by_name.pop(world.name, self._permitted)
        judged = judge_world(Mock(world), permitted)
        losses = permitted.losses.find(world.exchanges, world.tool_runs)
        allowed = {lost.loss for lost in losses if permitted.losses.permits(lost)}
        allowed |= {UNUSED} if permitted.unused else set()
        name = mask_key(world.name) if world.name == world.api_key else world.name
        file = next((part for part in name.split()[:1] if Path(part).suffix), self._file)
        case = ReportCase(name, file, 1, "failed" if judged.verdict else "passed", 0.0, why=judged.verdict)
        self._keep(fill_case(case, world, losses, allowed), world, judged.causes if judged.verdict else ())
        self._hits.append(measure_coverage(world.exchanges, world))
        self._unknown_models.append(count_unknown_models(world))
