"""What a recording cannot show is `unverifiable`, with the reason; what it shows is judged."""

from pathlib import Path
from typing import Any

import pytest

from harness.items import message
from harness.verify import judge_files
from harness.verify.judging import unverifiable
from harness.verify.judging.unverifiable import MADE_UP
from tests.support.recordings import HI, OUTPUT, error, exchange, judge, recorded

RESPONSE = "/v1/responses/{}"


def background(status: str) -> dict[str, Any]:
    """Return a recorded background response, as it is at first."""
    (one,) = recorded({**HI, "background": True})
    one["response"]["status"] = status
    return one


def then(one: dict[str, Any], method: str, path: str, status: int, answer: Any, **more: Any) -> dict[str, Any]:
    """Return what was asked next of the response that an exchange made."""
    place = RESPONSE.format(one["response"]["id"]) + path
    return {**exchange(2, None, status, answer), "method": method, "url_path": place, **more}


def to_foundry(request: dict[str, Any]) -> dict[str, Any]:
    """Return an exchange with a project of Foundry, which took the request."""
    (one,) = recorded(HI)
    return {**one, "request": request, "provider": "foundry", "url_path": "/api/projects/p/openai/v1/responses"}


def why(folder: Path, *exchanges: dict[str, Any], kind: str = "refusals") -> dict[str, int]:
    """Tell why nothing is said of what; of refusals also how many are missed, if some are."""
    report = judge(folder, list(exchanges))[kind]
    missed = {"missed": len(report["missed"])} if report.get("missed") else {}
    return {**missed, **report["unverifiable_why"]}


class TestInTheBackground:
    ENDED = error("Cannot cancel a completed response.", param="response_id")

    def test_it_may_end_unseen(self, tmp_path: Path) -> None:
        one = background("queued")
        assert why(tmp_path, one, then(one, "POST", "/cancel", 400, self.ENDED)) == {unverifiable.ENDED_UNSEEN: 1}

    @pytest.mark.parametrize(("input", "reasons"), [("hi", {}), ([OUTPUT], {unverifiable.ENDED_UNSEEN: 1})])
    def test_it_may_have_called_functions_unseen(self, tmp_path: Path, input: Any, reasons: dict[str, int]) -> None:
        one, later = background("queued"), recorded(HI)[0]
        later["request"] = {**HI, "input": input, "previous_response_id": one["response"]["id"]}
        assert why(tmp_path, one, later, kind="requests") == reasons

    def test_once_it_is_seen_to_have_ended_the_words_are_known(self, tmp_path: Path) -> None:
        one = background("queued")
        done = {**one["response"], "status": "completed"}
        report = judge(tmp_path, [one, then(one, "GET", "", 200, done), then(one, "POST", "/cancel", 400, self.ENDED)])
        assert report["refusals"]["same"] == 1

    def test_what_is_deleted_is_gone(self, tmp_path: Path) -> None:
        (one,) = recorded(HI)
        id = one["response"]["id"]
        deleted = {"id": id, "object": "response", "deleted": True}
        gone = error(f"Response with id '{id}' not found.")
        report = judge(tmp_path, [one, then(one, "DELETE", "", 200, deleted), then(one, "GET", "", 404, gone)])
        assert report["refusals"]["same"] == 1


class TestAResumedStream:
    def story(self, after: int, first: int | None = None) -> list[dict[str, Any]]:
        """Return a background stream that broke off after `first` events, and its rest."""
        (one,) = recorded({**HI, "background": True, "stream": True}, turns=[message(["a", "b"])])
        events = one["events"]
        id = events[0]["data"]["response"]["id"]
        rest = {**exchange(2, None, 200, None), "method": "GET", "url_path": RESPONSE.format(id)}
        query = {"stream": "true", "starting_after": str(after)}
        cut = {**one, "events": events[:first], "cut": True} if first else one
        return [cut, {**rest, "query": query, "events": events[after + 1 :]}]

    def test_a_resumed_stream_is_read_with_what_came_before(self, tmp_path: Path) -> None:
        assert judge(tmp_path, self.story(3, first=6))["streams"]["conform"] == 2

    def test_a_resumed_stream_must_send_the_rest(self, tmp_path: Path) -> None:
        one, rest = self.story(3, first=6)
        rest["events"][1]["data"]["delta"] = "z"
        (found,) = judge(tmp_path, [one, rest])["streams"]["findings"]
        assert found["at"].startswith("events[")

    def test_a_resumed_stream_has_numbers_that_rise_even_if_the_beginning_is_not_known(self, tmp_path: Path) -> None:
        _, rest = self.story(3)
        assert judge(tmp_path, [rest])["streams"]["conform"] == 1
        del rest["events"][2]
        assert "sequence_number is 7, expected 6" in judge(tmp_path, [rest])["streams"]["findings"][0]["message"]


