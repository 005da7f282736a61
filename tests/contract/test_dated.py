"""Rules and members that are true for a time: each World has the contract of its day."""

from collections.abc import Iterator
from typing import Any

import pytest

from harness.contract import schema
from harness.contract.call import WorldCall
from harness.contract.check import check, check_answer
from harness.contract.ordered_validator import find_unknown_members
from harness.contract.rule import RULES, Case, reported, rule
from harness.core.dates import CONTRACT_DATE
from harness.core.errors import ApiError, ConfigError
from harness.core.exchange import Request
from harness.verify.examples import play_case
from harness.world.world import CLOCK_START, World, WorldOptions
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
    found = check(WorldCall(request._replace(body=body), World(options=WorldOptions(as_of=as_of)))).violation
    return "" if found is None or found.rule.error.status == 404 else found.rule.id


FIRST_VERSION = ASSISTANT._replace(headers={**ASSISTANT.headers, "openai-beta": "assistants=v1"})
RESPONSE = Request("POST", "/responses", RUN.headers, operation="POST /responses", schema="CreateResponse")
SHORT = {"assistant_id": "asst_1", "max_completion_tokens": 16}
OLD_TOOLS = {"model": "gpt-4", "tools": [{"type": "retrieval"}]}
CHOSEN = {"model": "gpt-5-nano", "input": "hi", "tool_choice": {"type": "function", "name": "f"}}


@pytest.mark.parametrize(
    ("request_", "body", "rules"),
    [
        (RUN, SHORT, {"2024-04": "", "2024-05": "number_below_minimum", CONTRACT_DATE: "number_below_minimum"}),
        (ASSISTANT, {**OLD_TOOLS, "file_ids": ["file-1"]}, {"2024-12-17": "", "2024-12-18": "unknown_parameter"}),
        (ASSISTANT, OLD_TOOLS, {"2024-12-17": "", "2024-12-18": "invalid_value"}),
        (ASSISTANT, {"model": "m", "metadata": {"a": True}}, {"2024-04-27": "", "2024-04-29": "invalid_type"}),
        (FIRST_VERSION, {"model": "gpt-4"}, {"2024-12-17": "", "2024-12-18": "beta_version_1"}),
        (RESPONSE, CHOSEN, {"2026-04-20": "chosen_tool_without_tools", CONTRACT_DATE: "tool_choice_without_tools"}),
    ],
    ids=["a bound", "a member", "a value", "a type", "a version of the API", "words"],
)
def test_holds_on_its_days_only(request_: Request, body: dict[str, Any], rules: dict[str, str]) -> None:
    assert {day: refusal(request_, day, **body) for day in rules} == rules


def test_an_answer_is_held_against_the_schema_of_its_day() -> None:
    run = {"max_completion_tokens": 16, "file_ids": []}
    assert [member.at for member in find_unknown_members("Run", run, "2024-04-30")] == []
    assert [member.at for member in find_unknown_members("Run", run)] == ["file_ids"]
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


@pytest.fixture
def whisper(registry: None) -> None:
    """A rule that the API had from March to May 2025."""

    def whispered(request: Request) -> Iterator[dict[str, Any]]:
        """An input was to be whispered."""
        if request.body["input"].isupper():
            yield {}

    days = {"since": "2025-03", "until": "2025-05-20"}
    rule(ApiError(400, "Whisper."), reported("a test"), rejects=[{"input": "HI"}], **days)(whispered)


def test_a_rule_refuses_on_its_days_only(whisper: None) -> None:
    days = ("2025-02-28", "2025-03-01", "2025-05-20", "2025-05-21", CONTRACT_DATE)
    said = [refusal(RESPONSE, day, model="gpt-4.1", input="HI") for day in days]
    assert said == ["", "whispered", "whispered", "", ""]


def test_the_examples_of_a_rule_that_is_gone_are_those_of_its_last_day(whisper: None) -> None:
    (case,) = RULES["whispered"].rejects.values()
    assert case.as_of == "2025-05-20"
    assert play_case(case).answer.body["error"]["message"] == "Whisper."
    assert play_case(Case({"input": "HI"})).answer.status == 200


def test_all_evidence_is_older_than_the_contract() -> None:
    dates = {rule.id: source.date for rule in RULES.values() for source in rule.sources}
    dates |= {str(entry): entry.date or "" for entry in schema.load_overlays(schema.schemas_directory())}
    newer = {name: date for name, date in dates.items() if date > CONTRACT_DATE}
    assert not newer, "move CONTRACT_DATE in harness/core/dates.py to the day of the newest evidence"


class TestAWorld:
    def test_lives_on_the_day_of_the_contract(self) -> None:
        assert (World().as_of, World().now) == (CONTRACT_DATE, CLOCK_START)

    def test_a_world_of_another_day_has_its_clock(self) -> None:
        world = World(options=WorldOptions(as_of="2026-03"))
        assert (world.as_of, world.now) == ("2026-03-31", 1_774_958_400)

    @pytest.mark.parametrize("as_of", ["soon", "2026-13"])
    def test_a_world_needs_a_date(self, as_of: str) -> None:
        with pytest.raises(ConfigError, match="as_of: "):
            World(options=WorldOptions(as_of=as_of))
