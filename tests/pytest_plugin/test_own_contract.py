"""What `harness learn` wrote, in pytest: by the mark, the option, the ini file and pyproject.toml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

TEST = """
{mark}
def test_it(mock, openai_client):
    mock.script(message("ok"))
    openai_client.responses.create(model="gpt-4.1", input="x", extra_body={{"colour": "blue"}})
"""
CONTRACT = "format: 1\nexemptions:\n- rule: unknown_parameter\n  at: colour\n"


Run = Callable[..., pytest.RunResult]


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """The root of a project with a contract that takes `colour`."""
    (pytester.path / "own.yaml").write_text(CONTRACT)
    return pytester.path


def test_without_it_the_mock_refuses(project: Path, run: Run) -> None:
    run(TEST.format(mark="")).assert_outcomes(failed=1)


def test_the_option_loads_it(project: Path, run: Run) -> None:
    run(TEST.format(mark=""), "--contract", "own.yaml").assert_outcomes(passed=1)


def test_pyproject_names_it(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.harness]\ncontract = "own.yaml"\n')
    run(TEST.format(mark="")).assert_outcomes(passed=1)


def test_the_mark_goes_before_the_option(project: Path, run: Run) -> None:
    (project / "none.yaml").write_text("format: 1\n")
    marked = TEST.format(mark="@pytest.mark.harness(contract='own.yaml')")
    run(marked, "--contract", "none.yaml").assert_outcomes(passed=1)


def test_two_files_that_overrule_are_an_error(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.harness]\ncontract = "own.yaml"\n')
    result = run(TEST.format(mark=""), "-o", "harness_contract=other.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*two contracts: [[]tool.harness] in * names 'own.yaml', harness_contract *'other.yaml'*"]
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "format: 9\n",
            "*own.yaml:1: format 9 is of a newer release; this one reads format 1. Update responses-harness.*",
        ),
        ("format: 1\nexemptions: {}\n", "*own.yaml:2: `exemptions` is a list, got a mapping.*"),
    ],
)
def test_a_mistake_is_said_with_its_line(project: Path, run: Run, text: str, problem: str) -> None:
    (project / "own.yaml").write_text(text)
    result = run(TEST.format(mark=""), "--contract", "own.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([problem])


def test_a_wrong_setting_of_the_project_is_named(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.harness]\ncontrat = "own.yaml"\n')
    result = run(TEST.format(mark=""))
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*[[]tool.harness] has no 'contrat'. Did you mean 'contract'?*"])
