"""Requests made to be expensive: each name maps to a function that returns a `Load` of about a given number of bytes.

Each is measured with a World of its own, so that no request affects the next.
"""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from harness.core.exchange import Json, ReceivedRequest, Request
from harness.items import message
from harness.items.kind import Item
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk

KEY = "sk-worst"
HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
KIB = 1024


class Load(NamedTuple):
    """What is measured: a call, and the number of bytes that the client sent for it (for a journal, for all of it)."""

    bytes: int
    call: Callable[[], object]


Build = Callable[[int], Load]


def open_api(turn: Callable[[Request], list[Item]] = small_talk) -> MockApi:
    return MockApi(fallback=turn)


def send(api: MockApi, body: Any, path: str = "/v1/responses", method: str = "POST") -> tuple[int, Any]:
    raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    answer = api.handle(ReceivedRequest(method, path, HEADERS, raw=raw))
    return len(raw), answer


def request(make: Callable[[int], Json], unit: int, path: str = "/v1/responses") -> Build:
    """Build a request whose body `make` returns for a count of elements, each about `unit` bytes long."""

    def build(size: int) -> Load:
        raw = json.dumps({"model": "gpt-4.1", "input": "hi"} | make(max(1, size // unit))).encode()
        api = open_api()
        return Load(len(raw), lambda: api.handle(ReceivedRequest("POST", path, HEADERS, raw=raw)))

    return build


def nest(count: int, wrap: Callable[[Any], Any], inner: Any) -> Any:
    for _ in range(count):
        inner = wrap(inner)
    return inner


def form(schema: Json) -> Json:
    return {"text": {"format": {"type": "json_schema", "name": "f", "strict": False, "schema": schema}}}


def tool(number: int, **more: Any) -> Json:
    return {
        "type": "function",
        "name": f"tool_{number}",
        "strict": False,
        "parameters": {"type": "object", "properties": {}},
        **more,
    }


def user(number: int, **more: Any) -> Json:
    return {"type": "message", "role": "user", "content": f"question {number}", **more}


def answered_calls(count: int) -> list[Json]:
    called = ({"type": "function_call", "call_id": f"c{i}", "name": "f", "arguments": "{}"} for i in range(count))
    outputs = ({"type": "function_call_output", "call_id": f"c{i}", "output": "ok"} for i in range(count))
    return [*called, *outputs]


def output_text(text: str, annotations: Iterable[Json]) -> Json:
    part = {"type": "output_text", "text": text, "annotations": [*annotations]}
    return {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [part]}


def citation(number: int) -> Json:
    return {"type": "url_citation", "url": f"https://e.x/{number}", "title": "t", "start_index": 0, "end_index": 1}


def defs(count: int) -> Json:
    chain = {f"d{i}": {"type": "object", "properties": {"a": {"$ref": f"#/$defs/d{i + 1}"}}} for i in range(count)}
    return {"type": "object", "$defs": {**chain, f"d{count}": {"type": "string"}}, "$ref": "#/$defs/d0"}


def wide(count: int) -> Json:
    names = [f"member_{i}" for i in range(count)]
    return {"type": "object", "required": names, "properties": {name: {"type": "string"} for name in names}}


def allowed(count: int) -> Json:
    named = [{"type": "function", "name": f"tool_{i}"} for i in range(count)]
    return {
        "tools": [tool(i) for i in range(count)],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": named},
    }


def references(count: int) -> Json:
    return {"input": [{"type": "item_reference", "id": f"msg_{i}"} for i in range(count)]}


PNG = "data:image/png;base64,"
BODIES: Mapping[str, Build] = {
    "model, long": request(lambda n: {"model": "b" * n}, 1),
    "members, unknown": request(lambda n: {f"unknown_{i}": 1 for i in range(n)}, 18),
    "members of an item, unknown": request(lambda n: {"input": [user(0, **{f"x{i}": 1 for i in range(n)})]}, 12),
    "item of an unknown type": request(lambda n: {"input": [{"type": "t" * n}]}, 1),
    "items of a wrong shape": request(lambda n: {"input": [{"type": "message", "content": 1}] * n}, 35),
    "items, the last is wrong": request(lambda n: {"input": [*map(user, range(n)), {"type": "x"}]}, 72),
    "items without ids": request(lambda n: {"input": [*map(user, range(n))]}, 72),
    "items with ids": request(lambda n: {"input": [user(i, id=f"msg_{i}") for i in range(n)]}, 90),
    "items with one id": request(lambda n: {"input": [user(i, id="msg_0") for i in range(n)]}, 90),
    "calls, then their outputs": request(lambda n: {"input": answered_calls(n)}, 145),
    "calls without outputs": request(lambda n: {"input": answered_calls(n)[:n]}, 80),
    "calls with one call_id": request(lambda n: {"input": [*answered_calls(1) * n]}, 145),
    "reasoning items": request(lambda n: {"input": [{"type": "reasoning", "summary": []}] * n}, 40),
    "approvals, unknown": request(
        lambda n: {
            "input": [
                {"type": "mcp_approval_response", "approval_request_id": f"mcpr_{i}", "approve": True} for i in range(n)
            ]
        },
        90,
    ),
    "item_references, unknown": request(references, 45),
    "annotations": request(lambda n: {"input": [output_text("abc", map(citation, range(n)))]}, 105),
    "content parts": request(
        lambda n: {"input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}] * n}]}, 36
    ),
    "metadata": request(lambda n: {"metadata": {f"key_{i}": "v" for i in range(n)}}, 18),
    "include": request(lambda n: {"include": ["reasoning.encrypted_content"] * n}, 32),
    "include, unknown": request(lambda n: {"include": [f"unknown_{i}" for i in range(n)]}, 16),
    "input, one word": request(lambda n: {"input": "x" * n}, 1),
    "input, many words": request(lambda n: {"input": "x " * n}, 2),
    "input, odd characters": request(lambda n: {"input": "\u0130\ufb03\u0345\U0001f469\u200d" * n}, 36),
    "input, nulls and escapes": request(lambda n: {"input": '\\"\n\t' * n}, 8),
    "instructions, digits": request(lambda n: {"instructions": "1" * n}, 1),
    "image of base64": request(
        lambda n: {
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_image", "image_url": PNG + base64.b64encode(b"\x89PNG\r\n\x1a\n" * n).decode()}
                    ],
                }
            ]
        },
        11,
    ),
    "image of broken base64": request(
        lambda n: {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": PNG + "=A" * n}]}]}, 2
    ),
    "ciphertext": request(
        lambda n: {"input": [{"type": "reasoning", "summary": [], "encrypted_content": "gAAA" + "A" * n}]}, 1
    ),
    "tools": request(lambda n: {"tools": [*map(tool, range(n))]}, 100),
    "tools with one name": request(lambda n: {"tools": [tool(0) for _ in range(n)]}, 100),
    "tools, and a talk about them": request(
        lambda n: {"tools": [tool(i, description="weather") for i in range(n)], "input": "weather " * n}, 130
    ),
    "tools in namespaces": request(
        lambda n: {
            "tools": [{"type": "namespace", "name": f"n{i}", "description": "d", "tools": [tool(i)]} for i in range(n)]
        },
        170,
    ),
    "tool_choice, allowed_tools": request(allowed, 145),
    "tool_choice, a long name": request(
        lambda n: {"tools": [tool(0)], "tool_choice": {"type": "function", "name": "x" * n}}, 1
    ),
    "schema of a tool, wide": request(
        lambda n: {"tools": [tool(0, parameters=wide(n))], "tool_choice": "required"}, 50
    ),
    "schema of a tool, strict": request(lambda n: {"tools": [tool(0, strict=True, parameters=wide(n))]}, 50),
    "schema, wide": request(lambda n: form(wide(n)), 50),
    "schema, enum": request(lambda n: form({"type": "string", "enum": [f"value_{i}" for i in range(n)]}), 15),
    "schema, enum of objects": request(lambda n: form({"enum": [{"v": i} for i in range(n)]}), 14),
    "schema, union": request(lambda n: form({"anyOf": [{"type": "string", "const": f"v{i}"} for i in range(n)]}), 40),
    "schema, allOf": request(lambda n: form({"allOf": [{"minLength": i} for i in range(n)]}), 20),
    "schema, $defs": request(lambda n: form(defs(n)), 75),
    "schema, minItems": request(
        lambda n: form({"type": "object", "properties": {"a": {"type": "array", "minItems": n}}, "required": ["a"]}), 1
    ),
    "schema, a pattern": request(lambda n: form({"type": "string", "pattern": "(a+)+$" + "b?" * n}), 2),
    "schema, deep": request(
        lambda n: form(nest(min(n, 200), lambda inner: {"type": "object", "properties": {"a": inner}}, {})), 40
    ),
    "nesting of arrays": request(lambda n: {"input": "x" * n * 2, "metadata": nest(min(n, 200), lambda x: [x], 1)}, 2),
    "compact: items": request(lambda n: {"input": [*map(user, range(n))]}, 72, "/v1/responses/compact"),
    "input_tokens: items": request(lambda n: {"input": [*map(user, range(n))]}, 72, "/v1/responses/input_tokens"),
}


def deep_bytes(opening: bytes) -> Build:
    """Build a request whose body is nothing but nesting."""

    def build(size: int) -> Load:
        api, raw = open_api(), opening * (size // len(opening))
        return Load(len(raw), lambda: api.handle(ReceivedRequest("POST", "/v1/responses", HEADERS, raw=raw)))

    return build


def stream(make: Callable[[int], str]) -> Build:
    """Build a request whose answer streams a text as long as the request."""

    def build(size: int) -> Load:
        text = make(size)
        api = open_api(lambda _: [message(text)])
        raw = json.dumps({"model": "gpt-4.1", "input": text, "stream": True}).encode()
        return Load(len(raw), lambda: api.handle(ReceivedRequest("POST", "/v1/responses", HEADERS, raw=raw)))

    return build


def query(size: int) -> Load:
    api = open_api()
    members: dict[str, Any] = {"include[]": ["reasoning.encrypted_content"] * (size // 40)}
    members |= {f"unknown_{i}": "1" for i in range(size // 40)}
    return Load(size, lambda: api.handle(ReceivedRequest("GET", "/v1/responses/resp_1", HEADERS, members)))


def headers(size: int) -> Load:
    api = open_api()
    many = HEADERS | {f"x-{i}": "v" * 20 for i in range(size // 40)} | {"openai-beta": "a=b," * (size // 8)}
    raw = b'{"model":"gpt-4.1","input":"hi"}'
    return Load(size, lambda: api.handle(ReceivedRequest("POST", "/v1/responses", many, raw=raw)))


def path(size: int) -> Load:
    api = open_api()
    return Load(size, lambda: api.handle(ReceivedRequest("GET", "/v1/" + "responses/" * (size // 10), HEADERS)))


def upload(parts: Callable[[int], bytes]) -> Build:
    def build(size: int) -> Load:
        raw, api = parts(size), open_api()
        multipart = HEADERS | {"content-type": "multipart/form-data; boundary=b"}
        return Load(len(raw), lambda: api.handle(ReceivedRequest("POST", "/v1/files", multipart, raw=raw)))

    return build


def file_part(data: bytes) -> bytes:
    head = b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--b\r\n'
    return head + b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + data + b"\r\n--b--\r\n"


def socket(make: Callable[[int], Json]) -> Build:
    """Build an event of a WebSocket."""

    def build(size: int) -> Load:
        api = open_api()
        session: Any = api.open_session(ReceivedRequest("GET", "/v1/responses", HEADERS))
        event = json.dumps({"type": "response.create", "model": "gpt-4.1"} | make(size // 72))
        return Load(len(event), lambda: session.receive(event))

    return build


OTHERS: Mapping[str, Build] = {
    "nothing but [": deep_bytes(b"["),
    "nothing but objects": deep_bytes(b'{"a":'),
    "stream of one word": stream(lambda size: "x" * size),
    "stream of many words": stream(lambda size: "x " * (size // 2)),
    "query string": query,
    "headers": headers,
    "path": path,
    "upload, one file": upload(lambda size: file_part(b"x" * size)),
    "upload, line ends": upload(lambda size: file_part(b"\r\n--" * (size // 4))),
    "upload, many parts": upload(
        lambda size: b"".join(
            b'--b\r\nContent-Disposition: form-data; name="f%d"\r\n\r\nx\r\n' % i for i in range(size // 55)
        )
    ),
    "upload, a long header": upload(
        lambda size: (
            b'--b\r\nContent-Disposition: form-data; name="' + b'\\"' * (size // 2) + b'"\r\n\r\nx\r\n--b--\r\n'
        )
    ),
    "WebSocket: items": socket(lambda n: {"input": [*map(user, range(n))]}),
    "WebSocket: a wrong event": socket(lambda n: {"type": "t" * 72 * n}),
}
