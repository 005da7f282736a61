"""A chat UI against a server under test: how it goes on, and whether the server's requests to its model stay linear."""

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import openai
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from harness.analysis.loss import losses_of
from harness.answers.encode import encode_events
from harness.core.errors import ConfigError
from harness.core.exchange import Answer, Exchange, Json
from harness.core.exchange import Request as Asked
from harness.drive import Chat, linear
from harness.items import function_call, message, reasoning
from tests.support.in_process import user
from tests.support.servers.stalling import TRICKLING, stalling
from tests.support.slow import slow_except, slow_except_every
from tests.support.tools import functions

MODES: Any = ["replay", "chain", "both"]
QUESTIONS = ("Who?", "Where?", "When?")
Given = Callable[[Json, list[Json]], list[Json]]
"""What the items of a transcript are: from a request, and from what is stored of the response it names."""


def right(body: Json, stored: list[Json]) -> list[Json]:
    """Return all items as they are; where a chain and a replay tell the same, the chain."""
    sent = list(body["input"])
    return [*stored, sent[-1]] if stored else sent


def wrong(body: Json, stored: list[Json]) -> list[Json]:
    """Typed items as empty words of the user, a replay on top of the chain."""
    return [*stored, *map(_coerced, body["input"])]


def _coerced(item: Json) -> Json:
    parts = item.get("content", [])
    if isinstance(parts, str):
        return item
    return {"role": item.get("role", "user"), "content": "".join(part.get("text", "") for part in parts)}


def twice(body: Json, stored: list[Json]) -> list[Json]:
    """Messages alone, a replay on top of the chain."""
    items = wrong(body, stored)
    return [item for item in items if item.get("content") and item.get("role")]


def joined(body: Json, stored: list[Json]) -> list[Json]:
    """Return all that the user ever said in one message."""
    said = [_coerced(item)["content"] for item in right(body, stored) if item.get("role") == "user"]
    return [{"role": "user", "content": "\n\n".join(said)}]


def without_calls(items: list[Json]) -> list[Json]:
    return [item for item in items if item.get("type", "message") == "message"]


def changed(items: list[Json]) -> list[Json]:
    return [{**item, "output": "Cleared."} if "output" in item else item for item in items]


def _summary(items: list[Json]) -> list[Json]:
    told = "\n".join(f"{_coerced(item)['role']}: {_coerced(item)['content']}" for item in items)
    return [{"role": "developer", "content": f"So far:\n{told}"}] if items else []


SHORTENED: Any = {
    "the last message": lambda items: items[-1:],
    "the last turns": lambda items: items[-6:] if len(items) > 6 else items,
    "a summary of all": lambda items: [*_summary(items[:-1]), items[-1]],
    "a summary of what is older": lambda items: [*_summary(items[:-6]), *items[-6:]],
    "the first and the last": lambda items: [*items[:1], {"role": "user", "content": "(…)"}, *items[-1:]],
    "other words for it": lambda items: [*items[:-1], {"role": "user", "content": "Answer the last question."}],
    "typed items with other ids": lambda items: [
        {**item, "call_id": "call_" + item["call_id"][::-1]} if "call_id" in item else item for item in items
    ],
    "marked messages": lambda items: [
        {"role": item["role"], "content": f"[10:00] {_coerced(item)['content']}"} if "role" in item else item
        for item in items
    ],
}


def chat_through(mock: Any, options: Any) -> Chat:
    """Return a chat of three turns in mode replay, through a server that says only what is new, and how it goes on."""
    mock.script(*(message(f"Answer {number}.") for number in range(len(QUESTIONS))))
    last: list[str] = []
    upstream = openai.OpenAI(base_url=mock.base_url, api_key=mock.api_key, max_retries=0)

    async def create(request: Request) -> Any:
        new = (await request.json())["input"][-1:]
        response = upstream.responses.create(model="gpt-5", **{"input": new, **options(last and last[-1], new)})
        last.append(response.id)
        return JSONResponse(response.model_dump(exclude_unset=True))

    with served(create) as url, Chat(url, "key", stream=False) as chat:
        for question in QUESTIONS:
            chat.say(question)
    return chat


