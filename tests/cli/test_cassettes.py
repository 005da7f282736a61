"""`responses-harness cassettes`: how old, made by which client, replayed when."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.cassettes import files
from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette
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


def cassette(folder: Path, name: str, header: CassetteHeader, *interactions: Interaction) -> Path:
    file = folder / "cassettes" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(dump_cassette(header, interactions or (ASKED,)))
    return file


list_cassettes = partial(run_cli, "cassettes")


def listed(*arguments: str | Path) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = json.loads(list_cassettes(*arguments, "--json").stdout)
    return result


def test_a_cassette_says_its_age_and_its_client(tmp_path: Path) -> None:
    header = CassetteHeader(recorded=TODAY, sdk="OpenAI/Python", sdk_version="3.0.0")
    cassette(tmp_path, "test_order.yaml", header, ASKED, SOCKET)
    (one,) = listed(tmp_path / "cassettes")
    assert (one["exchanges"], one["recorded"], one["age"], one["sdk"]) == (2, TODAY, 0, "OpenAI/Python 3.0.0")
    assert (one["stale"], one["replayed"]) == ("", "")
    shown = list_cassettes(tmp_path / "cassettes").stdout.splitlines()[1]
    assert shown.split()[1:] == ["2", TODAY, "0", "OpenAI/Python", "3.0.0", "never"]


@pytest.mark.parametrize(
    ("header", "why"),
    [
        (CassetteHeader(recorded="2020-01-01"), "days old"),
        (CassetteHeader(recorded="2020"), "days old"),
        (CassetteHeader(recorded="soon"), "it does not say when it was recorded"),
    ],
)
def test_one_that_is_stale_says_why(tmp_path: Path, header: CassetteHeader, why: str) -> None:
    cassette(tmp_path, "test_order.yaml", header)
    (one,) = listed(tmp_path / "cassettes")
    assert why in one["stale"]


def test_evidence_of_several_days_is_as_old_as_the_newest(tmp_path: Path) -> None:
    days = ({"level": "reported", "where": "a report", "date": day} for day in ("2025-03", "2026-01-04", "2024"))
    cassette(
        tmp_path, "openai/rules/unknown_parameter.yaml", CassetteHeader(), *(replace(ASKED, origin=day) for day in days)
    )
    assert listed(tmp_path / "cassettes")[0]["recorded"] == "2026-01-04"


def test_how_old_is_stale_can_be_chosen(tmp_path: Path) -> None:
    cassette(tmp_path, "test_order.yaml", CassetteHeader(recorded="2026-09-26"))
    assert not listed(tmp_path / "cassettes")[0]["stale"]
    assert listed(tmp_path / "cassettes", "--stale-after", "4")[0]["stale"] == "it is 5 days old"


def test_the_day_of_its_last_replay_is_known(tmp_path: Path) -> None:
    file = cassette(tmp_path, "story.yaml", CassetteHeader(recorded=TODAY))
    assert listed(file)[0]["replayed"] == ""
    files.note_replay(file)
    assert listed(file)[0]["replayed"][:2] == "20"


def test_a_replay_that_cannot_be_noted_does_not_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    files.note_replay(tmp_path / "a.yaml")
    assert files.last_replay_date(tmp_path / "a.yaml") == ""


def test_the_cassettes_of_others_are_listed_too(tmp_path: Path) -> None:
    (tmp_path / "test_order.yaml").write_text(yaml.safe_dump({"interactions": [FOREIGN], "version": 1}))
    (tmp_path / "notes.yaml").write_text("a: 1\n")
    (one,) = listed(tmp_path)
    assert (one["sdk"], one["recorded"]) == ("AsyncOpenAI/Python 2.1.0", "2026-04-09")


def test_one_that_cannot_be_read_is_stale(tmp_path: Path) -> None:
    file = cassette(tmp_path, "test_order.yaml", CassetteHeader(recorded=TODAY))
    file.write_text("interactions:\n- request: {method: GET, uri: /v1/responses}\n")
    (one,) = listed(file)
    assert (one["age"], one["exchanges"]) == (None, 0)
    assert one["stale"] == "it cannot be read: interactions[0]: its request has no answer"


def test_a_stale_one_fails_on_request(tmp_path: Path) -> None:
    cassette(tmp_path, "test_order.yaml", CassetteHeader(recorded="2020-01-01"))
    codes = [list_cassettes(tmp_path / "cassettes", *options).exit_code for options in ((), ("--fail-stale",))]
    assert codes == [0, 1]
    assert list_cassettes(tmp_path / "cassettes", "--fail-stale", "--json").exit_code == 1
    assert list_cassettes(tmp_path / "cassettes", "--fail-stale", "--stale-after", "9999").exit_code == 0


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_one_that_cannot_be_read_fails(tmp_path: Path, options: tuple[str, ...]) -> None:
    cassette(tmp_path, "test_order.yaml", CassetteHeader(recorded=TODAY))
    (tmp_path / "cassettes/broken.yaml").write_text("interactions: [\n  - {request: ]]")
    result = list_cassettes(tmp_path / "cassettes", *options)
    assert (result.exit_code, "it cannot be read: line 2, column 3: not YAML" in result.stdout) == (1, True)