class TestInputItems:
    LOST = error("Item with id 'msg_x' not found.", param="after")

    def test_input_items_have_ids_that_only_a_list_gives(self, tmp_path: Path) -> None:
        (one,) = recorded(HI)
        page = then(one, "GET", "/input_items", 404, self.LOST, query={"after": "msg_x"})
        assert why(tmp_path, one, page) == {unverifiable.BEGAN_BEFORE: 1}

    def test_input_items_that_are_requested_from_the_beginning_are_there(self, tmp_path: Path) -> None:
        (one,) = recorded(HI)
        assert why(tmp_path, one, then(one, "GET", "/input_items", 400, self.LOST)) == {"missed": 1}


ONE_PART = {"role": "user", "content": [{"type": "input_text", "text": "x"}]}


class TestWhatChanged:
    def test_a_rule_may_be_younger_than_the_recording(self, tmp_path: Path) -> None:
        (one,) = recorded(HI)
        one["request"] = {**HI, "tools": [{"type": "local_shell"}]}
        older = {**one, "recorded_at": "2026-04-30T00:00:00Z"}
        assert judge(tmp_path, [older])["requests"]["accepted"] == 1
        of_the_month = {**one, "recorded_at": "2026-05-09T00:00:00Z"}
        assert list(why(tmp_path, of_the_month, kind="requests")) == ["the API has refused this only since 2026-05"]
        newer = {**one, "recorded_at": "2026-06-01T00:00:00Z"}
        assert judge(tmp_path, [newer])["requests"]["refused"][0]["rule"] == "local_shell_retired"

    def test_the_api_may_no_longer_say_it(self, tmp_path: Path) -> None:
        words = "The file type you uploaded is not supported. Please try again with a pdf"
        old = exchange(1, HI, 400, error(words, param="input", code="unsupported_file"))
        assert why(tmp_path, old) == {"the API answered so until 2025-07": 1}

    @pytest.mark.parametrize(
        ("param", "body", "value", "reason"),
        [
            ("truncation", {"truncation": "auto"}, "auto", unverifiable.ACCEPTED_NOW),
            ("input[0].content[0].type", {"input": [ONE_PART]}, "input_text", unverifiable.ACCEPTED_NOW),
            ("input[0].content[0]", {"input": [ONE_PART]}, "input_text", unverifiable.ACCEPTED_NOW),
            *[(at, {"metadata": {"a": "b"}}, "b", "missed") for at in ("metadata.a", "input[7]", "nowhere", None)],
        ],
    )
    def test_the_api_may_have_come_to_accept_a_value_where_not_all_are_accepted(
        self, tmp_path, param, body, value, reason
    ):
        words = error(f"Invalid value: '{value}'. Supported values are: 'x'.", param=param, code="invalid_value")
        assert why(tmp_path, exchange(1, {**HI, **body}, 400, words)) == {reason: 1}


AGENT = {"agent_reference": {"name": "a", "type": "agent_reference"}}


