"""What LiteLLM makes of refusals and broken answers: its own errors, in the words of the API."""

import httpx
import litellm
import pytest
from litellm.exceptions import MidStreamFallbackError

from harness.ending import failed
from harness.faults import cut, hang_up, overloaded, rate_limit, server_error
from harness.items import message


@pytest.fixture(params=["responses", "completion"])
def ask(request):
    """Ask either of the two APIs of LiteLLM."""

    async def respond(text, model="gpt-4.1", stream=False, **options):
        answer = await litellm.aresponses(model=f"openai/{model}", input=text, stream=stream, **options)
        return [event async for event in answer] if stream else answer

    async def complete(text, model="gpt-4.1", stream=False, **options):
        messages, name = [{"role": "user", "content": text}], f"openai/responses/{model}"
        answer = await litellm.acompletion(model=name, messages=messages, stream=stream, **options)
        return [chunk async for chunk in answer] if stream else answer

    return respond if request.param == "responses" else complete


async def test_words_of_a_refused_request(mock):
    with pytest.raises(litellm.BadRequestError, match="Previous response with id 'resp_gone' not found"):
        await litellm.aresponses(model="openai/gpt-4.1", input="hi", previous_response_id="resp_gone")


@pytest.mark.parametrize("stream", [False, True])
async def test_value_out_of_range(mock, ask, stream):
    with pytest.raises(litellm.BadRequestError, match="Invalid 'temperature': decimal above maximum value"):
        await ask("hi", stream=stream, temperature=9)


@pytest.mark.parametrize("stream", [False, True])
async def test_unknown_model(mock, ask, stream):
    mock.organization(models={"gpt-4.1"})
    with pytest.raises((litellm.BadRequestError, litellm.NotFoundError), match="The requested model 'gpt-9' does not"):
        await ask("hi", "gpt-9", stream)


async def test_out_of_quota(mock, ask):
    mock.organization(out_of_quota=True)
    with pytest.raises(litellm.RateLimitError, match="exceeded your current quota"):
        await ask("hi")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (rate_limit, litellm.RateLimitError),
        (server_error, litellm.InternalServerError),
        (overloaded, litellm.ServiceUnavailableError),
    ],
)
async def test_error_of_the_server(mock, ask, fault, kind, stream):
    mock.script(fault())
    with pytest.raises(kind):
        await ask("hi", stream=stream)


async def test_client_tries_again(mock, ask):
    mock.script(server_error(), hang_up(), message("At last."))
    assert await ask("hi", num_retries=2)
    assert [exchange.status for exchange in mock.exchanges] == [500, 0, 200]


@pytest.mark.parametrize("stream", [False, True])
async def test_failed(mock, ask, stream):
    mock.script([message("Once upon"), failed()])
    with pytest.raises(
        (litellm.InternalServerError, MidStreamFallbackError), match="An error occurred while processing"
    ):
        await ask("Tell me.", stream=stream)


async def test_cut_stream(mock, ask):
    mock.script(cut(message(["Once ", "upon ", "a ", "time."]), after=6))
    with pytest.raises((httpx.ReadError, MidStreamFallbackError), match="not completed"):
        await ask("Tell me.", stream=True)
