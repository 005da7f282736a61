"""Tools of the API in pydantic-ai: each is used, its outcome is seen, and the next turn replays it."""

import pytest
from pydantic_ai import Agent, BinaryImage, NativeToolReturnPart
from pydantic_ai.capabilities import NativeTool
from pydantic_ai.native_tools import (
    CodeExecutionTool,
    FileSearchTool,
    ImageGenerationTool,
    MCPServerTool,
    WebSearchTool,
)
from story import CITED_FROM_CODE, REMOTE

from harness import surfaced
from harness.items import (
    code_interpreter_call,
    file_citation,
    file_search_call,
    image_generation_call,
    message,
    open_page,
    reasoning,
    search,
    url_citation,
    web_search_call,
)

INCLUDED = {
    "openai_include_code_execution_outputs": True,
    "openai_include_web_search_sources": True,
    "openai_include_file_search_results": True,
    "openai_include_raw_annotations": True,
}
MCP = MCPServerTool(id="prod", url="https://mcp.example.org/sse", allowed_tools=["deploy"])


@pytest.fixture
def two_turns(mock, thinking, run, memory):
    """Ask an agent with a tool of the API, then thank it; the result of the first turn."""

    async def play(tool, *turn):
        mock.script([reasoning("**Looking**"), *turn], message("You are welcome."))
        agent = Agent(thinking, capabilities=[NativeTool(tool)], model_settings={**INCLUDED, **memory})
        first = await run(agent, "Please do it.")
        surfaced(first, mock.replies)
        second = await run(agent, "Thank you.", message_history=first.all_messages())
        assert second.output == "You are welcome."
        return first

    return play


def returned(result):
    """Return what a tool of the API brought."""
    parts = [part for message in result.all_messages() for part in message.parts]
    return [part.content for part in parts if isinstance(part, NativeToolReturnPart)]


async def test_web_search(two_turns):
    found = search("weather paris", sources=["https://example.org/paris"])
    link = "[Paris](https://example.org/paris)"
    note = url_citation("https://example.org/paris", "Paris", cite=link)
    answer = message(f"Paris is mild ({link}).", annotations=[note])
    calls = [web_search_call(found), web_search_call(open_page("https://example.org/paris"))]
    first = await two_turns(WebSearchTool(), *calls, answer)
    assert returned(first)[0]["sources"] == [{"type": "url", "url": "https://example.org/paris"}]


async def test_code(two_turns):
    code = code_interpreter_call("print(6*7)", outputs=["42\n"])
    first = await two_turns(CodeExecutionTool(), code, message("It is 42."))
    assert returned(first)[0]["logs"] == ["42\n"]


@pytest.mark.parametrize("memory", ["replay"], indirect=True)
async def test_file_that_code_wrote(two_turns):
    await two_turns(CodeExecutionTool(), *CITED_FROM_CODE)


async def test_file_search(mock, two_turns):
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    result = {
        "attributes": {},
        "file_id": "file-guide",
        "filename": "guide.txt",
        "score": 0.9,
        "text": "Store it cold.",
    }
    note = file_citation("file-guide", "guide.txt", cite="cold")
    calls = [file_search_call("storage", results=[result]), message("Store it cold.", annotations=[note])]
    first = await two_turns(FileSearchTool(file_store_ids=[store]), *calls)
    assert returned(first)[0]["results"][0]["text"] == "Store it cold."


async def test_image(two_turns):
    first = await two_turns(ImageGenerationTool(output_format="png"), image_generation_call(), message("Here."))
    assert [isinstance(image, BinaryImage) for image in first.response.images] == [True]


async def test_image_that_is_the_answer(mock, thinking, run):
    mock.script(image_generation_call(["aGFsZg==", "d2hvbGU="]))
    tool = ImageGenerationTool(provider_settings={"openai": {"partial_images": 1}})
    agent = Agent(thinking, output_type=BinaryImage, capabilities=[NativeTool(tool)])
    assert (await run(agent, "Draw.")).output.data == b"whole"


async def test_hosted_mcp(shipped, two_turns):
    first = await two_turns(MCP, REMOTE, message("v2 is out."))
    assert returned(first)[-1]["output"] == "v2 is live"
