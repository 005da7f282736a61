"""What `responses-harness learn` wrote, in pytest: by the mark, the option, the ini file and pyproject.toml."""

from pathlib import Path

import pytest

from tests.support.inner_run import Run

TEST = """
{mark}
def test_it(mock, openai_client):
    mock.script(message("ok"))
    openai_client.responses.create(model="gpt-4.1", input="x", extra_body={{"colour": "blue"}})
"""
CONTRACT = "format: 1\nexemptions:\n- rule: unknown_parameter\n  at: colour\n"


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
    run(TEST.format(mark=""), "-o", "harness_contract=other.yaml").shows(
        "*two contracts: [[]tool.harness] in * names 'own.yaml', harness_contract *'other.yaml'*", errors=1
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "format: 9\n",
            "*own.yaml:1: format 9 is of a newer release; this one reads format 1. Update responses-harness.*",
        ),
        ("format: 1\nexemptions: {}\n", "*own.yaml:2: exemptions is {}. Pass a list.*"),
    ],
)
def test_a_mistake_is_reported_with_its_line(project: Path, run: Run, text: str, problem: str) -> None:
    (project / "own.yaml").write_text(text)
    run(TEST.format(mark=""), "--contract", "own.yaml").shows(problem, errors=1)


def test_a_wrong_setting_of_the_project_is_named(project: Path, run: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.harness]\ncontrat = "own.yaml"\n')
    run(TEST.format(mark="")).shows("*[[]tool.harness] has no 'contrat'. Did you mean 'contract'?*", errors=1)


class TestARefusalOfTheContract:
    CONTRACT = """\
format: 1
refusals:
- error: {status: 400, message: "No '{value}' with {model}.", param: truncation, code: nope}
  when: [{at: truncation, value: [auto]}]
  seen: [{file: tests/plan.yaml, exchange: 2, date: 2026-05-05}]
- error: {status: 400, message: "Not even then.", param: truncation}
  when: [{at: truncation, value: [disabled]}]
"""
    TEST = """
def test_it(mock, openai_client):
    mock.script(message("ok"))
    {block}:
        openai_client.responses.create(model="gpt-4.1", input="x", truncation="{value}")
"""

    @pytest.fixture(autouse=True)
    def _contract(self, project: Path) -> None:
        (project / "own.yaml").write_text(self.CONTRACT)

    def test_a_refusal_is_reported_with_its_recording_its_line_and_the_fix(self, run: Run) -> None:
        source = self.TEST.format(block="with __import__('contextlib').suppress(openai.BadRequestError)", value="auto")
        run(source, "--contract", "own.yaml").shows(
            "Request 1 was refused (400): No 'auto' with gpt-4.1.",
            '  where   truncation = "auto"; Your recordings say so (own.yaml:3).',
            "  fix     Send what the API takes. If it takes this now, delete own.yaml:3, or record*",
            '  expect  with mock.refuses("yours_400_truncation"): …*',
            failed=1,
        )

    def test_a_refusal_of_the_contract_without_a_recording_its_source_is_the_line(self, run: Run) -> None:
        run(self.TEST.format(block="if True", value="disabled"), "--contract", "own.yaml").shows()

    def test_a_refusal_of_the_contract_is_expected_by_its_id_its_area_and_its_words(self, run: Run) -> None:
        block = "with mock.refuses(text), pytest.raises(openai.BadRequestError)"
        texts = "@pytest.mark.parametrize('text', ['yours_400_truncation', 'yours', 'with gpt-4.1'])\n"
        source = self.TEST.format(block=block, value="auto").replace("mock.script", "str")
        source = texts + source.lstrip().replace("(mock, ", "(mock, text, ")
        run(source, "--contract", "own.yaml").assert_outcomes(passed=3)
