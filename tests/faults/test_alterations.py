"""What is new in an answer, and how an answer arrives: what a script may say, what goes out."""

from collections.abc import Iterator
from typing import Any

import httpx
import orjson
import pytest

from harness.answers.encode import encode_event
from harness.api.http.bodies import parse_sse
from harness.core.errors import ConfigError, ScriptError
from harness.core.exchange import Answer
from harness.ending import failed
from harness.faults import (
    add_item,
    add_members,
    chunks,
    delay,
    end_stream,
    framing,
    http_error,
    insert_event,
    skip_numbers,
    stream_error,
)
from harness.faults.alterations import AddItem
from harness.items import message
from harness.server.http_server import Server, serve_in_thread
from harness.server.mock_api import MockApi
from tests.support.in_process import Client, post, types

ONCE = message(["Grüße ", "aus ", "Köln."])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve_in_thread(MockApi(keys=())) as server:
        yield server


def streamed(client: Client, turn: Any) -> Answer:
    client.mock.script(turn)
    return post(client.api, {"model": "gpt-4.1", "input": "hi", "stream": True})


def pieces_of(server: Server, turn: Any, stream: bool = True) -> tuple[int, list[bytes]]:
    """Return the status of an answer over HTTP, and the pieces in which its body came."""
    mock = server.api.open("sk-pieces", "pieces", server.base_url)
    mock.script(turn)
    body = {"model": "gpt-4.1", "input": "hi", "stream": stream}
    headers = {"authorization": "Bearer sk-pieces"}
    with httpx.stream("POST", f"{server.base_url}/responses", json=body, headers=headers) as answer:
        pieces = list(answer.iter_raw())
    server.api.close("sk-pieces")
    return answer.status_code, pieces


class TestWhatIsNew:
    def test_an_event_of_any_type(self, client):
        answer = streamed(client, insert_event(ONCE, {"type": "response.new.delta", "delta": "?"}, after=3))
        assert types(answer)[3] == "new.delta"
        assert [event["sequence_number"] for event in answer.events] == list(range(12))

    def test_members_everywhere(self, client):
        answer = streamed(client, add_members(ONCE, {"new": 1}))
        final = answer.events[-1]
        assert all(event["new"] == 1 for event in answer.events)
        assert final["response"]["output"][0]["content"][0]["new"] == final["response"]["new"] == 1

    def test_an_item_of_any_type(self, client):
        answer = streamed(client, add_item([ONCE, message("And you?")], {"type": "new_call"}, at=1))
        assert [event["item"]["type"] for event in answer.events if event["type"].endswith("item.done")] == [
            "message",
            "new_call",
            "message",
        ]
        assert [item["type"] for item in answer.events[-1]["response"]["output"]] == ["message", "new_call", "message"]
        assert {event["output_index"] for event in answer.events if "output_index" in event} == {0, 1, 2}

    @pytest.mark.parametrize("response", [None, {"id": "resp_1"}])
    def test_an_item_is_not_added_to_a_response_without_output(self, response):
        answer = Answer(200, response, events=[{"type": "response.failed", "response": response}])
        altered = AddItem({"type": "new_call"}).alter(answer)
        assert altered.body == (altered.events or [])[-1]["response"] == response

    def test_a_gap_in_the_numbers(self, client):
        answer = streamed(client, skip_numbers(ONCE, after=4, by=2))
        assert [event["sequence_number"] for event in answer.events][3:6] == [3, 6, 7]

    @pytest.mark.parametrize("form", [{}, {"flat": False}, {"flat": True}])
    def test_an_error_that_ends_the_stream(self, client, form):
        answer, flat = streamed(client, stream_error(ONCE, after=4, **form)), form.get("flat")
        error = answer.events[-1]
        assert len(answer.events) == 5
        assert (error if flat else error["error"])["code"] == "server_error"
        assert not client.mock.world.store.responses

    def test_a_stream_that_just_ends(self, client):
        assert len(streamed(client, end_stream(ONCE, after=4)).events) == 4
        assert not client.mock.world.store.responses

    def test_a_wrong_alteration_is_reported(self):
        for make in (
            lambda: insert_event(ONCE, {"delta": "x"}),
            lambda: add_members(ONCE, {}),
            lambda: add_item(ONCE, {"type": "x"}, at=-1),
            lambda: insert_event(ONCE, {"type": "x"}, after=-1),
            lambda: skip_numbers(ONCE, after=-1),
            lambda: skip_numbers(ONCE, after=1, by=-1),
            lambda: stream_error(ONCE, after=-1),
            lambda: end_stream(ONCE, after=-1),
            lambda: chunks(ONCE, size=-1),
            lambda: framing(ONCE, line_end="lfcr"),
            lambda: framing(ONCE, fields=["id: 1\nretry: 2"]),
            lambda: framing(ONCE, fields="id: 1"),
            lambda: framing(ONCE, data_lines=3),
            lambda: framing(ONCE, line_end=[]),
            lambda: framing(ONCE, comment="\ud800"),
            lambda: failed(message="\ud800"),
            lambda: framing(ONCE, bom="yes"),
            lambda: delay(ONCE, seconds="soon"),
            lambda: http_error(200, "fine"),
            lambda: http_error(400, "x", code=float("nan")),
            lambda: http_error(400, {1}),
            lambda: http_error(400, "x", body=[1]),
            lambda: insert_event(ONCE, {"type": "a\nb"}),
            lambda: insert_event(ONCE, {"type": "x", "event": 1, "data": float("inf")}),
            lambda: insert_event(ONCE, {"event": "x"}),
            lambda: insert_event(ONCE, {"type": "x", "a": 2**70}),
            lambda: add_members(ONCE, {"a": float("nan")}),
            lambda: add_members(ONCE, {"type": {}}),
            lambda: add_item(ONCE, {"type": "x", "a": {1}}),
            lambda: stream_error(ONCE, code=object()),
        ):
            with pytest.raises(ScriptError, match=r"Pass|Use"):
                make()

    @pytest.mark.parametrize(
        "headers", [{"retry-after": 1}, {"x": "a\nb"}, {"a b": "c"}, {"content-length": "1"}, ["x"]]
    )
    def test_headers_that_no_answer_has_are_reported(self, headers):
        with pytest.raises(ConfigError, match=r"^http_error: headers is .* Pass a dict of strings: "):
            http_error(400, "x", headers=headers)


