"""What brings the harness to a project: the action, the hooks of pre-commit, the image."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from harness.viewer.trace import list_traces, read_trace
from tests.support import processes

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
TEST = """
def test_it(mock, openai_client):
    mock.script("Hello.")
    openai_client.responses.create(model="gpt-4.1", input="hi")
"""
KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3


class TestTheAction:
    def run(self, folder: Path, command: str) -> tuple[int, str, str]:
        """Run the step of the action; returns its exit code, the summary of the job, and what it printed."""
        (step,) = (step for step in ACTION["runs"]["steps"] if step["name"] == "Run")
        summary = folder / "summary.md"
        inputs = {"PYTHON": sys.executable, "RUN": command, "REPORT": "reports", "GITHUB_STEP_SUMMARY": str(summary)}
        inputs["PYTHONPATH"] = str(ROOT)
        done = processes.run(["bash", "-e", "-c", step["run"]], cwd=folder, env={**os.environ, **inputs}, timeout=100)
        text = summary.read_text(encoding="utf-8") if summary.exists() else ""
        return done.returncode, text, done.stdout + done.stderr

    def test_runs_tests_and_reports_into_the_summary(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
        code, summary, said = self.run(tmp_path, "pytest -q -p no:cacheprovider")
        assert (code, "1 passed" in said) == (0, True), said
        assert "1 exchange" in summary
        assert {file.name for file in (tmp_path / "reports").iterdir()} == {
            "report.html",
            "report.json",
            "report.sarif",
        }

    def test_fails_as_its_command_does_and_keeps_a_trace(self, tmp_path: Path) -> None:
        failing = TEST.replace('input="hi"', "input=[]").replace("test_it", "test_bad")
        (tmp_path / "test_it.py").write_text(TEST + failing, encoding="utf-8")
        code, summary, _ = self.run(tmp_path, "pytest -q -p no:cacheprovider")
        assert code == 1
        assert "refused" in summary
        assert traces_of(tmp_path) == ["test_it.py::test_bad"]

    def test_keeps_as_many_traces_as_its_command_says(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
        self.run(tmp_path, "pytest -q -p no:cacheprovider --harness-trace=all")
        assert traces_of(tmp_path) == ["test_it.py::test_it"]

    def test_uploads_what_it_keeps(self) -> None:
        upload = ACTION["runs"]["steps"][-1]
        assert (upload["if"].startswith("always()"), upload["with"]["path"]) == (True, "${{ inputs.report }}")

    def test_judges_recordings(self, tmp_path: Path) -> None:
        shutil.copytree(ROOT / "tests/cassettes", tmp_path / "cassettes")
        code, summary, _ = self.run(tmp_path, "responses-harness verify cassettes")
        assert code == 1  # one of them has a finding
        assert "1 disagreement" in summary
        assert json.loads((tmp_path / "reports/report.sarif").read_text(encoding="utf-8"))["runs"]

    def test_examines_a_client(self, tmp_path: Path) -> None:
        code, summary, said = self.run(tmp_path, "responses-harness examine openai --cases answers/text --modes plain")
        assert code == 0, said
        assert "answers" in summary

    def test_takes_no_other_command(self, tmp_path: Path) -> None:
        code, _, said = self.run(tmp_path, "echo $HOME")
        assert code == 2
        assert "begins with none of" in said

    def test_lists_its_inputs(self) -> None:
        listed = re.findall(r"^\| `(\w+)` \|.*\| `([\w-]+)` \|$", PAGE, re.M)
        assert dict(listed) == {name: value["default"] for name, value in ACTION["inputs"].items()}

    def test_fills_no_input_into_a_command(self) -> None:
        assert [step["name"] for step in ACTION["runs"]["steps"] if "${{" in step.get("run", "")] == []


class TestTheHooks:
    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        """A repository with a recording and a script, each right and wrong."""
        (tmp_path / "cassettes").mkdir()
        shutil.copy(ROOT / "tests/cassettes/test_weather.yaml", tmp_path / "cassettes/good.yaml")
        leaking = (tmp_path / "cassettes/good.yaml").read_text(encoding="utf-8").replace("Weather in Paris?", KEY)
        (tmp_path / "cassettes/leaking.yaml").write_text(leaking, encoding="utf-8")
        shutil.copy(ROOT / "tests/cassettes/test_gateway.yaml", tmp_path / "cassettes/finding.yaml")
        (tmp_path / "good.script.yaml").write_text("script:\n- message: hi\n", encoding="utf-8")
        (tmp_path / "wrong.script.yaml").write_text("script:\n- mesage: hi\n", encoding="utf-8")
        hooks = [{**hook, "language": "system", "entry": f"{sys.executable} -m {hook['entry']}"} for hook in HOOKS]
        config = {"repos": [{"repo": "local", "hooks": hooks}]}
        (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        processes.run(["git", "init", "-q"], cwd=tmp_path)
        processes.run(["git", "add", "-A"], cwd=tmp_path)
        return tmp_path

    @pytest.mark.parametrize(
        ("hook", "file", "told"),
        [
            ("harness-check", "cassettes/good.yaml", ""),
            ("harness-check", "cassettes/leaking.yaml", "what has the form of a key"),
            ("harness-verify", "cassettes/good.yaml", ""),
            ("harness-verify", "cassettes/finding.yaml", "content_part.done"),
            ("harness-scripts", "good.script.yaml", ""),
            ("harness-scripts", "wrong.script.yaml", "Did you mean 'message'?"),
        ],
    )
    def test_fail_for_what_is_wrong_alone(self, project: Path, hook: str, file: str, told: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PRE_COMMIT_HOME": str(project / "home")}
        command = [sys.executable, "-m", "pre_commit", "run", hook, "--files", file]
        done = processes.run(command, cwd=project, env=env, timeout=100)
        assert (done.returncode, told in done.stdout) == (1 if told else 0, True), done.stdout
        assert "no files to check" not in done.stdout

    def test_are_valid_and_listed(self) -> None:
        done = processes.run([sys.executable, "-m", "pre_commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"])
        assert done.returncode == 0, done.stdout
        assert re.findall(r"^\| `(harness-\w+)` \|", PAGE, re.M) == [hook["id"] for hook in HOOKS]


class TestTheImage:
    TEXT = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))

    def test_becomes_healthy_and_serves(self, tmp_path: Path) -> None:
        entry, command, check = (
            json.loads(re.findall(rf"^{name} (\[.*\])$", self.TEXT, re.M)[-1])
            for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK .*CMD")
        )
        port = str(processes.free_port())
        assert entry == ["harness"]
        served = [sys.executable, "-m", *entry, *(port if word == "8080" else word for word in command)]
        healthy = [sys.executable, *(word.replace(":8080/", f":{port}/") for word in check[1:])]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        assert processes.run(healthy, cwd=tmp_path, env=env).returncode != 0
        with processes.spawn(served, cwd=tmp_path, env=env) as server:
            assert server.stdout
            assert "0.0.0.0" in server.stdout.readline()
            assert processes.run(healthy, cwd=tmp_path, env=env).returncode == 0

    def test_runs_as_a_user_of_its_own(self) -> None:
        users = re.findall(r"^USER (\S+)$", self.TEXT, re.M)
        assert users[-1] not in ("0", "root")

    def test_has_extras_that_there_are(self) -> None:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for named in re.findall(r"\[([\w,]+)\]\"", self.TEXT):
            assert set(named.split(",")) <= project["optional-dependencies"].keys()

    def test_has_all_that_the_wheel_is_built_of(self) -> None:
        kept = {
            line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[0] == "!"
        }
        build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
            "targets"
        ]
        wanted = [*build["wheel"]["packages"], *build["wheel"]["force-include"]]
        assert {name.split("/")[0] for name in wanted} | {"pyproject.toml", "README.md", "LICENSE"} <= kept

    def test_is_started_as_the_page_says(self) -> None:
        runs = [shlex.split(line) for line in re.findall(r"^    (docker run .*)$", PAGE.replace("\\\n", ""), re.M)]
        assert runs
        assert all("8080:8080" in run for run in runs)


def traces_of(folder: Path) -> list[str]:
    """Return the tests whose traces are beside the reports, as the viewer reads them."""
    return [read_trace(file).case.row.name for file in list_traces([folder / "reports/traces"])]
