"""Two runs compared: causes that are new or gone, cases that broke, were mended, came, or are missing."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from harness.examine.results import report_results
from harness.report.report import Report, RunFacts
from harness.viewer.build_run import assemble_run, build_run, collect_facts, compare_runs, pair_cases
from harness.viewer.compared import Comparison
from harness.viewer.page_data import CaseRow, Outcome, Run, ShownCause, ShownCell, ShownExamination
from tests.support.examined import cell, results


def case(id: str, outcome: Outcome = "passed", *groups: str) -> CaseRow:
    causes = [ShownCause(f"It is {group}.", group=group) for group in groups]
    return CaseRow(id, id, "", 0, outcome, 0.1, 1, 0, 0, causes=causes)


def run_of(*rows: CaseRow) -> Run:
    return assemble_run(rows, RunFacts("pytest"))


def compared(run: Run, earlier: Run, paths: tuple[str, str] = ("", "")) -> Comparison:
    comparison = compare_runs(run, earlier, "before", paths).comparison
    assert comparison
    return comparison


class TestCauses:
    def test_causes_are_new_or_gone_whatever_test_has_them(self) -> None:
        comparison = compared(
            run_of(case("a", "failed", "known"), case("b", "failed", "late")),
            run_of(case("b", "failed", "known"), case("c", "failed", "early")),
        )
        assert comparison.new == ["late"]
        assert [(group.id, group.what) for group in comparison.gone] == [("early", "It is early.")]

    def test_causes_are_not_new_when_they_stood_behind_another_one(self) -> None:
        comparison = compared(run_of(case("a", "failed", "second")), run_of(case("a", "failed", "first", "second")))
        assert (comparison.new, [group.id for group in comparison.gone]) == ([], ["first"])


@pytest.mark.parametrize(
    ("before", "now", "name"),
    [
        ("passed", "failed", "broken"),
        ("passed", "error", "broken"),
        ("skipped", "failed", "broken"),
        ("failed", "passed", "mended"),
        ("error", "xfailed", "mended"),
        ("failed", "skipped", None),
        ("failed", "error", None),
        ("passed", "skipped", None),
        (None, "failed", "added"),
        (None, "passed", None),
        ("failed", None, "missing"),
        ("passed", None, None),
    ],
)
def test_a_case_went_otherwise(before: Outcome | None, now: Outcome | None, name: str | None) -> None:
    def rows(outcome: Outcome | None) -> Sequence[CaseRow]:
        return [case("a", outcome)] if outcome else []

    comparison = compared(run_of(*rows(now)), run_of(*rows(before)))
    told = {member: ids for member in ("broken", "mended", "added", "missing") if (ids := getattr(comparison, member))}
    assert told == ({name: ["a"]} if name else {})


def test_a_world_that_lives_is_broken_by_a_cause() -> None:
    earlier = run_of(case("a", "open"), case("b", "open"))
    now = run_of(case("a", "open", "refused"), case("b", "open"))
    assert compared(now, earlier).broken == ["a"]


def test_recordings_of_the_same_name_below_two_folders_are_the_same() -> None:
    earlier, now = run_of(case("old/a.yaml"), case("old/b.yaml")), run_of(case("new/a.yaml", "failed", "x"))
    comparison = compared(now, earlier, ("new", "old"))
    assert (comparison.broken, comparison.added) == (["new/a.yaml"], [])


def test_the_only_cases_of_two_runs_are_the_same_whatever_their_names() -> None:
    earlier, now = run_of(case("test_a.py::test_it", "failed")), run_of(case("test_fork.py::test_it"))
    assert compared(now, earlier).mended == ["test_fork.py::test_it"]
    assert pair_cases(now, earlier, ("", "")) == [("test_fork.py::test_it", "test_a.py::test_it")]
    both = run_of(case("test_fork.py::test_it"), case("test_a.py::test_it"))
    assert pair_cases(both, earlier, ("", "")) == [("test_a.py::test_it", "test_a.py::test_it")]


def examination(client: str, **cells: str) -> Run:
    """Return an examination in which a client has these verdicts, by case."""
    shown = [
        ShownCell(id, client, "plain", verdict, "must", "Why.", f"cause of {id}" if verdict == "fail" else "", flow="f")
        for id, verdict in cells.items()
    ]
    cases = {cell.case: {"title": cell.case} for cell in shown}
    return assemble_run([], RunFacts("examine"), examination=ShownExamination([client], cases, shown))


class TestExaminations:
    def test_examinations_of_two_releases_stand_side_by_side(self) -> None:
        run = compare_runs(
            examination("mine 2.0", a="fail", b="pass", c="pass"),
            examination("mine 1.0", a="pass", b="fail", d="fail"),
            "before",
        )
        assert run.examination
        assert run.comparison
        assert run.examination.clients == ["mine 1.0", "mine 2.0"]
        assert set(run.examination.cases) == {"a", "b", "c", "d"}
        assert run.comparison.clients == [("mine 1.0", "mine 2.0")]
        assert (run.comparison.broken, run.comparison.mended, run.comparison.missing) == (
            ["mine 2.0 a [plain]"],
            ["mine 2.0 b [plain]"],
            ["mine 1.0 d [plain]"],
        )

    def test_examinations_of_the_earlier_one_have_no_exchanges(self) -> None:
        run = compare_runs(examination("mine 2.0", a="fail"), examination("mine 1.0", a="fail"), "before")
        assert run.examination
        assert [(cell.client, cell.flow) for cell in run.examination.cells] == [("mine 1.0", ""), ("mine 2.0", "f")]

    def test_examinations_of_the_same_release_have_two_names(self) -> None:
        run = compare_runs(examination("mine 1.0", a="fail"), examination("mine 1.0", a="pass"), "before")
        assert run.examination
        assert run.comparison
        assert run.comparison.clients == [("mine 1.0 (earlier)", "mine 1.0")]
        assert run.comparison.broken == ["mine 1.0 a [plain]"]

    def test_examinations_of_other_clients_have_nothing_in_common(self) -> None:
        run = compare_runs(examination("mine 1.0", a="fail"), examination("other 1.0", a="fail"), "before")
        assert run.comparison
        assert (run.comparison.clients, run.comparison.broken, run.comparison.added) == ([], [], [])

    @pytest.mark.parametrize("swapped", [False, True])
    def test_examinations_are_not_compared_with_tests(self, swapped: bool) -> None:
        pair = [examination("mine 1.0", a="fail"), run_of(case("a"))]
        run, earlier = pair[::-1] if swapped else pair
        with pytest.raises(
            ConfigError, match=f"only the {'earlier ' if swapped else ''}run is an examination of clients"
        ):
            compare_runs(run, earlier, "before")


def test_a_run_of_tests_has_a_coverage_and_an_examination_has_none() -> None:
    tests, examined = build_run(Report())[0], build_run(report_results(results(cell("a/one"))))[0]
    assert (bool(tests.coverage), tests.examination) == (True, None)
    assert (bool(examined.coverage), bool(examined.examination)) == (False, True)


def test_a_run_names_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.argv", ["/lib/harness/__main__.py", "verify", "a b"])
    facts = collect_facts("verify", tmp_path, 0, 1.23456)
    assert (facts.command, facts.seconds) == ("harness verify 'a b'", 1.235)


def test_a_run_has_the_sections_of_the_manual_that_its_causes_name() -> None:
    command = "responses-harness manual turns-are-left"
    cause = ShownCause("1 turn of the script was never used.", rows=[("manual", command)])
    assert run_of(case("a")).manual == {}
    [(name, text)] = run_of(replace(case("a", "failed"), causes=[cause])).manual.items()
    assert (name, text.splitlines()[0]) == (command, "Turns are left")
    assert "](" not in text, "links of the manual lead nowhere here"
