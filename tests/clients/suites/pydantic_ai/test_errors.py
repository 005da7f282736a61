"""What pydantic-ai makes of refusals and broken answers: the words of the API reach the caller, nothing is lost silently."""

import pytest
from openai import APIConnectionError, AsyncOpenAI
from pydantic_ai import Agent, ModelAPIError, ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from harness.ending import failed, incomplete
from harness.faults import cut, hang_up, overloaded, rate_limit, server_error
from harness.items import message


async def test_words_of_a_refused_request(mock, model, run):
    with pytest.raises(ModelHTTPError, match="Previous response with id 'resp_gone' not found") as caught:
        await run(Agent(model), "hi", model_settings={"openai_previous_response_id": "resp_gone"})
    assert caught.value.status_code == 400


async def test_unknown_model(mock, provider, run):
    mock.organization(models={"gpt-4.1"})
    with pytest.raises(ModelHTTPError, match="The requested model 'gpt-9' does not exist") as caught:
        await run(Agent(OpenAIResponsesModel("gpt-9", provider=provider)), "hi")
    assert caught.value.body["code"] == "model_not_found"


async def test_wrong_key(mock, run):
    model = OpenAIResponsesModel("gpt-4.1", provider=OpenAIProvider(base_url=mock.base_url, api_key="wrong"))
    with pytest.raises(ModelHTTPError, match="Incorrect API key provided: wrong"):
        await run(Agent(model), "hi")


async def test_out_of_quota(mock, model, run):
    mock.organization(out_of_quota=True)
    with pytest.raises(ModelHTTPError, match="exceeded your current quota") as caught:
        await run(Agent(model), "hi")
    assert caught.value.status_code == 429


@pytest.mark.parametrize(("fault", "status"), [(rate_limit, 429), (server_error, 500), (overloaded, 503)])
async def test_error_of_the_server(mock, model, run, fault, status):
    mock.script(fault())
    with pytest.raises(ModelHTTPError) as caught:
        await run(Agent(model), "hi")
    assert caught.value.status_code == status


async def test_client_tries_again(mock, run):
    mock.script(rate_limit(after="1ms"), hang_up(), message("At last."))
    provider = OpenAIProvider(openai_client=AsyncOpenAI(max_retries=2))
    result = await run(Agent(OpenAIResponsesModel("gpt-4.1", provider=provider)), "hi")
    assert result.output == "At last."


async def test_cut_stream(mock, model):
    mock.script(cut(message(["Once ", "upon ", "a ", "time."]), after=6))
    with pytest.raises((ModelAPIError, UnexpectedModelBehavior, APIConnectionError)):
        async with Agent(model).run_stream("Tell me.") as result:
            await result.get_output()


async def test_failed(mock, model, run):
    mock.script([message("Once upon"), failed()])
    with pytest.raises((ModelAPIError, UnexpectedModelBehavior), match="An error occurred while processing"):
        await run(Agent(model), "Tell me.")


async def test_cut_by_the_filter(mock, model, run):
    mock.script([message("Once upon"), incomplete("content_filter")])
    result = await run(Agent(model), "Tell me.")
    assert (result.output, result.response.finish_reason) == ("Once upon", "content_filter")


async def test_cut_by_the_limit(mock, model, run):
    mock.script([message("Once upon a time there was a very long story indeed"), incomplete()])
    result = await run(Agent(model), "Tell me.", model_settings={"max_tokens": 16})
    assert result.response.finish_reason == "length"
