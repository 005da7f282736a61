"""An agent behind an AG-UI endpoint: a user's chat over several turns, with tools of the server and leave of the user."""

import pytest
from agent_framework import Agent, tool
from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint
from agent_framework_orchestrations import SequentialBuilder
from chat import Chat
from fastapi import FastAPI
from story import CITED, DEPLOY, DEPLOY_V3, LOOK_UP, REMOTE, SEALED

from harness.items import function_call, message, reasoning

TEST = function_call("test", {"ref": "v2"})
DECISIONS = pytest.mark.parametrize(("yes", "executed"), [(True, ["v2"]), (False, [])], ids=["approve", "deny"])


@pytest.fixture
def tools(done):
    @tool(approval_mode="always_require")
    def deploy(ref: str) -> str:
        done.append(ref)
        return f"{ref} is live"

    @tool(approval_mode="never_require")
    def look_up(ref: str) -> str:
        return f"{ref}: two fixes"

    @tool(approval_mode="never_require")
    def test(ref: str) -> str:
        return f"{ref}: passed"

    return [deploy, look_up, test]


def window(served):
    """Return a user's window on an endpoint that serves an agent or a workflow."""
    app = FastAPI()
    add_agent_framework_fastapi_endpoint(app, served, single_user=True)
    return Chat(app)


@pytest.fixture(params=[{}, SEALED], ids=["kept", "stateless"])
def user(openai, tools, request):
    return window(Agent(openai, name="ops", instructions="You are ops.", tools=tools, default_options=request.param))


async def talk(user, *questions):
    """Return what is answered to each question."""
    said = []
    for question in questions:
        await user.say(question)
        said.append(user.text)
    return said


async def test_ag_ui_text(mock, user):
    mock.script(message("Hello."), message("All is well."), message("Bye."))
    assert await talk(user, "Hi.", "How is it?", "Bye.") == ["Hello.", "All is well.", "Bye."]


async def test_ag_ui_tools(mock, user):
    mock.script([message("I look."), LOOK_UP, TEST], message("Two fixes, and it passed."), message("It is."))
    assert await talk(user, "What of v2?", "Is it good?") == ["Two fixes, and it passed.", "It is."]


async def test_ag_ui_tools_one_after_the_other(mock, user):
    mock.script(LOOK_UP, [message("Now the tests."), TEST], message("Two fixes, and it passed."), message("It is."))
    assert await talk(user, "What of v2?", "Is it good?") == ["Two fixes, and it passed.", "It is."]


async def test_ag_ui_reasoning(mock, user):
    mock.script([reasoning("**Thinking**"), LOOK_UP], [reasoning("**Again**"), message("Two fixes.")], message("Yes."))
    assert await talk(user, "What of v2?", "Sure?") == ["Two fixes.", "Yes."]


async def test_ag_ui_citations(mock, openai):
    mock.script(CITED, message("In the fridge."))
    search = openai.get_file_search_tool(vector_store_ids=[mock.vector_store()])
    user = window(Agent(openai, name="ops", instructions="You are ops.", tools=[search]))
    assert await talk(user, "How is it stored?", "Where?") == ["Store it cold.", "In the fridge."]


@DECISIONS
async def test_ag_ui_approval(mock, user, done, yes, executed):
    mock.script(DEPLOY)
    await settle(mock, user, done, yes, executed)


@DECISIONS
async def test_ag_ui_approval_among_other_calls(mock, user, done, yes, executed):
    mock.script([message("I look first."), LOOK_UP, DEPLOY, TEST])
    await settle(mock, user, done, yes, executed)


async def settle(mock, user, done, yes, executed):
    """A user who decides, then asks on."""
    mock.script(message("That is settled."), message("At noon."))
    await user.say("Ship v2.")
    await user.approve(yes)
    assert (user.text, done) == ("That is settled.", executed)
    assert await talk(user, "When?") == ["At noon."]
    assert done == executed


async def test_ag_ui_two_approvals_in_a_row(mock, user, done):
    mock.script(DEPLOY, DEPLOY_V3, message("Both are out."))
    await user.say("Ship v2, then v3.")
    await user.approve()
    await user.approve()
    assert (user.text, done) == ("Both are out.", ["v2", "v3"])


async def test_ag_ui_approved_twice(mock, user, done):
    mock.script(DEPLOY, message("v2 is out."))
    await user.say("Ship v2.")
    asked = user.interrupts
    await user.approve()
    user.interrupts = asked
    await user.approve()
    assert done == ["v2"]


async def test_ag_ui_question_before_the_approval(mock, user, done):
    mock.script(DEPLOY, message("v2 is out, since now."))
    await user.say("Ship v2.")
    asked = user.interrupts
    await user.say("Is it out?")
    user.interrupts = asked
    await user.approve()
    assert (user.text, done) == ("v2 is out, since now.", ["v2"])


@DECISIONS
async def test_ag_ui_mcp_approval(mock, openai, shipped, yes, executed):
    mock.script([REMOTE, message("v2 is out.")])
    if not yes:
        mock.script(message("Nothing was shipped."))
    server = openai.get_mcp_tool(name="prod", url="https://mcp.example.org", approval_mode="always_require")
    user = window(Agent(openai, name="ops", instructions="You are ops.", tools=[server]))
    await user.say("Ship v2.")
    await user.approve(yes)
    assert (user.text, shipped) == ("v2 is out." if yes else "Nothing was shipped.", executed)


async def test_ag_ui_workflow(mock, openai):
    for name, words in ("planner", "Ship v2."), ("writer", "Dear users, v2 is out."):
        mock.when(instructions=name).script(message(words), message(f"{words} Again."))
    agents = [Agent(openai, name=name, instructions=f"You are the {name}.") for name in ("planner", "writer")]
    user = window(SequentialBuilder(participants=agents).build())
    said = await talk(user, "Plan the release.", "Once more.")
    assert said == ["Dear users, v2 is out.", "Dear users, v2 is out. Again."]
    assert {name: len(exchanges) for name, exchanges in mock.lanes.items()} == {"planner": 2, "writer": 2}
