"""The README and the pages run: every Python block, every console command, every file; their lists are complete."""

import dataclasses
import json
import re
import shutil
import sys
import tomllib
from glob import glob
from pathlib import Path
from urllib.parse import urlsplit

import openai
import pytest
import yaml
from typer.testing import CliRunner

import harness.analysis.client_mistakes
import harness.analysis.losses
import harness.foundry  # noqa: F401  (registers every operation)
from harness.analysis.client_mistake import CLIENT_MISTAKES
from harness.analysis.loss import LOSSES
from harness.analysis.receivers import RECEIVER_MISTAKES
from harness.api.operations import OPERATIONS
from harness.cli import COMMANDS, app
from harness.contract.rule import LEVELS
from harness.core.account import Organization
from harness.core.errors import COMMAND
from harness.items.kind import ITEMS
from harness.report.formats import FORMATS
from harness.world.mock import Mock
from harness.world.route import CONDITIONS
from harness.world.scripting.document import DOCUMENT_KEYS, parse_document, parse_route
from harness.world.webhooks import FAULTS
from tests.clients import samples
from tests.support.command_line import run_cli
from tests.support.processes import run, spawn
from tests.support.texts.pages import Block, fenced, in_order
from tools.aimock.__main__ import app as import_of_aimock

ROOT = Path(__file__).parent.parent
README, ARCHITECTURE = (ROOT / "README.md", ROOT / "ARCHITECTURE.md")
SKILL = ROOT / "skills/responses-harness/SKILL.md"
PAGES = (
    README,
    ARCHITECTURE,
    SKILL,
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/cookbook").glob("*.md")),
)
"""Every page whose blocks are run; those of `docs/stories/` are shown from the suites of real clients."""
DOCUMENTS = (*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "cassettes/README.md", "bench/README.md")))


def all_blocks() -> list[Block]:
    return [block for file in PAGES for block in fenced(file)]


def blocks(language: str) -> list[Block]:
    return [block for block in all_blocks() if block.language == language and not block.is_excerpt]


def fixtures_of_aimock() -> list[Block]:
    """Return the blocks of JSON that `python -m tools.aimock` converts."""
    return [block for block in blocks("json") if '"fixtures"' in block.text]


def section(page: str, title: str) -> str:
    """Return the text below a heading of a page of `docs/`, up to the next."""
    found = re.search(
        rf"^## {title}\n(.*?)(?=^## |\Z)", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.S | re.M
    )
    assert found, f"docs/{page} has lost its section {title!r}"
    return found.group(1)


def first_cells(text: str) -> set[str]:
    """Return what the first column of a table names in backticks."""
    return {name for cell in re.findall(r"^\| (.*?) \|", text, re.M) for name in ticked(cell)}


