"""Real clients on a bad wire: whatever the point at which a stream breaks off, none takes it for a whole answer."""

from itertools import count

import openai
import pytest

from harness.faults import Gate, cut, hang_up, overloaded, pause, rate_limit, server_error
from harness.items import function_call, message, reasoning
from tests.support.clients.programs import MODEL
from tests.support.slow import slow_except_every
from tests.support.tools import functions

TURN = [
    reasoning(["**Plan", "ning**"]),
    message(["Let me ", "see."]),
    function_call("get_weather", ['{"city":', '"Paris"}'], call_id="call_1"),
]
TOOLS = functions("get_weather")
POINTS = [half / 2 for half in range(2 * 27)]
"""Before, and in the middle of, every event of TURN."""


@pytest.fixture(autouse=True)
def every_answer_conforms():
    """Here none is."""


def ask(client, **members):
    return client.responses.create(model=MODEL, input="Weather in Paris?", tools=TOOLS, **members)


def test_the_points_are_all_there_are(mock, client):
    mock.script(TURN)
    assert len(list(ask(client, stream=True))) == len(POINTS) / 2


@pytest.mark.parametrize("after", slow_except_every(3, POINTS))
def test_a_stream_of_the_sdk_raises_and_is_never_complete(mock, client, after):
    mock.script(cut(TURN, after=after))
    events = []
    with pytest.raises(openai.APIConnectionError):
        events += ask(client, stream=True)
    mock.script(cut(TURN, after=after))
    with (
        pytest.raises(openai.APIConnectionError),
        client.responses.stream(model=MODEL, input="Weather in Paris?", tools=TOOLS) as stream,
    ):
        events += stream
    assert "response.completed" not in {event.type for event in events}
    mock.script(TURN)
    assert ask(client).status == "completed"


@pytest.mark.parametrize("after", slow_except_every(5, POINTS))
@pytest.mark.asyncio
async def test_an_agent_raises_and_calls_no_tool(mock, agents, async_client, after):
    called = []

    @agents.function_tool
    def get_weather(city: str) -> str:
        called.append(city)
        return "18"

    agent = agents.Agent("Ann", tools=[get_weather], model=agents.OpenAIResponsesModel(MODEL, async_client))
    mock.script(cut(TURN, after=after))
    run = agents.Runner.run_streamed(agent, "Weather in Paris?")
    with pytest.raises(openai.APIConnectionError):
        async for _ in run.stream_events():
            pass
    assert (called, run.final_output, run.is_complete) == ([], None, True)


@pytest.mark.parametrize("after", [0, 1])
def test_an_answer_that_is_cut_is_an_error(mock, client, after):
    mock.script(cut(TURN, after=after))
    with pytest.raises(openai.APIConnectionError):
        ask(client)


def test_a_thread_is_cut_and_its_run_ends_all_the_same(mock, client, recwarn):
    assistant = client.beta.assistants.create(model=MODEL)
    thread = client.beta.threads.create(messages=[{"role": "user", "content": "Hi."}])
    mock.script(cut(message(["Hel", "lo."]), after=9))
    with (
        pytest.raises(Exception, match="peer closed connection"),  # the SDK's helper for threads wraps nothing
        client.beta.threads.runs.stream(thread_id=thread.id, assistant_id=assistant.id) as stream,
    ):
        stream.until_done()
    (run,) = client.beta.threads.runs.list(thread.id)
    assert run.status == "completed"


def test_a_background_stream_is_picked_up_where_it_broke_off(mock, client):
    mock.script(cut(message(["Hel", "lo."]), after=5))
    events = []
    with pytest.raises(openai.APIConnectionError):
        events += ask(client, stream=True, background=True)
    last = events[-1].sequence_number
    events += client.responses.retrieve(events[0].response.id, stream=True, starting_after=last)
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert events[-1].response.output_text == "Hello."


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (rate_limit("1ms"), openai.RateLimitError),
        (server_error(), openai.InternalServerError),
        (overloaded(), openai.InternalServerError),
        (hang_up(), openai.APIConnectionError),
    ],
)
def test_the_sdk_raises_and_a_client_that_retries_gets_the_answer(mock, client, fault, error):
    mock.script(fault, fault, message("At last."))
    with pytest.raises(error):
        ask(client)
    assert ask(client.with_options(max_retries=1)).output_text == "At last."
    assert [exchange.status for exchange in mock.exchanges][2:] == [200]


@pytest.mark.asyncio
async def test_an_agent_that_retries_gets_the_answer(mock, agents, async_client):
    again = agents.ModelRetrySettings(max_retries=2, policy=agents.retry_policies.provider_suggested())
    model = agents.OpenAIResponsesModel(MODEL, async_client)
    agent = agents.Agent("Ann", model=model, model_settings=agents.ModelSettings(retry=again))
    mock.script(rate_limit("1ms"), overloaded(), message("At last."))
    assert (await agents.Runner.run(agent, "Weather in Paris?")).final_output == "At last."
    assert [exchange.status for exchange in mock.exchanges] == [429, 503, 200]


def test_a_partial_text_is_shown_before_the_rest_comes(mock, client):
    gate, shown = Gate(), []
    mock.script(pause(message(["Hel", "lo."]), after=5, until=gate))
    for number, event in zip(count(1), ask(client, stream=True), strict=False):
        shown.append(getattr(event, "delta", ""))
        if number == 5:
            assert "".join(shown) == "Hel"
            gate.open()
    assert "".join(shown) == "Hello."


def test_a_stream_that_stands_still_is_a_timeout(mock, client):
    mock.script(pause(message("Hello."), after=3, until=Gate()))
    with pytest.raises(openai.APITimeoutError):
        list(ask(client, stream=True, timeout=0.2))
