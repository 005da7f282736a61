"""Stories of what a server must say and stream. Each tells claims, true or not; `remembered` has those of its state."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema_rs

from harness.contract.rules.http.websocket import SOCKET
from harness.core.exchange import Json
from harness.live.client.http import Reply
from harness.live.conformance.scenario import (
    QUESTION,
    Claim,
    Server,
    Step,
    Story,
    answered,
    equal,
    id_of,
    items_of,
    refuses,
    scenario,
    short,
    spoke,
    text_of,
    user,
    why,
)

CITY: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": CITY,
    "strict": True,
}
CALLING: Json = {"input": "What is the weather in Paris?", "tools": [WEATHER], "tool_choice": "required"}
FORMAT: Json = {"text": {"format": {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}}}
RUN: Json = {"type": "custom", "name": "run", "description": "Runs a command."}
RUNNING: Json = {"input": "Run make.", "tools": [RUN], "tool_choice": {"type": "custom", "name": "run"}}


@scenario
def text(server: Server) -> Story:
    """A question, an answer, and what it cost."""
    response = yield from answered(server, {"input": QUESTION})
    yield from spoke(response)
    usage = response.get("usage") or {}
    sums = usage.get("input_tokens", 0) + usage.get("output_tokens", 0) if usage else None
    yield (
        equal("its usage adds up", usage.get("total_tokens"), sums) if usage else Claim("it has usage", "it has none")
    )


@scenario
def stream(server: Server) -> Story:
    """The same as a stream: its deltas are the text of the response that it ends with."""
    yield from _streamed(server, {"input": QUESTION}, "response.output_text.delta", text_of)


@scenario
def tools_streamed(server: Server) -> Story:
    """A call as a stream: its deltas are the arguments."""
    yield from _streamed(server, CALLING, "response.function_call_arguments.delta", _of_calls("function", "arguments"))


@scenario
def custom_tool_streamed(server: Server) -> Story:
    """The same of a tool that takes any text."""
    yield from _streamed(server, RUNNING, "response.custom_tool_call_input.delta", _of_calls("custom_tool", "input"))


def _of_calls(kind: str, member: str) -> Callable[[Json], str]:
    return lambda response: "".join(str(call.get(member)) for call in items_of(response, f"{kind}_call"))


def _streamed(server: Server, body: Json, delta: str, said: Callable[[Json], str]) -> Story:
    yield from _told(server.ask("POST /responses", {**body, "stream": True}), delta, said)


def _told(reply: Reply, delta: str, said: Callable[[Json], str]) -> Story:
    events = reply.recorded.events
    yield Claim("it is answered by a stream", "" if events and reply.taken else why(reply))
    if not events or not reply.taken:
        return
    ended = events[-1]
    yield equal("the last event is the end", ended.get("type"), "response.completed")
    final = reply.body if isinstance(reply.body, dict) else {}
    pieces = [str(event.get("delta")) for event in events if event.get("type") == delta]
    yield Claim("it has deltas", "" if pieces else f"it has no {delta}")
    yield equal("the deltas are what the response says", "".join(pieces), said(final))


@scenario
def tools(server: Server) -> Story:
    """A call that is required, answered by chain and by replay; one that is not answered is refused."""
    response, calls = yield from _calls(server, CALLING, "function_call", WEATHER["name"])
    for call in calls[:1]:
        yield _fits("the arguments keep to the schema of the tool", call.get("arguments"))
        yield from _answered_calls(server, CALLING, response, "18 degrees")


@scenario
def custom_tool(server: Server) -> Story:
    """The same of a tool that takes any text."""
    response, calls = yield from _calls(server, RUNNING, "custom_tool_call", RUN["name"])
    for call in calls[:1]:
        yield Claim("its input is a text", "" if isinstance(call.get("input"), str) else short(call.get("input")))
        yield from _answered_calls(server, RUNNING, response, "ok")


def _calls(server: Server, asked: Json, kind: str, name: str) -> Step:
    """The response to a request that requires a call, and its calls."""
    response = yield from answered(server, asked)
    calls = items_of(response, kind)
    put_out = [one.get("type") for one in response["output"]]
    yield Claim("it calls the tool", "" if calls else f"its output is {put_out}")
    for call in calls[:1]:
        yield equal("the call names the tool", call.get("name"), name)
    return response, calls


def _answered_calls(server: Server, asked: Json, response: Json, output: str) -> Story:
    calls = [one for one in response["output"] if str(one.get("type")).endswith("_call")]
    outputs = [{"type": f"{one['type']}_output", "call_id": one.get("call_id"), "output": output} for one in calls]
    again, chained = {"tools": asked["tools"]}, {"previous_response_id": id_of(response)}
    reply = yield from answered(server, {**again, **chained, "input": outputs}, "its output is taken by chain")
    yield from spoke(reply)
    replayed = [user(asked["input"]), *response["output"], *outputs]
    yield from spoke((yield from answered(server, {**again, "input": replayed}, "its output is taken by replay")))
    unanswered = server.ask("POST /responses", {**again, **chained, "input": "Well?"})
    yield refuses("a chain that leaves it unanswered is refused", unanswered)


def _fits(claim: str, written: Any) -> Claim:
    try:
        jsonschema_rs.validate(CITY, json.loads(written))
    except (TypeError, ValueError) as problem:
        return Claim(claim, f"{short(written)}: {str(problem).partition(chr(10))[0]}")
    return Claim(claim)


@scenario
def structured_output(server: Server) -> Story:
    """An answer in a schema is JSON that keeps to it."""
    response = yield from answered(server, {"input": "The capital of France, as JSON.", **FORMAT})
    yield from spoke(response)
    yield _fits("the text keeps to the schema", text_of(response))


@scenario
def websocket(server: Server) -> Story:
    """Where there is WebSocket mode: a connection goes on from its last response, also when that is not stored."""
    if server.lacks(SOCKET):
        return
    alone = {"input": QUESTION, "store": False}
    with server.connected() as ask:
        first = ask(alone)
        yield from _told(first, "response.output_text.delta", text_of)
        yield refuses("a request is refused as over HTTP", ask({"input": QUESTION, "temperature": 9}))
        goes_on = {**alone, "previous_response_id": id_of(first.body or {})}
        with server.connected() as elsewhere:
            yield refuses("what is not stored is not known to another connection", elsewhere(goes_on))
        second = ask(goes_on)
        yield Claim("after a refusal the connection goes on from it", "" if second.taken else why(second))
