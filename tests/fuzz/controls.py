"""Wrong requests to the control plane: every parameter, member and header that it declares, with values no one means."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_from_bytes

from harness.items import function_call, message
from harness.server.control_plane.app import CONTROLS, control_app
from harness.server.control_plane.requests import BODIES
from harness.server.http_server import App
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.unscripted.default_model import small_talk
from tests.fuzz.parsers.seeds import SCRIPTS, hostile_json, hostile_yaml
from tests.support.cpu_time import cpu_time
from tests.support.in_process import post

KEY = "sk-controls"
SECONDS, DEADLINE, LONGEST = 1.0, 20.0, 4096
"""The time of the processor and the time of the clock that an answer may take, and the characters of its message."""
INTEGERS = (-1, 0, 1, 2**31, 2**53 - 1, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, 10**4_000, -(10**4_000))
TEXTS = (
    *("", " ", "x", "true", "TRUE", "1.5", "1e999", "NaN", "-0", "+1", "1_0", "\uff11", "null", "[]", "é", "\0", "\n"),
    *("x" * 60_000, "9" * 5_000, "resp_1", "/../", "%", "{x}", "allow", "strict", "json", "one", "two"),
)
BYTES = (b"\xff", b"\xc3(", b"\xed\xa0\x80", b"&", b"=", b"+", b"%00")
VALUES = (
    *(
        "null",
        "true",
        "false",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e999",
        "-0.0",
        "1.5",
        "{}",
        "[]",
        "[[]]",
        '[null, ""]',
    ),
    *('"\\ud800"', '["\\udfff"]', '{"\\ud800": 1}', '{"": {"": []}}', "[1, 2]", "9" * 5_000, "[" * 900 + "]" * 900),
    *(str(number) for number in INTEGERS),
    *(json.dumps(text) for text in TEXTS),
)
"""JSON of a member, of which some is JSON to Python only."""
YAML = (*SCRIPTS, "- Hi.", *(f"script: {value}" for value in VALUES[:20]))
"""Documents in the member `yaml`."""
HEADERS = ("x-harness-world", "last-event-id", "authorization", "api-key", "host", "x-harness-token", "content-type")
PATHS = ("", "/callls", "/view/run/x", "/calls/../x", "/%00", "/é", "//", "/\0", "/" + "x" * 60_000)
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "X", "")
NOT_FOUND = (404, 405)
"""What a path gets that the control plane does not have."""
ONCE = ("/health", "/metrics", "/rules")
"""What has neither parameters nor a World."""


@dataclass(frozen=True, slots=True)
class Control:
    """A request to the control plane as bytes: the query as it stands behind `?`."""

    method: str
    path: str
    query: bytes = b""
    body: bytes = b""
    headers: Sequence[tuple[bytes, bytes]] = ()


def controls() -> Iterator[Control]:
    """Return every wrong request, in the order of the control plane's entries."""
    paths = control_app(MockApi()).openapi()["paths"]
    for method, path, _ in CONTROLS:
        declared = paths[f"{CONTROL_ROOT}{path}"][method.lower()].get("parameters", ())
        yield Control(method, path)
        yield from (Control(method, path, query) for query in _queries([one["name"] for one in declared]))
        if method == "POST":
            yield from (Control(method, path, body=body) for body in _bodies(BODIES[path]))
        if path not in ONCE:
            yield from (Control(method, path, headers=[sent]) for sent in _headers())
    for path in PATHS:
        yield from (Control(method, path) for method in METHODS)


def _queries(names: Sequence[str]) -> Iterator[bytes]:
    texts = [*(text.encode() for text in TEXTS), *(str(number).encode() for number in INTEGERS), *BYTES]
    for name in (*names, "unknown"):
        pairs = [f"{name}=".encode() + quote_from_bytes(text).encode() for text in texts]
        yield from (*pairs, f"{name}=1&{name}=2".encode(), f"{name}[]=1".encode(), name.encode())
        yield from (f"{name}=".encode() + text for text in BYTES)  # as they stand
    yield from (b"=", b"&&&", b"%", b"%zz=%", b"\xff=\xff", b"x&" * 2_000)


