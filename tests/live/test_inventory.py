"""`harness cassettes`: how old, made with what, named by whom, replayed when, and what it costs to make them again."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette
from harness.cassettes.recording import last_used
from harness.live.inventory import installed_version
from tests.support.command_line import run_cli

TODAY = "2026-10-01"
BODY = b'{"model":"gpt-4.1","input":"hi","max_output_tokens":20}'
SAID = b'{"id":"resp_1","object":"response","output":[]}'
ASKED = Interaction(
    "POST", "https://api.openai.com/v1/responses", {"content-type": "application/json"}, BODY, 200, {}, ((0.1, SAID),)
)
SOCKET = Interaction("GET", "wss://api.openai.com/v1/responses", status=101, frames=((0.0, "client", "{}"),))
FOREIGN = {
    "request": {
        "method": "POST",
        "uri": "https://api.openai.com/v1/responses",
        "body": "{}",
        "headers": {"User-Agent": ["AsyncOpenAI/Python 2.1.0"]},
    },
    "response": {
        "status": {"code": 200},
        "headers": {"Date": ["Thu, 09 Apr 2026 00:57:33 GMT"]},
        "body": {"string": "{}"},
    },
}
TESTS = """
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.cassette("module")]

@pytest.mark.cassette("test_order")
def test_order(): ...

class TestShop:
    @pytest.mark.cassette("openai/shared.yaml")
    async def test_a(self): ...

@pytest.mark.cassette("openai/shared")
@pytest.mark.parametrize("x", [1])
def test_b(x): ...
"""


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True)
def today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the command's day, so that no test sees midnight pass."""

    class SameDay(date):
        @classmethod
        def today(cls) -> SameDay:
            return cls.fromisoformat(TODAY)

    monkeypatch.setattr("harness.cli.cassettes.date", SameDay)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "test_shop.py").write_text(TESTS)
    ignored = tmp_path / "node_modules" / "test_gone.py"
    ignored.parent.mkdir()
    ignored.write_text("def test_gone(): ...\n")
    return tmp_path


def cassette(folder: Path, name: str, header: CassetteHeader, *interactions: Interaction) -> Path:
    file = folder / "cassettes" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dump_cassette(header, interactions or (ASKED,)))
    return file


list_cassettes = partial(run_cli, "cassettes")


def listed(*arguments: str | Path) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = json.loads(list_cassettes(*arguments, "--json").stdout)
    return result


def test_a_cassette_says_its_age_its_client_and_what_it_costs(project: Path) -> None:
    made = "pytest --record=all test_shop.py::test_order"
    header = CassetteHeader(recorded=TODAY, sdk="OpenAI/Python", sdk_version="3.0.0", command=made)
    cassette(project, "test_order.yaml", header, ASKED, SOCKET)
    (one,) = listed(project / "cassettes")
    assert (one["exchanges"], one["recorded"], one["age"], one["sdk"]) == (2, TODAY, 0, "OpenAI/Python 3.0.0")
    assert one["now"] == installed_version("OpenAI/Python", project)
    assert (one["stale"], one["orphan"], one["replayed"]) == ([], False, "")
    assert one["cost"] == {"calls": 1, "input_tokens": 14, "output_tokens": 20}
    assert one["again"] == f"pytest --record=all {os.path.relpath(project)}/test_shop.py::test_order"


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (CassetteHeader(recorded="2020-01-01"), "days old"),
        (CassetteHeader(recorded="2020"), "days old"),
        (CassetteHeader(recorded="soon"), "it does not say when it was recorded"),
        (CassetteHeader(recorded=TODAY, sdk="OpenAI/Python", sdk_version="0.9"), "its SDK was 0.9, now it is "),
        (CassetteHeader(recorded=TODAY, scrubber=0), "it was scrubbed by rules of version 0, now they are "),
    ],
)
def test_one_that_is_stale_says_why(project: Path, header: CassetteHeader, why: str) -> None:
    cassette(project, "test_order.yaml", header)
    (one,) = listed(project / "cassettes")
    assert why in one["stale"][0]


def test_evidence_of_several_days_is_as_old_as_the_newest(project: Path) -> None:
    days = ({"level": "reported", "where": "a report", "date": day} for day in ("2025-03", "2026-01-04", "2024"))
    cassette(
        project, "openai/rules/unknown_parameter.yaml", CassetteHeader(), *(replace(ASKED, origin=day) for day in days)
    )
    assert listed(project / "cassettes")[0]["recorded"] == "2026-01-04"


def test_how_old_is_stale_can_be_chosen(project: Path) -> None:
    cassette(project, "test_order.yaml", CassetteHeader(recorded="2026-09-26"))
    assert not listed(project / "cassettes")[0]["stale"]
    assert listed(project / "cassettes", "--stale-after", "4")[0]["stale"] == ["it is 5 days old"]


