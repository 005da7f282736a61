"""Scenarios about the answers and streams of a server; those about what it stores are in `state_scenarios`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from harness.api.responses import SOCKET
from harness.contract.compile_schema import compile_schema
from harness.core.exchange import Json
from harness.core.vocabulary import render_json
from harness.live.client.http import ServerReply
from harness.live.conformance.scenario import (
    QUESTION,
    Claim,
    ScenarioClaims,
    ScenarioStep,
    ServerUnderTest,
    claim_completed_text,
    claim_equal,
    claim_refused,
    explain_failure,
    id_of,
    items_of,
    require_response,
    scenario,
    text_of,
    user_message,
)

CITY_SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER_TOOL: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "The weather in a city.",
    "parameters": CITY_SCHEMA,
    "strict": True,
}
WEATHER_REQUEST: Json = {"input": "What is the weather in Paris?", "tools": [WEATHER_TOOL], "tool_choice": "required"}
CITY_FORMAT: Json = {"text": {"format": {"type": "json_schema", "name": "city", "schema": CITY_SCHEMA, "strict": True}}}
RUN_TOOL: Json = {"type": "custom", "name": "run", "description": "Runs a command."}
RUN_REQUEST: Json = {"input": "Run make.", "tools": [RUN_TOOL], "tool_choice": {"type": "custom", "name": "run"}}


@scenario
def text(server: ServerUnderTest) -> ScenarioClaims:
    """A request is answered with text and usage."""
    response = yield from require_response(server, {"input": QUESTION})
    yield from claim_completed_text(response)
    usage = response.get("usage") or {}
    sums = usage.get("input_tokens", 0) + usage.get("output_tokens", 0) if usage else None
    yield (
        claim_equal("its usage adds up", usage.get("total_tokens"), sums)
        if usage
        else Claim("it has usage", "it has none")
    )


@scenario
def stream(server: ServerUnderTest) -> ScenarioClaims:
    """The deltas of a stream add up to the text of the response in its last event."""
    yield from _claim_streamed(server, {"input": QUESTION}, "response.output_text.delta", text_of)


@scenario
def tools_streamed(server: ServerUnderTest) -> ScenarioClaims:
    """The deltas of a streamed function call add up to its arguments."""
    yield from _claim_streamed(
        server, WEATHER_REQUEST, "response.function_call_arguments.delta", _call_text_reader("function", "arguments")
    )


@scenario
def custom_tool_streamed(server: ServerUnderTest) -> ScenarioClaims:
    """The deltas of a streamed custom tool call add up to its input."""
    yield from _claim_streamed(
        server, RUN_REQUEST, "response.custom_tool_call_input.delta", _call_text_reader("custom_tool", "input")
    )


def _call_text_reader(kind: str, member: str) -> Callable[[Json], str]:
    return lambda response: "".join(str(call.get(member)) for call in items_of(response, f"{kind}_call"))


def _claim_streamed(server: ServerUnderTest, body: Json, delta: str, text_in: Callable[[Json], str]) -> ScenarioClaims:
    yield from _claim_deltas(server.send("POST /responses", {**body, "stream": True}), delta, text_in)


def _claim_deltas(reply: ServerReply, delta: str, text_in: Callable[[Json], str]) -> ScenarioClaims:
    events = reply.recorded.events
    yield Claim("it is answered by a stream", "" if events and reply.is_accepted else explain_failure(reply))
    if not events or not reply.is_accepted:
        return
    ended = events[-1]
    yield claim_equal("the last event is the end", ended.get("type"), "response.completed")
    final = reply.body if isinstance(reply.body, dict) else {}
    pieces = [str(event.get("delta")) for event in events if event.get("type") == delta]
    yield Claim("it has deltas", "" if pieces else f"it has no {delta}")
    yield claim_equal("the deltas are what the response says", "".join(pieces), text_in(final))


@scenario
def tools(server: ServerUnderTest) -> ScenarioClaims:
    """A required function call is made, its output accepted by chain and by replay, and a chain without it refused."""
    response, calls = yield from _require_calls(server, WEATHER_REQUEST, "function_call", WEATHER_TOOL["name"])
    for call in calls[:1]:
        yield _claim_matches_schema("the arguments keep to the schema of the tool", call.get("arguments"))
        yield from _claim_outputs_accepted(server, WEATHER_REQUEST, response, "18 degrees")


@scenario
def custom_tool(server: ServerUnderTest) -> ScenarioClaims:
    """A required custom tool call is made, and its output accepted by chain and by replay."""
    response, calls = yield from _require_calls(server, RUN_REQUEST, "custom_tool_call", RUN_TOOL["name"])
    for call in calls[:1]:
        yield Claim(
            "its input is a text", "" if isinstance(call.get("input"), str) else render_json(call.get("input"), 120)
        )
        yield from _claim_outputs_accepted(server, RUN_REQUEST, response, "ok")


def _require_calls(server: ServerUnderTest, request: Json, kind: str, name: str) -> ScenarioStep:
    """Send a request that requires calls; yield the claims about the response, and return it with its calls."""
    response = yield from require_response(server, request)
    calls = items_of(response, kind)
    output_types = [item.get("type") for item in response["output"]]
    yield Claim("it calls the tool", "" if calls else f"its output is {output_types}")
    for call in calls[:1]:
        yield claim_equal("the call names the tool", call.get("name"), name)
    return response, calls


def _claim_outputs_accepted(server: ServerUnderTest, request: Json, response: Json, output: str) -> ScenarioClaims:
    calls = [item for item in response["output"] if str(item.get("type")).endswith("_call")]
    outputs = [{"type": f"{call['type']}_output", "call_id": call.get("call_id"), "output": output} for call in calls]
    again, chained = {"tools": request["tools"]}, {"previous_response_id": id_of(response)}
    reply = yield from require_response(server, {**again, **chained, "input": outputs}, "its output is taken by chain")
    yield from claim_completed_text(reply)
    replayed = [user_message(request["input"]), *response["output"], *outputs]
    yield from claim_completed_text(
        (yield from require_response(server, {**again, "input": replayed}, "its output is taken by replay"))
    )
    unanswered = server.send("POST /responses", {**again, **chained, "input": "Well?"})
    yield claim_refused("a chain that leaves it unanswered is refused", unanswered)


def _claim_matches_schema(claim: str, written: Any) -> Claim:
    try:
        compile_schema(CITY_SCHEMA).validate(json.loads(written))
    except (TypeError, ValueError) as problem:
        return Claim(claim, f"{render_json(written, 120)}: {str(problem).partition(chr(10))[0]}")
    return Claim(claim)


@scenario
def structured_output(server: ServerUnderTest) -> ScenarioClaims:
    """The text of a structured output is JSON that matches its schema."""
    response = yield from require_response(server, {"input": "The capital of France, as JSON.", **CITY_FORMAT})
    yield from claim_completed_text(response)
    yield _claim_matches_schema("the text keeps to the schema", text_of(response))


@scenario
def websocket(server: ServerUnderTest) -> ScenarioClaims:
    """WebSocket mode, if the server has it: a connection continues its last response, stored or not."""
    if server.lacks(SOCKET):
        return
    alone = {"input": QUESTION, "store": False}
    with server.connected() as send:
        first = send(alone)
        yield from _claim_deltas(first, "response.output_text.delta", text_of)
        yield claim_refused("a request is refused as over HTTP", send({"input": QUESTION, "temperature": 9}))
        goes_on = {**alone, "previous_response_id": id_of(first.body or {})}
        with server.connected() as elsewhere:
            yield claim_refused("what is not stored is not known to another connection", elsewhere(goes_on))
        second = send(goes_on)
        yield Claim(
            "after a refusal the connection goes on from it", "" if second.is_accepted else explain_failure(second)
        )
