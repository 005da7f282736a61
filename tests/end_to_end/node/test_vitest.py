"""The package for vitest and jest: installed from its folder, its tests green and red, the blocks of its page."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.viewer.trace import list_traces, read_trace
from tests.clients.cells import Environment
from tests.clients.environments import prepared
from tests.support.processes import run as run_child
from tests.support.processes import spawn
from tests.support.texts.pages import fenced, in_order

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
HERE, PACKAGE, PAGE = Path(__file__).parent, ROOT / "integrations/node", ROOT / "docs/node.md"
NPM = (
    *("vitest@5.1.1", "jest@30.5.2", "typescript@7.0.2", "@types/node@24.19.2"),
    *("openai@7.57.0", "@openai/agents@0.20.0", "zod@4.6.7", "ws@8.23.0"),
)
WEATHER = ROOT / "tests/cassettes/test_weather.yaml"
REPLAY_IN_JEST = """
const { useMock } = require("responses-harness/jest");
const OpenAI = require("openai");

const mock = useMock();

test("replays", async () => {
  await mock.cassette("cassettes/weather.yaml");
  const client = new OpenAI();
  const tools = [{ type: "function", name: "get_weather", parameters: {}, strict: false }];
  const first = await client.responses.create({ model: "gpt-4.1", input: "Warm?", tools });
  const output = { type: "function_call_output", call_id: first.output[0].call_id, output: "18" };
  const asked = { model: "gpt-4.1", previous_response_id: first.id, input: [output] };
  expect((await client.responses.create(asked)).output_text).toBe("It is 18 degrees in Paris.");
  await expect(mock.cassette("none.yaml")).rejects.toThrow("there is no file");
  await expect(mock.cassette("package.json")).rejects.toThrow("did not read");
});
"""
CONFIG = "vitest.config.ts"
SECONDS = 120


@pytest.fixture(scope="module")
def made() -> Path:
    """The folder of Node and the packages beside ours."""
    return prepared(Environment("vitest", npm=NPM))


class Project:
    """A folder with npm packages, in which the package of the folder is installed and programs are run."""

    def __init__(self, made: Path, folder: Path) -> None:
        self.folder, self._made = folder / "project", made
        self.folder.mkdir()
        (folder / "node_modules").symlink_to(made / "node_modules")  # found from below, like an own one
        (self.folder / "cassettes").mkdir()
        shutil.copy(WEATHER, self.folder / "cassettes/weather.yaml")
        self.write("package.json", '{"name": "project", "private": true, "type": "module"}')

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def path_with(self, *folders: Path) -> str:
        """Return the PATH with these folders first, then Node and the packages."""
        bins = (*folders, self._made / "bin", self._made / "node_modules/.bin")
        return os.pathsep.join([*map(str, bins), os.environ["PATH"]])

    def environment(self, **more: str) -> dict[str, str]:
        harness = {"HARNESS_COMMAND": f"{sys.executable} -m harness", "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
        kept = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
        return {**kept, "PATH": self.path_with(), **harness, **more}

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return run_child(command, cwd=self.folder, env=self.environment(**more), timeout=SECONDS)

    def install(self, what: Path) -> None:
        installed = self.run("npm", "install", "--offline", "--legacy-peer-deps", "--no-audit", "--no-fund", str(what))
        assert installed.returncode == 0, installed.stderr

    def vitest(self, *arguments: str, **more: str) -> str:
        """Return what vitest prints, both streams, without the time that things took."""
        ended = self.run("vitest", "run", "--reporter=verbose", *arguments, **more)
        return re.sub(r" \d+ms$", "", ended.stdout + ended.stderr, flags=re.M)


@pytest.fixture(scope="module")
def project(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the package installed from its folder, the blocks of the page, and the tests beside this one."""
    own = Project(made, tmp_path_factory.mktemp("vitest"))
    own.install(PACKAGE)
    for name, text in blocks().items():
        if not name.endswith(("cjs", "mjs")):
            own.write(name, text)
    for file in HERE.glob("*.test.ts"):
        shutil.copy(file, own.folder)
    return own


