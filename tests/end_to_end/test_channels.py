"""What brings the harness to a project: the action, the hooks of pre-commit, the image."""

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.core.errors import COMMAND
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
REFUSED = TEST.replace('input="hi"', "input=[]").replace("test_it", "test_bad")
KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3


@dataclass(frozen=True)
class Ran:
    """What the step of the action left: exit code, summary of the job, what it printed, outputs."""

    code: int
    summary: str
    said: str
    outputs: dict[str, str]


class TestTheAction:
    def run(self, folder: Path, command: str, report: str = "reports") -> Ran:
        """Run the step of the action in bash, as a runner does: inputs in the environment, outputs in a file."""
        (step,) = (step for step in ACTION["runs"]["steps"] if step["name"] == "Run")
        summary, outputs = folder / "summary.md", folder / "outputs"
        given = {"inputs.python": sys.executable, "inputs.run": command, "inputs.report": report}
        env = {name: given[re.fullmatch(r"\$\{\{ (.*) \}\}", value)[1]] for name, value in step["env"].items()}
        env |= {"GITHUB_ACTION_PATH": str(ROOT), "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_OUTPUT": str(outputs)}
        env["PYTHONPATH"] = str(ROOT)
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = processes.run(bash, cwd=folder, env={**os.environ, **env}, timeout=100)
        text, written = (file.read_text(encoding="utf-8") if file.exists() else "" for file in (summary, outputs))
        values = {name: value for name, _, value in re.findall(r"(?ms)^(\w+)<<(\w+)\n(.*?)\n\2$", written)}
        return Ran(done.returncode, text, done.stdout + done.stderr, values)

    def test_the_action_runs_tests_and_reports_into_the_summary(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
        ran = self.run(tmp_path, "pytest -q -p no:cacheprovider")
        assert (ran.code, "1 passed" in ran.said) == (0, True), ran.said
        assert "1 exchange" in ran.summary
        kept = {file.name for file in (tmp_path / "reports").iterdir()}
        assert kept == {"report.html", "report.json", "report.sarif"}

    def test_the_action_tells_the_job_what_came_out(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(TEST + REFUSED, encoding="utf-8")
        passed = self.run(tmp_path, "pytest -q -p no:cacheprovider test_it.py::test_it").outputs
        failed = self.run(tmp_path, "pytest -q -p no:cacheprovider").outputs
        assert {"verdict": "passed", "report": "reports/report.html"}.items() <= passed.items()
        assert {"verdict": "failed", "report": "reports/report.html"}.items() <= failed.items()
        assert [json.loads(outputs["counts"])["unexpected"] for outputs in (passed, failed)] == [0, 1]

    def test_the_action_tells_nothing_of_an_earlier_run(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
        self.run(tmp_path, "pytest -q -p no:cacheprovider")
        ran = self.run(tmp_path, "pytest --no-such-option")
        assert (ran.code, ran.outputs) == (4, {"verdict": "failed", "report": "", "counts": "{}"})

    def test_the_action_fails_as_its_command_does_and_keeps_a_trace(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(TEST + REFUSED, encoding="utf-8")
        ran = self.run(tmp_path, "pytest -q -p no:cacheprovider")
        assert ran.code == 1
        assert "refused" in ran.summary
        assert traces_of(tmp_path) == ["test_it.py::test_bad"]

    def test_the_action_keeps_as_many_traces_as_its_command_says(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
        self.run(tmp_path, "pytest -q -p no:cacheprovider --harness-trace=all")
        assert traces_of(tmp_path) == ["test_it.py::test_it"]

    def test_the_action_uploads_what_it_keeps(self) -> None:
        upload = ACTION["runs"]["steps"][-1]
        assert (upload["if"].startswith("always()"), upload["with"]["path"]) == (True, "${{ inputs.report }}")

    def test_the_action_judges_recordings(self, tmp_path: Path) -> None:
        shutil.copytree(ROOT / "tests/cassettes", tmp_path / "cassettes")
        ran = self.run(tmp_path, "responses-harness verify cassettes")
        assert ran.code == 1  # one of them has a finding
        assert "1 disagreement" in ran.summary
        assert json.loads((tmp_path / "reports/report.sarif").read_text(encoding="utf-8"))["runs"]
        assert (ran.outputs["verdict"], json.loads(ran.outputs["counts"])["disagreements"]) == ("failed", 1)

    @pytest.mark.parametrize("name", [COMMAND, "harness"])
    def test_the_action_examines_a_client(self, tmp_path: Path, name: str) -> None:
        ran = self.run(tmp_path, f"{name} examine openai --cases answers/text --modes plain")
        assert ran.code == 0, ran.said
        assert "4 pass" in ran.summary
        assert (ran.outputs["verdict"], json.loads(ran.outputs["counts"])) == ("passed", {"pass": 4})

    @pytest.mark.parametrize(
        ("command", "words"),
        [
            ('pytest -k "a or b"', ["-k", "a or b"]),
            ("pytest -k 'a or b' --deselect \"it's\"", ["-k", "a or b", "--deselect", "it's"]),
            (r"pytest a\ b.py", ["a b.py"]),
            ('pytest "" -x', ["", "-x"]),
            ("pytest -x\n  tests/unit\n", ["-x", "tests/unit"]),
            ("pytest -k 'a\nb'", ["-k", "a\nb"]),
            ("pytest; touch made", None),
            ("pytest x; touch made", ["x;", "touch", "made"]),
            ("pytest $(touch made) `touch made`", ["$(touch", "made)", "`touch", "made`"]),
            ("pytest && touch made | tee made > made", ["&&", "touch", "made", "|", "tee", "made", ">", "made"]),
            ("pytest 'tests/[a-z]*' $HOME ~", ["tests/[a-z]*", "$HOME", "~"]),
        ],
    )
    def test_the_action_splits_its_command_as_a_shell_would_and_executes_none_of_it(
        self, tmp_path: Path, command: str, words: list[str] | None
    ) -> None:
        """A `pytest.py` in the folder of the tests stands for pytest, and writes down what it was given."""
        (tmp_path / "pytest.py").write_text("import json, sys; json.dump(sys.argv[1:], open('given', 'w'))")
        ran = self.run(tmp_path, command)
        assert not (tmp_path / "made").exists()
        if words is None:
            assert (ran.code, "begins with none of" in ran.said) == (2, True)
        else:
            given = json.loads((tmp_path / "given").read_text())
            assert (ran.code, [word for word in given if not word.startswith("--harness-")]) == (0, words)

    @pytest.mark.parametrize(
        ("command", "told"),
        [
            (
                "echo $HOME",
                "'echo $HOME' begins with none of: pytest, responses-harness verify, responses-harness examine",
            ),
            ("", "'' begins with none of"),
            ("responses-harness serve", "begins with none of"),
            ('pytest -k "a or b', "cannot be split into words: No closing quotation"),
        ],
    )
    def test_the_action_takes_no_other_command(self, tmp_path: Path, command: str, told: str) -> None:
        ran = self.run(tmp_path, command)
        assert (ran.code, told in ran.said, "Traceback" in ran.said) == (2, True, False), ran.said

    def test_the_action_takes_a_folder_of_any_name(self, tmp_path: Path) -> None:
        (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
        name = "$(touch made)\nverdict=failed; 'a b"
        ran = self.run(tmp_path, "pytest -q -p no:cacheprovider", name)
        assert (ran.code, (tmp_path / "made").exists()) == (0, False), ran.said
        assert (ran.outputs["verdict"], ran.outputs["report"]) == ("passed", f"{name}/report.html")

    def test_the_action_lists_its_inputs_and_outputs(self) -> None:
        listed = re.findall(r"^\| `(\w+)` \|.*\| `([\w-]+)` \|$", PAGE, re.M)
        assert dict(listed) == {name: value["default"] for name, value in ACTION["inputs"].items()}
        table = re.search(r"^\| output .*?\n\n", PAGE, re.M | re.S)
        assert table
        assert re.findall(r"^\| `(\w+)`", table[0], re.M) == [*ACTION["outputs"]]

    def test_the_action_hands_out_what_its_step_sets(self, tmp_path: Path) -> None:
        values = {name: output["value"] for name, output in ACTION["outputs"].items()}
        assert values == {name: f"${{{{ steps.run.outputs.{name} }}}}" for name in values}
        (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")
        assert self.run(tmp_path, "pytest -q -p no:cacheprovider").outputs.keys() == values.keys()

    def test_the_action_fills_no_input_into_a_command(self) -> None:
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
        run = f"{sys.executable} -m harness"
        hooks = [{**hook, "language": "system", "entry": hook["entry"].replace(COMMAND, run)} for hook in HOOKS]
        config = {"repos": [{"repo": "local", "hooks": hooks}]}
        (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        processes.run(["git", "init", "-q"], cwd=tmp_path)
        processes.run(["git", "add", "-A"], cwd=tmp_path)
        return tmp_path

    @pytest.mark.parametrize(
        ("hook", "file", "told"),
        [
            ("harness-check", "cassettes/good.yaml", ""),
            ("harness-check", "cassettes/leaking.yaml", "a secret, an address or the id of an account"),
            ("harness-verify", "cassettes/good.yaml", ""),
            ("harness-verify", "cassettes/finding.yaml", "content_part.done"),
            ("harness-scripts", "good.script.yaml", ""),
            ("harness-scripts", "wrong.script.yaml", "Did you mean 'message'?"),
        ],
    )
    def test_the_hooks_fail_for_what_is_wrong_alone(self, project: Path, hook: str, file: str, told: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PRE_COMMIT_HOME": str(project / "home")}
        command = [sys.executable, "-m", "pre_commit", "run", hook, "--files", file]
        done = processes.run(command, cwd=project, env=env, timeout=100)
        assert (done.returncode, told in done.stdout) == (1 if told else 0, True), done.stdout
        assert "no files to check" not in done.stdout

    def test_the_hooks_are_valid_and_listed(self) -> None:
        done = processes.run([sys.executable, "-m", "pre_commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"])
        assert done.returncode == 0, done.stdout
        assert re.findall(r"^\| `(harness-\w+)` \|", PAGE, re.M) == [hook["id"] for hook in HOOKS]


class TestTheImage:
    TEXT = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"))

    def test_the_image_becomes_healthy_and_serves(self, tmp_path: Path) -> None:
        entry, command, check = (
            json.loads(re.findall(rf"^{name} (\[.*\])$", self.TEXT, re.M)[-1])
            for name in ("ENTRYPOINT", "CMD", "HEALTHCHECK .*CMD")
        )
        port = str(processes.free_port())
        assert entry == [COMMAND]
        served = [sys.executable, "-m", "harness", *(port if word == "8080" else word for word in command)]
        healthy = [sys.executable, *(word.replace(":8080/", f":{port}/") for word in check[1:])]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        assert processes.run(healthy, cwd=tmp_path, env=env).returncode != 0
        with processes.spawn(served, cwd=tmp_path, env=env) as server:
            assert server.stdout
            assert "0.0.0.0" in server.stdout.readline()
            assert processes.run(healthy, cwd=tmp_path, env=env).returncode == 0

    def test_the_image_runs_as_a_user_of_its_own(self) -> None:
        users = re.findall(r"^USER (\S+)$", self.TEXT, re.M)
        assert users[-1] not in ("0", "root")

    def test_the_image_has_extras_that_there_are(self) -> None:
        """The default, and what the Dockerfile and the page suggest."""
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        suggested = re.findall(r"EXTRAS=([\w,]+)", self.TEXT + PAGE)
        assert len(suggested) == 3
        for named in suggested:
            assert set(named.split(",")) <= project["optional-dependencies"].keys()

    def test_the_image_is_one_server(self) -> None:
        assert [*compose_file("compose.yaml")] == ["harness"]
        assert re.findall(r"docker compose (?:-f (\S+) )?up", PAGE) == [""]

    @pytest.mark.parametrize(("token", "is_generated"), [("", True), ("secret", False)])
    def test_the_image_takes_the_token_of_the_environment_if_there_is_one(
        self, tmp_path: Path, token: str, is_generated: bool
    ) -> None:
        """A compose file sets the variable, to nothing if there is no token."""
        env = {**os.environ, "PYTHONPATH": str(ROOT), "HARNESS_CONTROL_TOKEN": token}
        served = [sys.executable, "-m", "harness", "serve", "--host", "0.0.0.0", "--port", "0"]
        with processes.spawn(served, cwd=tmp_path, env=env) as server:
            assert server.stdout
            printed = list(takewhile(lambda line: not line.startswith("Viewer"), server.stdout))
        assert any(line.startswith("export HARNESS_CONTROL_TOKEN=") for line in printed) == is_generated

    def test_the_image_has_all_that_the_wheel_is_built_of(self) -> None:
        kept = {
            line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[0] == "!"
        }
        build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"][
            "targets"
        ]
        wanted = [*build["wheel"]["packages"], *build["wheel"]["force-include"]]
        assert {name.split("/")[0] for name in wanted} | {
            "pyproject.toml",
            "hatch_build.py",
            "README.md",
            "LICENSE",
        } <= kept

    def test_the_image_is_started_as_the_page_says(self) -> None:
        runs = [shlex.split(line) for line in re.findall(r"^    (docker run .*)$", PAGE.replace("\\\n", ""), re.M)]
        assert runs
        assert all("8080:8080" in run for run in runs)


def compose_file(name: str) -> dict[str, Any]:
    """Return the services of a compose file."""
    services: dict[str, Any] = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))["services"]
    return services


def traces_of(folder: Path) -> list[str]:
    """Return the tests whose traces are beside the reports, as the viewer reads them."""
    return [read_trace(file).case.row.name for file in list_traces([folder / "reports/traces"])]
