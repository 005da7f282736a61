"""A recorder that judges what passes: the request before it is sent, the live answer against what the mock would say."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from websockets.sync.client import connect

from harness.api.http.dialects import parse_upstream
from harness.cassettes.format.interaction import Interaction
from harness.items import message
from harness.server.mock_api import MockApi
from harness.verify.judge_files import RecordingJudge, Tally
from tests.support.recordings import recorded as recorded_by_mock
from tests.support.servers.live_server import Front, recorded, serving

KEY = {"authorization": "Bearer sk-live"}
HI = {"model": "gpt-4.1", "input": "hi"}
App = Callable[..., Any]


class Watched:
    """A recorder with a watch, in front of an app."""

    def __init__(self, front: Front, watch: RecordingJudge, notices: list[str]) -> None:
        self.front = front
        self.notices = notices
        self._watch = watch
        self.url = f"{front.origin}{front.root}/responses"

    def post(self, **body: Any) -> httpx2.Response:
        return httpx2.post(self.url, json=body, headers=KEY)

    def found(self, number: int) -> Tally:
        """Return what was found, once so many exchanges have ended."""
        self.front.interactions(number)
        self._watch.close()
        return self._watch.tally


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Callable[..., Watched]]:
    with ExitStack() as stack:

        def start(app: Any, root: str = "/v1") -> Watched:
            url = stack.enter_context(serving(app)) + root
            notices: list[str] = []
            watch = RecordingJudge("tape.yaml", parse_upstream(url), tmp_path, notices.append)
            return Watched(stack.enter_context(recorded(url, watch)), watch, notices)

        yield start


def answering(status: int, body: Any) -> App:
    """Return an API that says the same to everything."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    return app


def of(tally: Tally, at: str) -> list[dict[str, Any]]:
    return list(tally.entries(at))


def test_an_api_that_is_as_the_mock_is_has_no_findings(watched):
    mock = MockApi(fallback=lambda _: [message("Hello.")])
    passing = watched(mock)
    first = passing.post(**HI).json()
    passing.post(**HI, previous_response_id=first["id"], stream=True)
    passing.post(model="gpt-4.1", input=3)
    passing.post(model="gpt-4.1", input="hi", previous_response_id="resp_unknown")
    tally = passing.found(4)
    assert tally.is_clean
    counts = [
        tally.counts[name] for name in ("requests.accepted", "refusals.same", "answers.conform", "streams.conform")
    ]
    assert counts == [2, 2, 3, 1]


class TestTheMocksOwnAnswer:
    """What the mock would have said to the same request, its model saying the same."""

    def test_the_mocks_own_answer_goes_on_with_what_was_stored_before(self, watched):
        passing = watched(MockApi(fallback=lambda _: [message("Hello.")]))
        conversations = f"{passing.front.origin}/v1/conversations"
        talk = httpx2.post(conversations, json={}, headers=KEY).json()["id"]
        first = passing.post(**HI, background=True).json()
        for _ in range(2):
            httpx2.get(f"{passing.url}/{first['id']}", headers=KEY)
        passing.post(**HI, previous_response_id=first["id"])
        for streams in (False, True):
            passing.post(**HI, conversation=talk, stream=streams)
        tally = passing.found(7)
        assert tally.is_clean
        assert tally.counts["respelled.same"] == 4

    @pytest.mark.parametrize("root", ["/openai/v1", "/api/projects/p/openai/v1"])
    def test_the_mocks_own_answer_is_azures_where_azure_answers(self, watched, root):
        passing = watched(MockApi(fallback=lambda _: [message("Hello.")]), root)
        for streams in (False, True):
            assert passing.post(**HI, stream=streams).status_code == 200
        tally = passing.found(2)
        assert of(tally, "respelled.different") == []
        assert (tally.is_clean, tally.counts["respelled.same"]) == (True, 2)

    def test_differs_from_an_api_that_answers_differently(self, watched):
        (answer,) = recorded_by_mock(HI)
        passing = watched(answering(200, answer["response"] | {"truncation": "auto"}))
        passing.post(**HI)
        tally = passing.found(1)
        assert not tally.is_clean
        entry = {"id": "tape.yaml#1", "at": "truncation", "recorded": "'auto'", "mock": "'disabled'"}
        assert of(tally, "respelled.different") == [entry]


