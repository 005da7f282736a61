"""agent-framework behind AG-UI as an adapter: a user's window on one thread, in front of a served agent."""

from __future__ import annotations

from agent_framework import Agent, tool
from agent_framework.openai import OpenAIChatClient
from agent_framework_ag_ui import add_agent_framework_fastapi_endpoint
from chat import Chat
from fastapi import FastAPI

from harness.examine.session import ClientSession, SessionAdapter
from harness.examine.task import Task, Tool


def window(agent: Agent) -> Chat:
    """Return a user's window on an agent that is served."""
    app = FastAPI()
    try:
        add_agent_framework_fastapi_endpoint(app, agent, single_user=True)
    except TypeError:  # releases that knew no users
        add_agent_framework_fastapi_endpoint(app, agent)
    return Chat(app)


class AGUISession(ClientSession):
    """A `Chat` that stays on its thread."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        client = OpenAIChatClient(base_url=task.base_url, api_key=task.api_key, model=task.model)
        agent = Agent(client, task.instructions, name="ops", tools=[self._wrap(tool) for tool in task.tools])
        self._chat = window(agent)
        self._gated = [tool.name for tool in task.tools if tool.needs_approval]

    def _wrap(self, each: Tool):
        mode = "always_require" if each.needs_approval else "never_require"
        return tool(self.functions[each.name], schema=each.parameters, approval_mode=mode)

    async def say(self, prompt: str) -> str:
        await self._chat.say(prompt)
        if self._chat.interrupts:
            answers = [self.approves(name) for name in self._gated]
            await self._chat.approve(all(answers))
        self.streamed = None  # a window shows whole messages
        return self._chat.text or ""


class AGUIAdapter(SessionAdapter):
    """`agent-framework-ag-ui`, which streams always."""

    package, session = "agent-framework-ag-ui", AGUISession
    areas = ("agents",)
    features = ("tools", "tool_approvals")
    states = ("chain",)
    streams = (True,)