def ticked(text: str) -> set[str]:
    """Return what is marked as code in a text, outside its blocks."""
    return set(re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the files that the pages show; their first line is a comment with their name."""
    made = tmp_path_factory.mktemp("desk")
    for block in [*blocks("yaml"), *blocks("python")]:
        if block.name:
            (made / block.name).write_text(block.text, encoding="utf-8")
    for block in fixtures_of_aimock():
        (made / "fixtures.json").write_text(block.text, encoding="utf-8")
    recordings = made / "tests/cassettes"
    recordings.mkdir(parents=True)
    for file in (ROOT / "tests/cassettes").glob("*.yaml"):
        shutil.copy(file, recordings)
    (made / "cassettes").mkdir()
    recorded = (recordings / "test_weather.yaml").read_text(encoding="utf-8")
    (made / "cassettes/weather.yaml").write_text(
        recorded.replace('"model":"gpt-4.1"', '"model":"gpt-5.6-sol"'), "utf-8"
    )
    return made


@pytest.fixture(scope="module")
def shown_tests_output(desk: Path) -> str:
    """What pytest prints of the Python blocks with the name of a test file, which fail and are shown."""
    return run_tests([desk / block.name for block in blocks("python") if block.name])


@pytest.fixture(scope="module")
def other_tests_output(desk: Path) -> str:
    """What pytest prints of all other Python blocks, which pass."""
    unnamed = {desk / f"test_{block}.py".replace("-", "_"): block for block in blocks("python") if not block.name}
    for file, block in unnamed.items():
        assert "def test_" in block.text, f"{block}: write it as a test, so that it is one"
        file.write_text(block.text, encoding="utf-8")
    return run_tests([*unnamed])


def run_tests(files: list[Path]) -> str:
    return run([sys.executable, "-m", "pytest", *sorted(files)], cwd=files[0].parent, timeout=200).stdout


def test_every_block_is_a_test():
    known = {"python", "console", "yaml", "json", "sh"}
    known |= {"ts", "js"}  # run by tests/end_to_end/node
    known |= {"go", "java"}  # run by tests/end_to_end/test_other_languages.py
    known |= {"nginx", "haproxy"}  # run by tests/end_to_end/test_processes.py
    shown = {file: {block.language for block in fenced(file)} for file in PAGES if file != ARCHITECTURE}
    assert {file.name: rest for file, languages in shown.items() if (rest := languages - known)} == {}
    assert [str(block) for block in blocks("yaml") if not block.name] == []


@pytest.mark.slow
def test_python_blocks_pass(other_tests_output):
    passing = [block for block in blocks("python") if not block.name]
    passed = sum(block.text.count("def test_") for block in passing)
    assert f"= {passed} passed in " in other_tests_output, other_tests_output


@pytest.mark.slow
def test_python_blocks_that_name_a_test_file_fail_as_shown(shown_tests_output):
    failing = [f"pytest {block.name}" for block in blocks("python") if block.name]
    assert [command for command, _ in commands() if command.startswith("pytest ")] == failing
    assert f"= {len(failing)} failed in " in shown_tests_output, shown_tests_output


@pytest.mark.parametrize("block", [block for block in all_blocks() if block.is_excerpt], ids=str)
def test_an_excerpt_is_in_its_file(block):
    _, _, excerpt = block.text.partition("\n")
    in_order([part.strip("\n") for part in excerpt.split("…\n") if part.strip()], text_of(ROOT / block.name))


def commands() -> list[tuple[str, list[str]]]:
    """Each command of Python in console blocks, with the lines that it must print in this order; none twice."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
            command, *shown = part.splitlines()
            found.append((command, [line.strip() for line in shown if line.strip() not in ("", "…")]))
    return [
        command
        for place, command in enumerate(found)
        if command not in found[:place] and not command[0].startswith("npx ")
    ]


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param(*pair, marks=[pytest.mark.slow] if pair[0].startswith("pytest ") else [])
        for pair in commands()
        if " serve" not in pair[0]
    ],
    ids=lambda s: str(s)[:40],
)
def test_console_commands_print_what_is_shown(command, shown, request, monkeypatch):
    program, *arguments = command.split()
    if program == "pytest":
        in_order(shown, request.getfixturevalue("shown_tests_output"))
        return
    monkeypatch.chdir(request.getfixturevalue("desk"))
    words = [name for word in arguments for name in sorted(glob(word)) or [word]]  # as a shell reads it
    is_import = words[:2] == ["-m", "tools.aimock"]
    done = CliRunner().invoke(import_of_aimock, words[2:]) if is_import else run_cli(*words)
    assert done.exit_code == (1 if "findings" in " ".join(shown) else 0), done.stderr
    in_order(shown, done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("command", "shown"), [s for s in commands() if " serve" in s[0]], ids=lambda s: str(s)[:40])
def test_served_commands_print_what_is_shown_and_answer(command, shown, desk):
    with spawn([sys.executable, "-m", "harness", *command.split()[1:], "--port", "0"], cwd=desk) as server:
        assert server.stdout
        printed = [next(got for got in server.stdout if anywhere(got) == anywhere(line)) for line in shown]
        base_url = re.search(r"http://\S+", printed[0])
        assert base_url
        with openai.OpenAI(base_url=base_url.group(), api_key="sk-anything", max_retries=0) as client:
            assert client.responses.create(model="gpt-4.1", input="hi").output_text == "Hello."
        server.terminate()
        assert server.wait(20) == 0


