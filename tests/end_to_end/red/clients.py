"""Clients that ask another server, another way, or not at all."""

import contextlib

import openai
import pytest

from harness.faults import cut, delay, rate_limit
from harness.items import message


@pytest.mark.cause(
    title="Request 1 was refused (404): Unknown request URL: POST /responses.",
    fix="The client's base URL must end in `/v1`.",
    place="POST /responses; Every path must begin with `/v1`.",
)
def test_a_base_url_lacks_its_end(mock):
    mock.script(message("Sunny."))
    url = mock.base_url.removesuffix("/v1")
    openai.OpenAI(base_url=url, max_retries=0).responses.create(model="gpt-4.1", input="Hi.")


@pytest.mark.cause(
    title="No request came, and a call was never awaited.",
    fix="Write `await` before the call",
    place="coroutine 'AsyncResponses.create' was never awaited",
)
def test_a_call_is_not_awaited(mock):
    mock.script(message("Sunny."))
    openai.AsyncOpenAI().responses.create(model="gpt-4.1", input="Hi.")


@pytest.mark.cause(
    title="No request came, and a call was never awaited.",
    fix="Write `await` before the call",
    place="test_a_coroutine_is_compared.<locals>.agent' was never awaited",
)
def test_a_coroutine_is_compared(mock):
    async def agent():
        answer = await openai.AsyncOpenAI().responses.create(model="gpt-4.1", input="Hi.")
        return answer.output_text

    mock.script(message("Sunny."))
    assert agent() == "Sunny."


@pytest.mark.cause(
    title="No request came with this test's key",
    fix="The code under test must read OPENAI_BASE_URL and OPENAI_API_KEY",
    place='script: message "Sunny."',
)
def test_nothing_is_asked(mock):
    mock.script(message("Sunny."))
    result = None
    assert result == "Sunny."


@pytest.mark.cause(
    title="A connection to the live API, api.openai.com:443, was refused",
    fix="Let the client read OPENAI_BASE_URL, or pass it `mock.base_url`",
    place='in test_the_live_api_is_asked: client = openai.OpenAI(base_url="https://api.openai.com/v1"',
)
def test_the_live_api_is_asked(mock):
    mock.script(message("Sunny."))
    client = openai.OpenAI(base_url="https://api.openai.com/v1", max_retries=0)
    client.responses.create(model="gpt-4.1", input="Hi.")


@pytest.mark.cause(
    title="No request came with this test's key",
    fix="be passed mock.base_url and mock.api_key",
    place="http://127.0.0.1:9/v1/responses: [Errno 111] Connection refused",
)
def test_a_port_is_dead(mock):
    mock.script(message("Sunny."))
    client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", max_retries=0)
    client.responses.create(model="gpt-4.1", input="Hi.")


@pytest.mark.cause(
    title="A request with another key, sk-other, was refused (401).",
    fix="Otherwise pass mock.api_key to its client.",
    place="POST /responses, before any request of this test",
)
def test_another_key_is_sent(mock):
    mock.script(message("Sunny."))
    with contextlib.suppress(openai.OpenAIError):
        openai.OpenAI(api_key="sk-other").responses.create(model="gpt-4.1", input="Hi.")


@pytest.mark.cause(
    title="request 2 did not wait the 30 s that the 429 to request 1 asked for.",
    fix="Wait as long as `retry-after`",
    place="POST /responses, request 2",
)
@pytest.mark.harness(client="strict")
def test_a_client_does_not_wait(mock, swallow):
    mock.script(*[rate_limit(after="30s")] * 3, message("Sunny."))
    for _ in range(4):
        swallow()


@pytest.mark.cause(title="The client hung up on request 1", fix="Give the client a longer `timeout`")
def test_a_client_hangs_up(mock):
    mock.script(delay("Sunny.", seconds=1), message("Sunny."))
    openai.OpenAI(max_retries=0, timeout=0.2).responses.create(model="gpt-4.1", input="Hi.")


@pytest.mark.cause(
    title="POST /v1/embeddings is not part of this mock: embeddings are another API",
    fix='Answer it with mock.route("POST", "/embeddings", {…})',
    place="POST /embeddings",
)
def test_embeddings_are_asked_for(mock):
    openai.OpenAI(max_retries=0).embeddings.create(model="text-embedding-3-small", input="Paris")


@pytest.mark.cause(
    title="POST /v1/chat/completions is not part of this mock: chat completions are another API",
    fix="Call client.responses.create instead",
    place="POST /chat/completions",
)
def test_a_chat_completion_is_asked_for(mock):
    openai.OpenAI(max_retries=0).chat.completions.create(model="gpt-4.1", messages=[])


@pytest.mark.cause(
    title="Client resumed-from-the-wrong-event: request 2 resumes after event 5",
    fix="Resume with `starting_after` set to the `sequence_number`",
    place="GET /responses/",
)
def test_a_stream_is_resumed_too_far(mock):
    mock.script(cut("Sunny and warm, with a light wind.", after=3))
    client = openai.OpenAI(max_retries=0)
    stream = client.responses.create(model="gpt-4.1", input="Hi.", stream=True, background=True)
    id = next(stream).response.id
    with contextlib.suppress(Exception):
        list(stream)
    list(client.responses.retrieve(id, stream=True, starting_after=5))