class App:
    """A server that speaks the Responses API: it thinks, calls a tool of its own and answers, with the mock for a model."""

    def __init__(self, base_url: str, api_key: str, given: Given) -> None:
        self.upstream = openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0)
        self.given = given
        self.stored: dict[str, list[Json]] = {}

    def answer(self, body: Json) -> Json:
        items = self.given(body, self.stored.get(body.get("previous_response_id") or "", []))
        made: list[Json] = []
        while True:
            options: Any = {"store": False, "include": ["reasoning.encrypted_content"], "tools": functions("look")}
            response = self.upstream.responses.create(model="gpt-5", input=[*items, *made], **options)
            made += [item.model_dump(exclude_unset=True) for item in response.output]
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                break
            made += [{"type": "function_call_output", "call_id": call.call_id, "output": "3"} for call in calls]
        id = f"resp_{len(self.stored):048}"
        self.stored[id] = [*items, *made]
        return {"id": id, "object": "response", "status": "completed", "output": made}

    async def create(self, request: Request) -> Any:
        body = await request.json()
        whole = self.answer(body)
        if not body.get("stream"):
            return JSONResponse(whole)
        told: list[Json] = [{"type": "response.created", "sequence_number": 0, "response": {**whole, "output": []}}]
        told += [
            {"type": "response.output_item.done", "output_index": place, "item": item}
            for place, item in enumerate(whole["output"])
        ]
        return StreamingResponse(
            [encode_events([*told, {"type": "response.completed", "response": whole}])], media_type="text/event-stream"
        )