@pytest.mark.parametrize(
    ("name", "orphan"),
    [
        ("test_order.yaml", False),
        ("test_order[blue].yaml", False),
        ("TestShop.test_order.yaml", False),
        ("test_gone.yaml", True),
        ("story.yaml", True),
        ("order.yaml", True),
        ("openai/rules/unknown_parameter.yaml", False),
        ("openai/rules/no_such_rule.yaml", True),
        ("mine/rules/unknown_parameter.yaml", True),
    ],
)
def test_one_that_nothing_names_is_an_orphan(project: Path, name: str, orphan: bool) -> None:
    cassette(project, name, CassetteHeader(recorded=TODAY))
    assert listed(project / "cassettes")[0]["orphan"] is orphan


def test_a_project_may_be_written_in_any_language(project: Path) -> None:
    (project / "shop.test.ts").write_text('replay("story")')
    cassette(project, "story.yaml", CassetteHeader(recorded="2020-01-01"))
    (one,) = listed(project / "cassettes")
    assert not one["orphan"]
    assert one["again"] == f"harness record --into {project}/cassettes/story.yaml -- COMMAND"


def test_what_has_been_replayed_is_no_orphan(project: Path) -> None:
    file = cassette(project, "story.yaml", CassetteHeader(recorded=TODAY))
    assert listed(file)[0]["orphan"]
    last_used.note_replay(file)
    (one,) = listed(file)
    assert (one["replayed"][:2], one["orphan"]) == ("20", False)


@pytest.mark.parametrize(
    ("uri", "leads"),
    [
        ("https://api.openai.com/v1/responses", ""),
        ("http://127.0.0.1:4000/v1/responses", " --upstream http://127.0.0.1:4000/v1"),
        ("https://xxxxx.openai.azure.com/openai/v1/responses", ' --upstream "$AZURE_OPENAI_ENDPOINT"'),
        (
            "https://xxxxx.services.ai.azure.com/api/projects/xxxx/openai/v1/responses",
            ' --upstream "$AZURE_AI_PROJECT_ENDPOINT"',
        ),
    ],
)
def test_it_is_recorded_again_where_it_was(project: Path, uri: str, leads: str) -> None:
    file = cassette(project, "story.yaml", CassetteHeader(recorded=TODAY), replace(ASKED, uri=uri))
    assert listed(file)[0]["again"] == f"harness record --into {file}{leads} -- COMMAND"


@pytest.mark.parametrize(
    ("name", "again"),
    [
        ("cassettes/test_shop/test_order[1].yaml", "pytest --record-mode=rewrite -k test_order"),
        ("cassettes/TestShop.test_a.yaml", "pytest --vcr-record=all -k 'TestShop and test_a'"),
        ("cassettes/shop.yaml", ""),
        ("cassettes/test_order.har", ""),
    ],
)
def test_plugins_of_others_make_their_cassettes_again(project: Path, name: str, again: str) -> None:
    file = project / name
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump({"interactions": [FOREIGN], "version": 1}))
    assert listed(file)[0]["again"] == again


def test_a_rule_that_cannot_be_sent_with_any_account_has_no_command(project: Path) -> None:
    cassette(project, "openai/rules/auth_missing_scope.yaml", CassetteHeader(recorded="2020-01-01"))
    result = list_cassettes(project / "cassettes").stdout
    assert result.endswith("/auth_missing_scope.yaml: no known command records it again\n")


def test_that_a_replay_cannot_be_noted_is_no_failure(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(project / "pyproject.toml"))
    last_used.note_replay(project / "a.yaml")
    assert last_used.last_replay_date(project / "a.yaml") == ""


def test_the_cassettes_of_others_are_listed_too(project: Path) -> None:
    (project / "test_order.yaml").write_text(yaml.safe_dump({"interactions": [FOREIGN], "version": 1}))
    (project / "notes.yaml").write_text("a: 1\n")
    (one,) = listed(project)
    assert (one["sdk"], one["recorded"]) == ("AsyncOpenAI/Python 2.1.0", "2026-04-09")


def test_one_that_cannot_be_read_is_stale(project: Path) -> None:
    file = cassette(project, "test_order.yaml", CassetteHeader(recorded=TODAY))
    file.write_text("interactions:\n- request: {method: GET, uri: /v1/responses}\n")
    (one,) = listed(file)
    assert (one["age"], one["exchanges"]) == (None, 0)
    assert one["stale"] == ["it cannot be read: interactions[0]: its request has no answer"]


def test_the_version_of_a_client_for_node_is_that_of_the_project(project: Path) -> None:
    manifest = project / "node_modules/openai/package.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text('{"version": "6.1.0"}')
    near = project / "cassettes/a.yaml"
    assert installed_version("OpenAI/JS", near) == "6.1.0"
    manifest.write_text("no JSON")
    assert installed_version("OpenAI/JS", near) == ""
    assert installed_version("curl", near) == ""


