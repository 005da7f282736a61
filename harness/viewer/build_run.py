"""Builds a run from a report or from cases: counts, shared causes, coverage, documentation of rules, examined clients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

from harness.core.errors import COMMAND
from harness.core.exchange import Answer, Exchange, Json, Request
from harness.core.json_values import as_object
from harness.core.text import escape_controls, escape_values
from harness.explain.model import Cause
from harness.report.api_coverage import DIMENSIONS
from harness.report.report import Report, ReportCase, RunFacts, unknown_model_lines
from harness.viewer.build_case import CaseHead, JudgedCase, build_case, document, group_causes
from harness.viewer.json_form import from_json, to_text
from harness.viewer.model import CaseRow, Covered, Run, ShownCase, ShownCell, ShownExamination, Source
from harness.world.world import World


def view_of_case(shown: ShownCase) -> Json:
    """Convert a case to the form in which a report carries it: its row, and the complete case compressed."""
    return {
        "row": asdict(shown.row),
        "case": to_text(shown),
        "rules": sorted({finding.rule for finding in shown.findings} - {""}),
    }


def show_world(
    case: ReportCase, world: World, causes: Sequence[Cause] = (), began: float | None = None, root: str = ""
) -> ShownCase:
    """Build the view of a report's case from its World; `causes` are why it failed, as far as they are explained.

    Places of turns are shown relative to the folder `root`.
    """
    judged = JudgedCase(causes, [*case.found], [world.api_key] if world.api_key else [])
    return build_case(replace(head_of(case, began), root=root), world, judged)


def build_run(report: Report) -> tuple[Run, list[str]]:
    """Build the run of a report, and its cases, each as the text that a page holds."""
    views = [case.view or view_of_case(show_report_case(case)) for case in report.cases]
    rows = [from_json(view["row"], CaseRow) for view in views]
    covered = {
        name: Covered(title, sorted(report.known[name]), sorted(report.hit[name]))
        for name, title in DIMENSIONS.items()
        if not report.examination
    }
    totals = {name: count for name, count in report.totals._asdict().items() if count}
    run = assemble_run(
        rows,
        _examination_facts(report) if report.examination else report.facts,
        totals=totals,
        line=escape_controls(report.line),
        notes=unknown_model_lines(report.unknown_models),
        coverage=covered,
        documented=document(rows, {rule for view in views for rule in view["rules"]} | report.hit["refusals"]),
        examination=_show_examination(report) if report.examination else None,
    )
    return run, [view["case"] for view in views]


def assemble_run(rows: Sequence[CaseRow], facts: RunFacts, **members: Any) -> Run:
    """Assemble a run from the rows of its cases; `members` are further members of `Run`."""
    own: dict[str, Any] = {
        "documented": document(rows),
        "totals": {"exchanges": sum(row.exchanges for row in rows)},
    } | members
    return Run(
        cast("Source", facts.source),
        facts.command,
        facts.began,
        facts.seconds,
        facts.commit,
        facts.versions,
        facts.outcomes or Counter(row.outcome for row in rows),
        causes=group_causes(rows),
        cases=rows,
        files=sorted({row.file for row in rows} - {""}),
        **own,
    )


def show_report_case(case: ReportCase) -> ShownCase:
    """Build the view of a report's case, of which only shortened exchanges are known."""
    world = World(case.id)
    for exchange in _exchanges(case.exchanges):
        world.exchanges.append(exchange)
    world.exchange_count = len(world.exchanges)
    shown = build_case(head_of(case), world, JudgedCase(findings=[*case.found]))
    if not case.examined or not case.sequence.messages:
        return shown
    drawn = asdict(case.sequence)
    sequence = escape_values({"participants": [*drawn["participants"]], "messages": [*drawn["messages"]]})
    return replace(shown, sequence=sequence, mermaid=escape_controls(case.diagram))


def head_of(case: ReportCase, began: float | None = None) -> CaseHead:
    """Build the head of a report's case."""
    why = "" if case.examined else case.why
    return CaseHead(case.id, case.file, case.line, cast("Any", case.outcome), case.seconds, began, why)


def _exchanges(kept: Iterable[Json]) -> Iterable[Exchange]:
    for members in kept:
        request = Request(
            members["method"],
            members["path"],
            query=as_object(members.get("query")),
            body=members["request"],
            operation=members["operation"],
            dialect=members["dialect"],
        )
        answer = Answer(members["status"], members["answer"], events=members["events"], rule=members["rule"] or None)
        yield Exchange(members["number"], request, answer)


def _show_examination(report: Report) -> ShownExamination:
    """Build the cells of an examination's report, with the names of its clients and what its cases are about."""
    names = [escape_controls(client["client"]) for client in report.examination["clients"]]
    return ShownExamination(names, escape_values(report.examination["cases"]), list(map(_show_cell, report.cases)))


def _examination_facts(report: Report) -> RunFacts:
    """Return what was run to examine the clients."""
    clients = report.examination["clients"]
    command = "; ".join(f"{COMMAND} examine {client['adapter']}" for client in clients)
    releases = (client["client"].partition(" ") for client in clients)
    seconds = sum(client["seconds"] for client in clients)
    return RunFacts("examine", command, 0, seconds, "", {name: release for name, _, release in releases})


def _show_cell(case: ReportCase) -> ShownCell:
    about: Json = escape_values(case.examined)
    reason = case.found[0].message.partition("\n")[0] if case.found else ""
    return ShownCell(
        about["case"],
        about["client"],
        about["mode"],
        about["verdict"],
        about["severity"],
        escape_controls(reason),
        about["group"],
        [(label, escape_controls(text)) for label, text in _details(case) if text],
        escape_controls(case.id) if case.view or case.sequence.messages else "",
        about["command"],
    )


def _details(case: ReportCase) -> Iterator[tuple[str, str]]:
    """Yield the reasons of a cell, each with its fix, then what the program printed, and the flow."""
    for finding in case.found:
        yield "why", finding.message
        yield "fix", finding.fix
    yield "printed", "\n".join(case.examined["printed"])
    yield "flow", case.examined["flow"]