class TestWhatIsHidden:
    WORDS = "Your input exceeds the context window of this model. Please adjust your input and try again."
    TOO_LONG = error(WORDS, param="input", code="context_length_exceeded")

    @pytest.mark.parametrize(
        ("input", "more", "reasons"),
        [
            ("hi", {"cut": True}, {unverifiable.RECORDING_IS_CUT: 1}),
            ("hi", {}, {"missed": 1}),
            ([{"role": "user", "content": "<LONG_TEXT>"}], {}, {unverifiable.RECORDING_IS_CUT: 1}),
        ],
        ids=["cut", "whole", "a placeholder"],
    )
    def test_a_long_text_may_be_cut(self, tmp_path: Path, input: Any, more: Any, reasons: dict[str, int]) -> None:
        assert why(tmp_path, exchange(1, {**HI, "input": input}, 400, self.TOO_LONG, **more)) == reasons

    def showing(self, url: str) -> dict[str, Any]:
        """Return an exchange whose image the API took."""
        content = [{"type": "input_image", "image_url": url, "detail": "auto"}]
        return {**recorded(HI)[0], "request": {**HI, "input": [{"role": "user", "content": content}]}}

    @pytest.mark.parametrize(
        ("url", "refused"), [("SANITIZED_IMAGE_DATA", 0), ("[REDACTED]", 0), ("an image", 1)], ids=str
    )
    def test_a_masked_image_may_have_been_one_and_a_broken_one_is_judged(self, tmp_path, url: str, refused: int):
        report = judge(tmp_path, [self.showing(url)])["requests"]
        reasons = {} if refused else {unverifiable.RECORDING_IS_CUT: 1}
        assert (len(report["refused"]), report["unverifiable_why"]) == (refused, reasons)

    def test_a_subscription_may_lack_a_tool(self, tmp_path: Path) -> None:
        lacks = error("Tool type 'reminder_preview' is not enabled for this subscription.", param="tools[0].type")
        there = {**to_foundry(HI), "status": 400, "response": lacks}
        assert why(tmp_path, there) == {unverifiable.DEPENDS_ON_ACCOUNT: 1}

    def test_ids_may_be_rewritten(self, tmp_path: Path) -> None:
        (one,) = recorded(HI)
        one["request"] = {**HI, "input": [{**OUTPUT, "id": "REDACTED"}]}
        assert list(why(tmp_path, {**one, "sanitized": True}, kind="requests")) == [unverifiable.IDS_REWRITTEN]

    @pytest.mark.parametrize(("member", "day"), [("agent_reference", "2026-10-01"), ("agent", "2026-02-03")])
    def test_an_agent_of_foundry_under_the_name_of_its_day_brings_its_own_model(self, tmp_path, member: str, day: str):
        there = to_foundry({"input": "hi", member: AGENT["agent_reference"]})
        assert judge(tmp_path, [{**there, "recorded_at": f"{day}T00:00:00Z"}])["requests"]["accepted"] == 1

    @pytest.mark.parametrize(
        ("agent", "reason"), [({}, unverifiable.DEPLOYMENT_HIDES_MODEL), (AGENT, unverifiable.AGENT_HIDES_MODEL)]
    )
    def test_what_is_hidden_on_azure_the_name_of_a_deployment_says_nothing_about_its_model(
        self, tmp_path: Path, agent: dict[str, Any], reason: str
    ) -> None:
        there = to_foundry({**HI, **agent, "reasoning": {"effort": "low"}})
        before = {**there, "recorded_at": "2026-06-20T00:00:00Z"}  # later an agent settles that
        assert why(tmp_path, before, kind="requests") == {reason: 1}

    def test_a_version_in_the_query_may_be_left_out(self, tmp_path: Path) -> None:
        there = {**to_foundry(HI), "url_path": "/openai/responses", "provider": "azure"}
        assert why(tmp_path, there, kind="requests") == {unverifiable.RECORDING_IS_CUT: 1}

    @pytest.mark.parametrize("provider", ["azure", "openai"])
    def test_who_answered_may_be_known_where_the_path_does_not(self, tmp_path: Path, provider: str) -> None:
        there = {**to_foundry({**HI, "model": "claude-sonnet-4-5"}), "url_path": "/v1/responses", "provider": provider}
        assert len(judge(tmp_path, [there])["requests"]["refused"]) == (provider == "openai")


CONVERSATION = {"id": "conv_1", "object": "conversation", "created_at": 1, "metadata": {}}
ITEM = {"id": "msg_1", "type": "message", "role": "user", "status": "completed", "content": []}