def test_what_the_contract_refuses_is_reported_before_it_is_sent(watched):
    notices = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        notices.append(list(passing.notices))
        await answering(400, {"error": {"message": "No."}})(scope, receive, send)

    passing = watched(app)
    passing.post(model="gpt-4.1", input=3)
    passing.post(**HI)
    notice = "request 1, POST /v1/responses: the contract refuses it (invalid_type): Invalid type for 'input'"
    assert [text.startswith(notice) for text in notices[0]] == [True]
    assert notices[1] == notices[0]


def test_an_api_that_accepts_what_the_contract_refuses_is_a_finding(watched):
    passing = watched(answering(200, {}))
    passing.post(model="gpt-4.1", input=3)
    (entry,) = of(passing.found(1), "requests.refused")
    assert (entry["id"], entry["rule"]) == ("tape.yaml#1", "invalid_type")


def test_behind_a_gateway_of_its_own_root_is_judged_alike(watched):
    passing = watched(answering(400, {"error": {"message": "Bad input."}}), "/llm/v1")
    passing.post(model="gpt-4.1", input=3)
    assert of(passing.found(1), "refusals.different")


def test_what_is_nobodys_to_judge_is_counted(watched):
    passing = watched(answering(200, {}))
    httpx2.post(f"{passing.front.origin}/v1/chat/completions", json={}, headers=KEY)
    assert passing.found(1).reasons == {("skipped", "not judged: /chat/completions"): 1}


END = re.compile(r'"type": ?"(response\.completed|error)"')


class TestAConnection:
    def talk(self, passing: Watched, *events: dict[str, Any]) -> None:
        with connect(f"ws{passing.url.removeprefix('http')}", additional_headers=KEY, proxy=None) as wire:
            for event in events:
                wire.send(json.dumps(event))
                for text in wire:
                    if END.search(str(text)):
                        break

    def test_a_connection_is_judged_by_each_of_its_requests(self, watched):
        passing = watched(MockApi(fallback=lambda _: [message("Hello.")]))
        create = {"type": "response.create", **HI}
        self.talk(passing, create, {**create, "stream_id": "b"}, {**create, "input": 3}, {"type": "what"})
        tally = passing.found(1)
        assert tally.is_clean
        assert (tally.counts["streams.conform"], tally.counts["refusals.same"]) == (2, 1)
        assert tally.counts["respelled.same"] == 2
        assert any("invalid_type" in text for text in passing.notices)

    def test_a_connection_that_differs_is_a_finding(self, watched):
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await receive()
            await send({"type": "websocket.accept"})
            await receive()
            error = {"type": "error", "status": 400, "error": {"message": "Bad input.", "code": None}}
            for text in ("no JSON", "[]", json.dumps(error)):
                await send({"type": "websocket.send", "text": text})
            await receive()

        passing = watched(app)
        self.talk(passing, {"type": "response.create", "model": "gpt-4.1", "input": 3})
        assert [entry["id"] for entry in of(passing.found(1), "refusals.different")] == ["tape.yaml#1.1"]


def test_an_exchange_that_never_ends_does_not_keep_the_others_from_being_judged(tmp_path):
    watch = RecordingJudge("tape.yaml", parse_upstream("http://127.0.0.1:1/v1"), tmp_path, print)
    answer = ((0.1, b'{"error": {"message": "Bad input."}}'),)
    interaction = Interaction(
        "POST", "http://127.0.0.1:1/v1/responses", {}, b'{"model": "gpt-4.1", "input": 3}', 400, {}, answer
    )
    watch.after_interaction(2, interaction)
    watch.after_interaction(4, None)
    watch.close()
    assert watch.tally.counts["refusals.different"] == 1