def anywhere(line: str) -> str:
    """Return a line without the number of its port."""
    return re.sub(r"(127\.0\.0\.1):\d+", r"\1:PORT", line.strip())


@pytest.mark.parametrize("block", [block for block in blocks("json") if block not in fixtures_of_aimock()], ids=str)
def test_json_blocks_script_a_world(block):
    script = json.loads(block.text)
    assert (parse_route(script) if "turns" in script else parse_document(script)).routes


def test_two_commands_do_all_set_up():
    assert len(blocks("sh")) == 2
    demo, suite = (block.text.strip() for block in blocks("sh"))
    prepare = 'python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]" && '
    assert demo == f"{prepare}.venv/bin/responses-harness demo"
    assert suite.startswith(f"{prepare}.venv/bin/python -m pytest")


def test_ci_runs_the_test_command_of_the_readme():
    assert blocks("sh")[1].text.strip() in [line.strip() for line in (ROOT / ".ci/run").read_text().splitlines()]


def test_make_runs_the_same_commands():
    made = text_of(ROOT / "Makefile").replace("$(TESTS)", "-n auto")
    recipes = {line.strip() for line in made.splitlines() if line.startswith("\t")}
    install = 'python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]"'
    assert install in recipes
    assert {block.text.strip().removeprefix(f"{install} && ") for block in blocks("sh")} <= recipes


def test_every_target_of_make_is_there():
    targets = set(re.findall(r"^(\w+):", text_of(ROOT / "Makefile"), re.M))
    named = {name.split()[1] for page in DOCUMENTS for name in ticked(text_of(page)) if name.startswith("make ")}
    assert named <= targets


def test_the_first_test_is_ten_lines():
    first = next(block for block in blocks("python"))
    assert len([line for line in first.text.splitlines() if line]) <= 10


def test_every_endpoint_is_listed():
    listed = {name for name in first_cells(section("coverage.md", "Endpoints")) if name.startswith("/")}
    assert listed == {f"/{re.split('[/:]', operation)[1]}" for operation in OPERATIONS}


def test_every_item_kind_is_listed():
    kinds = re.search(r"The model can emit: (.*?)\.\n\n", section("coverage.md", "Output items"), re.S)
    assert kinds
    assert ticked(kinds.group(1)) == set(ITEMS)


def test_every_condition_of_a_route_is_listed():
    assert first_cells(section("scripts.md", "Routes")) == set(CONDITIONS)


def test_every_member_of_the_account_is_listed():
    assert first_cells(section("scripts.md", "The account")) == {
        field.name for field in dataclasses.fields(Organization)
    }


def test_every_key_of_a_script_file_is_listed():
    assert first_cells(text_of(ROOT / "docs/script-files.md")) == set(DOCUMENT_KEYS)


def test_every_member_of_mock_is_listed():
    listed = {re.sub(r"\(.*", "", name) for name in first_cells(section("pytest.md", "The members of `mock`"))}
    assert listed == set(dir(Mock()))


def test_every_suffix_of_a_report_is_listed():
    assert set(re.findall(r"^\| `(\.\w+)` \|", text_of(ROOT / "docs/viewer.md"), re.M)) == set(FORMATS)


def test_every_option_of_the_marker_is_listed():
    from harness.pytest_plugin.marks import MARKER_VALUES

    assert set(re.findall(r"(\w+)=…", section("pytest.md", "Markers and options"))) == set(MARKER_VALUES)


def test_every_loss_is_listed_where_it_is_judged():
    rows = [row.split("|")[2:4] for row in text_of(ROOT / "docs/losses.md").splitlines() if row.startswith("| ")]
    for column, is_strict in ((0, False), (1, True)):
        listed = re.findall(r"`([a-z]+-[a-z-]+)`", " ".join(row[column] for row in rows if len(row) > 1))
        assert sorted(listed) == sorted(loss.id for loss in LOSSES.values() if loss.strict is is_strict)


