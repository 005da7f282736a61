"""Converts the response of a fixture to a turn: its items, its ending, and its delivery.

{"content": "Hello."} → {"message": "Hello."}; {"toolCalls": [{"name": "f", "arguments": {}}]} → {"function_call": {…}};
{"error": {"message": "Slow down."}, "status": 429} → {"http_error": {…}}
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from harness.core.advice_wording import render_json
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.world.scripting.lines import shortest_arguments
from harness.world.scripting.validation import OBJECT, TEXT, TEXT_LIST, InvalidData, ValueForm, check_list, errors_at

Line = Json | str
DELIVERY = ("latency", "chunkSize", "truncateAfterChunks", "disconnectAfterMs", "streamingProfile")
"""Members of a fixture, beside `match` and `response`, that control its delivery."""
_OTHER_PARTS = {
    "embedding": 'Answer it in a test: mock.route("POST", "/embeddings", {…}).',
    "image": 'Answer it in a test: mock.route("POST", "/images/generations", {…}).',
    "images": 'Answer it in a test: mock.route("POST", "/images/generations", {…}).',
    "audio": 'Answer it in a test: mock.route("POST", "/audio/speech", b"…").',
    "transcription": 'Answer it in a test: mock.route("POST", "/audio/transcriptions", {…}).',
    "video": 'Answer it in a test: mock.route("POST", "/videos", {…}).',
    "json": "Answer it in a test: mock.route(method, path, {…}).",
    "live": "The mock has no live sessions. Leave it with aimock.",
}
"""Responses of other parts of the API, and what to do instead."""
_READ = ("content", "toolCalls", "blocks", "reasoning", "webSearches", "finishReason", "usage", "model")
_ENDINGS: Mapping[str, Line | None] = {
    "stop": None,
    "tool_calls": None,
    "length": {"incomplete": "max_output_tokens"},
    "content_filter": {"incomplete": "content_filter"},
}
"""How a response ends, by its finish reason; None for a normal end."""
_MADE_BY_THE_MOCK = ("id", "created", "role", "systemFingerprint", "provider", "nativeFinishReason")
_OF_OTHER_PROVIDERS = ("reasoningSignature", "redactedThinking", "retryAfter", "fallthrough")
_NUMBER = ValueForm("a non-negative number", lambda value: type(value) in (int, float) and value >= 0)
_POSITIVE = ValueForm("a positive integer", lambda value: type(value) is int and value > 0)


@dataclass(slots=True)
class ConvertedTurn:
    """The lines of a turn, and the parts of the fixture that they leave out."""

    lines: list[Line] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


def convert_turn(fixture: Json) -> ConvertedTurn:
    """Convert the response of a fixture and its delivery. InvalidData if it has no equivalent in the mock."""
    turn = ConvertedTurn()
    with errors_at("response"):
        answer = OBJECT.check("response", fixture.get("response"))
        if "error" in answer:
            turn.lines.append(_convert_error(answer))
            return turn
        for name in answer:
            if name in _OTHER_PARTS and answer[name] is not None:
                raise InvalidData(f"{name} is not an answer of the Responses API. {_OTHER_PARTS[name]}")
        size = fixture.get("chunkSize")
        turn.lines += _convert_items(answer, None if size is None else _POSITIVE.check("chunkSize", size))
        turn.lines += _convert_ending(answer)
        turn.dropped += _explain_dropped(answer)
    _add_delivery(turn, fixture)
    return turn


def _convert_error(answer: Json) -> Line:
    with errors_at("error"):
        error = OBJECT.check("error", answer["error"])
        told: Json = {"status": answer.get("status", 500), "message": TEXT.check("message", error.get("message"))}
        told |= {"type": error.get("type") or "server_error"}
        told |= {name: error[name] for name in ("code", "param") if error.get(name) is not None}
    if told["status"] == 429:
        told["headers"] = {"retry-after": str(answer.get("retryAfter", 1))}
    return {"http_error": told}


def _convert_items(answer: Json, size: int | None) -> Iterator[Line]:
    if reasoning := answer.get("reasoning"):
        yield {"reasoning": TEXT.check("reasoning", reasoning)}
    searches = TEXT_LIST.check("webSearches", answer.get("webSearches") or [])
    yield from ({"web_search_call": query} for query in searches)
    if blocks := answer.get("blocks"):
        with errors_at("blocks"):
            for index, block in enumerate(check_list(blocks, "blocks")):
                with errors_at(index):
                    yield _convert_block(block, size)
        return
    content, calls = answer.get("content"), answer.get("toolCalls")
    if content is None and calls is None:
        raise InvalidData(f"it is empty: {render_json(answer)}. Add content, toolCalls, blocks, or an error.")
    # An empty string beside calls means no message; alone it is an empty message.
    if content is not None and (content or not calls):
        yield _message(content, size)
    if calls is not None:
        with errors_at("toolCalls"):
            for index, call in enumerate(check_list(calls, "toolCalls")):
                with errors_at(index):
                    yield _call(call, size)


def _convert_block(block: Any, size: int | None) -> Line:
    kind = OBJECT.check("block", block).get("type")
    if kind == "text":
        return _message(TEXT.check("text", block.get("text")), size)
    if kind == "toolCall":
        return _call(block, size)
    raise InvalidData(f"type is {render_json(kind)}. Use text or toolCall.")


def _message(content: Any, size: int | None) -> Line:
    """Build a message; content that is not a string becomes its JSON, as aimock sends it."""
    text = content if isinstance(content, str) else orjson.dumps(content).decode()
    return {"message": _split(text, size)}


def _call(call: Any, size: int | None) -> Line:
    name = TEXT.check("name", OBJECT.check("call", call).get("name"))
    given = call.get("arguments")
    if isinstance(given, str):
        # Without a size the script has an object, which is easier to read, if the mock renders it to the same string.
        given = shortest_arguments(given) if size is None else _split(given, size)
    elif not isinstance(given, dict | list):
        raise InvalidData(f"arguments is {render_json(given)}. Pass an object, or its JSON as a text.")
    elif size is not None or isinstance(given, list):
        given = _split(orjson.dumps(given).decode(), size)
    own_id = {"call_id": TEXT.check("id", call["id"])} if call.get("id") else {}
    return {"function_call": {"name": name, "arguments": given, **own_id}}


def _split(text: str, size: int | None) -> str | list[str]:
    """Split a text into the deltas of its stream; unchanged without a size."""
    if size is None or len(text) <= size:
        return text
    return [text[start : start + size] for start in range(0, len(text), size)]


def _convert_ending(answer: Json) -> Iterator[Line]:
    """Yield the ending of the response, then its usage and its model."""
    if (reason := answer.get("finishReason")) is not None:
        if not isinstance(reason, str) or reason not in _ENDINGS:
            raise InvalidData(f"finishReason is {render_json(reason)}. Pass one of: {', '.join(_ENDINGS)}.")
        if ending := _ENDINGS[reason]:
            yield ending
    if counts := as_object(answer.get("usage")):
        names = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
        found = {name: counts.get(name, counts.get(chat_name)) for name, chat_name in names.items()}
        if known := {name: count for name, count in found.items() if count is not None}:
            yield {"usage": known}
    if model := answer.get("model"):
        yield {"response": {"model": TEXT.check("model", model)}}


def _explain_dropped(answer: Json) -> Iterator[str]:
    for name in answer:
        if name in _MADE_BY_THE_MOCK:
            yield f"response.{name} is not set: the mock makes its own"
        elif name in _OF_OTHER_PROVIDERS:
            yield f"response.{name} is not sent: the Responses API has no such member"
        elif name not in (*_READ, *_OTHER_PARTS):
            yield f"response.{name} is not known"


def _add_delivery(turn: ConvertedTurn, fixture: Json) -> None:
    """Add the faults that reproduce the delivery of a fixture: delays and disconnects."""
    wait = _NUMBER.check("latency", fixture.get("latency") or 0) / 1000
    with errors_at("streamingProfile"):
        pace = _convert_profile(fixture.get("streamingProfile") or {})
    if pace:
        turn.lines.append({"pace": pace})
    elif wait:
        turn.lines.append({"pause": {"seconds": wait}})
    with errors_at("chaos"):
        chaos = OBJECT.check("chaos", fixture.get("chaos") or {})
        if latency := _NUMBER.check("latencyMs", chaos.get("latencyMs") or 0):
            turn.lines.append({"delay": {"seconds": latency / 1000}})
    turn.dropped += [
        f"chaos.{name} is not played: the mock does nothing by chance. Script a fault, such as cut(…) or hang_up()"
        for name in chaos
        if name != "latencyMs"
    ]
    if (after := fixture.get("truncateAfterChunks")) is not None:
        turn.lines.append({"cut": {"after": max(1, _NUMBER.check("truncateAfterChunks", after))}})
    elif (limit := fixture.get("disconnectAfterMs")) is not None:
        _add_disconnect(turn, _NUMBER.check("disconnectAfterMs", limit) / 1000, wait if not pace else 0)


def _add_disconnect(turn: ConvertedTurn, limit: float, wait: float) -> None:
    """Cut a stream after the events that fit into a time limit, whose number is known only if each has a delay."""
    if wait:
        turn.lines.append({"cut": {"after": int(limit / wait)}})
    else:
        turn.dropped.append(
            "disconnectAfterMs is not played: without latency the stream has ended. Script cut(…, after=4)"
        )


def _convert_profile(profile: Any) -> Json:
    members = OBJECT.check("streamingProfile", profile)
    ttft, rate, jitter = (_NUMBER.check(name, members.get(name) or 0) for name in ("ttft", "tps", "jitter"))
    if not ttft and not rate:
        return {}
    found = {"ttft": ttft / 1000, "tokens": rate, "jitter": min(jitter, 1)}
    return {name: value for name, value in found.items() if value}
