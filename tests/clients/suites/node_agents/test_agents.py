"""The npm package `@openai/agents`: one agent, several turns, several agents."""

import pytest
from story import CITED, DEPLOY, FORECAST, LOOK_UP, MILD, OSLO, PARIS, answered, outputs

from harness import surfaced
from harness.faults import cut
from harness.items import function_call, message, reasoning

STATES = ["replay", "chain", "conversation"]


def test_text(mock, run):
    mock.script(message("It is mild."))
    told = run("run", agent="clerk")
    assert told["output"] == "It is mild."
    surfaced(told["shown"], mock.replies)


def test_events(mock, play):
    mock.script(PARIS, message(["It ", "is ", "mild."]))
    told = play("events")
    assert told["deltas"] == ["It ", "is ", "mild."]
    assert told["names"] == ["tool_called", "tool_output", "message_output_created"]
    surfaced(told["shown"], mock.replies)


def test_tools(mock, run):
    mock.script(PARIS, OSLO, message("Both are mild."))
    told = run("run", agent="clerk")
    assert told["output"] == "Both are mild."
    assert answered(mock) == [1, 1]
    surfaced(told["shown"], mock.replies)


def test_parallel_tools(mock, run):
    mock.script([message("I look."), PARIS, OSLO], message("Both are mild."))
    told = run("run", agent="clerk")
    assert (told["output"], outputs(mock.exchanges[1])) == ("Both are mild.", ["Paris: mild", "Oslo: mild"])
    surfaced(told["shown"], mock.replies)


def test_reasoning_is_replayed(mock, run):
    mock.script([reasoning("**Looking**"), PARIS], [reasoning("**Again**"), OSLO], message("Both are mild."))
    assert run("run", agent="thinker")["output"] == "Both are mild."
    kinds = [item.get("type") for item in mock.exchanges[2].request.body["input"]]
    assert kinds[1:] == ["reasoning", "function_call", "function_call_output"] * 2


def test_structured_output(mock, run):
    mock.script(message(FORECAST))
    assert run("run", agent="forecaster")["output"] == MILD.model_dump()


def test_citations(mock, run):
    mock.script(CITED)
    told = run("run", agent="librarian", store=mock.vector_store(mock.file("guide.txt", "Store it cold.")))
    surfaced(told["shown"], mock.replies)


def test_citations_are_replayed(mock, run):
    mock.script(CITED, message("In the fridge."))
    store = mock.vector_store(mock.file("guide.txt", "Store it cold."))
    answers = run("turns", agent="librarian", state="replay", store=store, questions=["How?", "Where?"])
    assert answers == ["Store it cold.", "In the fridge."]


@pytest.mark.parametrize("state", STATES)
def test_turns(mock, run, state):
    mock.script([PARIS, OSLO], message("Both are mild."), OSLO, message("Still mild."), message("You are welcome."))
    answers = run("turns", agent="clerk", state=state, questions=["Paris and Oslo?", "Oslo now?", "Thanks."])
    assert answers == ["Both are mild.", "Still mild.", "You are welcome."]
    assert answered(mock) == [1, 1, 1]


@pytest.mark.parametrize("state", STATES)
def test_turns_that_reason(mock, play, state):
    mock.script([reasoning("**Looking**"), PARIS], message("It is mild."), message("You are welcome."))
    answers = play("turns", agent="storedThinker", state=state, questions=["Paris?", "Thanks."])
    assert answers == ["It is mild.", "You are welcome."]


@pytest.mark.parametrize("session", ["memory", "conversation", "compaction"])
def test_session(mock, run, session):
    mock.script([PARIS, OSLO], message("Both are mild."), message("You asked for two."), message("Bye."))
    told = run("session", agent="clerk", session=session, questions=["Paris and Oslo?", "How many?", "Bye."])
    assert told["answers"] == ["Both are mild.", "You asked for two.", "Bye."]
    assert ("compaction" in told["kinds"]) == (session == "compaction")


@pytest.fixture
def team(mock):
    mock.when(instructions="planner").script(LOOK_UP, function_call("transfer_to_ops"))
    mock.when(instructions="ops").script(DEPLOY, message("v2 is out."))


def test_hand_off(mock, team, run):
    told = run("run", agent="planner")
    assert (told["output"], told["agent"]) == ("v2 is out.", "Ops")
    assert [len(exchanges) for exchanges in mock.lanes.values()] == [2, 2]
    surfaced(told["shown"], mock.replies)


def test_hand_off_without_the_tools(mock, team, play):
    assert play("filtered")["output"] == "v2 is out."


@pytest.mark.parametrize("state", STATES)
def test_turns_after_a_hand_off(mock, team, play, state):
    mock.when(instructions="ops").script(message("At noon."))
    assert play("turns", agent="planner", state=state, questions=["Ship v2.", "When?"]) == ["v2 is out.", "At noon."]


def test_agent_as_a_tool(mock, play):
    mock.when(instructions="lead").script(function_call("ask_ops", {"input": "Is v2 out?"}), message("Yes, it is."))
    mock.when(instructions="ops").script(DEPLOY, message("v2 is out."))
    assert play("run", agent="lead")["output"] == "Yes, it is."


def test_input_guardrail(mock, play):
    mock.when(instructions="judge").script(message("no"))
    assert play("inputGuardrail")["kind"] == "InputGuardrailTripwireTriggered"
    assert len(mock.exchanges) == 1


def test_input_guardrail_lets_pass(mock, play):
    mock.when(instructions="judge").script(message("yes"))
    mock.when(instructions="tutor").script(message("Read it twice."))
    assert play("inputGuardrail")["done"]["output"] == "Read it twice."


def test_output_guardrail(mock, play):
    mock.script(message("The password is 1234."))
    assert play("outputGuardrail")["kind"] == "OutputGuardrailTripwireTriggered"


def test_socket(mock, play):
    mock.script([PARIS, OSLO], message("Both are mild."), OSLO, message("Still mild."))
    told = play("socket")
    assert told["output"] == "Still mild."
    assert {exchange.request.method for exchange in mock.exchanges} == {"WS"}
    surfaced(told["shown"], mock.replies)


def test_refusal(mock, run):
    lost = {"role": "assistant", "type": "message", "status": "completed", "content": []}
    orphan = {"type": "function_call_result", "name": "get_weather", "callId": "call_1", "status": "completed"}
    with mock.refuses("output_needs_call"):
        error = run("refused", input=[lost, {**orphan, "output": {"type": "text", "text": "4"}}])
    words = "No tool call found for function call output with call_id call_1."
    assert (error["kind"], error["status"], error["message"]) == ("BadRequestError", 400, f"400 {words}")


@pytest.mark.parametrize("after", [1, 6, 6.5], ids=str)
def test_cut_stream(mock, play, after):
    mock.script(cut(message(["Once ", "upon ", "a time."]), after=after))
    assert play("refused", input="hi", stream=True)["message"] == "terminated"