def test_every_level_is_explained():
    assert tuple(re.findall(r"^\| (\w+) \| (?!how)", section("rules.md", "Evidence"), re.M)) == LEVELS


def test_every_control_path_is_listed():
    from harness.server.control_plane.app import control_app
    from harness.server.mock_api import CONTROL_ROOT, MockApi

    served = {route.path for route in control_app(MockApi()).routes}
    listed = {name.split()[-1] for name in first_cells(text_of(ROOT / "docs/control-plane.md").partition("\n## ")[0])}
    assert listed == served - {f"{CONTROL_ROOT}/docs", f"{CONTROL_ROOT}/openapi.json"}


def test_every_command_and_option_is_there():
    import typer.main

    group = typer.main.get_command(app)
    known = {name: {option for param in made.params for option in param.opts} for name, made in group.commands.items()}
    named = {name.partition(" -- ")[0] for page in DOCUMENTS for name in ticked(text_of(page))}
    used = [name.split()[1:] for name in named if re.match(rf"{COMMAND} (?!--|is off)", name)]
    assert {command for command, *_ in used} == {name for name, made in group.commands.items() if not made.hidden}
    options = [(command, item) for command, *rest in used for item in rest if item.startswith("--")]
    assert [(command, option) for command, option in options if option not in known[command]] == []
    alone = {
        re.split(r"[=[]", name.split()[0])[0]
        for page in DOCUMENTS
        for name in ticked(text_of(page))
        if re.match(r"--\w", name)
    }
    of_pytest = {"--record", "--harness-report", "--harness-fail-under", "--harness-trace", "--harness-trace-dir"}
    of_pytest |= {"--harness-forecast", "--harness-model"}
    of_tools = {"--recordings", "--sync", "--diff", "--tests", "--slow"}
    assert alone <= of_pytest.union(of_tools, *known.values())


SHORT = re.compile(rf"(?<![\w/.-])(?<!from )(?<!-m )harness (?:{'|'.join(COMMANDS)})\b")
NAMING = (
    *("*.md", "*.yml", "*.yaml", ".pre-commit-hooks.yaml", "docs/**/*.md", "skills/**/*.md", "schemas/*.json"),
    *("harness/**/*.py", "harness/viewer/page.html", "integrations/node/*/*", "viewer/src/**/*.tsx"),
)


def test_the_command_has_its_whole_name_everywhere():
    """Another vendor's command line is also called `harness`. The changelog keeps what it once said."""
    files = [file for pattern in NAMING for file in ROOT.glob(pattern) if file.name != "CHANGELOG.md"]
    assert len(files) > 500
    assert [(file.name, found[0]) for file in files for found in SHORT.finditer(text_of(file))] == []


def test_every_file_that_is_named_is_there():
    named = {
        name for page in DOCUMENTS for name in re.findall(r"`([\w./-]+\.(?:md|toml)|tests/[\w/]+\.py)`", text_of(page))
    }
    assert not [name for name in named if not (ROOT / name).exists()]


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


STORIES = sorted(page for page in (ROOT / "docs/stories").glob("*.md") if page.stem != "README")
SUITES = ROOT / "tests/clients/suites"


@pytest.mark.parametrize("story", STORIES, ids=lambda page: page.stem)
def test_a_story_shows_what_its_suite_runs_and_names_every_cause(story):
    page, suite = story.read_text(encoding="utf-8"), SUITES / story.stem
    run = "\n".join(file.read_text(encoding="utf-8") for file in suite.glob("*.py"))
    shown = [block.text for block in fenced(story) if block.language == "python"]
    assert shown
    assert [text for text in shown if text not in run] == []
    cells = tomllib.loads((suite / "suite.toml").read_text(encoding="utf-8"))["cells"]
    causes = {cause for cell in cells.values() for cause in cell.values()} - {"green", "not run"}
    assert {cause for cause in causes if cause not in page} == set()


