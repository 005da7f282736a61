"""Builds a run from a report or from cases: counts, shared causes, coverage; its page; its comparison with an earlier one.

The facts about a run come from its environment: the command, the commit, the versions of packages.
The page is `page.html`, built from `viewer/`, with the data of a run in it; it needs no network and no other file.
"""

import platform
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

from harness.core.errors import COMMAND, ConfigError
from harness.core.exchange import Answer, Exchange, Json, Request
from harness.core.json_values import as_object
from harness.core.text import escape_controls, escape_values
from harness.report.api_coverage import DIMENSIONS
from harness.report.report import WRONG_OUTCOMES, Report, ReportCase, RunFacts, unknown_model_lines
from harness.report.troubleshooting import sections_in
from harness.viewer.build_case import CaseHead, JudgedCase, build_case, document, group_causes
from harness.viewer.compared import Comparison
from harness.viewer.json_form import from_json, to_text
from harness.viewer.page_data import CaseRow, Covered, Run, ShownCase, ShownCell, ShownExamination, Source
from harness.world.world import World


def view_of_case(shown: ShownCase) -> Json:
    """Convert a case to the form in which a report carries it: its row, and the complete case compressed."""
    return {
        "row": asdict(shown.row),
        "case": to_text(shown),
        "rules": sorted({finding.rule for finding in shown.findings} - {""}),
    }


def show_world(
    case: ReportCase,
    world: World,
    began: float | None = None,
    root: str = "",
    printed: Sequence[tuple[str, str]] = (),
) -> ShownCase:
    """Build the view of a report's case from its World.

    Places of turns are shown relative to the folder `root`. `printed` is what the test printed and logged.
    """
    judged = JudgedCase(case.causes, [*case.found], [world.api_key] if world.api_key else [])
    return build_case(replace(head_of(case, began), root=root, printed=printed), world, judged)


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
        manual=sections_in(entry for row in rows for cause in row.causes for entry in cause.rows),
        **own,
    )


def show_report_case(case: ReportCase) -> ShownCase:
    """Build the view of a report's case, of which only shortened exchanges are known."""
    world = World(case.id)
    for exchange in _exchanges(case.exchanges):
        world.exchanges.append(exchange)
    world.exchange_count = len(world.exchanges)
    shown = build_case(head_of(case), world, JudgedCase(case.causes, [*case.found]))
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


_NOT_TRIED = frozenset({"skipped", "not applicable"})
"""Outcomes and verdicts that do not show whether a case passes."""

_Verdict = Literal["wrong", "right", "unknown"]


class _CaseResult(NamedTuple):
    """A case of a run, and its result there."""

    id: str
    verdict: _Verdict


_CaseResults = Mapping[tuple[str, ...], _CaseResult]
"""The cases of a run, by a name that is the same in both runs."""


def compare_runs(run: Run, earlier: Run, label: str, paths: tuple[str, str] = ("", "")) -> Run:
    """Return the run with its differences from an earlier one, which `label` names.

    `paths` are the paths that the two were read from: recordings of the same name below them are the same case. An
    examination then has the cells of both. ConfigError if only one of the two is an examination.
    """
    if run.examination and earlier.examination:
        return _compare_examinations(run, run.examination, earlier, earlier.examination, label)
    if run.examination or earlier.examination:
        which = "the run" if run.examination else "the earlier run"
        raise ConfigError(f"--against: only {which} is an examination of clients. Pass two of the same kind.")
    now, before = _pair_results(run, earlier, paths)
    return replace(run, comparison=_compare(run, earlier, label, now, before))


def pair_cases(run: Run, earlier: Run, paths: tuple[str, str]) -> list[tuple[str, str]]:
    """List the ids of the cases that are in both runs, each with its id in the earlier one."""
    now, before = _pair_results(run, earlier, paths)
    return [(result.id, before[key].id) for key, result in now.items() if key in before]


def _pair_results(run: Run, earlier: Run, paths: tuple[str, str]) -> tuple[_CaseResults, _CaseResults]:
    """Return the cases of both runs; if each run has a single case, that is the same one, whatever its name."""
    now, before = _results_of_rows(run.cases, paths[0]), _results_of_rows(earlier.cases, paths[1])
    return now, dict(zip(now, before.values(), strict=True)) if len(now) == len(before) == 1 else before


def _compare(run: Run, earlier: Run, label: str, now: _CaseResults, before: _CaseResults) -> Comparison:
    met, known = _cause_ids(run), _cause_ids(earlier)
    wrong_now = [(key, result) for key, result in now.items() if result.verdict == "wrong"]
    wrong_before = [(key, result) for key, result in before.items() if result.verdict == "wrong"]
    return Comparison(
        label,
        new=[group.id for group in run.causes if group.id not in known],
        gone=[group for group in earlier.causes if group.id not in met],
        broken=[result.id for key, result in wrong_now if key in before and before[key].verdict != "wrong"],
        mended=[now[key].id for key, _ in wrong_before if key in now and now[key].verdict == "right"],
        added=[result.id for key, result in wrong_now if key not in before],
        missing=[result.id for key, result in wrong_before if key not in now],
    )


