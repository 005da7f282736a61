"""`AzureOpenAI` of the openai package."""

import openai
import pytest
from openai import AsyncAzureOpenAI, AzureOpenAI
from pydantic import BaseModel
from story import OSLO, PARIS, WEATHER, answered

from harness import surfaced
from harness.items import file_citation, message

VERSION = "2025-04-01-preview"


@pytest.fixture
def azure(mock):
    return AzureOpenAI(azure_endpoint=mock.azure_endpoint, api_key=mock.api_key, api_version=VERSION, max_retries=0)


def test_text(mock, azure):
    mock.script(message("Hello."))
    response = azure.responses.create(model="my-deployment", input="hi")
    assert (response.output_text, response.model) == ("Hello.", "my-deployment")
    surfaced(response, mock.replies)


def test_stream(mock, azure):
    mock.script(message(["Hel", "lo."]))
    with azure.responses.stream(model="my-deployment", input="hi") as stream:
        assert [event.delta for event in stream if event.type == "response.output_text.delta"] == ["Hel", "lo."]
        surfaced(stream.get_final_response(), mock.replies)


@pytest.mark.parametrize("state", ["chain", "replay"])
def test_parallel_tools(mock, azure, state):
    mock.script([PARIS, OSLO], message("18 and 4."))
    first = azure.responses.create(model="my-deployment", input="Weather?", tools=[WEATHER])
    outputs = [{"type": "function_call_output", "call_id": call.call_id, "output": "18"} for call in first.output]
    more = {"input": outputs, "previous_response_id": first.id}
    if state == "replay":
        more = {"input": [{"role": "user", "content": "Weather?"}, *first.output, *outputs]}
    assert azure.responses.create(model="my-deployment", tools=[WEATHER], **more).output_text == "18 and 4."
    assert answered(mock) == [1, 1]


def test_structured_output(mock, azure):
    class Answer(BaseModel):
        city: str

    mock.script(message('{"city": "Paris"}'))
    parsed = azure.responses.parse(model="my-deployment", input="Where?", text_format=Answer).output_parsed
    assert parsed == Answer(city="Paris")


def test_citations(mock, azure):
    mock.script(message("See the report.", annotations=[file_citation("file-1", "report.pdf", 14)]))
    surfaced(azure.responses.create(model="my-deployment", input="hi"), mock.replies)


def test_content_filter(mock, azure):
    mock.organization(blocked={"violence"})
    with pytest.raises(openai.BadRequestError) as caught:
        azure.responses.create(model="my-deployment", input="hi")
    assert caught.value.code == "content_filter"
    assert caught.value.body["innererror"] == {"code": "ContentFiltered"}


async def test_async(mock):
    mock.script(message("Hello."))
    place = {"azure_endpoint": mock.azure_endpoint, "api_version": VERSION}
    async with AsyncAzureOpenAI(**place, azure_ad_token=mock.api_key) as client:
        assert (await client.responses.create(model="my-deployment", input="hi")).output_text == "Hello."
