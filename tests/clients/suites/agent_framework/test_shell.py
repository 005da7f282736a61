"""Shells: of the API, and of the client."""

import pytest
from agent_framework import Agent

from harness import surfaced
from harness.items import message, shell_call, shell_call_output, shell_output

KEPT = {"model": "gpt-5.4"}
MEMORIES = pytest.mark.parametrize("options", [KEPT, KEPT | {"store": False}], ids=["kept", "stateless"])


@MEMORIES
async def test_local_shell(mock, openai, run, options):
    ran = []

    def execute(command: str) -> str:
        ran.append(command)
        return "guide.txt"

    mock.script([message("I look."), shell_call(["ls"])], message("There is a guide."), message("Bye."))
    shell = openai.get_shell_tool(func=execute, approval_mode="never_require")
    agent = Agent(openai, tools=[shell], default_options=options)
    session = agent.create_session()
    result = await run(agent, "What is there?", session=session)
    assert (result.messages[-1].text, ran) == ("There is a guide.", ["ls"])
    assert (await run(agent, "Bye.", session=session)).text == "Bye."


@MEMORIES
async def test_hosted_shell(mock, openai, run, options):
    call = shell_call(["ls"], call_id="call_1")
    mock.script([call, shell_call_output("call_1", shell_output("guide.txt")), message("A guide.")], message("Bye."))
    agent = Agent(openai, tools=[openai.get_shell_tool()], default_options=options)
    session = agent.create_session()
    surfaced(await run(agent, "What is there?", session=session), mock.replies)
    assert (await run(agent, "Bye.", session=session)).text == "Bye."
