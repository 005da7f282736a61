"""An agent of agent-framework behind its own server for hosted agents: `python agent_framework_host.py PORT`."""

import sys

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient
from agent_framework_foundry_hosting import ResponsesHostServer
from azure.ai.agentserver.responses import InMemoryResponseProvider

agent = Agent(client=OpenAIChatClient(model="gpt-5"), name="helper", default_options={"store": False})
ResponsesHostServer(agent, prefix="/v1", response_store=InMemoryResponseProvider()).run("127.0.0.1", int(sys.argv[1]))
