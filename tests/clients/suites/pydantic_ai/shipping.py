"""An agent whose deployments a human approves; run as a program it is the process that goes on with saved messages.

`shipping.py MESSAGES REQUESTS LOG approve|deny`
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from openai import AsyncOpenAI
from pydantic import TypeAdapter
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

REQUESTS = TypeAdapter(DeferredToolRequests)


def shipper(log: Path, model: str = "gpt-5") -> Agent:
    """Return an agent that looks up and deploys; what it deploys stands in the log."""
    provider = OpenAIProvider(openai_client=AsyncOpenAI(max_retries=0))
    chat = OpenAIResponsesModel(model, provider=provider)
    agent = Agent(chat, instructions="You are ops.", output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def deploy(ref: str) -> str:
        """Put a version into production."""
        with log.open("a") as out:
            out.write(f"{ref}\n")
        return f"{ref} is live"

    @agent.tool_plain
    def look_up(ref: str) -> str:
        """Return what a version contains."""
        return f"{ref}: two fixes"

    return agent


async def go_on(messages: Path, requests: Path, log: Path, decision: str) -> str:
    """Decide about all calls that wait and play the run to its end."""
    waiting = REQUESTS.validate_json(requests.read_bytes()).approvals
    results = DeferredToolResults(approvals={call.tool_call_id: decision == "approve" for call in waiting})
    history = ModelMessagesTypeAdapter.validate_json(messages.read_bytes())
    return (await shipper(log).run(message_history=history, deferred_tool_results=results)).output


if __name__ == "__main__":
    print(asyncio.run(go_on(*map(Path, sys.argv[1:4]), sys.argv[4])))
