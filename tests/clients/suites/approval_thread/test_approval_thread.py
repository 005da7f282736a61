"""A tool behind an approval, served over AG-UI: the user says yes on a thread, and the tool runs once."""

import pytest
from agent_framework import Agent, tool
from agent_framework.foundry import FoundryChatClient
from agent_framework.openai import OpenAIChatClient
from agui_adapter import window
from credential import AsyncCredential

from harness.examine.own_tests import run_case
from harness.items import function_call, message

CALLS = [function_call(name, {"ref": "v2"}) for name in ("deploy", "tests", "notes")]
NOTIFY = function_call("notify", {"ref": "v2"})


@pytest.fixture
def done():
    """What the tools behind an approval have done."""
    return []


@pytest.fixture
def tools(done):
    @tool(approval_mode="always_require")
    def deploy(ref: str) -> str:
        done.append(f"deploy {ref}")
        return f"{ref} is live"

    @tool(approval_mode="always_require")
    def notify(ref: str) -> str:
        done.append(f"notify {ref}")
        return "sent"

    @tool(approval_mode="never_require")
    def tests(ref: str) -> str:
        return "passed"

    @tool(approval_mode="never_require")
    def notes(ref: str) -> str:
        return "one new feature"

    return [deploy, notify, tests, notes]


@pytest.fixture(params=["openai", "foundry"])
def chat(mock, tools, request):
    """A user in front of an agent that ships."""
    if request.param == "foundry":
        credential = AsyncCredential(mock.api_key)
        client = FoundryChatClient(project_endpoint=mock.project_endpoint, credential=credential, model="gpt-5")
    else:
        client = OpenAIChatClient(base_url=mock.base_url, api_key=mock.api_key, model="gpt-5")
    return window(Agent(client=client, name="ops", instructions="You are ops.", tools=tools))


async def test_user_stays_on_his_thread(mock, chat, done):
    mock.script(CALLS, message("v2 is out."))
    await chat.say("Ship v2.")
    await chat.approve()
    assert (done, chat.text) == (["deploy v2"], "v2 is out.")


async def test_user_follows_the_advertised_thread(mock, chat, done):
    mock.script(CALLS, message("v2 is out."))
    await chat.say("Ship v2.")
    chat.thread = chat.advertised
    await chat.approve()
    assert (done, chat.text) == (["deploy v2"], "v2 is out.")


async def test_text_before_the_calls(mock, chat, done):
    mock.script([message("I look at it."), *CALLS], message("v2 is out."))
    await chat.say("Ship v2.")
    await chat.approve()
    assert (done, chat.text) == (["deploy v2"], "v2 is out.")


async def test_two_approvals_at_once(mock, chat, done):
    mock.script([*CALLS, NOTIFY], message("v2 is out."))
    await chat.say("Ship v2.")
    chat.thread = chat.advertised
    await chat.approve()
    assert (done, chat.text) == (["deploy v2", "notify v2"], "v2 is out.")


@pytest.mark.parametrize("case", ["beside-a-free-call", "after-text"])
def test_case(mock, case):
    run_case(mock, f"agents/approval-{case}", "stream,chain", "agui_adapter:AGUIAdapter")
