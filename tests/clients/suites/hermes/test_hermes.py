"""A chat UI talks to a server that speaks the Responses API: what its model is sent grows by what was said, no more."""

import pytest

from harness.drive import Chat, linear
from harness.items import function_call, message

pytestmark = pytest.mark.harness(refusals=["outside_the_api", "unknown_url"])  # hermes-agent tries many paths

PLAN = function_call("todo", {"todos": [{"id": "1", "content": "Find the reports", "status": "pending"}]})
QUESTIONS = ("Plan the release.", "Who reads the reports?", "And who signs them?")
ANSWERS = ("One task is planned.", "The auditors read them.", "The director signs.")


def talk(mock, server, mode, stream=False):
    mock.script(PLAN, *map(message, ANSWERS))
    with Chat(server.base_url, server.api_key, model="hermes-agent", mode=mode, stream=stream) as chat:
        assert [chat.say(question).text.strip() for question in QUESTIONS] == list(ANSWERS)
    linear(mock.exchanges, chat.texts)


def test_chain(mock, server):
    talk(mock, server, "chain")


@pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])
def test_chain_and_replay(mock, server, stream):
    talk(mock, server, "both", stream)


def test_replay(mock, server):
    """Nothing is empty or doubled, but typed items of the chat UI never reach the model: the history is built anew."""
    talk(mock, server, "replay")