def test_the_plan_says_what_to_run_and_what_it_costs(project: Path) -> None:
    old = CassetteHeader(recorded="2020-01-01")
    made = "pytest --record=all test_shop.py::test_order"
    cassette(project, "test_order.yaml", replace(old, command=made))
    for kind in ("rules", "accepts"):
        cassette(project, f"azure/{kind}/unknown_parameter.yaml", old, ASKED)
    cassette(project, "openai/rules/no_such_rule.yaml", old)
    result = list_cassettes(project / "cassettes", "--stale-after", "60").stdout
    assert "nothing names it" in result
    first, second, last = result.splitlines()[-3:]
    assert first == (
        f"pytest --record=all {os.path.relpath(project)}/test_shop.py::test_order"
        "   # 1 call, at most about 14 tokens in and 20 out"
    )
    into = f'--into {os.path.relpath(project)}/cassettes --upstream "$AZURE_OPENAI_ENDPOINT"'
    command, _, cost = second.partition("   # ")
    assert command == f"python -m tools.rule_evidence shape --fresh 60 {into}"
    assert cost.startswith("2 calls, ")
    assert last.startswith("in all: 3 calls, ")


def test_no_cassette_is_a_mistake(tmp_path: Path) -> None:
    result = list_cassettes(tmp_path)
    assert (result.exit_code, "no cassette found" in result.stderr) == (2, True)


def test_a_stale_one_fails_on_request(project: Path) -> None:
    cassette(project, "test_order.yaml", CassetteHeader(recorded="2020-01-01"))
    codes = [list_cassettes(project / "cassettes", *options).exit_code for options in ((), ("--fail-stale",))]
    assert codes == [0, 1]
    assert list_cassettes(project / "cassettes", "--fail-stale", "--json").exit_code == 1
    assert list_cassettes(project / "cassettes", "--fail-stale", "--stale-after", "9999").exit_code == 0


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_one_that_cannot_be_read_fails(project: Path, options: tuple[str, ...]) -> None:
    cassette(project, "test_order.yaml", CassetteHeader(recorded=TODAY))
    (project / "cassettes/broken.yaml").write_text("interactions: [\n  - {request: ]]")
    result = list_cassettes(project / "cassettes", *options)
    assert (result.exit_code, "it cannot be read: line 2, column 3: not YAML" in result.stdout) == (1, True)


@pytest.mark.parametrize(
    ("command", "again"),
    [
        ("pytest --record=all a.py::test_a b.py", "pytest --record=all {root}/a.py::test_a {root}/b.py"),
        ("", "harness record --into {file} -- COMMAND"),
        ("harness record -- node agent.mjs 'two words'", "harness record --into {file} -- node agent.mjs 'two words'"),
        ("harness record -- pytest tests", "harness record --into {file} -- pytest tests"),
    ],
)
def test_the_command_that_made_it_makes_it_again(project: Path, command: str, again: str) -> None:
    file = cassette(project, "test_order.yaml", CassetteHeader(recorded=TODAY, command=command))
    assert listed(file)[0]["again"] == again.format(file=file, root=os.path.relpath(project))


class TestUnusedExchanges:
    SECOND = replace(ASKED, body=b'{"input":"second"}')

    @pytest.fixture
    def file(self, project: Path) -> Path:
        file = cassette(project, "openai/shared.yaml", CassetteHeader(recorded=TODAY), ASKED, self.SECOND)
        os.utime(file, (0, 0))
        return file

    def note(self, file: Path, test: str, *exchanges: Interaction) -> None:
        last_used.note_replay(file, f"{file.parents[2]}/test_shop.py::{test}", exchanges)

    def test_are_named_once_every_test_has_run(self, file: Path) -> None:
        assert listed(file)[0]["unused"] == []
        self.note(file, "TestShop::test_a", ASKED)
        assert listed(file)[0]["unused"] == []
        self.note(file, "test_b[1]", ASKED)
        assert listed(file)[0]["unused"] == ["#2 POST /v1/responses"]
        assert "no test replays #2 POST /v1/responses" in list_cassettes(file).stdout

    def test_are_none_when_a_test_replays_each(self, file: Path) -> None:
        self.note(file, "TestShop::test_a", ASKED)
        self.note(file, "test_b[1]", self.SECOND)
        assert listed(file)[0]["unused"] == []

    def test_are_unknown_after_a_new_recording(self, file: Path) -> None:
        for test in ("TestShop::test_a", "test_b[1]"):
            self.note(file, test, ASKED)
        os.utime(file, (9e9, 9e9))
        assert listed(file)[0]["unused"] == []

    def test_are_unknown_when_the_sources_name_it_outside_of_marks(self, project: Path, file: Path) -> None:
        for test in ("TestShop::test_a", "test_b[1]"):
            self.note(file, test, ASKED)
        (project / "other.py").write_text('SHARED = "openai/shared"')
        assert listed(file)[0]["unused"] == []

    def test_are_unknown_when_a_server_replayed_it(self, file: Path) -> None:
        for test in ("TestShop::test_a", "test_b[1]"):
            self.note(file, test, ASKED)
        last_used.note_replay(file)
        assert listed(file)[0]["unused"] == []
