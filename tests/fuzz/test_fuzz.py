"""Wrong requests never take the mock down: 4,000 others each day with `-m slow`, any number by hand.

python -m tests.fuzz -n 1000000
"""

import re
from collections.abc import Callable, Iterator

import pytest

from harness.core.exchange import Answer, Request
from harness.server.mock_api import MockApi
from tests.fuzz.__main__ import main
from tests.fuzz.checks import changes, complaints, is_place
from tests.fuzz.runs import Found, kept, replay, run
from tests.fuzz.sent import Sent, Stand
from tests.fuzz.stands import stands
from tests.support.seed import REPEAT, TODAY

KEPT = kept()


@pytest.mark.parametrize("found", KEPT, ids=[f"{place}: {case.kind[:60]}" for place, case in enumerate(KEPT)])
def test_what_was_found_is_mended(found: Found) -> None:
    assert replay(stands()[found.stand](), found.sent) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_thousands_of_wrong_requests_are_answered_as_they_must_be() -> None:
    assert [*run(seed=TODAY, count=4_000)] == [], REPEAT


@pytest.mark.slow
def test_a_seed_makes_the_same_requests_again(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[list[Sent]] = [[], []]
    for into in sent:
        monkeypatch.setattr("tests.fuzz.runs.complaints", lambda stand, one, into=into: into.append(one) or [])
        assert [*run(seed=3, count=40)] == []
    assert sent[0] == sent[1]
    assert len({(request.path, request.body) for request in sent[0]}) > 20


class TestACheck:
    GOOD = Sent("POST", "/v1/responses", b'{"model": "gpt-4.1", "input": "hi"}')

    def said(self, monkeypatch: pytest.MonkeyPatch, answer: Answer | Exception) -> list[str]:
        """Return the complaints about an answer."""

        def handle(*request: object) -> Answer:
            if isinstance(answer, Exception):
                raise answer
            return answer

        api = MockApi()
        monkeypatch.setattr(api, "handle", handle)
        return complaints(Stand(api, [self.GOOD]), self.GOOD)

    def test_a_check_sees_an_exception(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.said(monkeypatch, KeyError("name")) == ["exception: KeyError: 'name'"]

    def test_a_check_sees_an_internal_418_but_not_one_about_a_script(self, monkeypatch: pytest.MonkeyPatch) -> None:
        text = "POST /responses: f (/harness/a.py:1) raised KeyError: 'x'"
        assert self.said(monkeypatch, Answer(418, {"error": {"message": text}})) == [f"internal: {text}"]
        assert self.said(monkeypatch, Answer(418, {"error": {"message": "no turn"}})) == []

    def test_a_check_sees_a_malformed_error_and_one_of_no_rule(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.said(monkeypatch, Answer(400, {"error": {"message": "No."}})) == ["malformed: 400 of rule None"]
        said = self.said(monkeypatch, Answer(400, {"error": {"message": "No."}}, rule="input_empty"))
        assert said == ["malformed: {'error': {'message': 'No.'}}"]

    def test_a_check_sees_a_body_that_is_no_json_and_a_header_that_is_no_header(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (said,) = self.said(monkeypatch, Answer(200, {"a": object()}))
        assert said.startswith("unserializable: ")
        assert self.said(monkeypatch, Answer(200, {}, {"x-a": "a\nb"})) == ["header: x-a: 'a\\nb'"]

    def test_a_check_sees_what_a_request_costs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tests.support.cpu_time.time.thread_time", iter([0.0, 0.3]).__next__)
        assert self.said(monkeypatch, Answer(200, {})) == ["cost: 300 ms"]

    def test_a_check_sees_a_refusal_that_changes_the_world(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stand = stands()["samples"]()
        refused = Sent("POST", "/v1/responses", b'{"model": "gpt-4.1", "input": []}')
        handle = stand.api.handle

        def leak(*request: object) -> Answer:
            stand.world.store.items["msg_1"] = {}
            return handle(*request)  # type: ignore[arg-type]

        assert complaints(stand, refused) == []
        monkeypatch.setattr(stand.api, "handle", leak)
        (said,) = complaints(stand, refused)
        assert said.startswith("state: ")
        assert said.endswith(" changed items")

    @pytest.mark.parametrize(
        ("param", "is_there"),
        [
            ("input", True),
            ("tools", True),
            ("limit", True),
            ("response_id", True),
            ("zzz", False),
            ("", False),
            ("/", True),
            ("/metadata", True),
            ("/tools", False),
            ("input[0].role", True),
            ("input[0].zzz", True),
            ("input[1].zzz", False),
            ("input[0].zzz.a", False),
            ("metadata.a.b", True),
            ("text.format.name", False),
        ],
    )
    def test_a_check_knows_whether_a_param_exists(self, param: str, is_there: bool) -> None:
        sent = Request(
            "POST",
            "/responses",
            query={"limit": "1"},
            params={"response_id": "resp_1"},
            body={"input": [{"role": "user"}], "metadata": {"a.b": 1}},
            operation="POST /responses",
            schema="CreateResponse",
        )
        assert is_place(param, sent) is is_there

    def test_a_listed_file_may_be_made_but_not_changed(self) -> None:
        before = {"files": {"file-a": "1"}, "items": {}}
        assert changes(before, {"files": {"file-a": "1", "file-b": "1"}, "items": {}}, {"file-a", "file-b"}) == []
        assert changes(before, {"files": {"file-a": "2"}, "items": {}}, {"file-a"}) == ["files"]
        assert changes(before, {"files": {}, "items": {"file-b": "1"}}, {"file-b"}) == ["files", "items"]


class TestARun:
    def test_a_run_in_chunks_makes_the_later_ones_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tests.fuzz.runs.CHUNK", 16)
        sent: list[Sent] = []
        monkeypatch.setattr("tests.fuzz.runs.complaints", lambda stand, one: sent.append(one) or [])
        told: list[int] = []
        assert [*run(seed=3, count=32, tell=told.append)] == []
        assert told == [8, 16, 24, 32]
        first, second = sent[:16], sent[16:]
        assert first != second
        sent.clear()
        assert [*run(seed=3, count=32)] == []
        assert sent == first + second

    def test_a_run_says_how_far_it_is_and_what_was_done_when_it_is_stopped(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def stopped(seed: int, count: int, more: object, tell: Callable[[int], None]) -> Iterator[Found]:
            tell(8)
            yield Found("samples", [TestACheck.GOOD], "cost: 300 ms")
            raise KeyboardInterrupt

        monkeypatch.setattr("tests.fuzz.__main__.LOG_SECONDS", 0.0)
        monkeypatch.setattr("tests.fuzz.__main__.run", stopped)
        assert main(["-n", "80", "--seed", "4", "--recordings"]) == 1
        said = capsys.readouterr()
        assert said.err == "8 of 80 requests, 0 min left\n"
        assert said.out.splitlines()[0] == "cost: 300 ms"
        assert re.fullmatch(r"stopped: 8 requests of seed 4, \d s: 1 kinds of complaint", said.out.splitlines()[-1])
