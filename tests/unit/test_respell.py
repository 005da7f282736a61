"""`respell`: a recorded stream against what the mock makes of its answer."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from harness import report
from harness.cli import app
from harness.ending import failed, incomplete
from harness.items import (
    code_interpreter_call,
    file_search_call,
    function_call,
    image_generation_call,
    message,
    reasoning,
    shell_call,
    shell_call_output,
    url_citation,
    web_search_call,
)
from harness.respell import respell
from harness.schema import directory
from harness.script import Turn
from harness.tape import read
from harness.verify import verify
from tests.unit.recordings import HI, recorded, tape

ASK = {**HI, "stream": True}
TURNS = [
    pytest.param([reasoning(["**One**", "**Two**"]), message(["Hel", "lo", "!"])], id="thoughts and words"),
    pytest.param([function_call("f", {"x": 1}), function_call("g", ["{", "}"])], id="calls"),
    pytest.param(message("See a page.", annotations=[url_citation("https://e.org", "E", cite="a page")]), id="notes"),
    pytest.param([web_search_call("rain"), file_search_call("rain"), code_interpreter_call("1")], id="hosted tools"),
    pytest.param(image_generation_call(["AA==", "AQ=="]), id="images"),
    pytest.param([shell_call(["ls", "pwd"], call_id="call_1"), shell_call_output("call_1", "a\n")], id="a shell"),
    pytest.param([message("Once upon"), incomplete()], id="incomplete"),
    pytest.param([reasoning(), failed()], id="failed"),
    pytest.param([message(["He", "l"]), failed("invalid_prompt", "No.")], id="failed within a text"),
    pytest.param(failed("rate_limit_exceeded", "Too large."), id="failed at once"),
]


def stream(turn: Turn, **members: Any) -> dict[str, Any]:
    (made,) = recorded({**ASK, **members}, turns=[turn])
    return made


def told(tmp_path: Path, *exchanges: dict[str, Any]) -> list[dict[str, Any] | None]:
    """The verdicts, None for a stream that is told alike."""
    return [verdict.entry for one in read(tape(tmp_path, exchanges)) for verdict in respell(one)]


def changed(made: dict[str, Any], place: int, **members: Any) -> dict[str, Any]:
    made = deepcopy(made)
    made["events"][place]["data"].update(members)
    return made


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("members", [{}, {"background": True}, {"stream_options": {"include_obfuscation": False}}])
def test_what_the_mock_streams_it_streams_again(tmp_path: Path, turn: Turn, members: dict[str, Any]) -> None:
    assert told(tmp_path, stream(turn, **members)) == [None]


@pytest.mark.parametrize("turn", TURNS)
def test_so_it_does_when_the_request_is_not_known(tmp_path: Path, turn: Turn) -> None:
    assert told(tmp_path, {**stream(turn), "request": None, "no_request": True}) == [None]


def test_the_cut_of_texts_and_what_comes_when_it_likes_do_not_matter(tmp_path: Path) -> None:
    made = stream(message(["Hel", "lo"]))
    one, two = made["events"][4:6]
    whole = {**one["data"], "delta": "Hello", "obfuscation": ""}
    keepalive = {"type": "keepalive", "sequence_number": 0}
    made["events"][4:6] = [{"event": whole["type"], "data": whole}, {"event": "keepalive", "data": keepalive}]
    for number, event in enumerate(made["events"]):
        event["data"]["sequence_number"] = number
    assert two["data"]["delta"] == "lo"
    assert told(tmp_path, made) == [None]


def test_an_annotation_may_come_later_than_ours(tmp_path: Path) -> None:
    note = url_citation("https://e.org", "E", cite="See")
    made = stream(message(["See", " a page."], annotations=[note]))
    events = made["events"]
    at = next(n for n, event in enumerate(events) if event["event"].endswith("annotation.added"))
    events[at], events[at + 1] = events[at + 1], events[at]
    for number, event in enumerate(events):
        event["data"]["sequence_number"] = number
    assert told(tmp_path, made) == [None]


class TestADifference:
    def test_is_named_with_its_place_and_both_sides(self, tmp_path: Path) -> None:
        made = stream(function_call("f", "{}"))
        item = made["events"][2]["data"]["item"]
        assert (
            told(tmp_path, changed(made, 2, item={**item, "mood": "good"})) == []
        )  # no whole stream: `streams` says so
        assert told(tmp_path, changed(made, 5, colour="blue")) == [
            {
                "id": "project/tape.jsonl#1",
                "at": "events[5]",
                "recorded": "response.output_item.done: colour 'blue'",
                "mock": "response.output_item.done: no colour",
            }
        ]

    def test_is_a_member_of_a_response_by_its_name(self, tmp_path: Path) -> None:
        made = stream(message("Hi."))
        response = made["events"][0]["data"]["response"]
        assert told(tmp_path, changed(made, 0, response={**response, "temperature": 0.3})) == [None]
        (entry,) = told(tmp_path, changed(made, 0, response={**response, "mood": "good"}))
        assert entry is not None
        assert (entry["at"], entry["mock"]) == ("events[0]", "response.created: no mood")

    def test_is_none_for_a_member_that_came_later(self, tmp_path: Path) -> None:
        made = stream(message("Hi."))
        response = dict(made["events"][0]["data"]["response"])
        del response["tool_usage"]
        old = {**changed(made, 0, response=response), "recorded_at": "2026-01-01"}
        assert told(tmp_path, old) == [None]
        assert told(tmp_path, {**old, "recorded_at": "2026-07-01"}) != [None]

    def test_is_none_for_a_member_of_another_dialect(self, tmp_path: Path) -> None:
        made = stream(message("Hi."))
        response = {**made["events"][0]["data"]["response"], "content_filters": []}
        azure = {**changed(made, 0, response=response), "provider": "azure"}
        assert told(tmp_path, azure) == [None]

    def test_is_a_script_that_the_request_does_not_allow(self, tmp_path: Path) -> None:
        schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
        made = stream(message("Hi."))
        made["request"]["text"] = {"format": {"type": "json_schema", "name": "out", "schema": schema}}
        (entry,) = told(tmp_path, made)
        assert entry is not None
        assert entry["at"] == f"events[{len(made['events']) - 1}]"
        assert "is not what text.format (out) asks for" in entry["mock"]


def test_a_whole_stream_is_compared_though_its_long_values_are_cut(tmp_path: Path) -> None:
    assert told(tmp_path, {**stream(message("Hi.")), "cut": True}) == [None]


def test_what_is_no_whole_stream_of_a_new_response_is_not_compared(tmp_path: Path) -> None:
    made = stream(message("Hi."))
    cut = {**made, "events": made["events"][:-1]}
    unknown = deepcopy(made)
    for event in unknown["events"]:
        for item in (event["data"].get("item"), *(event["data"].get("response") or {}).get("output", ())):
            if item:
                item["type"] = "mood"
    read_back = {**made, "method": "GET", "url_path": "/v1/responses/resp_1"}
    (plain,) = recorded(HI)
    assert told(tmp_path, cut, unknown, read_back, plain) == []


class TestVerify:
    def test_compares_only_when_asked(self, tmp_path: Path) -> None:
        file = tape(tmp_path, [stream(message("Hi."))])
        tally = verify([file], tmp_path)
        with (tmp_path / "report").open("wb") as out:
            report.write(tally, out)
        assert "respelled" not in json.loads((tmp_path / "report").read_text())
        assert "respelled" not in CliRunner().invoke(app, ["verify", str(file)]).stdout

    def test_tells_what_is_the_same_and_what_differs(self, tmp_path: Path) -> None:
        made = stream(function_call("f", "{}"))
        file = tape(tmp_path, [made, changed(made, 5, colour="blue")])
        result = CliRunner().invoke(app, ["verify", "--respell", str(file)])
        assert result.exit_code == 1
        row = next(line.split() for line in result.stdout.splitlines() if line.startswith("respelled "))
        assert row[:4] == ["respelled", "2", "1", "1"]
        assert "  recorded  response.output_item.done: colour 'blue'" in result.stdout
        CliRunner().invoke(app, ["verify", "--respell", str(file), "--json", str(tmp_path / "said")])
        said = json.loads((tmp_path / "said").read_text())
        jsonschema.validate(said, json.loads((directory() / "verify.json").read_text()))
        assert said["respelled"]["same"] == 1
        assert [entry["at"] for entry in said["respelled"]["different"]] == ["events[5]"]

    def test_compares_in_every_process(self, tmp_path: Path) -> None:
        files = [tape(tmp_path, [stream(message(text))], f"{text}.jsonl") for text in ("a", "b")]
        (tmp_path / "spools").mkdir()
        assert verify(files, tmp_path / "spools", 2, respelled=True).counts["respelled.same"] == 2
