"""Rules and members that are true for a time: each World has the contract of its day."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.contract import schema
from harness.contract.check import check, check_answer
from harness.contract.rule import RULES, Case, reported, rule
from harness.contract.rule_plan import forget_plans
from harness.contract.unknown_members import find_unknown_members
from harness.core.dates import CONTRACT_DATE
from harness.core.errors import ApiError, ConfigError, RegistrationError
from harness.core.exchange import Request
from harness.verify.examples import play_case
from harness.world.options import WorldOptions
from harness.world.world import CLOCK_START, World
from tests.support.slow import slow_except_every

RUN = Request(
    "POST",
    "/threads/thread_1/runs",
    {"authorization": "Bearer sk-x", "content-type": "application/json", "openai-beta": "assistants=v2"},
    operation="POST /threads/{thread_id}/runs",
    params={"thread_id": "thread_1"},
    schema="CreateRun",
)
ASSISTANT = RUN._replace(path="/assistants", operation="POST /assistants", params={}, schema="CreateAssistant")


def refusal(request: Request, as_of: str, **body: Any) -> str:
    """Return the rule that refuses a body on a day; a missing object is no matter of dates."""
    found = check(request._replace(body=body), World(options=WorldOptions(as_of=as_of)))
    return "" if found is None or found.rule.error.status == 404 else found.rule.id


def test_a_bound_holds_from_its_day_on() -> None:
    body = {"assistant_id": "asst_1", "max_completion_tokens": 16}
    assert refusal(RUN, "2024-04", **body) == ""
    assert refusal(RUN, "2024-05", **body) == "number_below_minimum"
    assert refusal(RUN, CONTRACT_DATE, **body) == "number_below_minimum"


def test_a_member_and_a_value_are_known_up_to_their_day() -> None:
    body = {"model": "gpt-4", "file_ids": ["file-1"], "tools": [{"type": "retrieval"}]}
    assert refusal(ASSISTANT, "2024-12-17", **body) == ""
    assert refusal(ASSISTANT, "2024-12-18", **body) == "unknown_parameter"
    assert refusal(ASSISTANT, "2024-12-18", model="gpt-4", tools=[{"type": "retrieval"}]) == "invalid_value"


def test_metadata_of_version_1_took_what_is_no_text() -> None:
    body = {"model": "gpt-4", "metadata": {"modified": True}}
    assert refusal(ASSISTANT, "2024-04-27", **body) == ""
    found = check(ASSISTANT._replace(body=body), World(options=WorldOptions(as_of="2024-04-29")))
    assert found is not None
    assert found.error.message == "Invalid type for 'metadata.modified': expected a string, but got a boolean instead."
    assert (found.error.param, found.error.code) == ("metadata.modified", "invalid_type")


def test_a_chosen_tool_was_named_by_its_type_until_its_name_was_said() -> None:
    body = {"model": "gpt-5-nano", "input": "hi", "tool_choice": {"type": "function", "name": "f"}}
    request = RUN._replace(
        path="/responses", operation="POST /responses", params={}, schema="CreateResponse", body=body
    )
    words = []
    for day in ("2026-01-19", "2026-04-20", "2026-10-07"):
        found = check(request, World(options=WorldOptions(as_of=day)))
        assert found is not None
        words.append((found.error.message, found.error.param, found.error.code))
    before = ("Tool choice 'function' not found in 'tools' parameter.", "tool_choice", None)
    assert words == [before, before, ("Tool choice 'f' must be specified with 'tools' parameter.", "tool_choice", None)]


def test_a_version_of_the_api_ends_on_its_day() -> None:
    first = ASSISTANT._replace(headers={**ASSISTANT.headers, "openai-beta": "assistants=v1"})
    assert refusal(first, "2024-12-17", model="gpt-4") == ""
    assert refusal(first, "2024-12-18", model="gpt-4") == "beta_version_1"


def test_an_answer_is_held_against_the_schema_of_its_day() -> None:
    run = {"max_completion_tokens": 16, "file_ids": []}
    assert [each.at for each in find_unknown_members("Run", run, "2024-04-30")] == []
    assert [each.at for each in find_unknown_members("Run", run)] == ["file_ids"]
    known = {"id": "asst_1", "object": "assistant", "created_at": 0, "model": "gpt-4", "tools": [{"type": "retrieval"}]}
    assert check_answer("Assistant", known, "2024-12-17") is None
    assert check_answer("Assistant", known) is not None


def test_schemas_are_compiled_once_for_the_days_between_two_changes() -> None:
    assert schema.validator("CreateRun", "2024-01-01") is schema.validator("CreateRun", "2024-04-28")
    assert schema.validator("CreateRun", "2024-05-01") is not schema.validator("CreateRun", "2024-04-30")
    assert schema.validator("CreateRun", CONTRACT_DATE) is schema.validator("CreateRun")
    assert schema.validator("CreateVectorStore", "2024-01-01") is schema.validator("CreateVectorStore")


@pytest.mark.parametrize("root", slow_except_every(6, schema.root_names(schema.schemas_directory())))
def test_every_schema_fits_its_overlays_on_every_day(root: str) -> None:
    for day in ("", *schema.changes_of(root)):
        assert schema.load(root, day)


def test_an_overlay_says_when_it_is_valid(tmp_path: Path) -> None:
    place = tmp_path / "schemas"
    (place / "openai").mkdir(parents=True)
    (place / "overlays").mkdir()
    (place / "openai" / "Tool.json").write_text(json.dumps({"type": "object", "properties": {"name": {}}}))
    entry = {"at": "Tool", "source": "a test", "level": "recorded"}
    entries = [
        {**entry, "members": {"old": {}}, "until": "2025-07"},
        {**entry, "members": {"new": {}}, "since": "2026-01-15"},
    ]
    (place / "overlays" / "1.yaml").write_text(json.dumps(entries))
    overlays = schema.load_overlays(place)
    names = [
        list(schema.read_schema(place, "Tool", overlays, day)["properties"])
        for day in ("2025-07-31", "2025-08-01", "2026-01-15")
    ]
    assert names == [["name", "old"], ["name"], ["name", "new"]]


@pytest.fixture
def whisper() -> Iterator[None]:
    """A rule that the API had from March to May 2025."""

    def whispered(request: Request) -> Iterator[dict[str, Any]]:
        """An input was to be whispered."""
        if request.body["input"].isupper():
            yield {}

    before = dict(RULES)
    said: Any = {"error": ApiError(400, "Whisper."), "source": reported("a test")}
    rule(**said, rejects=[{"input": "HI"}], since="2025-03", until="2025-05-20")(whispered)
    yield
    RULES.clear()
    RULES.update(before)
    forget_plans()


def test_a_rule_refuses_on_its_days_only(whisper: None) -> None:
    forget_plans()
    asked = Request("POST", "/responses", RUN.headers, operation="POST /responses", schema="CreateResponse")
    days = ("2025-02-28", "2025-03-01", "2025-05-20", "2025-05-21", CONTRACT_DATE)
    assert [refusal(asked, day, model="gpt-4.1", input="HI") for day in days] == ["", "whispered", "whispered", "", ""]


def test_the_examples_of_a_rule_that_is_gone_are_those_of_its_last_day(whisper: None) -> None:
    (case,) = RULES["whispered"].rejects.values()
    assert case.as_of == "2025-05-20"
    assert play_case(case).answer.body["error"]["message"] == "Whisper."
    assert play_case(Case({"input": "HI"})).answer.status == 200


def test_a_rule_does_not_begin_after_the_day_of_the_contract() -> None:
    said: Any = {"error": ApiError(400, "No."), "source": reported("a test"), "rejects": [{}]}

    def early(request: Request) -> Iterator[dict[str, Any]]:
        """Too early."""
        yield {}

    with pytest.raises(
        RegistrationError, match=r"begins on 2999-01, after the day of the contract: move CONTRACT_DATE"
    ):
        rule(**said, since="2999-01")(early)


def test_all_evidence_is_older_than_the_contract() -> None:
    newer = [
        (each.id, source.date) for each in RULES.values() for source in each.sources if source.date > CONTRACT_DATE
    ]
    newer += [
        (str(each), each.date)
        for each in schema.load_overlays(schema.schemas_directory())
        if (each.date or "") > CONTRACT_DATE
    ]
    assert not newer, "move CONTRACT_DATE in harness/core/dates.py to the day of the newest evidence"


class TestAWorld:
    def test_lives_on_the_day_of_the_contract(self) -> None:
        assert (World().as_of, World().now) == (CONTRACT_DATE, CLOCK_START)

    def test_of_another_day_has_its_clock(self) -> None:
        world = World(options=WorldOptions(as_of="2026-03"))
        assert (world.as_of, world.now) == ("2026-03-31", 1_774_958_400)

    @pytest.mark.parametrize("as_of", ["soon", "2999-01"])
    def test_needs_a_date_of_the_past(self, as_of: str) -> None:
        with pytest.raises(ConfigError, match="as_of: "):
            World(options=WorldOptions(as_of=as_of))
