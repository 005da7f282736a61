"""Faults of the wire, without a network: what a script may say, what still goes out, what is kept, what is refused."""

from typing import Any

import orjson
import pytest

from harness.analysis.loss import PROMPT
from harness.core.delivery import Delivery, Pause
from harness.core.errors import ScriptError
from harness.core.exchange import Answer, Json, ReceivedRequest
from harness.ending import failed, incomplete, line_from_wire
from harness.explain.render import render_journal
from harness.faults import FAULTS, NON_ITEM_LINES, Gate, cut, hang_up, overloaded, pause, rate_limit, server_error
from harness.items import (
    custom_tool_call,
    file_citation,
    function_call,
    mcp_call,
    message,
    reasoning,
    refusal,
    web_search_call,
)
from tests.support.in_process import Client, post, types
from tests.support.threads import Desk
from tests.support.tools import functions
from tests.support.websockets import Socket

ONCE = message(["Once ", "upon ", "a time."])
WHOLE = 11
"""The events of ONCE: three of them deltas."""
AZURE = {"api-key": "key-of-azure"}


WITH_TOOLS: Json = {
    "model": "gpt-5",
    "tools": [*functions("f"), {"type": "custom", "name": "run"}, {"type": "web_search"}],
}


def asked(client: Client, *turns: Any, **members: Any) -> Answer:
    """Return the answer to a request that takes the first of these turns."""
    client.mock.script(*turns)
    return post(client.api, {"model": "gpt-4.1", "input": "hi", **members})


def streamed(client: Client, *turns: Any, **members: Any) -> Answer:
    return asked(client, *turns, stream=True, **members)


class TestACutStream:
    @pytest.mark.parametrize(
        ("after", "sent", "share"),
        [(0, 0, 0), (1, 1, 0), (4, 4, 0), (4.5, 4, 0.5), (WHOLE - 1, WHOLE - 1, 0), (WHOLE - 0.5, WHOLE - 1, 0.5)],
    )
    def test_a_cut_stream_ends_after_so_many_events_or_within_one(self, client, after, sent, share):
        whole = streamed(client, ONCE)
        assert len(whole.events) == WHOLE
        answer = streamed(client, cut(ONCE, after=after))
        assert types(answer) == types(whole)[:sent]
        assert (answer.status, answer.delivery.disconnects, answer.delivery.partial_share) == (200, True, share)
        rest = answer.delivery.partial_event
        assert (rest and rest["type"].removeprefix("response.")) == (types(whole)[sent] if share else None)

    @pytest.mark.parametrize("after", [WHOLE, WHOLE + 0.5, 1000])
    def test_never_tells_its_last_event(self, client, after):
        answer = streamed(client, cut(ONCE, after=after))
        assert types(answer)[-1] == "output_item.done"
        assert (answer.delivery.partial_event, answer.delivery.partial_share) == (None, 0)

    def test_a_cut_stream_may_be_cut_twice_and_ends_at_the_first(self, client):
        assert len(streamed(client, cut(cut(ONCE, after=5), after=3)).events) == 3

    def test_a_cut_stream_may_have_an_ending(self, client):
        assert types(streamed(client, cut([ONCE, failed()], after=100)))[-1] == "error"
        assert types(streamed(client, cut([ONCE, incomplete()], after=2)))[-1] == "in_progress"

    def test_a_cut_stream_is_in_the_journal_as_the_client_received_it(self, client):
        streamed(client, cut([reasoning("**Plan**"), ONCE], after=100))
        streamed(client, cut(ONCE, after=5))
        streamed(client, cut(ONCE, after=0))
        late, early, none = client.world.exchanges
        assert [item["type"] for item in late.answer.body["output"]] == ["reasoning", "message"]
        assert early.answer.body["status"] == "in_progress"
        assert early.answer.body["output"][0]["content"][0]["text"] == "Once "
        assert early.answer.body["output"][0]["status"] == "in_progress"
        assert none.answer.body is None

    def test_a_cut_stream_is_marked_in_the_report_and_in_the_flow(self, client):
        asked(client, hang_up())
        streamed(client, cut(ONCE, after=6))
        asked(client, pause(ONCE, seconds=1))
        assert [exchange.answer.disconnection for exchange in client.world.exchanges] == ["no answer", "cut off", ""]
        none, off, slow = render_journal(client.world.exchanges).splitlines()
        assert [none.split()[-3:], off.split()[-3:]] == [["0", "no", "answer"], ["200", "cut", "off"]]
        assert slow.endswith("200")
        told = client.mock.flow.text
        assert ("→ no answer" in told, told.count("→ cut off")) == (True, 1)

    def test_a_cut_stream_has_no_text_of_a_reply(self, client):
        streamed(client, cut(ONCE, after=9))
        assert client.mock.replies.texts == []


