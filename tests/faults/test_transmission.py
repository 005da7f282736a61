"""The pace of an answer: when each of its events is sent."""

from itertools import pairwise
from typing import Any

import pytest

from harness.core.delivery import Pace
from harness.core.errors import ScriptError
from harness.core.exchange import Answer
from harness.faults import NON_ITEM_LINES, cut, pace
from harness.faults.transmission import parse_pace
from harness.items import function_call, message
from harness.server.mock_api import MockApi
from harness.world.scripting.document import parse_sent_script
from tests.support.command_line import run_cli
from tests.support.in_process import Client, post

WORDS = ["Once ", "upon ", "a time"]


def streamed(turn: Any, client: Client | None = None, **members: Any) -> Answer:
    client = client or Client()
    client.mock.script(turn)
    return client.ask(stream=True, **members)


def times(answer: Answer) -> list[float]:
    assert answer.delivery is not None
    return [round(time, 6) for time in answer.delivery.times]


def by_event(answer: Answer) -> list[tuple[str, float]]:
    return [(event["type"], time) for event, time in zip(answer.events or (), times(answer), strict=True)]


class TestAStream:
    def test_a_stream_has_its_first_token_after_ttft_and_the_others_by_their_rate(self) -> None:
        events = by_event(streamed(pace(message(WORDS), ttft="300ms", tokens="10/s")))
        deltas = [time for name, time in events if name == "response.output_text.delta"]
        assert deltas == [0.3, 0.5, 0.7]  # two tokens of four characters each
        assert [time for name, time in events if name in ("response.created", "response.in_progress")] == [0, 0]
        assert events[-1] == ("response.completed", 0.7)

    def test_a_stream_of_a_function_call_is_paced_by_its_arguments(self) -> None:
        call = function_call("get_weather", {"city": "Paris"})
        tools = [
            {
                "type": "function",
                "name": "get_weather",
                "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                "strict": False,
            }
        ]
        events = by_event(streamed(pace(call, tokens=10), tools=tools))
        assert max(time for name, time in events if name == "response.function_call_arguments.delta") > 0.3

    def test_a_stream_without_jitter_is_never_out_of_order_and_with_it_neither(self) -> None:
        answer = streamed(pace(message(["word "] * 50), ttft=0.3, tokens=80, jitter=0.5))
        assert times(answer) == sorted(times(answer))

    def test_differs_by_jitter_within_its_share_and_alike_in_each_run(self) -> None:
        turn = pace(message(["word "] * 50), ttft=1, tokens=10, jitter=0.2)
        one, other = (times(streamed(turn, Client())) for _ in range(2))
        assert one == other
        deltas = [later - before for before, later in pairwise(one) if later > before]
        assert 0.8 <= deltas[0] <= 1.2
        assert all(0.16 <= delta <= 0.24 for delta in deltas[1:])
        assert len(set(deltas)) > 40

    def test_a_stream_that_is_cut_is_paced_up_to_there(self) -> None:
        answer = streamed(cut(pace(message(WORDS), ttft=1), after=6))
        assert answer.delivery is not None
        assert answer.delivery.disconnects
        assert max(times(answer)) == 1


class TestAnAnswerThatIsNoStream:
    def test_an_answer_that_is_no_stream_comes_as_late_as_its_last_token(self) -> None:
        client = Client()
        client.mock.script(pace(message(WORDS), ttft=1, tokens=10))
        answer = client.ask()
        assert times(answer) == [1 + answer.body["usage"]["output_tokens"] / 10]

    def test_an_answer_that_is_no_stream_in_the_background_comes_at_once(self) -> None:
        client = Client()
        client.mock.script(pace(message(WORDS), ttft=1, tokens=10))
        assert times(client.ask(background=True)) == []


class TestTheDefault:
    def test_the_default_is_that_of_every_turn_without_one_of_its_own(self) -> None:
        client = Client()
        client.world.script.pace = Pace(ttft=2)
        assert max(times(streamed(message(WORDS), client))) == 2
        assert max(times(streamed(pace(message(WORDS), ttft=1), client))) == 1

    def test_the_default_holds_for_a_whole_server(self) -> None:
        api = MockApi(fallback=lambda _: [message("ok")], pace=Pace(ttft=2))
        answer = post(api, {"model": "gpt-4.1", "input": "hi", "stream": True})
        assert max(times(answer)) == 2


class TestHowItIsWritten:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("ttft=300ms,tokens=80/s", Pace(0.3, 80)),
            ("tokens = 80/s, jitter = 0.2", Pace(0, 80, 0.2)),
            ("ttft=1.5", Pace(1.5)),
            ("tokens=0.001", Pace(0, 0.001)),
            ("ttft=2m", Pace(120)),
        ],
    )
    def test_as_a_text(self, text: str, expected: Pace) -> None:
        assert parse_pace(text) == expected

    def test_as_a_line_of_a_script_file(self) -> None:
        assert NON_ITEM_LINES["pace"](ttft="300ms", tokens="80/s") == Pace(0.3, 80)
        client = Client()
        parse_sent_script({"script": [[{"message": "Once"}, {"pace": {"ttft": "300ms"}}]]}).apply(client.mock)
        assert max(times(client.ask(stream=True))) == 0.3

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("ttft=soon", "pace: ttft is 'soon'. Pass seconds"),
            ("tokens=fast", "pace: tokens is 'fast'. Pass the tokens per second"),
            ("tokens=-1", "pace: tokens is '-1'."),
            ("tokens=0.0009", "pace: tokens is 0.0009."),
            ("jitter=2,ttft=1", "pace: jitter is 2.0."),
            ("jitter=0.1", "pace: no speed."),
            ("tfft=1", "pace: it has no 'tfft'. Did you mean 'ttft'?"),
            ("", "pace: it has no ''."),
            ("tokens=80,tokens=10", "pace: tokens is set twice."),
        ],
    )
    def test_how_it_is_written_refuses_what_is_none(self, text: str, said: str) -> None:
        with pytest.raises(ScriptError) as raised:
            parse_pace(text)
        assert str(raised.value).startswith(said)

    def test_how_it_is_written_refuses_it_on_the_command_line(self) -> None:
        result = run_cli("serve", "--pace", "ttft=soon")
        assert (result.exit_code, result.stderr[:46]) == (2, "responses-harness: pace: ttft is 'soon'. Pass ")
