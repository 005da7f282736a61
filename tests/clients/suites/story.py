"""What the suites tell of: a clerk who looks up the weather, and a version that goes live when a human gives leave."""

from __future__ import annotations

import subprocess
import sys

from pydantic import BaseModel

from harness.items import (
    code_interpreter_call,
    container_file_citation,
    file_citation,
    file_search_call,
    function_call,
    mcp_call,
    message,
    url_citation,
    web_search_call,
)

PARIS, OSLO = (function_call("get_weather", {"city": city}) for city in ("Paris", "Oslo"))
DEPLOY, DEPLOY_V3 = (function_call("deploy", {"ref": ref}) for ref in ("v2", "v3"))
LOOK_UP = function_call("look_up", {"ref": "v2"})
REMOTE = mcp_call("prod", "deploy", {"ref": "v2"})
GUIDE = url_citation("https://example.org/guide", "Guide", cite="cold")
PLOT = container_file_citation("cntr_1", "cfile_1", "plot.png", cite="cold")
CITED = [
    file_search_call("storage"),
    message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt", cite="cold")]),
]
CITED_FROM_THE_WEB = [web_search_call("storage"), message("Store it cold.", annotations=[GUIDE])]
CITED_FROM_CODE = [code_interpreter_call("plot()", outputs=["saved\n"]), message("Store it cold.", annotations=[PLOT])]
QUESTIONS = ("How is Paris?", "And tomorrow?", "Thank you.")
ANSWERS = ("Paris is mild today.", "Tomorrow it will rain.", "You are welcome, any time.")
FORECAST = '{"city": "Paris", "degrees": 18}'
SEALED = {"store": False, "include": ["reasoning.encrypted_content"]}
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = {"type": "function", "name": "get_weather", "description": "The weather.", "parameters": CITY, "strict": True}


class Forecast(BaseModel):
    """The weather to come."""

    city: str
    degrees: int


MILD = Forecast(city="Paris", degrees=18)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: mild"


def sizes(mock):
    """How many items each request for a response sends."""
    return [len(exchange.request.body["input"]) for exchange in mock.exchanges if exchange.request.path == "/responses"]


def outputs(exchange):
    """Return what the tools said to a request."""
    return [item["output"] for item in exchange.request.body["input"] if item.get("type") == "function_call_output"]


def answered(mock):
    """How many outputs each call got."""
    return [call.answered for call in mock.calls]


def decisions(mock):
    """Return what was said to each request for leave, and how often it was carried out."""
    return [(approval.approve, approval.executed) for approval in mock.approvals]


def bound(agent):
    """Return what binds a request to an agent that a project keeps."""
    return {"agent_reference": {"type": "agent_reference", "name": agent.name, "version": agent.version}}


def deployed(log):
    """Return what an agent has deployed, which stands in its log."""
    return log.read_text().split() if log.exists() else []


def run_program(file, *arguments):
    """Return what a program prints: the process that goes on with what another has saved."""
    ended = subprocess.run([sys.executable, file, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()
