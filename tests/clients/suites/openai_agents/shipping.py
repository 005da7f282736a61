"""An agent whose deployments a human approves; run as a program it is the process that goes on with a saved run.

`shipping.py STATE LOG approve|reject`
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from agents import Agent, OpenAIResponsesModel, RunConfig, Runner, RunState, function_tool
from openai import AsyncOpenAI

QUIET = RunConfig(tracing_disabled=True)


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: mild"


@function_tool
def look_up(ref: str) -> str:
    """Return what a version contains."""
    return f"{ref}: two fixes"


def shipper(log: Path) -> Agent:
    """Return an agent that looks up and deploys; what it deploys stands in the log."""

    @function_tool(needs_approval=True)
    def deploy(ref: str) -> str:
        """Put a version into production."""
        with log.open("a") as out:
            out.write(f"{ref}\n")
        return f"{ref} is live"

    model = OpenAIResponsesModel("gpt-4.1", AsyncOpenAI(max_retries=0))
    return Agent("Ops", instructions="You are ops.", model=model, tools=[deploy, look_up])


async def go_on(state: Path, log: Path, decision: str) -> str:
    """Decide about all calls of a saved run and play it to its end."""
    agent = shipper(log)
    saved = await RunState.from_json(agent, json.loads(state.read_text()))
    for item in saved.get_interruptions():
        (saved.approve if decision == "approve" else saved.reject)(item)
    return (await Runner.run(agent, saved, run_config=QUIET)).final_output


if __name__ == "__main__":
    print(asyncio.run(go_on(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])))
