"""`respell`: a recorded answer against what the mock answers to the same request, saying the same."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from harness.items.kind import Item
from harness.verify import output
from harness.verify.judge_files import verify_recordings
from harness.verify.judging.circumstances import rebuild_request
from harness.verify.judging.rerender import judge_rerendering, make_profile
from harness.verify.read_files import read_recording
from harness.world.route import Turn
from harness.world.world import World
from tests.support.command_line import run_cli
from tests.support.recordings import HI, recorded, write_jsonl
from tests.support.schemas import assert_conforms
from tests.support.slow import slow_except_every
from tests.support.streams import ITEMS
from tests.support.tools import functions

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


def rerendered(tmp_path: Path, *exchanges: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Return the verdicts, None for a stream that is told alike."""
    return [
        verdict.entry
        for recorded in read_recording(write_jsonl(tmp_path, exchanges))
        for verdict in judge_rerendering(recorded)
    ]


def difference(tmp_path: Path, one: dict[str, Any]) -> tuple[str, str, str]:
    """Return the only difference of an exchange: where, what was recorded, what the mock says."""
    (entry,) = rerendered(tmp_path, one)
    assert entry is not None
    return entry["at"], entry["recorded"], entry["mock"]


def numbered(made: dict[str, Any]) -> dict[str, Any]:
    """Return a recording whose events have numbers that rise."""
    for number, event in enumerate(made["events"]):
        event["data"]["sequence_number"] = number
    return made


def changed(made: dict[str, Any], place: int, **members: Any) -> dict[str, Any]:
    made = deepcopy(made)
    made["events"][place]["data"].update(members)
    return made


CUSTOM = {"type": "custom", "name": "c"}
SEARCHING = {"model": "gpt-5.6-sol", "include": ["web_search_call.action.sources", "reasoning.encrypted_content"]}
ASKED = {
    "plainly": {},
    "in the background": {"background": True},
    "without obfuscation": {"stream_options": {"include_obfuscation": False}},
    "with tools": {"tools": [*functions("f"), CUSTOM], "tool_choice": "required", "model": "gpt-5.6-sol"},
    "to be stored nowhere": {**SEARCHING, "store": False},
    "with words of its own": {"text": {"verbosity": "low"}, "metadata": {"a": "b"}, "model": "gpt-5.6-sol"},
    "with limits": {"max_output_tokens": 500, "truncation": "auto", "user": "u", "prompt_cache_key": "k"},
    "with an effort": {"reasoning": {"effort": "low", "summary": "auto"}, "model": "gpt-5.6-sol"},
    "unseen": None,
}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("turn", slow_except_every(3, TURNS))
def test_what_the_mock_streams_it_streams_again(tmp_path: Path, turn: Turn, asked: dict[str, Any] | None) -> None:
    unknown = {} if asked is not None else {"request": None, "no_request": True}
    assert rerendered(tmp_path, {**stream(turn, **(asked or {})), **unknown}) == [None]


