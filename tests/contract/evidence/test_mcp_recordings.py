"""Recorded runs of MCP servers, played again: the script says what is called, the mock what the API said."""

import gzip
import json
from collections.abc import Iterator
from itertools import groupby

import pytest

from harness.core.exchange import Json
from harness.items import mcp_call
from harness.items.kind import Item, item_from_wire
from harness.world.mcp_server import ToolError
from tests.support.in_process import Client
from tests.support.shared import PRESENT, SHARED

pytestmark = pytest.mark.skipif(not PRESENT, reason="the recorded traffic is not here")

PROJECTS = ("langchain-ai+langchain", "openai+openai-dotnet")
OURS = ("mcp_list_tools", "mcp_approval_request", "mcp_call")
LATER = {"status"}
"""Members that a call of mid 2025 did not have yet."""


def runs() -> Iterator[list[Json]]:
    """Yield the exchanges of each recorded file that begins with a list of an MCP server's tools, in order."""
    for project in PROJECTS:
        with gzip.open(SHARED / "corpus" / f"{project}.jsonl.gz", "rt", encoding="utf-8") as lines:
            every = [json.loads(line) for line in lines if '"mcp_list_tools"' in line or '"mcp_approval_' in line]
        for _, group in groupby(every, key=lambda exchange: str(exchange["id"]).partition("#")[0]):
            found = [exchange for exchange in group if output(exchange)]
            if found and output(found[0])[0]["type"] == "mcp_list_tools":
                yield found


def output(exchange: Json) -> list[Json]:
    """Return what the API said in the end, as JSON or at the end of a stream."""
    last = (exchange.get("events") or [{}])[-1].get("data") or {}
    response = exchange.get("response") or (last.get("response") if isinstance(last, dict) else None) or {}
    return list(response.get("output") or ())


def play(recorded: list[Json]) -> tuple[list[Json], list[Json]]:
    """Return what a mock says to the recorded requests and what the API said, all items in order."""
    client, recorded_items = Client(), [item for record in recorded for item in output(record)]
    offer = next(tool for tool in recorded[0]["request"]["tools"] if tool["type"] == "mcp")
    serve(client, recorded_items, {"not allowed": "unseen"} if offer.get("allowed_tools") else {})
    new: dict[str, str] = {}
    made: list[Json] = []
    for exchange in recorded:
        client.mock.script([scripted(item) for item in output(exchange) if is_scripted(item)])
        body = renamed({**exchange["request"], "stream": False}, new)
        answer = client.send("POST /responses", body)
        assert answer.status == 200, answer.body
        made += answer.body["output"]
        new |= {old["id"]: now["id"] for old, now in zip(output(exchange), answer.body["output"], strict=True)}
        new[id_of(exchange)] = answer.body["id"]
    return made, recorded_items


def serve(client: Client, recorded_items: list[Json], more: Json) -> None:
    """Script the server that was recorded, with more tools that no list showed."""
    listing = next(item for item in recorded_items if item["type"] == "mcp_list_tools")
    ended = [item for item in recorded_items if item["type"] == "mcp_call"]

    def result(**arguments: object) -> str:
        call = ended.pop(0)
        if call["error"]:
            raise ToolError(call["error"])
        return str(call["output"])

    wire = ("annotations", "description", "input_schema")
    tools = {tool["name"]: {**{name: tool[name] for name in wire}, "result": result} for tool in listing["tools"]}
    client.mock.mcp(listing["server_label"], more | tools)


def is_scripted(item: Json) -> bool:
    return item["type"] not in OURS or (item["type"] != "mcp_list_tools" and not item.get("approval_request_id"))


def scripted(item: Json) -> Item:
    """Return what a script says of a recorded item: of a call only its tool and arguments."""
    if item["type"] in OURS:
        return mcp_call(item["server_label"], item["name"], [item["arguments"]])
    return item_from_wire(item)


def id_of(exchange: Json) -> str:
    return str((exchange.get("response") or exchange["events"][-1]["data"]["response"])["id"])


def renamed(value: Json, new: dict[str, str]) -> Json:
    text = json.dumps(value)
    for old, now in new.items():
        text = text.replace(old, now)
    return json.loads(text)


def shown(item: Json) -> Json:
    """Return an item without what differs from run to run."""
    if item["type"] not in OURS:
        return {"type": item["type"]}
    left = {name: value for name, value in item.items() if name not in LATER | {"id", "approval_request_id"}}
    return {**left, "approved": bool(item.get("approval_request_id"))}


RUNS = list(runs()) if PRESENT else []


@pytest.mark.parametrize("recorded", RUNS, ids=lambda recorded: str(recorded[0]["id"]).rpartition("/")[2])
def test_the_mock_says_what_the_api_answered(recorded: list[Json]) -> None:
    made, recorded_items = play(recorded)
    assert [shown(item) for item in made] == [shown(item) for item in recorded_items]


def test_there_are_such_runs() -> None:
    assert len(RUNS) >= 20
    items = [[item for exchange in run for item in output(exchange)] for run in RUNS]
    assert sum(any(item.get("approval_request_id") for item in run) for run in items) >= 8