def blocks() -> dict[str, str]:
    """Return the files that the page shows, each named by the comment in its first line."""
    return {block.name: block.text for block in fenced(PAGE) if block.language in ("ts", "js")}


@pytest.fixture(scope="module")
def red(project: Project) -> str:
    return project.vitest("red")


def failure(output: str, title: str) -> str:
    """Return what vitest prints of the failure of a test."""
    _, found, text = output.rpartition(f" > {title}\n")
    assert found, output
    return text.partition("⎯⎯⎯⎯")[0]


def test_what_is_built_is_what_is_installed(made: Path, tmp_path: Path) -> None:
    own = Project(made, tmp_path)
    shutil.copytree(PACKAGE / "src", own.folder / "src")
    shutil.copy(PACKAGE / "tsconfig.json", own.folder)
    shutil.copy(PACKAGE / "package.json", own.folder)
    built = own.run("tsc")
    assert built.returncode == 0, built.stdout
    assert texts(own.folder / "dist") == texts(PACKAGE / "dist"), (
        "run `npm install && npm run build` in integrations/node"
    )


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}


def test_users_have_types(project: Project) -> None:
    checks = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"]
    files = sorted(file.name for file in project.folder.glob("*.ts"))
    checked = project.run("tsc", *checks, "--types", "node", *files)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_the_tests_of_the_page_pass(project: Project) -> None:
    output = project.vitest("weather", "lenient", "replay")
    assert "Tests  4 passed (4)" in output


def test_a_hook_receives_events_of_background_responses(project: Project) -> None:
    output = project.vitest("hooked")
    assert "Tests  1 passed (1)" in output, output


def test_the_failure_of_the_page_is_printed(project: Project) -> None:
    (console,) = [block for block in fenced(PAGE) if block.language == "console"]
    command, *shown = [line for line in console.text.splitlines() if line != "…"]
    assert command == "$ npx vitest run bug.test.ts"
    in_order(shown, project.vitest("bug.test.ts"))


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("swallows a refusal", "No tool output found for function call"),
        ("swallows a refusal", 'expect  await mock.refuses("call_needs_output", …), or for a whole file'),
        ("leaves a turn", 'script: message "Two."'),
        ("leaves a turn", 'allow   useMock({ unused: "allow" })'),
        ("loses a text", "text-altered"),
        ("has no script", "No turn is left for this request"),
        ("has no script", 'Add one: await mock.script("…").'),
        ("waits for a refusal that does not come", 'No request was refused by "call_needs_output"'),
        ("throws what is no refusal", "of its own"),
        ("misspells an item", "no item 'mesage'. Did you mean 'message'?"),
        ("fails by itself", "expected 'Hi.' to be 'Ho.'"),
        ("together > another", "has the mock now"),
    ],
)
def test_what_goes_wrong_fails_with_its_cause(red: str, title: str, shown: str) -> None:
    assert shown in failure(red, title)


def test_all_else_passes(red: str) -> None:
    failed = set(re.findall(r"× red\.test\.ts > (\S+)", red))
    passed = set(re.findall(r"✓ red\.test\.ts > (\S+)", red))
    assert (failed, passed) == ({"red:"}, {"red:", "green:"}), red
    assert "Tests  9 failed | 11 passed (20)" in red


def test_a_server_around_the_runner_needs_no_set_up(project: Project) -> None:
    project.write("bare.config.ts", 'export default { test: { setupFiles: ["responses-harness/setup"] } };')
    runner = ["vitest", "run", "--config", "bare.config.ts", "weather"]
    served = project.run(sys.executable, "-m", "harness", "serve", "--scripted", "--", *runner)
    assert (served.returncode, served.stderr.splitlines()[-1][-18:]) == (0, ", nothing is wrong"), served.stdout
    assert "HARNESS_URL is not set" in project.vitest("--config", "bare.config.ts", "weather")


def test_a_report_has_a_case_for_each_test(project: Project) -> None:
    project.vitest("red", HARNESS_REPORT="report.json,report.xml", HARNESS_TRACE="traces")
    tests = json.loads((project.folder / "report.json").read_text(encoding="utf-8"))["tests"]
    assert {test["file"] for test in tests} == {"red.test.ts"}
    assert {test["outcome"] for test in tests} == {"passed", "failed"}
    assert (project.folder / "report.xml").read_text(encoding="utf-8").count("<testcase ") == len(tests)
    traces = {read_trace(file).case.row.name for file in list_traces([project.folder / "traces"])}
    assert traces == {test["id"] for test in tests if test["outcome"] == "failed"}