@given(turn=st.lists(ITEMS, min_size=1, max_size=3), streams=st.booleans(), known=st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_every_output_renders_as_it_was_recorded(tmp_path: Path, turn: list[Item], streams: bool, known: bool) -> None:
    (made,) = recorded({**HI, "stream": streams}, turns=[turn])
    assert rerendered(tmp_path, made | ({} if known else {"request": None, "no_request": True})) == [None]


def test_the_cut_of_texts_and_what_comes_when_it_likes_do_not_matter(tmp_path: Path) -> None:
    made = stream(message(["Hel", "lo"]))
    one, two = made["events"][4:6]
    merged = {**one["data"], "delta": "Hello", "obfuscation": ""}
    keepalive = {"type": "keepalive", "sequence_number": 0}
    made["events"][4:6] = [{"event": merged["type"], "data": merged}, {"event": "keepalive", "data": keepalive}]
    assert two["data"]["delta"] == "lo"
    assert rerendered(tmp_path, numbered(made)) == [None]


def test_an_annotation_may_come_later_than_ours(tmp_path: Path) -> None:
    note = url_citation("https://e.org", "E", cite="See")
    made = stream(message(["See", " a page."], annotations=[note]))
    events = made["events"]
    at = next(n for n, event in enumerate(events) if event["event"].endswith("annotation.added"))
    events[at], events[at + 1] = events[at + 1], events[at]
    assert rerendered(tmp_path, numbered(made)) == [None]


def test_an_incomplete_response_may_lack_parts_of_a_summary(tmp_path: Path) -> None:
    made = stream([reasoning(["One"]), message("Once upon"), incomplete()], **SEARCHING)
    made["events"] = [event for event in made["events"] if event["event"] != "response.reasoning_summary_text.delta"]
    assert rerendered(tmp_path, numbered(made)) == [None]


def of_today(made: dict[str, Any], **response: Any) -> dict[str, Any]:
    """Return a recording of these days, whose `response.created` has other members: `gone` stands for an absent member."""
    merged = {**made["events"][0]["data"]["response"], **response}
    members = {name: value for name, value in merged.items() if value != "gone"}
    return {**changed(made, 0, response=members), "recorded_at": "2026-10-01"}


SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
JSON_ASKED = {"format": {"type": "json_schema", "name": "out", "schema": SCHEMA}}


class TestADifference:
    def test_a_difference_is_named_with_its_place_and_both_sides(self, tmp_path: Path) -> None:
        assert rerendered(tmp_path, of_today(stream(message("Hi.")), temperature=0.3)) == [
            {
                "id": "project/tape.jsonl#1",
                "at": "events[0]",
                "recorded": "response.created: response.temperature 0.3",
                "mock": "response.created: response.temperature 1.0",
            }
        ]

    def test_a_difference_is_reported_once_for_all_events_with_a_response(self, tmp_path: Path) -> None:
        made = stream(message("Hi."))
        for event in made["events"]:
            if response := event["data"].get("response"):
                response["truncation"] = "auto"
        assert difference(tmp_path, of_today(made))[2] == "response.created: response.truncation 'disabled'"

    def test_a_difference_is_an_event_more_or_less(self, tmp_path: Path) -> None:
        made = {**stream(message("Hi."), background=True), "request": ASK, "recorded_at": "2026-01-01"}
        assert difference(tmp_path, made) == ("events[1]", "response.queued", "response.in_progress")

    def test_a_difference_is_a_member_of_a_response_that_is_not_there(self, tmp_path: Path) -> None:
        _, was, now = difference(tmp_path, of_today(stream(message("Hi.")), user="gone"))
        assert (was, now) == ("response.created: no response.user", "response.created: response.user None")

    def test_a_member_that_no_schema_knows_is_no_difference(self, tmp_path: Path) -> None:
        made = stream(function_call("f", "{}"))
        assert rerendered(tmp_path, of_today(made, mood="good"), changed(made, 5, colour="blue")) == [None, None]

    def test_a_stream_that_is_not_the_apis_has_no_difference(self, tmp_path: Path) -> None:
        made = stream(function_call("f", "{}"))
        item = made["events"][2]["data"]["item"]
        assert rerendered(tmp_path, changed(made, 2, item={**item, "mood": "good"})) == []

    @pytest.mark.parametrize(
        ("members", "day", "differs"),
        [
            ({"tool_usage": "gone"}, "2026-06-01", False),
            ({"tool_usage": "gone"}, "2026-07-01", True),
            ({"temperature": 0.3}, "2026-03-01", False),
        ],
        ids=["a member that came later", "a member that was there", "a value from before the API answered so"],
    )
    def test_a_recording_is_compared_with_what_the_api_answered_then(self, tmp_path, members, day, differs) -> None:
        old = of_today(stream(message("Hi.")), **members)
        assert (rerendered(tmp_path, {**old, "recorded_at": day}) != [None]) is differs

    def test_a_difference_is_a_script_that_the_request_does_not_allow(self, tmp_path: Path) -> None:
        made = stream(message("Hi."))
        made["request"]["text"] = JSON_ASKED
        at, _, now = difference(tmp_path, made)
        assert at == f"events[{len(made['events']) - 1}]"
        assert "is not what text.format (out) asks for" in now

    def test_what_the_api_announces_in_one_way_or_another_is_no_difference(self, tmp_path: Path) -> None:
        made = stream(message(["Hi."]))
        item = made["events"][2]["data"]["item"]
        assert rerendered(tmp_path, changed(made, 2, item={**item, "status": "completed"})) == [None]


TODAY = "2026-10-01"


def answer(request: dict[str, Any] = HI, turn: Turn | None = None, **members: Any) -> dict[str, Any]:
    """Return an answer as JSON, of these days, with other members: `gone` stands for an absent member."""
    (made,) = recorded(request, turns=[turn or message("Hi.")])
    answer_body = {name: value for name, value in (made["response"] | members).items() if value != "gone"}
    return {**made, "response": answer_body, "recorded_at": TODAY}


SAME, NOT_COMPARED = [None], []
IN_JSON = [asked for asked in ASKED.values() if asked is not None and "stream_options" not in asked]


class TestAnAnswer:
    @pytest.mark.parametrize("asked", IN_JSON)
    @pytest.mark.parametrize("turn", TURNS[:-3])
    def test_an_answer_is_reported_again(self, tmp_path: Path, turn: Turn, asked: dict[str, Any]) -> None:
        assert rerendered(tmp_path, answer({**HI, **asked}, turn=turn)) == [None]

    @pytest.mark.parametrize(
        ("members", "at", "sides"),
        [
            ({"temperature": 0.5}, "temperature", ("0.5", "1.0")),
            ({"parallel_tool_calls": 1}, "parallel_tool_calls", ("1", "True")),
            ({"tools": [{"type": "apply_patch"}]}, "tools", ("[{'type': 'apply_patch'}]", "[]")),
            ({"text": {"format": {"type": "text"}}}, "text.verbosity", ("absent", "'medium'")),
            ({"metadata": {"a": "b"}}, "metadata.a", ("'b'", "absent")),
            ({"usage": None}, "usage", ("'null'", "'an object'")),
            ({"billing": "gone"}, "billing", ("absent", "'…'")),
            ({"agent": None}, "agent", ("None", "absent")),
        ],
    )
    def test_differs_in_a_place(self, tmp_path: Path, members: Any, at: str, sides: tuple[str, str]) -> None:
        found = rerendered(tmp_path, answer(**members))
        assert found == [{"id": "project/tape.jsonl#1", "at": at, "recorded": sides[0], "mock": sides[1]}]

    def test_differs_in_each_place(self, tmp_path: Path) -> None:
        found = rerendered(tmp_path, answer(temperature=0.5, truncation="auto"))
        assert [entry and entry["at"] for entry in found] == ["temperature", "truncation"]

    def test_differs_in_an_item(self, tmp_path: Path) -> None:
        made = answer(turn=web_search_call("rain"))
        made["response"]["output"][0]["action"]["sources"] = []
        at, _, now = difference(tmp_path, made)
        assert (at, now) == ("output[0].action.sources", "absent")

    @pytest.mark.parametrize(
        ("members", "found"),
        [
            ({"id": "resp_2", "created_at": 5, "completed_at": 7, "model": "gpt-4.1-2026-01-01"}, SAME),
            ({"service_tier": "priority", "prompt_cache_retention": "24h", "store": False}, SAME),
            ({"access_programs": {"cyber": "standard"}}, SAME),
            ({"mood": "good"}, SAME),
            ({"output": [{"type": "mood", "id": "mood_1"}]}, NOT_COMPARED),
            ({"output": []}, NOT_COMPARED),
            ({"output": None}, NOT_COMPARED),
            (
                {"output": [{"id": "ws_1", "type": "web_search_call", "status": "completed", "action": "x"}]},
                NOT_COMPARED,
            ),
            ({"id": 3}, NOT_COMPARED),
            ({"status": "done"}, NOT_COMPARED),
        ],
    )
    def test_what_others_choose_or_no_schema_knows_may_differ_and_what_does_not_conform_is_not_compared(
        self, tmp_path, members, found
    ):
        assert rerendered(tmp_path, answer(**members)) == found

    def test_differs_in_what_was_requested_whoever_chooses_it_otherwise(self, tmp_path: Path) -> None:
        made = answer({**HI, "store": True}, store=False)
        assert difference(tmp_path, made) == ("store", "False", "True")

    def test_differs_in_the_defaults_of_known_models_only(self, tmp_path: Path) -> None:
        ours = {**HI, "model": "ft:gpt-4.1:acme::1"}
        assert rerendered(tmp_path, answer(ours, top_p=0.9)) == [None]
        assert rerendered(tmp_path, answer({**ours, "top_p": 0.5}, top_p=0.9)) != [None]
        assert rerendered(tmp_path, answer(ours, truncation="auto")) != [None]

    def test_an_answer_may_have_what_a_prompt_brings(self, tmp_path: Path) -> None:
        request = {"prompt": {"id": "pmpt_1"}}
        made = {**answer(), "request": request}
        made["response"] |= {"prompt": {"id": "pmpt_1", "variables": {}, "version": "1"}, "instructions": "Be kind."}
        assert rerendered(tmp_path, made) == [None]

    def test_an_answer_may_have_tools_that_were_loaded_before_the_recording_began(self, tmp_path: Path) -> None:
        tools = [{"type": "namespace", "name": "n", "description": "d", "tools": []}]
        for before in ({"previous_response_id": "resp_0"}, {"conversation": {"id": "conv_0"}}):
            made = {**answer(tools=tools, **before), "request": {**HI, **before}}
            assert rerendered(tmp_path, made) == [None]

    def test_an_answer_is_no_stream(self, tmp_path: Path) -> None:
        made = {**answer(), "request": {**HI, "stream": True}}
        assert difference(tmp_path, made) == ("answer", "JSON", "a stream")

    def test_an_answer_is_compared_while_it_is_under_way(self, tmp_path: Path) -> None:
        request = {**HI, "background": True}
        assert rerendered(tmp_path, answer(request)) == [None]
        assert rerendered(tmp_path, answer(request, truncation="auto")) != [None]

    def test_an_answer_that_the_request_does_not_allow_differs(self, tmp_path: Path) -> None:
        assert difference(tmp_path, {**answer(), "request": {**HI, "text": JSON_ASKED}})[:2] == ("output", "completed")

    def test_an_answer_that_was_published_and_not_recorded_is_not_compared(self, tmp_path: Path) -> None:
        assert rerendered(tmp_path, {**answer(), "transcribed": True}) == []


def test_a_whole_stream_is_compared_though_its_long_values_are_cut(tmp_path: Path) -> None:
    assert rerendered(tmp_path, {**stream(message("Hi.")), "cut": True}) == [None]


def test_what_is_no_whole_stream_of_a_new_response_is_not_compared(tmp_path: Path) -> None:
    made = stream(message("Hi."))
    cut = {**made, "events": made["events"][:-1]}
    unknown = deepcopy(made)
    for event in unknown["events"]:
        for item in (event["data"].get("item"), *(event["data"].get("response") or {}).get("output", ())):
            if item:
                item["type"] = "mood"
    read_back = {**made, "method": "GET", "url_path": "/v1/responses/resp_1"}
    (refused,) = recorded({**HI, "input": 3})
    assert rerendered(tmp_path, cut, unknown, read_back, refused) == []


class TestVerify:
    def test_compares_only_when_asked(self, tmp_path: Path) -> None:
        file = write_jsonl(tmp_path, [stream(message("Hi."))])
        tally = verify_recordings([file], tmp_path)
        with (tmp_path / "report").open("wb") as out:
            output.write_json(tally, out)
        assert "respelled" not in json.loads((tmp_path / "report").read_text())
        assert "respelled" not in run_cli("verify", file).stdout

    def test_tells_what_is_the_same_and_what_differs(self, tmp_path: Path) -> None:
        made = stream(function_call("f", "{}"))
        file = write_jsonl(tmp_path, [made, of_today(made, temperature=0.3)])
        result = run_cli("verify", "--respell", file)
        assert result.exit_code == 1
        row = next(line.split() for line in result.stdout.splitlines() if line.startswith("respelled "))
        assert row[:4] == ["respelled", "2", "1", "1"]
        assert "  recorded  response.created: response.temperature 0.3" in result.stdout
        run_cli("verify", "--respell", file, "--json", tmp_path / "said")
        answer_body = json.loads((tmp_path / "said").read_text())
        assert_conforms(answer_body, "verify")
        assert answer_body["respelled"]["same"] == 1
        assert [entry["at"] for entry in answer_body["respelled"]["different"]] == ["events[0]"]


@pytest.mark.parametrize(("day", "may_lack"), [("2026-06-23", True), ("2026-06-24", False)])
def test_a_recording_has_a_member_from_the_day_on_that_brought_it(tmp_path: Path, day: str, may_lack: bool) -> None:
    (one,) = read_recording(write_jsonl(tmp_path, recorded(HI)))
    profile = make_profile(one._replace(date=f"{day}T10:00:00Z"), rebuild_request(one)[1], World())
    assert profile.is_optional("web_search", "search_content_types") is may_lack
