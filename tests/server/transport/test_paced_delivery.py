"""A paced stream over HTTP and a WebSocket: nothing comes before its time, and who leaves ends it."""

import asyncio
import time

import openai
import pytest

from harness.core.delivery import Delivery, Pause
from harness.core.exchange import Json
from harness.faults import pace
from harness.items import message
from harness.server.http_server import Server
from harness.server.transport.asgi_types import Message
from harness.server.transport.deliver import send_events
from tests.support.processes import wait_until

TTFT, RATE = 0.2, 20.0


def test_no_event_comes_before_its_time(server: Server) -> None:
    mock = server.api.open("sk-paced")
    mock.script(pace(message(["word "] * 4), ttft=TTFT, tokens=RATE))
    client = openai.OpenAI(api_key="sk-paced", base_url=server.base_url)
    begun = time.monotonic()
    arrived = [
        time.monotonic() - begun
        for event in client.responses.create(model="gpt-4.1", input="hi", stream=True)
        if event.type == "response.output_text.delta"
    ]
    client.close()
    assert len(arrived) == 4
    for place, moment in enumerate(arrived):
        assert moment >= TTFT + place * 2 / RATE - 0.01


def test_no_event_is_early_over_a_websocket_either(server: Server) -> None:
    mock = server.api.open("sk-paced-ws")
    mock.script(pace(message(["word "] * 4), ttft=TTFT, tokens=RATE))
    client = openai.OpenAI(api_key="sk-paced-ws", base_url=server.base_url)
    begun = time.monotonic()
    with client.responses.connect() as connection:
        connection.response.create(model="gpt-4.1", input="hi")
        for event in connection:
            if event.type == "response.completed":
                break
    client.close()
    assert time.monotonic() - begun >= TTFT + 3 * 2 / RATE - 0.01


def test_who_leaves_ends_the_stream(server: Server) -> None:
    mock = server.api.open("sk-paced-left")
    mock.script(pace(message("word"), ttft="2m"))
    client = openai.OpenAI(api_key="sk-paced-left", base_url=server.base_url)
    client.responses.create(model="gpt-4.1", input="hi", stream=True).close()
    client.close()
    assert wait_until(lambda: not server._uvicorn.server_state.tasks)


@pytest.mark.parametrize("delivery", [Delivery(times=[0, 0.05]), Delivery([Pause(0.01)])], ids=["paced", "paused"])
def test_what_a_client_sends_with_the_last_event_is_not_lost(delivery: Delivery) -> None:
    async def talk() -> list[Message]:
        sent = asyncio.Queue[Message]()

        async def send(_: Json) -> None:
            await sent.put({"type": "websocket.receive", "text": "next"})
            await asyncio.sleep(0.01)

        early = await send_events([{}, {}], delivery, sent.get, send)
        return [*early, *[sent.get_nowait() for _ in range(sent.qsize())]]

    assert len(asyncio.run(talk())) == 2
