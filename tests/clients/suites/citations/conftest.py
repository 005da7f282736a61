"""A researcher that cites a file and a writer that reads what the researcher said, on each client of the Responses API."""

import pytest
from agent_framework import Agent
from agent_framework.foundry import FoundryChatClient
from agent_framework.openai import OpenAIChatClient
from credential import AsyncCredential

from harness.items import file_citation, file_search_call, message

MODEL = "gpt-5"


@pytest.fixture(params=["openai", "foundry", "azure"])
def chat(mock, request):
    if request.param == "foundry":
        credential = AsyncCredential(mock.api_key)
        return FoundryChatClient(project_endpoint=mock.project_endpoint, credential=credential, model=MODEL)
    place = {"base_url": mock.base_url} if request.param == "openai" else {"azure_endpoint": mock.azure_endpoint}
    return OpenAIChatClient(**place, api_key=mock.api_key, model=MODEL)


@pytest.fixture
def agents(mock, chat):
    found = message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt")])
    mock.when(instructions="researcher").script([file_search_call(["storage"]), found])
    mock.when(instructions="writer").script(message("Keep it in the fridge."))
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    search = {"type": "file_search", "vector_store_ids": [store]}
    return [
        Agent(client=chat, name="researcher", instructions="You are the researcher.", tools=[search]),
        Agent(client=chat, name="writer", instructions="You are the writer."),
    ]
