"""An agent whose deployments a human approves; run as a program it is the process that goes on from a checkpoint.

`shipping.py CHECKPOINTS LOG DECISIONS`, the decisions as JSON
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from openai import DefaultAsyncHttpxClient

THREAD = {"configurable": {"thread_id": "ann"}}


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: mild"


def shipper(checkpointer, log: Path, mode: str = "batched", **options):
    """Return an agent that looks up and deploys; what it deploys stands in the log."""

    @tool
    def deploy(ref: str) -> str:
        """Put a version into production."""
        with log.open("a") as out:
            out.write(f"{ref}\n")
        return f"{ref} is live"

    @tool
    def look_up(ref: str) -> str:
        """Return what a version contains."""
        return f"{ref}: two fixes"

    own = {"use_responses_api": True, "max_retries": 0, "http_async_client": DefaultAsyncHttpxClient()}
    chat = ChatOpenAI(model="gpt-5", **own, **options)
    gate = HumanInTheLoopMiddleware({"deploy": True}, interrupt_mode=mode)
    return create_agent(
        chat, [deploy, look_up], system_prompt="You are ops.", middleware=[gate], checkpointer=checkpointer
    )


async def go_on(checkpoints: str, log: Path, decisions: list) -> str:
    """Decide about all calls that wait and play the thread to its end."""
    async with AsyncSqliteSaver.from_conn_string(checkpoints) as saver:
        state = await shipper(saver, log).ainvoke(Command(resume={"decisions": decisions}), THREAD)
    return state["messages"][-1].text


if __name__ == "__main__":
    print(asyncio.run(go_on(sys.argv[1], Path(sys.argv[2]), json.loads(sys.argv[3]))))
