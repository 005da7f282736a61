"""The npm package `@azure/ai-projects`, which sends no token over plain http: agents, responses, connections over TLS."""

import pytest
from story import answered

from harness import surfaced
from harness.items import file_citation, file_search_call, function_call, message

pytestmark = pytest.mark.harness(dialect="foundry", tls=True)


def test_text(mock, play):
    mock.script(message("Hello."))
    response = play("text")
    assert response["output_text"] == "Hello."
    surfaced(response, mock.replies)


def test_agent_is_made_and_asked(mock, play):
    mock.when(agent="helper", instructions="Help", model="mine").script(message("Hello."))
    response = play("agent")
    assert (response["output_text"], response["agent_reference"]["name"]) == ("Hello.", "helper")


def test_stream(mock, play):
    cited = message(["See ", "the report."], annotations=[file_citation("file-1", "report.pdf", 14)])
    mock.when(agent="helper").script([file_search_call(["report"]), cited])
    events = play("stream")
    assert events[-1]["type"] == "response.completed"
    surfaced(events, mock.replies)


def test_tool_in_a_conversation(mock, play):
    mock.when(agent="helper", tools="deploy").script(function_call("deploy", {}), message("Done."))
    assert play("tools")["output_text"] == "Done."
    assert answered(mock) == [1]


def test_versions_of_an_agent(mock, play):
    assert play("versions") == ["1", "2", ["helper"], "2", True]


def test_connections(mock, play):
    mock.connection("search", type="CognitiveSearch", credentials="a-key")
    assert play("connections") == ["search", "CognitiveSearch", "a-key"]


def test_unknown_agent(mock, play):
    with mock.refuses("agent_not_there"):
        assert play("unknown")["statusCode"] == 404