def test_a_server_that_does_not_start_is_explained(project: Project) -> None:
    output = project.vitest("weather", HARNESS_COMMAND="no-such-harness")
    assert "`no-such-harness serve` did not start: spawn no-such-harness ENOENT. Install it" in output


class TestTheCommandLine:
    """`npx` without a network: what it does not find here it cannot fetch."""

    NPX = ("npx", "--offline", "--no", "responses-harness")

    def test_the_command_line_is_that_of_the_harness(self, project: Project) -> None:
        ended = project.run(*self.NPX, "cassettes", "cassettes/weather.yaml", "--to-script", "json")
        assert ended.returncode == 0, ended.stderr
        assert "18 degrees" in str(json.loads(ended.stdout)["script"])

    def test_the_command_line_ends_with_its_exit_code(self, project: Project) -> None:
        ended = project.run(*self.NPX, "cassettes", "none.yaml")
        assert ended.returncode == 2
        assert "none.yaml" in ended.stderr

    def test_the_command_line_finds_the_harness_on_the_path(self, project: Project, tmp_path: Path) -> None:
        found = tmp_path / "responses-harness"
        found.write_text('#!/bin/sh\necho "found, asked for $*"\n', encoding="utf-8")
        found.chmod(0o755)
        ended = project.run(*self.NPX, "serve", "a b", HARNESS_COMMAND="", PATH=project.path_with(tmp_path))
        assert (ended.returncode, ended.stdout) == (0, "found, asked for serve a b\n")

    def test_the_command_line_does_not_start_itself(self, project: Project) -> None:
        """`npx` puts the package's own command in front of the PATH."""
        folders = project.path_with().split(os.pathsep)
        path = os.pathsep.join(folder for folder in folders if not Path(folder, "responses-harness").exists())
        ended = project.run(*self.NPX, "serve", HARNESS_COMMAND="", PATH=path)
        assert (ended.returncode, ended.stdout) == (127, "")
        assert f"spawn {project.folder / '.venv/bin/responses-harness'} ENOENT. Install it" in ended.stderr

    def test_the_command_line_without_a_harness_says_how_to_install_it(self, project: Project) -> None:
        ended = project.run(*self.NPX, "serve", HARNESS_COMMAND="no-such-harness")
        assert (ended.returncode, ended.stdout) == (127, "")
        assert "`no-such-harness` did not start: spawn no-such-harness ENOENT. Install it" in ended.stderr

    def test_the_command_line_is_ended_with_the_server_that_it_runs(self, project: Project) -> None:
        installed = project.folder / "node_modules/responses-harness/dist/bin.js"
        node = project.run("node", "-p", "process.execPath").stdout.strip()  # the one on the PATH may be a wrapper
        command = [node, str(installed), "serve", "--port", "0"]
        with spawn(command, cwd=project.folder, env=project.environment()) as server:
            assert server.stdout
            assert "http://127.0.0.1:" in server.stdout.readline()
            server.terminate()
            assert server.wait(20) == 0


def test_jest_has_the_same(made: Path, tmp_path: Path) -> None:
    own = Project(made, tmp_path)
    own.run("npm", "pack", "--pack-destination", str(tmp_path), str(PACKAGE))
    own.install(next(tmp_path.glob("*.tgz")))
    for name, text in blocks().items():
        if name.endswith(("cjs", "mjs")):
            own.write(name, text)
    test = blocks()["greeting.test.cjs"]
    own.write("bug.test.cjs", test.replace('script("Hello.")', 'script("Hello.", "Bye.")'))
    own.write("replay.test.cjs", REPLAY_IN_JEST)
    ended = own.run("jest")
    assert ended.returncode == 1
    assert "Tests:       1 failed, 2 passed, 3 total" in ended.stderr
    in_order(["FAIL ./bug.test.cjs", "MockFailure", 'message "Bye."'], ended.stderr)