@contextmanager
def served(create: Any) -> Iterator[str]:
    """Provide the address of a server with this endpoint."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[Route("/v1/responses", create, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()


def talk(mock: Any, given: Given, mode: Any, stream: bool = True) -> Chat:
    """Return a chat of three turns through a server."""
    for number in range(len(QUESTIONS)):
        mock.script([reasoning("**Looking**"), function_call("look", {"n": number})], message(f"Answer {number}."))
    with (
        served(App(mock.base_url, mock.api_key, given).create) as url,
        Chat(url, "key", mode=mode, stream=stream) as chat,
    ):
        replies = [chat.say(question).text for question in QUESTIONS]
    assert replies == ["Answer 0.", "Answer 1.", "Answer 2."]
    return chat


class TestAServer:
    @pytest.mark.parametrize(
        ("mode", "stream"), slow_except((0, 3), [(mode, stream) for mode in MODES for stream in (True, False)])
    )
    def test_a_server_that_is_right_is_linear_in_every_mode(self, mock: Any, mode: Any, stream: bool) -> None:
        chat = talk(mock, right, mode, stream)
        linear(mock.exchanges, chat.texts)
        linear(mock.exchanges)
        assert [len(exchange.request.body["input"]) for exchange in mock.exchanges] == [1, 4, 6, 9, 11, 14]

    @pytest.mark.harness(losses="allow")
    @pytest.mark.parametrize(
        ("given", "mode", "problem", "sizes"),
        [
            pytest.param(
                wrong, "replay", "input[1] is an empty message: user", "1, 4, 6, 9, 11, 14", id="emptied items"
            ),
            pytest.param(
                twice, "both", 'input[2] appears twice: user "Who?"', "1, 4, 5, 8, 11, 14", id="replay on a chain"
            ),
            pytest.param(wrong, "both", "input[6] is an empty message: user", "1, 4, 11, 14, 26, 29", id="both"),
        ],
    )
    def test_a_server_whose_requests_are_not_linear_is_found(
        self, mock: Any, given: Given, mode: Any, problem: str, sizes: str
    ) -> None:
        talk(mock, given, mode)
        with pytest.raises(AssertionError) as raised:
            linear(mock.exchanges)
        assert str(raised.value) == f"request 3: {problem}\nitems in the requests of this agent: {sizes}"

    @pytest.mark.harness(losses="allow")
    def test_a_server_that_joins_user_messages_is_detected_by_their_texts(self, mock: Any) -> None:
        chat = talk(mock, lambda body, stored: [*right(body, stored)[:-1], *joined(body, stored)], "replay")
        with pytest.raises(
            AssertionError, match=r'request 3: the user\'s text "Who\?" appears 2 times, but was sent 1 time'
        ):
            linear(mock.exchanges, chat.texts)

    @pytest.mark.harness(losses=["sent-changed"])
    @pytest.mark.parametrize("mode", MODES)
    def test_a_server_that_forgets_typed_items_is_found_by_the_chat(self, mock: Any, mode: Any) -> None:
        chat = talk(mock, lambda body, stored: without_calls(right(body, stored)), mode, stream=False)
        linear(mock.exchanges, chat.texts)
        with pytest.raises(AssertionError) as raised:
            linear(mock.exchanges, chat)
        first, *rest = str(raised.value).splitlines()
        assert first.startswith("request 3: input[1]: function_call look (call_"), first
        assert "turn 2, is not in this request, which has the items before and after it" in first
        assert rest == ["items in the requests of this agent: 1, 4, 3, 6, 5, 8"]
        assert [lost.loss for lost in mock.losses] == ["sent-changed"] * 4

    @pytest.mark.harness(losses=["sent-changed"])
    def test_a_server_that_changes_typed_items_is_found_by_the_chat(self, mock: Any) -> None:
        chat = talk(mock, lambda body, stored: changed(right(body, stored)), "replay", stream=False)
        with pytest.raises(AssertionError, match=r'output .*turn 2, arrived changed: "3" is now "Cleared\."'):
            linear(mock.exchanges, chat)

    @pytest.mark.harness(losses="allow")
    @pytest.mark.parametrize(
        ("mode", "shortened"),
        slow_except_every(4, [(mode, shortened) for mode in MODES for shortened in SHORTENED]),
    )
    def test_a_server_that_shortens_what_it_tells_its_model_is_no_loss(
        self, mock: Any, mode: Any, shortened: str
    ) -> None:
        chat = talk(mock, lambda body, stored: SHORTENED[shortened](right(body, stored)), mode, stream=False)
        found = losses_of(mock.exchanges, True, mock.world.tool_runs)
        assert [lost.message for lost in found if lost.loss == "sent-changed"] == []
        assert len(chat.turns) == 3

    def test_a_server_that_keeps_its_history_at_the_model_is_no_loss(self, mock: Any) -> None:
        chained = chat_through(mock, lambda last, items: {"previous_response_id": last, "input": items} if last else {})
        linear(mock.exchanges, chained)
        assert losses_of(mock.exchanges, True, mock.world.tool_runs) == []

    @pytest.mark.parametrize("status", [400, 500])
    def test_a_server_that_refuses_is_asked_once_and_raised(self, status: int) -> None:
        asked: list[Request] = []

        async def create(request: Request) -> Any:
            asked.append(request)
            return JSONResponse({"error": {"message": "no"}}, status)

        with served(create) as url, Chat(url, "key") as chat, pytest.raises(openai.APIStatusError, match="no"):
            chat.say("Who?")
        assert len(asked) == 1

    @pytest.mark.parametrize("at_the_end", [True, False])
    def test_a_server_may_leave_the_items_out_of_the_end_of_a_stream(self, at_the_end: bool) -> None:
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi."}]}
        done = {"type": "response.output_item.done", "item": said if not at_the_end else {**said, "content": []}}
        end = {"type": "response.completed", "response": {"id": "resp_1", "output": [said] if at_the_end else []}}

        async def create(request: Request) -> Any:
            return StreamingResponse([encode_events([done, end])], media_type="text/event-stream")

        with served(create) as url, Chat(url, "key") as chat:
            reply = chat.say("Who?")
        assert (reply.text, [*reply.items]) == ("Hi.", [said])

    def test_a_server_whose_stream_has_no_end_is_an_error(self) -> None:
        async def create(request: Request) -> Any:
            told = [{"type": "response.created", "response": {}}] if (await request.json())["model"] == "one" else []
            return StreamingResponse([encode_events(told)], media_type="text/event-stream")

        with served(create) as url:
            for model, last in (("one", "response.created"), ("none", "nothing")):
                with Chat(url, "key", model=model) as chat, pytest.raises(AssertionError) as raised:
                    chat.say("Who?")
                assert str(raised.value) == f"turn 1: its stream has 0 ends, not one; the last event is {last}."


class TestAChat:
    def test_against_the_mock_itself(self, mock: Any) -> None:
        mock.script(message(["Hel", "lo."]), message("Bye."))
        with Chat(mock.base_url, mock.api_key, mode="chain", instructions="Be brief.") as chat:
            replies = [chat.say("Hi."), chat.say("And?")]
        assert [reply.text for reply in replies] == ["Hello.", "Bye."]
        bodies = [exchange.request.body for exchange in mock.exchanges]
        assert [body["instructions"] for body in bodies] == ["Be brief."] * 2
        assert bodies[1]["previous_response_id"] == replies[0].response["id"]
        assert bodies[1]["input"] == [chat.items[2]]
        assert [item["role"] for item in chat.items] == ["user", "assistant"] * 2
        assert chat.texts == ["Hi.", "And?"]

    @pytest.mark.harness(unused="allow")
    def test_a_chat_in_mode_both_sends_the_items_as_they_came(self, mock: Any) -> None:
        mock.script(message("Hello."), message("Bye."))
        with Chat(mock.base_url, mock.api_key, mode="both") as chat:
            first = chat.say("Hi.")
            with pytest.raises(openai.BadRequestError, match="Duplicate item found with id"):
                chat.say("And?")
        sent = mock.exchanges[1].request.body
        assert sent["input"][:2] == [chat.items[0], *first.items]
        assert sent["previous_response_id"] == first.response["id"]
        assert chat.texts == ["Hi."]

    def test_a_chat_has_one_of_three_modes(self) -> None:
        with pytest.raises(ConfigError, match=r"Chat\(mode='all'\): use one of replay, chain, both\."):
            Chat("http://127.0.0.1:9/v1", "key", mode="all")  # type: ignore[arg-type]

    def test_a_chat_needs_the_openai_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "openai", None)
        with pytest.raises(ConfigError, match=r"Chat needs openai: .*pip install"):
            Chat("http://127.0.0.1:9/v1", "key")

    def test_a_chat_says_that_the_openai_package_is_too_old(self, monkeypatch: pytest.MonkeyPatch) -> None:
        old = ModuleType("openai")
        old.__version__ = "1.50.0"  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "openai", old)
        monkeypatch.delitem(sys.modules, "openai.resources.responses", raising=False)
        monkeypatch.delitem(sys.modules, "openai.resources", raising=False)
        with pytest.raises(
            ConfigError, match=r"Chat needs openai 1\.66 or newer: openai 1\.50\.0, which is installed, has no"
        ):
            Chat("http://127.0.0.1:9/v1", "key")


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_never_ends_is_given_up(stream: bool) -> None:
    with (
        stalling(TRICKLING) as origin,
        Chat(f"{origin}/v1", "key", stream=stream, timeout=0.3) as chat,
        pytest.raises(TimeoutError) as raised,
    ):
        chat.say("Who?")
    assert str(raised.value) == (
        "turn 1: its answer did not end within 0.3 s. If the server needs longer, pass Chat(…, timeout=SECONDS)."
    )


def journal(*inputs: Any, said: str = "ok", path: str = "/responses") -> list[Exchange]:
    """Requests with these inputs, each answered with these words."""
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}]
    return [
        Exchange(
            number, Asked("POST", path, body={"model": "gpt-4.1", "input": input}), Answer(200, {"output": output})
        )
        for number, input in enumerate(inputs, 1)
    ]


OK = {"role": "assistant", "content": "ok"}

IMAGE = {"role": "user", "content": [{"type": "input_image", "image_url": "https://e.org/a.png"}]}


class TestLinear:
    @pytest.mark.parametrize(
        "inputs",
        [
            ([user("yes")], [user("yes"), OK, user("yes")], [user("yes"), OK, user("yes"), OK, user("yes")]),
            ([user("a"), OK, user("a"), OK, user("b")],),
            ("a", [user("a"), OK, user("b")]),
            ([user("a")], [user("a")], [user("b")]),
            ([IMAGE], [IMAGE, OK, user("b")]),
            ([{"id": "msg_1"}, user("b")],),
            (7, [7]),
        ],
    )
    def test_linear_is_what_grows_by_a_turn(self, inputs: Any) -> None:
        linear(journal(*inputs))

    @pytest.mark.parametrize(
        ("inputs", "problem"),
        [
            (([user("a"), user("a")],), 'request 1: input[1] appears twice: user "a"'),
            (
                ([user("a")], [user("a"), OK, user("a"), OK, user("b")]),
                'request 2: input[2] appears twice: user "a"',
            ),
            (([user("")],), "request 1: input[0] is an empty message: user"),
            (([user([])],), "request 1: input[0] is an empty message: user"),
            (([user([{"type": "input_text", "text": " "}])],), "request 1: input[0] is an empty message: user"),
            (
                ([user("a")], [user("x"), OK, {**OK, "content": "x"}, OK | {"content": "y"}, user("b")]),
                "but at most 3 were expected",
            ),
        ],
    )
    def test_linear_is_not_what_has_more(self, inputs: Any, problem: str) -> None:
        with pytest.raises(AssertionError) as raised:
            linear(journal(*inputs))
        assert problem in str(raised.value)

    def test_counts_no_other_requests(self) -> None:
        linear(journal([user("")], path="/conversations"))

    def test_counts_texts_of_several_lines_as_whole_lines(self) -> None:
        linear(journal([user("a b\na")]), ["a b\na"])
        linear(journal([user("a\nb\na\nb")]), ["a\nb", "a\nb"])
        with pytest.raises(AssertionError, match="appears 2 times, but was sent 1 time"):
            linear(journal([user("a\nb\na\nb")]), ["a\nb"])
