"""The command line as a whole: what it lists, what it imports, how it is started."""

import sys
from pathlib import Path

import pytest

from harness.cli import main
from tests.support.command_line import run_beside, run_cli
from tests.support.processes import run as run_child

ROOT = Path(__file__).parents[2]


def test_help_is_quick_because_nothing_slow_is_imported() -> None:
    code = "import sys, harness.cli; print({'fastapi', 'uvicorn', 'openai', 'jsonschema', 'yaml'} & set(sys.modules))"
    assert run_child([sys.executable, "-c", code], cwd=ROOT, check=True).stdout == "set()\n"


def test_without_a_command_it_says_what_there_is() -> None:
    said = run_cli().output
    assert all(command in said for command in ("serve", "rules", "demo"))


@pytest.mark.slow
def test_python_m_is_the_same_command() -> None:
    with run_beside("rules", "--json") as child:
        output, _ = child.communicate(timeout=20)
    assert child.returncode == 0
    assert output == run_cli("rules", "--json").stdout


def test_the_console_script_takes_its_arguments_from_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["harness", "rules", "nothing_like_it"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("responses-harness: no rule 'nothing_like_it'.")
