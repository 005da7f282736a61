"""The npm package `@openai/agents`: one agent, sessions, hand-offs, gated calls; each flow at once and as a stream."""

import pytest
from story import CITED, DEPLOY, FORECAST, LOOK_UP, MILD, OSLO, PARIS, REMOTE, answered, decisions, deployed, outputs

from harness import surfaced
from harness.items import function_call, message

DECISIONS = pytest.mark.parametrize("approve", [True, False], ids=["approve", "reject"])


@pytest.fixture(params=[False, True], ids=["run", "streamed"])
def run(play, request):
    return lambda flow, **given: play(flow, stream=request.param, **given)


def test_events(mock, play):
    mock.script(PARIS, message(["It ", "is ", "mild."]))
    told = play("events")
    assert told["deltas"] == ["It ", "is ", "mild."]
    assert told["names"] == ["tool_called", "tool_output", "message_output_created"]
    surfaced(told["shown"], mock.replies)


def test_parallel_tools(mock, run):
    mock.script([message("I look."), PARIS, OSLO], message("Both are mild."))
    told = run("run", agent="clerk")
    assert (told["output"], outputs(mock.exchanges[1])) == ("Both are mild.", ["Paris: mild", "Oslo: mild"])
    surfaced(told["shown"], mock.replies)


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


def test_hand_off_without_the_tools(mock, team, play):
    assert play("filtered")["output"] == "v2 is out."


@pytest.mark.parametrize("state", ["replay", "chain", "conversation"])
def test_turns_after_a_hand_off(mock, team, play, state):
    mock.when(instructions="ops").script(message("At noon."))
    assert play("turns", agent="planner", state=state, questions=["Ship v2.", "When?"]) == ["v2 is out.", "At noon."]


def test_input_guardrail(mock, play):
    mock.when(instructions="judge").script(message("no"))
    assert play("inputGuardrail")["kind"] == "InputGuardrailTripwireTriggered"
    assert len(mock.exchanges) == 1


def test_input_guardrail_lets_pass(mock, play):
    mock.when(instructions="judge").script(message("yes"))
    mock.when(instructions="tutor").script(message("Read it twice."))
    assert play("inputGuardrail")["done"]["output"] == "Read it twice."


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


@DECISIONS
@pytest.mark.parametrize("chain", [False, True], ids=["replay", "chain"])
def test_resumed_in_a_new_process(mock, play, log, approve, chain):
    mock.script(*([message("Hello.")] if chain else []), [LOOK_UP, DEPLOY], message("That is settled."))
    paused = play("paused", agent="shipper", log=str(log), chain=chain)
    assert (paused["waiting"], deployed(log)) == (1, [])
    output = play("resumed", agent="shipper", log=str(log), state=paused["state"], approve=approve)
    assert (output, deployed(log)) == ("That is settled.", ["v2"] if approve else [])
    assert answered(mock) == [1, 1]


@pytest.fixture
def prod(mock, shipped):
    """A server `prod`, and a function that scripts a call of it, which is carried out or not, and then a text."""

    def script(approve):
        mock.script([REMOTE, message("Done as asked.")], *([] if approve else [message("Done as asked.")]))

    return script


@DECISIONS
def test_hosted_mcp(mock, prod, run, approve):
    prod(approve)
    assert run("run", agent="remote", approve=approve)["output"] == "Done as asked."
    assert decisions(mock) == [(approve, int(approve))]


@DECISIONS
def test_hosted_mcp_in_a_new_process(mock, prod, play, approve):
    prod(approve)
    paused = play("paused", agent="remote")
    assert play("resumed", agent="remote", state=paused["state"], approve=approve) == "Done as asked."
    assert decisions(mock) == [(approve, int(approve))]
