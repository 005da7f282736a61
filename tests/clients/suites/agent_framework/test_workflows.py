"""Several agents: one after the other, side by side, in a group, handing over, one as the tool of another."""

import pytest
from agent_framework import Agent, Content, InMemoryCheckpointStorage, tool
from agent_framework_orchestrations import (
    ConcurrentBuilder,
    GroupChatBuilder,
    HandoffAgentUserRequest,
    HandoffBuilder,
    SequentialBuilder,
)
from story import CITED, CITED_FROM_CODE, CITED_FROM_THE_WEB, DEPLOY, DEPLOY_V3

from harness import surfaced
from harness.items import (
    function_call,
    message,
)

SAID = {"file_search": CITED, "web_search": CITED_FROM_THE_WEB, "code_interpreter": CITED_FROM_CODE}
SHIP = [message("I ship it."), DEPLOY]


@pytest.fixture(params=["openai", "foundry", "openai-stateless"])
def chat(request):
    """The clients; the last keeps nothing at the API."""
    return request.getfixturevalue(request.param.partition("-")[0])


@pytest.fixture
def agent(chat, request):
    """`agent("planner", tool)`: its instructions say its name."""
    options = {"store": False} if "stateless" in request.node.callspec.params["chat"] else {}

    def made(name, *tools, **more):
        text = f"You are the {name}."
        return Agent(chat, name=name, instructions=text, tools=list(tools), default_options=options, **more)

    return made


def deploy(done, approval_mode="never_require"):
    @tool(approval_mode=approval_mode)
    def deploy(ref: str) -> str:
        """Put a version into production."""
        done.append(ref)
        return f"{ref} is live"

    return deploy


def hand_off(agent, *tools):
    """Return a planner who hands over to ops."""
    kept = {"require_per_service_call_history_persistence": True}
    planner, ops = agent("planner", **kept), agent("ops", *tools, **kept)
    return HandoffBuilder(participants=[planner, ops]).with_start_agent(planner).build()


def group(agent, *tools):
    """Return a planner and ops, who speak in turn."""
    names = iter(["planner", "ops", "planner"])
    participants = [agent("planner"), agent("ops", *tools)]
    return GroupChatBuilder(participants=participants, selection_func=lambda _: next(names), max_rounds=3).build()


def lanes(mock):
    """How many requests each agent made."""
    return {name: len(exchanges) for name, exchanges in mock.lanes.items()}


async def test_sequential(mock, agent, run, done):
    mock.when(instructions="planner").script(message("Ship v2."))
    mock.when(instructions="ops").script(SHIP, message("v2 is out."))
    mock.when(instructions="writer").script(message("Dear users, v2 is out."))
    workflow = SequentialBuilder(participants=[agent("planner"), agent("ops", deploy(done)), agent("writer")]).build()
    result = await run(workflow, "Plan the release.")
    surfaced(result, mock.replies)
    assert (lanes(mock), done) == ({"planner": 1, "ops": 2, "writer": 1}, ["v2"])


@pytest.mark.parametrize("kind", SAID)
async def test_sequential_with_citations(mock, agent, chat, run, kind):
    search = {
        "file_search": lambda: chat.get_file_search_tool(vector_store_ids=[mock.vector_store()]),
        "web_search": chat.get_web_search_tool,
        "code_interpreter": chat.get_code_interpreter_tool,
    }[kind]()
    mock.when(instructions="researcher").script(SAID[kind])
    mock.when(instructions="writer").script(message("Keep it in the fridge."))
    workflow = SequentialBuilder(participants=[agent("researcher", search), agent("writer")], output_from="all").build()
    await run(workflow, "How is it stored?")
    assert lanes(mock) == {"researcher": 1, "writer": 1}


async def test_sequential_of_answers_only(mock, agent, run):
    mock.when(instructions="planner").script(message("Ship v2."))
    mock.when(instructions="writer").script(message("Dear users, v2 is out."))
    made = {"chain_only_agent_responses": True, "ensure_trailing_user_turn": True}
    await run(SequentialBuilder(participants=[agent("planner"), agent("writer")], **made).build(), "Plan the release.")
    assert lanes(mock) == {"planner": 1, "writer": 1}


async def test_concurrent(mock, agent, run, done):
    for name in ("critic", "poet"):
        mock.when(instructions=name).script(message(f"Says the {name}."))
    mock.when(instructions="ops").script(DEPLOY, message("v2 is out."))
    participants = [agent("critic"), agent("ops", deploy(done)), agent("poet")]
    await run(ConcurrentBuilder(participants=participants).build(), "What of v2?")
    assert (lanes(mock), done) == ({"critic": 1, "ops": 2, "poet": 1}, ["v2"])


async def test_group_chat(mock, agent, run, done):
    mock.when(instructions="planner").script(message("Ship v2."), message("Well done."))
    mock.when(instructions="ops").script(SHIP, message("v2 is out."))
    await run(group(agent, deploy(done)), "What of v2?")
    assert (lanes(mock), done) == ({"planner": 2, "ops": 2}, ["v2"])