class TestOverHttp:
    def test_in_pieces_of_so_many_bytes(self, server):
        _, pieces = pieces_of(server, chunks(ONCE, size=3))
        assert max(map(len, pieces)) == 3
        assert "Köln." in b"".join(pieces).decode()

    def test_in_one_piece(self, server):
        _, pieces = pieces_of(server, chunks(ONCE, size=0))
        assert b"".join(pieces).count(b"\n\n") == 11

    def test_with_other_line_ends_and_comments(self, server):
        _, pieces = pieces_of(server, framing(ONCE, line_end="crlf", comment="keep-alive"))
        frames = b"".join(pieces).split(b"\r\n\r\n")
        assert frames[0] == b": keep-alive"
        assert frames[1].startswith(b"event: response.created\r\ndata: {")
        assert frames[1].count(b"data: ") == 1

    def test_with_all_else_that_the_standard_allows(self, server):
        form = {"fields": ["id: 1", "retry: 9"], "space": False, "data_lines": 2, "bom": True, "unended": True}
        raw = b"".join(pieces_of(server, framing(ONCE, **form))[1])
        assert raw.startswith(b'\xef\xbb\xbfevent:response.created\nid:1\nretry:9\ndata:{\ndata:"type":')
        assert raw.endswith(b"}\n")
        assert not raw.endswith(b"\n\n")
        plain = b"".join(pieces_of(server, ONCE)[1])
        assert [orjson.loads(data)["type"] for _, data in parse_sse(raw.decode())] == [
            name for name, _ in parse_sse(plain.decode())
        ]

    def test_an_answer_that_is_no_stream(self, server):
        status, pieces = pieces_of(server, delay(chunks(ONCE, size=100), seconds="20ms"), stream=False)
        assert status == 200
        assert orjson.loads(b"".join(pieces))["output"][0]["content"][0]["text"] == "Grüße aus Köln."

    def test_any_http_error(self, server):
        status, pieces = pieces_of(server, http_error(409, "In use.", code="conversation_locked"))
        assert (status, orjson.loads(b"".join(pieces))["error"]["code"]) == (409, "conversation_locked")


def test_a_frame_has_no_other_line_ends():
    assert encode_event({"type": "x", "delta": "a\nb"}).count(b"\n") == 3
