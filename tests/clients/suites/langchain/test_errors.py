"""What langchain-openai makes of refusals and broken answers: the words of the API reach the caller."""

import openai
import pytest

from harness.ending import failed
from harness.faults import cut, hang_up, overloaded, rate_limit, server_error
from harness.items import message


async def test_words_of_a_refused_request(mock, chat, ask):
    with pytest.raises(openai.BadRequestError, match="Previous response with id 'resp_gone' not found") as caught:
        await ask(chat(), "hi", previous_response_id="resp_gone")
    assert caught.value.code == "previous_response_not_found"


async def test_unknown_model(mock, chat, ask):
    mock.organization(models={"gpt-4.1"})
    with pytest.raises(openai.APIStatusError, match="The requested model 'gpt-9' does not exist"):
        await ask(chat("gpt-9"), "hi")


async def test_too_much_for_the_model(mock, chat, ask):
    with pytest.raises(openai.BadRequestError, match="Unsupported parameter: 'temperature'"):
        await ask(chat("o3", temperature=0.3), "hi")


async def test_out_of_quota(mock, chat, ask):
    mock.organization(out_of_quota=True)
    with pytest.raises(openai.RateLimitError, match="exceeded your current quota"):
        await ask(chat(), "hi")


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (rate_limit, openai.RateLimitError),
        (server_error, openai.InternalServerError),
        (overloaded, openai.InternalServerError),
    ],
)
async def test_error_of_the_server(mock, chat, ask, fault, kind):
    mock.script(fault())
    with pytest.raises(kind):
        await ask(chat(), "hi")


async def test_client_tries_again(mock, chat, ask):
    mock.script(rate_limit(after="1ms"), hang_up(), message("At last."))
    assert (await ask(chat(max_retries=2), "hi")).text == "At last."


async def test_failed(mock, chat, ask):
    mock.script([message("Once upon"), failed()])
    with pytest.raises((openai.APIError, ValueError), match="An error occurred while processing"):
        await ask(chat(), "Tell me.")


async def test_cut_stream(mock, chat):
    mock.script(cut(message(["Once ", "upon ", "a ", "time."]), after=6))
    with pytest.raises(openai.APIError):
        async for _ in chat().astream("Tell me."):
            pass
