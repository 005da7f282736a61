"""The npm packages `ai` and `@ai-sdk/openai`: text, streams, tools, objects, sources, turns, a chat, gated calls."""

import json
from urllib.request import Request, urlopen

import pytest
from story import DEPLOY, DEPLOY_V3, FORECAST, MILD, OSLO, PARIS, REMOTE, answered, decisions, deployed

from harness import surfaced
from harness.items import file_citation, file_search_call, message, url_citation, web_search_call

STATES = ["replay", "stateless", "chain", "conversation"]

DECISIONS = pytest.mark.parametrize("approve", [True, False], ids=["approve", "deny"])


@pytest.fixture(params=[False, True], ids=["generate", "stream"])
def run(play, request):
    return lambda flow, **given: play(flow, stream=request.param, **given)


@pytest.fixture
def library(mock):
    """A vector store, and an answer that cites what is in it and a page."""
    file = mock.file("guide.txt", "Store it cold.")
    notes = [
        file_citation(file, "guide.txt", cite="cold"),
        url_citation("https://example.org/ice", "Ice", cite="on ice"),
    ]
    searched = [file_search_call("storage"), web_search_call("ice")]
    mock.script([*searched, message("Store it cold, on ice.", annotations=notes)])
    return mock.vector_store(file)


@pytest.fixture
def conversation(mock):
    """A function that makes a conversation, as an application does before its first turn."""

    def made():
        headers = {"Authorization": f"Bearer {mock.api_key}", "Content-Type": "application/json"}
        asked = Request(f"{mock.base_url}/conversations", b"{}", headers)
        with urlopen(asked) as answer:
            return json.load(answer)["id"]

    return made


def test_text(mock, run):
    mock.script(message("It is mild."))
    told = run("text")
    assert (told["output"], told["finish"]) == ("It is mild.", "stop")
    surfaced(told["shown"], mock.replies)


def test_parts(mock, play):
    mock.script(PARIS, message(["It ", "is ", "mild."]))
    told = play("parts", stream=True)
    assert told["deltas"] == ["It ", "is ", "mild."]
    assert {"tool-input-delta", "tool-call", "tool-result", "finish"} <= set(told["kinds"])


def test_parallel_tools(mock, run):
    mock.script([message("I look."), PARIS, OSLO], message("Both are mild."))
    told = run("tools")
    assert told["output"] == "Both are mild."
    assert answered(mock) == [1, 1]
    surfaced(told["shown"], mock.replies)


def test_agent(mock, play):
    mock.script([PARIS, OSLO], message("Both are mild."))
    surfaced(play("agent")["shown"], mock.replies)


def test_object(mock, run):
    mock.script(message(FORECAST))
    assert run("object") == MILD.model_dump()


def test_output(mock, run):
    mock.script(PARIS, message(FORECAST))
    assert run("output") == MILD.model_dump()


def test_sources(mock, run, library):
    told = run("cited", store=library)
    assert told["sources"] == [["document", "guide.txt"], ["url", "https://example.org/ice"]]
    surfaced(told["shown"], mock.replies)


@pytest.mark.parametrize("state", STATES)
def test_turns(mock, run, conversation, state):
    mock.script([PARIS, OSLO], message("Both are mild."), message("I look."), message("You are welcome."))
    own = {"conversation": conversation()} if state == "conversation" else {}
    answers = run("turns", state=state, questions=["Paris and Oslo?", "Sure?", "Thanks."], **own)
    assert answers == ["Both are mild.", "I look.", "You are welcome."]


@pytest.mark.parametrize("state", STATES[:3])
def test_turns_that_cite(mock, run, library, state):
    mock.script(message("In the fridge."))
    answers = run("turns", state=state, store=library, questions=["How?", "Where?"])
    assert answers == ["Store it cold, on ice.", "In the fridge."]


def test_chat(mock, play):
    mock.script([PARIS, OSLO], message("Both are mild."), PARIS, message("Still mild."), message("You are welcome."))
    messages = play("chat", questions=["Paris and Oslo?", "Paris now?", "Thanks."])
    assert [message["role"] for message in messages] == ["user", "assistant"] * 3
    assert messages[-1]["parts"][-1]["text"] == "You are welcome."
    assert answered(mock) == [1, 1, 1]


def test_chat_that_cites(mock, play, library):
    mock.script(message("In the fridge."))
    messages = play("chat", store=library, questions=["How?", "Where?"])
    kinds = [part["type"] for part in messages[1]["parts"]]
    assert [kind for kind in kinds if "source" in kind] == ["source-document", "source-url"]


@DECISIONS
def test_decided(mock, run, log, approve):
    mock.script(DEPLOY, message("That is settled."))
    told = run("decided", log=str(log), decisions=[approve])
    assert (told["output"], deployed(log)) == ("That is settled.", ["v2"] if approve else [])
    assert answered(mock) == [1]


def test_one_of_two_is_approved(mock, run, log):
    mock.script([DEPLOY, DEPLOY_V3], message("One is out."))
    told = run("decided", log=str(log), decisions=[True, False])
    assert (told["output"], deployed(log)) == ("One is out.", ["v2"])
    assert answered(mock) == [1, 1]


def test_only_some_calls_are_gated(mock, run, log):
    mock.script([message("I look first."), PARIS, DEPLOY], message("v2 is out."))
    told = run("decided", log=str(log), decisions=[True])
    assert (told["output"], deployed(log)) == ("v2 is out.", ["v2"])
    assert answered(mock) == [1, 1]


@DECISIONS
def test_on_the_page_of_a_chat(mock, play, log, approve):
    mock.script([PARIS, DEPLOY], message("That is settled."), message("You are welcome."))
    messages = play("chat", log=str(log), questions=["Ship it.", "Thanks."], decisions=[approve])
    assert (messages[-1]["parts"][-1]["text"], deployed(log)) == ("You are welcome.", ["v2"] if approve else [])
    told = [str(output) for _, output in mock.calls[1].outputs]
    assert told
    assert all(("denied" in output) is not approve for output in told)


@DECISIONS
def test_hosted_mcp(mock, run, shipped, approve):
    mock.script([REMOTE, message("That is settled.")], *([] if approve else [message("That is settled.")]))
    assert run("decided", remote=True, decisions=[approve])["output"] == "That is settled."
    assert decisions(mock) == [(approve, int(approve))]
