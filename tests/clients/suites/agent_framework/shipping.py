"""An agent whose deployments a human approves; run as a program it is the process that goes on with a saved session.

`shipping.py SESSION LOG approve|deny`, where the session holds the id of the request and what answers it.
"""

import asyncio
import json
import sys
from pathlib import Path

from agent_framework import Agent, AgentSession, Content, Message, tool
from agent_framework.openai import OpenAIChatClient


def shipper(chat, log, **options):
    """Return an agent that looks up, deploys and notifies; what needed leave and was done stands in the log."""

    @tool(approval_mode="always_require")
    def deploy(ref: str) -> str:
        """Put a version into production."""
        with log.open("a") as out:
            out.write(f"deploy {ref}\n")
        return f"{ref} is live"

    @tool(approval_mode="always_require")
    def notify(ref: str) -> str:
        """Tell the users."""
        with log.open("a") as out:
            out.write(f"notify {ref}\n")
        return "sent"

    @tool(approval_mode="never_require")
    def look_up(ref: str) -> str:
        """Return what a version contains."""
        return f"{ref}: two fixes"

    return Agent(
        chat, name="ops", instructions="You are ops.", tools=[deploy, notify, look_up], default_options=options
    )


def decided(requests, yes=True):
    """Return the user's turn that says yes, or no, to all that was asked."""
    return Message("user", [request.to_function_approval_response(yes) for request in requests])


async def go_on(saved: Path, log: Path, decision: str) -> str:
    """Decide about all calls of a saved session and play it to its end."""
    known = json.loads(saved.read_text())
    session = AgentSession.from_dict(known["session"])
    requests = [Content.from_dict(request) for request in known["requests"]]
    answer = decided(requests, decision == "approve")
    agent = shipper(OpenAIChatClient(model="gpt-5"), log, **known["options"])
    return (await agent.run(answer, session=session)).text


if __name__ == "__main__":
    print(asyncio.run(go_on(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])))