def _cause_ids(run: Run) -> set[str]:
    cells = run.examination.cells if run.examination else ()
    return {cause.group for row in run.cases for cause in row.causes} | {cell.group for cell in cells}


def _results_of_rows(rows: Iterable[CaseRow], path: str) -> _CaseResults:
    results: dict[tuple[str, ...], _CaseResult] = {}
    for row in rows:
        is_wrong = row.outcome in WRONG_OUTCOMES or bool(row.causes)
        verdict: _Verdict = "wrong" if is_wrong else "unknown" if row.outcome in _NOT_TRIED else "right"
        results[(row.id.removeprefix(path).lstrip("/"),)] = _CaseResult(row.id, verdict)
    return results


def _compare_examinations(
    run: Run, examined: ShownExamination, earlier: Run, before: ShownExamination, label: str
) -> Run:
    """Compare clients of the same name, and put the earlier cells beside the new ones, without their exchanges."""
    pairs = [(old, new) for new in examined.clients if (old := _find_earlier(new, before.clients))]
    renamed = {name: f"{name} (earlier)" if name in examined.clients else name for name in before.clients}
    results_now = _results_of_cells(examined.cells, {new: new for _, new in pairs})
    results_before = _results_of_cells(before.cells, dict(pairs))
    comparison = replace(
        _compare(run, earlier, label, results_now, results_before),
        clients=[(renamed[old], new) for old, new in pairs],
    )
    cells = [replace(cell, client=renamed[cell.client], flow="") for cell in before.cells]
    both = ShownExamination(
        [*renamed.values(), *examined.clients], {**before.cases, **examined.cases}, [*cells, *examined.cells]
    )
    return replace(run, examination=both, comparison=comparison)


def _find_earlier(client: str, earlier: Sequence[str]) -> str | None:
    """Return the same client in an earlier examination: of the same release, or else the only other release."""
    name = client.partition(" ")[0]
    same = [client] if client in earlier else [release for release in earlier if release.partition(" ")[0] == name]
    return same[0] if len(same) == 1 else None


def _results_of_cells(cells: Iterable[ShownCell], clients: Mapping[str, str]) -> _CaseResults:
    """Return the results of some clients' cells, by the name of the client in the later run, the case and the mode."""
    results: dict[tuple[str, ...], _CaseResult] = {}
    for cell in cells:
        if cell.client in clients:
            verdict: _Verdict = "wrong" if cell.group else "unknown" if cell.verdict in _NOT_TRIED else "right"
            id = f"{cell.client} {cell.case} [{cell.mode}]"
            results[clients[cell.client], cell.case, cell.mode] = _CaseResult(id, verdict)
    return results


PACKAGES = (
    *("responses-harness", "openai", "openai-agents", "pytest", "agent-framework", "langchain-openai", "pydantic-ai"),
    *("litellm", "llama-index", "azure-ai-projects", "semantic-kernel"),
)
"""Packages whose versions are reported if they are installed."""
_COMMIT_LENGTH = 8


def collect_facts(source: str, root: Path, began: float, seconds: float, command: Sequence[str] = ()) -> RunFacts:
    """Collect the facts of a run that began at `began` (unix seconds); `root` is a folder in its checkout."""
    words = command or [Path(sys.argv[0]).name.replace("__main__.py", "harness"), *sys.argv[1:]]
    return RunFacts(source, shlex.join(words), began, round(seconds, 3), find_commit(root), _versions())


@cache
def find_commit(folder: Path) -> str:
    """Return the branch and the commit of a checkout, as `main@aa138ea0`; empty outside of one, or without git."""
    try:
        asked = ["git", "-C", str(folder), "rev-parse", "HEAD", "--abbrev-ref", "HEAD"]
        commit, branch = subprocess.run(asked, capture_output=True, check=True, encoding="utf-8").stdout.split()
    except (OSError, subprocess.CalledProcessError, ValueError):
        return ""
    return f"{branch}@{commit[:_COMMIT_LENGTH]}".removeprefix("HEAD@")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


DATA_MARK = "<!-- data -->"


@cache
def empty_page() -> str:
    """Return the page without data, which requests it from its server."""
    return (Path(__file__).parent / "page.html").read_text(encoding="utf-8")


def fill_page(run: Run, cases: Iterable[str]) -> str:
    """Insert a run and its cases into the page; the cases are texts from `to_text`, in the order of the run."""
    scripts = [_script("run", to_text(run)), *(_script(f"case-{number}", text) for number, text in enumerate(cases))]
    head, mark, tail = empty_page().rpartition(DATA_MARK)
    assert mark, "the page has lost the mark for its data"
    return "".join([head, "\n".join(scripts), tail])


def render(report: Report) -> str:
    """Render a report as a page."""
    return fill_page(*build_run(report))


def _script(id: str, text: str) -> str:
    return f'<script type="text/plain" id="{id}">{text}</script>'