class TestAConversation:
    def made(self) -> dict[str, Any]:
        return {**exchange(1, {}, 200, CONVERSATION), "url_path": "/v1/conversations"}

    def on(self, number: int, method: str, path: str, status: int, answer: Any, request: Any = None) -> dict[str, Any]:
        place = f"/v1/conversations/conv_1{path}"
        return {**exchange(number, request, status, answer), "method": method, "url_path": place}

    def test_what_is_added_and_deleted_is_known(self, tmp_path: Path) -> None:
        items = {"items": [{"role": "user", "content": "hi"}]}
        listed = {"object": "list", "data": [ITEM], "first_id": "msg_1", "last_id": "msg_1", "has_more": False}
        added = self.on(2, "POST", "/items", 200, listed, items)
        got = self.on(3, "GET", "/items/msg_1", 200, ITEM)
        deleted = self.on(4, "DELETE", "/items/msg_1", 200, CONVERSATION)
        report = judge(tmp_path, [self.made(), added, got, deleted, {**got, "status": 404, "response": error("x")}])
        assert report["requests"]["accepted"] == 4
        assert report["refusals"]["unverifiable_why"] == {unverifiable.BEGAN_BEFORE: 1}

    def test_what_is_deleted_is_gone(self, tmp_path: Path) -> None:
        gone = {"id": "conv_1", "object": "conversation.deleted", "deleted": True}
        unknown = self.on(3, "GET", "", 404, error("Conversation with id 'conv_1' not found."))
        report = judge(tmp_path, [self.made(), self.on(2, "DELETE", "", 200, gone), unknown])
        assert report["refusals"]["same"] == 1

    def test_an_answer_that_was_not_recorded_leaves_it_partly_unknown(self, tmp_path: Path) -> None:
        one, two = recorded(HI, HI)
        silent = {**one, "request": {**HI, "conversation": "conv_1"}, "response": None}
        later = {**two, "request": {**HI, "conversation": "conv_1", "input": [OUTPUT]}}
        assert why(tmp_path, self.made(), silent, later, kind="requests") == {unverifiable.BEGAN_BEFORE: 1}


def test_a_fault_of_the_harness_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_files, "judge", lambda *_: {}["x"])
    assert "please report it" in judge(tmp_path, recorded(HI))["unreadable"][0]["message"]


MADE = 1_760_000_000
ID = f"resp_{'0' * 18}{MADE:x}{'a' * 24}"
OLD_ID = f"resp_{MADE:x}{'a' * 40}"


def answered(item_id: str = "", recorded_at: str = "2025-10-09T10:00:00Z", **changes: Any) -> dict[str, Any]:
    """Return an exchange whose answer lacks a member that all answers have."""
    (one,) = recorded(HI)
    one["response"] |= {"id": ID, "created_at": MADE, **changes}
    del one["response"]["usage"]["total_tokens"]
    one["response"]["output"][0]["id"] = item_id or one["response"]["output"][0]["id"]
    return {**one, "recorded_at": recorded_at}


@pytest.mark.parametrize(
    ("changes", "made_up"),
    [
        ({}, False),
        ({"id": OLD_ID}, False),
        ({"item_id": "msg_REDACTED_1"}, False),
        ({"created_at": MADE - 3600}, True),
        ({"id": OLD_ID, "created_at": MADE - 3600}, True),
        ({"recorded_at": "2026-03-06T19:22:51+00:00"}, True),
        ({"item_id": "msg_123"}, True),
    ],
    ids=str,
)
def test_an_answer_is_made_up_or_a_finding(tmp_path: Path, changes: dict[str, Any], made_up: bool) -> None:
    report = judge(tmp_path, [answered(**changes)])["answers"]
    assert (len(report["findings"]), report["unverifiable_why"]) == ((0, {MADE_UP: 1}) if made_up else (1, {}))


def test_an_answer_that_conforms_is_good_however_it_was_made(tmp_path: Path) -> None:
    one = recorded(HI)[0]
    one["response"]["output"][0]["id"] = "msg_123"
    assert judge(tmp_path, [one])["answers"]["conform"] == 1