async def test_group_chat_led_by_an_agent(mock, agent, run):
    lead = mock.when(instructions="leader")
    lead.script(message('{"terminate":false,"reason":"first","next_speaker":"planner","final_message":null}'))
    lead.script(message('{"terminate":false,"reason":"next","next_speaker":"ops","final_message":null}'))
    lead.script(message('{"terminate":true,"reason":"done","next_speaker":null,"final_message":"Released."}'))
    mock.when(instructions="planner").script(message("Ship v2."))
    mock.when(instructions="ops").script(message("v2 is out."))
    group = GroupChatBuilder(participants=[agent("planner"), agent("ops")], orchestrator_agent=agent("leader"))
    await run(group.build(), "What of v2?")
    assert lanes(mock) == {"leader": 3, "planner": 1, "ops": 1}


async def test_hand_off(mock, agent, run, done):
    mock.when(instructions="planner").script([message("I hand over."), function_call("handoff_to_ops", {})])
    mock.when(instructions="ops").script(DEPLOY, message("v2 is out."), message("Since noon."))
    workflow = hand_off(agent, deploy(done))
    first = await run(workflow, "Ship v2.")
    (waiting,) = first.get_request_info_events()
    response = HandoffAgentUserRequest.create_response("Since when?")
    await run(workflow, responses={waiting.request_id: response})
    assert (lanes(mock), done) == ({"planner": 1, "ops": 3}, ["v2"])


async def test_hand_off_and_back(mock, agent, run):
    mock.when(instructions="planner").script(function_call("handoff_to_ops", {}), message("All is well."))
    mock.when(instructions="ops").script([message("v2 is out."), function_call("handoff_to_planner", {})])
    await run(hand_off(agent), "Ship v2.")
    assert lanes(mock) == {"planner": 2, "ops": 1}


async def test_hand_off_to_an_approval(mock, agent, run, done):
    mock.when(instructions="planner").script(function_call("handoff_to_ops", {}))
    mock.when(instructions="ops").script(DEPLOY, message("v2 is out."))
    await approved(run, hand_off(agent, deploy(done, "always_require")), "Ship v2.")
    assert (lanes(mock), done) == ({"planner": 1, "ops": 2}, ["v2"])


async def test_sequential_waits_for_an_approval(mock, agent, run, done):
    mock.when(instructions="ops").script(SHIP, message("v2 is out."))
    mock.when(instructions="writer").script(message("Dear users, v2 is out."))
    gated = deploy(done, "always_require")
    await approved(run, SequentialBuilder(participants=[agent("ops", gated), agent("writer")]).build(), "Ship v2.")
    assert (lanes(mock), done) == ({"ops": 2, "writer": 1}, ["v2"])


async def test_approval_after_a_checkpoint(mock, agent, run, done):
    mock.when(instructions="ops").script(SHIP, message("v2 is out."))
    mock.when(instructions="writer").script(message("Dear users, v2 is out."))
    storage = InMemoryCheckpointStorage()

    def workflow():
        participants = [agent("ops", deploy(done, "always_require")), agent("writer")]
        return SequentialBuilder(participants=participants, name="release", checkpoint_storage=storage).build()

    asked = await run(workflow(), "Ship v2.")
    saved = await storage.get_latest(workflow_name="release")
    await run(workflow(), responses=approvals(asked), checkpoint_id=saved.checkpoint_id)
    assert (lanes(mock), done) == ({"ops": 2, "writer": 1}, ["v2"])


async def test_concurrent_waits_for_approvals(mock, agent, run, done):
    mock.when(instructions="ops").script(SHIP, message("v2 is out."))
    mock.when(instructions="boss").script(DEPLOY_V3, message("v3 is out."))
    mock.when(instructions="poet").script(message("Ode to v2."))
    gated = deploy(done, "always_require")
    participants = [agent("ops", gated), agent("boss", gated), agent("poet")]
    await approved(run, ConcurrentBuilder(participants=participants).build(), "Ship v2.")
    assert (lanes(mock), sorted(done)) == ({"ops": 2, "boss": 2, "poet": 1}, ["v2", "v3"])


async def test_group_chat_waits_for_an_approval(mock, agent, run, done):
    mock.when(instructions="planner").script(message("Ship v2."), message("Well done."))
    mock.when(instructions="ops").script(SHIP, message("v2 is out."))
    await approved(run, group(agent, deploy(done, "always_require")), "What of v2?")
    assert (lanes(mock), done) == ({"planner": 2, "ops": 2}, ["v2"])


async def test_workflow_as_an_agent(mock, agent, run):
    mock.when(instructions="planner").script(message("Ship v2."), message("At noon."))
    mock.when(instructions="writer").script(message("Dear users, v2 is out."), message("Dear users, at noon."))
    workflow = SequentialBuilder(participants=[agent("planner"), agent("writer")]).build().as_agent(name="release")
    session = workflow.create_session()
    await run(workflow, "Plan the release.", session=session)
    await run(workflow, "When?", session=session)
    assert lanes(mock) == {"planner": 2, "writer": 2}


def approvals(result):
    """Yes to every call that a workflow waits with."""
    asked = {event.request_id: event.data for event in result.get_request_info_events()}
    assert all(isinstance(request, Content) for request in asked.values())
    return {id: request.to_function_approval_response(True) for id, request in asked.items()}


async def approved(run, workflow, prompt):
    """Run a workflow, and once more with leave for all that it asks."""
    await run(workflow, responses=approvals(await run(workflow, prompt)))