def _bodies(schema: Any) -> Iterator[bytes]:
    right = {name: _right(member) for name, member in schema.get("properties", {"script": {}}).items()}
    for name in right:
        needed = {other: right[other] for other in schema.get("required", ()) if other != name}
        lead = json.dumps(needed)[:-1] + (", " if needed else "")
        values = (*VALUES, *(json.dumps(yaml) for yaml in YAML if name == "yaml"))
        yield from (f'{lead}"{name}": {value}}}'.encode() for value in values)
        yield from (hostile_json(name))
        if name == "yaml":
            hostile = (document.decode() for key in ("script", "- message") for document in hostile_yaml(key))
            yield from (f'{lead}"{name}": {json.dumps(text)}}}'.encode() for text in hostile)
    yield from (value.encode() for value in VALUES)
    yield from (b"", b"\xff", b"{", b'{"a": 1, "a": 2}', b"[" * 60_000, b'{"unknown": 1}', "\ufeff{}".encode(), b"\0")


def _right(schema: Any) -> Any:
    kind = schema.get("type", "string")
    return {"integer": 1, "boolean": True, "string": "x"}.get(kind, "x")


def _headers() -> Iterator[tuple[bytes, bytes]]:
    values = [
        *(text.encode() for text in TEXTS if "\n" not in text),
        *(str(number).encode() for number in INTEGERS),
        *BYTES,
    ]
    for name in HEADERS:
        yield from ((name.encode(), value) for value in values)


def prepared() -> App:
    """Return a mock whose key has turns, a gate and something in its journal."""
    app = App(MockApi(fallback=small_talk))
    mock = app.api.open(KEY, "x")
    mock.script([function_call("f", {"a": 1})], message("Hi."))
    mock.gate("one")
    post(app.api, {"model": "gpt-4.1", "input": "hi"}, key=KEY)
    return app


def complaint(app: App, sent: Control) -> str | None:
    """Return what is wrong with the answer to a request; None if nothing is."""
    try:
        with cpu_time() as spent:
            status, kind, body = asyncio.run(asyncio.wait_for(_answer(app, sent), DEADLINE))
    except TimeoutError:
        return f"no answer within {DEADLINE:g} s"
    except Exception as problem:
        return f"exception: {type(problem).__name__}: {str(problem)[:300]}"
    if spent.seconds > SECONDS:
        return f"cost: {spent.seconds:.1f} s"
    if status == 200:
        return None
    if status not in (NOT_FOUND if sent.path in PATHS else (400, 401, 403)):
        return f"status: {status}: {body[:300]!r}"
    try:
        error = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        return f"malformed: {status} {kind}: {body[:300]!r}"
    if not error["message"] or error["type"] != "harness_error":
        return f"malformed: {error}"
    return f"length: {len(error['message']):,}: {body[:300]!r}" if len(error["message"]) > LONGEST else None


async def _answer(app: App, sent: Control) -> tuple[int, str, bytes]:
    """Return the status, the type and the body of an answer; a stream is left after its first events."""
    begun: dict[str, Any] = {}
    parts: list[bytes] = []
    bodies = [{"type": "http.request", "body": sent.body, "more_body": False}]

    async def receive() -> Any:
        if bodies:
            return bodies.pop()
        await asyncio.sleep(0.05)
        return {"type": "http.disconnect"}

    async def send(event: Any) -> None:
        begun.update(event if event["type"] == "http.response.start" else {})
        parts.append(event.get("body", b""))

    named = {name for name, _ in sent.headers}
    usual = [(b"host", b"localhost"), (b"authorization", b"Bearer " + KEY.encode())]
    headers = [*((name, value) for name, value in usual if name not in named), *sent.headers]
    path = f"{CONTROL_ROOT}{sent.path}"
    await app(
        {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": sent.method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": sent.query,
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "state": {},
        },
        receive,
        send,
    )
    kind = dict(begun["headers"]).get(b"content-type", b"").decode()
    return begun["status"], kind, b"".join(parts)