class TestWhatWasToldSoFar:
    @pytest.mark.parametrize(
        ("item", "last", "at", "told"),
        [
            (ONCE, "output_text.delta", ("content", 0, "text"), "Once upon a time."),
            (message(refusal(["No", "."])), "refusal.delta", ("content", 0, "refusal"), "No."),
            (function_call("f", ['{"x"', ":1}"]), "function_call_arguments.delta", ("arguments",), '{"x":1}'),
            (custom_tool_call("run", ["o", "k"]), "custom_tool_call_input.delta", ("input",), "ok"),
            (reasoning("**Plan**"), "reasoning_summary_text.delta", ("summary", 0, "text"), "**Plan**"),
            (reasoning("**Plan**"), "reasoning_summary_part.added", ("summary", 0, "text"), ""),
        ],
    )
    def test_the_output_of_a_cut_stream_is_the_sum_of_its_deltas(self, client, item, last, at, told):
        kinds = types(streamed(client, item, **WITH_TOOLS))
        after = len(kinds) - kinds[::-1].index(last)
        found = streamed(client, cut(item, after=after), **WITH_TOOLS).body["output"][0]
        for step in at:
            found = found[step]
        assert found == told

    def test_the_output_of_a_cut_stream_has_its_annotations(self, client):
        noted = message("See a.", annotations=[file_citation("file-1", "a.txt", index=5)])
        kinds = types(streamed(client, noted))
        after = kinds.index("output_text.annotation.added") + 1
        part = streamed(client, cut(noted, after=after)).body["output"][0]["content"][0]
        assert [note["file_id"] for note in part["annotations"]] == ["file-1"]

    def test_what_was_told_so_far_passes_over_events_that_add_nothing(self, client):
        answer = streamed(client, cut(web_search_call("news"), after=5), **WITH_TOOLS)
        assert types(answer)[-1] == "web_search_call.searching"
        assert answer.body["output"][0]["type"] == "web_search_call"


class TestACutAnswer:
    def test_a_cut_answer_ends_in_the_middle_of_its_body(self, client):
        answer = asked(client, cut(ONCE, after=1))
        assert answer.delivery.disconnects
        assert answer.body.startswith(b'{"id":"resp_')
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(answer.body)

    def test_a_cut_answer_ends_before_its_body(self, client):
        assert asked(client, cut(ONCE, after=0)).body == b""


class TestWhatIsKept:
    def test_what_is_kept_is_nothing_of_what_was_cut(self, client):
        conversation = client.send("POST /conversations", {}).body["id"]
        told = streamed(client, cut(ONCE, after=3), conversation=conversation).body
        assert client.send(f"GET /responses/{told['id']}").status == 404
        assert asked(client, previous_response_id=told["id"]).rule == "previous_response_not_found"
        assert client.send(f"GET /conversations/{conversation}/items").body["data"] == []

    def test_what_is_kept_of_a_background_response_is_all_that_can_be_asked_for(self, client):
        told = streamed(client, cut(ONCE, after=4), background=True).body
        assert told["status"] == "in_progress"
        again = client.send(f"GET /responses/{told['id']}", stream="true", starting_after="3")
        assert again.body["status"] == "completed"
        assert again.events[0]["sequence_number"] == 4
        assert client.mock.replies.texts == ["Once upon a time."]

    def test_what_is_kept_is_all_of_what_only_stands_still(self, client):
        told = streamed(client, pause(ONCE, seconds=1)).body
        assert client.send(f"GET /responses/{told['id']}").body["status"] == "completed"


class TestAPause:
    def test_a_pause_is_carried_with_the_answer_and_changes_nothing_of_it(self, client):
        gate = Gate()
        answer = streamed(client, pause(pause(ONCE, after=3, until=gate), seconds=0.5))
        assert len(answer.events) == WHOLE
        assert answer.body["status"] == "completed"
        assert answer.delivery.pauses == [Pause(after=3, until=gate), Pause(0.5)]
        assert not answer.delivery.disconnects

    def test_a_pause_finds_a_gate_of_the_world_by_its_name(self, client):
        answer = streamed(client, pause(ONCE, after=3, until="shown"))
        (held,) = answer.delivery.pauses
        assert held.until is client.mock.gate("shown")

    def test_a_pause_holds_after_so_many_events_or_before_each(self):
        first, each = Pause(1, 2), Pause(1)
        assert [Delivery([first, each]).pauses_at(sent) for sent in (1, 2, 3)] == [[each], [first, each], [each]]

    def test_a_pause_ends_when_its_gate_opens_before_or_after(self):
        gate, woken = Gate(), []
        gate.add_callback(early := lambda: woken.append("early"))
        gate.add_callback(gone := lambda: woken.append("gone"))
        gate.remove_callback(gone)
        assert (gate.is_open, woken) == (False, [])
        gate.open()
        gate.add_callback(lambda: woken.append("late"))
        gate.remove_callback(early)
        assert (gate.is_open, woken) == (True, ["early", "late"])