def test_every_recipe_is_listed_and_has_a_test():
    folder = ROOT / "docs/cookbook"
    listed = text_of(folder / "index.md")
    recipes = [page for page in folder.glob("*.md") if page.stem != "index"]
    assert [page.name for page in recipes if f"({page.name})" not in listed] == []
    assert [page.name for page in recipes if not list(fenced(page))] == []


def test_every_story_is_listed():
    listed = (ROOT / "docs/stories/README.md").read_text(encoding="utf-8")
    assert [page.name for page in STORIES if f"({page.name})" not in listed] == []


def test_the_changelog_has_the_version_of_the_package():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert version
    assert headings[:2] == ["Unreleased", version.group(1)]


def test_hooks_run_what_ci_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    ci = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert [hook["entry"] for hook in hooks if " ".join(hook["entry"].split()[:2]) not in ci] == []


@pytest.mark.parametrize("page", DOCUMENTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_addresses_or_files(page):
    links = [urlsplit(link) for link in re.findall(r"\]\((\S+?)\)", text_of(page))]
    assert {link.scheme for link in links} <= {"", "https"}
    assert [link.path for link in links if not link.scheme and not (page.parent / link.path).exists()] == []


def test_the_page_of_webhooks_lists_every_fault_and_mistake():
    assert first_cells(section("webhooks.md", "Faults")) == set(FAULTS)
    assert first_cells(section("webhooks.md", "What a receiver does wrong")) == set(RECEIVER_MISTAKES)


def test_the_page_of_behaviour_lists_every_mistake_of_a_client():
    assert first_cells(section("behaviour.md", "What is looked for")) == set(CLIENT_MISTAKES)


def test_the_readme_is_a_first_page():
    assert len(text_of(README).splitlines()) <= 130


def test_the_figures_of_the_readme_are_those_of_their_pages():
    """Those of both mocks are measured by `tests.servers` and `bench`, which write them into their pages."""
    row = next(
        line
        for line in text_of(ROOT / "docs/results/servers.md").splitlines()
        if line.startswith("| `@copilotkit/aimock")
    )
    refuses, _, answers, streams = re.findall(r"(\d+) %", row.partition("% |")[2])[:4]
    assert streams == "0"
    rates = re.findall(r"^\| each body new +\| (ours|aimock) +\| +([\d,]+)/s", text_of(ROOT / "bench/README.md"), re.M)
    shown = text_of(README)
    for text in (
        f"| {refuses} % refused |",
        f"| {answers} % conform |",
        f"| {dict(rates)['aimock']} | {dict(rates)['ours']} |",
    ):
        assert text in shown


def test_the_skill_says_what_it_is_for_and_fits_on_a_page():
    _, head, text = text_of(SKILL).split("---\n", 2)
    said = yaml.safe_load(head)
    assert said.keys() == {"name", "description"}
    assert said["name"] == SKILL.parent.name
    assert 40 <= len(said["description"]) <= 1024
    assert len(text.splitlines()) <= 80


def test_what_installs_the_harness_says_from_where():
    """No index has it; `pip install "responses-harness[EXTRA]"` inside a sentence is for who has installed it."""
    shown = [
        line for page in PAGES for line in text_of(page).splitlines() if re.match(r"\s+(- run: )?pip install ", line)
    ]
    own = [line for line in shown if re.search(r"responses.harness", line)]
    assert own
    assert [line for line in own if not re.search(r"/responses.harness", line)] == []


def test_make_and_ci_build_the_pages():
    steps = ('.venv/bin/pip install -q -e ".[docs]"', ".venv/bin/mkdocs build --strict")
    for name in ("Makefile", ".ci/run"):
        in_order(steps, text_of(ROOT / name))


def test_the_table_of_samples_is_what_their_suite_expects():
    page = text_of(samples.PAGE)
    assert samples.render_samples(page, samples.read_ends()) == page