REFUSALS = [
    (
        rate_limit("20s"),
        429,
        "rate_limit",
        "Rate limit reached for gpt-4.1 in organization org-harness on requests per min (RPM): Limit 3, Used 3, "
        "Requested 1. Please try again in 20s. Visit https://platform.openai.com/account/rate-limits to learn more.",
    ),
    (server_error(), 500, "server_error", "The server had an error while processing your request. Sorry about that!"),
    (overloaded(), 503, "server_is_overloaded", "Our servers are currently overloaded. Please try again later."),
]


class TestARefusal:
    @pytest.mark.parametrize(("fault", "status", "rule", "words"), REFUSALS)
    @pytest.mark.parametrize("stream", [False, True])
    def test_speaks_as_the_rule_of_the_account_does(self, client, fault, status, rule, words, stream):
        answer = asked(client, fault, ONCE, stream=stream)
        assert (answer.status, answer.rule, answer.body["error"]["message"]) == (status, rule, words)
        assert asked(client).status == 200
        assert client.world.account.rate_limit is None

    @pytest.mark.parametrize(
        ("after", "seconds", "ms"),
        [("1s", "1", "1000"), ("200ms", "1", "200"), ("2m", "120", "120000"), (1.5, "2", "1500"), (0, "0", "0")],
    )
    def test_a_refusal_says_when_to_try_again(self, client, after, seconds, ms):
        headers = asked(client, rate_limit(after)).headers
        assert (headers["retry-after"], headers["retry-after-ms"]) == (seconds, ms)
        assert headers["x-ratelimit-remaining-requests"] == "0"

    def test_a_scripted_refusal_has_the_words_of_azure(self, client):
        world = client.api.open("key-of-azure")
        world.script(rate_limit("1s"))
        body = orjson.dumps({"model": "gpt-4.1", "input": "hi"})
        answer = client.api.handle(ReceivedRequest("POST", "/openai/v1/responses", AZURE, raw=body))
        assert (answer.status, answer.rule, answer.headers["retry-after-ms"]) == (429, "too_many_requests", "1000")

    def test_a_refusal_keeps_and_asks_nothing(self, client):
        ran = []
        client.mock.mcp("prod", {"deploy": lambda: ran.append("deploy") or "live"})
        tools = [{"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}]
        first = asked(client, [mcp_call("prod", "deploy", {}), message("Out.")], tools=tools).body
        leave = {"type": "mcp_approval_response", "approval_request_id": first["output"][-1]["id"], "approve": True}
        again = {"tools": tools, "previous_response_id": first["id"], "input": [leave]}
        client.mock.when(input=lambda said: True).script(hang_up())
        assert asked(client, **again).status == 200
        assert ran == ["deploy"]


class TestNoAnswer:
    def test_no_answer_has_status_0_and_nothing_in_it(self, client):
        answer = asked(client, hang_up())
        assert (answer.status, answer.body, answer.events, answer.delivery.disconnects) == (0, None, None, True)
        assert [exchange.status for exchange in client.world.exchanges] == [0]
        assert client.world.store.responses == {}


class TestAScript:
    @pytest.mark.parametrize(
        ("made", "words"),
        [
            (
                lambda: cut(ONCE, after=-1),
                "cut: after is -1. Pass a non-negative number of events; 4.5 cuts the fifth.",
            ),
            (lambda: cut(ONCE, after="4"), "cut: after is '4'."),
            (lambda: cut(ONCE, after=True), "cut: after is True."),
            (lambda: cut(ONCE, after=float("inf")), "cut: after is inf."),
            (lambda: pause(ONCE), "pause: no duration. Pass seconds=0.05, or until=Gate()."),
            (lambda: pause(ONCE, seconds=-1), "pause: seconds is -1."),
            (lambda: pause(ONCE, seconds=1, after=1.5), "pause: after is 1.5."),
            (lambda: pause(ONCE, seconds=1, after=-1), "pause: after is -1."),
            (lambda: pause(ONCE, until=3), "pause: until is 3."),
            (
                lambda: rate_limit("soon"),
                "rate_limit: after is 'soon'. Pass seconds, or a string such as '200ms', '1s'",
            ),
            (lambda: rate_limit(None), "rate_limit: after is None."),
        ],
    )
    def test_a_script_has_numbers_that_make_sense(self, made, words):
        with pytest.raises(ScriptError) as problem:
            made()
        assert str(problem.value).startswith(words)

    @pytest.mark.parametrize(
        ("turn", "words"),
        [
            ([ONCE, rate_limit()], "is an answer by itself. Make it a separate turn."),
            (cut(server_error(), after=3), "is an answer by itself. Make it a separate turn."),
            ([*cut(ONCE, after=3), ONCE], "is not a turn"),
            (
                [ONCE, *cut(ONCE, after=3), ONCE, *cut(ONCE, after=3)],
                "a fault must come last",
            ),
            (cut([], after=3), "is an empty turn"),
        ],
    )
    def test_a_script_has_its_faults_last_and_its_refusals_alone(self, client, turn, words):
        with pytest.raises(ScriptError, match="script: ") as problem:
            client.mock.script(turn)
        assert words in str(problem.value)

    def test_cuts_what_a_function_says(self, client):
        answer = streamed(client, cut(lambda request: message(request.body["input"]), after=3))
        assert len(answer.events) == 3

    def test_cuts_each_turn_of_a_generator(self, client):
        heard = []

        def model(request):
            heard.append(request.body["input"])
            request = yield ONCE
            heard.append(request.body["input"])
            yield [reasoning("**Plan**"), ONCE]

        client.mock.script(cut(model, after=3), message("Done."))
        told = [len(streamed(client, input=name).events) for name in ("a", "b", "c")]
        assert told[:2] == [3, 3]
        assert told[2] > 3
        assert heard == ["a", "b"]

    def test_a_script_may_decide_on_a_fault_in_a_function_or_a_generator(self, client):
        def model(request):
            yield rate_limit("1s")
            yield ONCE

        turns = (lambda request: overloaded(), model)
        client.mock.script(*turns)
        assert [asked(client).status for _ in range(3)] == [503, 429, 200]

    def test_a_script_knows_every_fault_by_name(self):
        refusals = {"rate_limit", "server_error", "overloaded", "hang_up", "http_error"}
        alterations = {"insert_event", "add_members", "add_item", "skip_numbers", "stream_error", "end_stream"}
        assert set(FAULTS) == {"cut", "pause", "pace", "delay", "chunks", "framing", *refusals, *alterations}
        wired = [
            line_from_wire({"type": "cut", "after": 4}, NON_ITEM_LINES),
            line_from_wire({"type": "hang_up"}, NON_ITEM_LINES),
        ]
        assert [cut(ONCE, after=4)[-1], hang_up()] == wired
        assert (
            line_from_wire({"type": "pause", "seconds": 1, "after": 3}, NON_ITEM_LINES)
            == pause(ONCE, after=3, seconds=1)[-1]
        )
        assert line_from_wire({"type": "rate_limit", "after": "1s"}, NON_ITEM_LINES) == rate_limit("1s")
        assert line_from_wire({"type": "incomplete"}, NON_ITEM_LINES) == incomplete()

    def test_a_script_says_what_is_missing(self):
        with pytest.raises(ScriptError, match="cut: missing 1 required positional argument: 'after'"):
            line_from_wire({"type": "cut"}, NON_ITEM_LINES)


class TestAHostedServer:
    def test_a_hosted_server_has_its_answer_cut_that_asks_for_leave(self, client):
        client.mock.mcp("prod", {"deploy": "live"})
        tools = [{"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}]
        answer = streamed(client, cut([mcp_call("prod", "deploy", {}), ONCE], after=3), tools=tools)
        assert (len(answer.events), answer.delivery.disconnects) == (3, True)

    def test_a_hosted_server_goes_on_after_a_call_however_slow(self, client):
        client.mock.mcp("prod", {"deploy": "live"})
        server = {"type": "mcp", "server_label": "prod", "server_url": "https://mcp.example.org/sse"}
        tools = [{**server, "require_approval": "never"}]
        slow = pause([mcp_call("prod", "deploy", {})], after=3, seconds=1)
        answer = streamed(client, slow, ONCE, tools=tools)
        assert [item["type"] for item in answer.body["output"]] == ["mcp_list_tools", "mcp_call", "message"]
        assert len(answer.delivery.pauses) == 1


class TestAzure:
    @pytest.mark.parametrize("after", [0, 3])
    @pytest.mark.parametrize("stream", [False, True])
    def test_azure_is_cut_as_well(self, client, after, stream):
        world = client.api.open("key-of-azure")
        world.script(cut(ONCE, after=after))
        body = orjson.dumps({"model": "gpt-4.1", "input": "hi", "stream": stream})
        answer = client.api.handle(ReceivedRequest("POST", "/openai/v1/responses", AZURE, raw=body))
        assert (answer.status, answer.delivery.disconnects, world.world.problems) == (200, True, [])
        assert (answer.events is not None) == stream


class TestASocket:
    def test_a_socket_receives_what_comes_before_the_cut(self):
        socket = Socket()
        socket.mock.script(cut(ONCE, after=4), ONCE)
        assert len(socket.create()) == 4
        assert socket.session.delivery.disconnects
        assert len(socket.create()) == WHOLE
        assert socket.session.delivery is None

    def test_a_socket_receives_nothing_without_an_answer(self):
        socket = Socket()
        socket.mock.script(hang_up())
        assert socket.create() == []
        assert socket.session.delivery.disconnects

    @pytest.mark.parametrize(("fault", "status", "rule", "words"), REFUSALS)
    def test_a_socket_receives_a_refusal_as_an_event(self, fault, status, rule, words):
        socket = Socket()
        socket.mock.script(fault)
        (told,) = socket.create()
        assert (told["type"], told["status"], told["error"]["message"]) == ("error", status, words)

    def test_hears_that_it_was_steered_and_then_nothing(self):
        socket = Socket()
        socket.mock.script(ONCE, hang_up())
        (accepted,) = socket.steer(socket.made(model="gpt-6-astra")["id"])
        assert accepted["type"] == "response.steer.accepted"
        assert socket.session.delivery.disconnects


class TestARun:
    def test_a_run_goes_on_when_its_stream_is_cut(self):
        desk = Desk()
        thread = desk.thread("hi")
        desk.mock.script(cut(ONCE, after=8))
        answer = desk.run(thread, stream=True)
        assert (len(answer.events), answer.delivery.disconnects) == (8, True)
        assert answer.body["status"] == "in_progress"
        assert desk.send(f"GET /threads/{thread}/runs/{answer.body['id']}").body["status"] == "completed"

    def test_never_tells_its_last_event(self):
        desk = Desk()
        desk.mock.script(cut(ONCE, after=100))
        last = desk.run(desk.thread("hi"), stream=True).events[-1]
        assert last["event"] == "thread.run.completed"

    def test_a_run_is_refused_before_any_output(self):
        desk = Desk()
        thread = desk.thread("hi")
        desk.mock.script(rate_limit("1s"), ONCE)
        more: Json = {"additional_messages": [{"role": "user", "content": "More."}]}
        assert desk.run(thread, **more).status == 429
        assert len(desk.send(f"GET /threads/{thread}/messages").body["data"]) == 1
        assert desk.run(thread, **more).status == 200
        assert len(desk.send(f"GET /threads/{thread}/messages").body["data"]) == 2

    def test_a_run_that_is_polled_may_have_its_answer_cut(self):
        desk = Desk()
        thread = desk.thread("hi")
        desk.mock.script(cut(ONCE, after=1))
        assert isinstance(desk.run(thread).body, bytes)
        assert desk.send(f"GET /threads/{thread}/runs").body["data"][0]["status"] == "queued"


class TestALoss:
    def test_a_cut_stream_that_a_client_continues_as_complete_is_a_loss(self, client):
        streamed(client, cut(ONCE, after=5), input=[PROMPT])
        told = {"role": "assistant", "content": "Once "}
        asked(client, ONCE, input=[PROMPT, told, {"role": "user", "content": "Go on."}])
        (lost,) = client.mock.losses
        assert (lost.loss, lost.said, lost.at) == ("partial-taken", 1, "input[1]")
        assert "from exchange 1, whose response is cut off" in lost.message

    def test_a_cut_background_response_that_goes_on_is_no_loss(self, client):
        first = streamed(client, cut(ONCE, after=5), input=[PROMPT], background=True).body
        client.send(f"GET /responses/{first['id']}", stream="true", starting_after="4")
        told = {"role": "assistant", "content": "Once upon a time."}
        asked(client, ONCE, input=[PROMPT, told, {"role": "user", "content": "Go on."}])
        assert client.mock.losses == []
