"""What each parser takes: inputs from which others are made, and words that they are made of."""

import base64
import gzip
import json
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

from harness.answers.encode import encode_events
from harness.core.exchange import ReceivedRequest
from harness.items import function_call, message, reasoning
from harness.report.formats.json_file import render
from harness.report.report import Report, ReportCase
from harness.server.mock_api import MockApi
from tests.contract.evidence.samples.requests import REQUESTS
from tests.support.texts.planted_secrets import KINDS
from tests.verify.recording_files import VARIANTS

FEW = 120
"""Inputs of one kind at most."""
AUTH = {"authorization": "Bearer sk-harness-example"}

JSON_WORDS = (
    *(b'"type":', b'"role":', b'"input":', b'"$ref":', b'"text":{"format":', b"\\ud800", b"\\u0000", b"1e999", b"-0"),
    *(b'"stream":true', b'"tools":[', b'"properties":', b'"previous_response_id":', b"\xef\xbb\xbf", b"\xff", b"null"),
)
STREAM_WORDS = (
    *(b"data: ", b"event: ", b"\n\n", b"\r\n", b"\r", b"[DONE]", b"data:{}", b'"sequence_number":'),
    b"\xef\xbb\xbf",
)
MEMBERS = (
    *(b"interactions", b"request", b"response", b"body", b"headers", b"base64_string", b"raw_gzip", b"status"),
    *(b"wire", b"harness", b"sockets", b"frames", b"log", b"entries", b"&a", b"*a", b"!!binary", b"<<:", b"? "),
    *(b"- ", b"\xff\xfe"),
)
FORM_WORDS = (
    *(b"--x\r\n", b"--x--\r\n", b"content-disposition: form-data; name=", b"; filename=", b"filename*="),
    b"boundary=",
)
HTTP_WORDS = (
    *(b"\r\n", b"\r\n\r\n", b"upgrade: websocket\r\n", b"connection: upgrade\r\n"),
    *(b"sec-websocket-version: 13\r\n", b"transfer-encoding: chunked\r\n", b"content-length: "),
    *(b"expect: 100-continue\r\n", b"HTTP/1.0", b"HTTP/2.0", b"GET /_harness/exchanges "),
    *(b"POST /_harness/script ", b"host: x\r\n", b"0\r\n\r\n", b"\x81\x80", b"\x88\x80", b"\xff"),
)
SCRIPT_WORDS = (
    *(b"script:", b"when:", b"repeat: true", b"message:", b"function_call:", b"cut:", b"pattern:", b"organization:"),
    *(b"&a", b"*a", b"!!python/object", b"{", b"[", b"|", b"? ", b"<<: ", b"mcp:", b"files:", b"gate:"),
)

SCRIPTS = (
    "script:\n- message: Hello.\n- function_call: {name: f, arguments: {city: Paris}}\n",
    "script:\n- [{reasoning: so}, {message: [a]}, {incomplete: max_output_tokens}]\n- [{message: x}, {cut: {after: 4}}]\n",
    "when:\n- instructions: planner\n  tools: {pattern: '^f'}\n  script: [{message: Ask ops.}]\n  repeat: true\n",
    "script: [hi]\nrepeat: true\norganization: {models: [gpt-4.1], verified: false}\ncitations: delta\n",
    "script:\n- {type: message, content: [{type: output_text, text: hi}]}\n- {rate_limit: {}}\n",
    "mcp:\n  deep: [{name: f, input_schema: {type: object}}]\nfiles: {a.txt: hello}\nscript: [&a {message: x}, *a]\n",
)


def _raw(values: Iterable[Any]) -> list[bytes]:
    return [json.dumps(value).encode() for value in values][:FEW]


def bodies() -> Sequence[bytes]:
    return _raw(REQUESTS)


def streams() -> Sequence[bytes]:
    """Return a stream of each of a few turns, and what recorders leave of them."""
    turns: list[list[Any]] = [[message("Hello, world.")], [reasoning("so"), function_call("f", {"a": 1})]]
    made = []
    for turn in turns:
        mock = MockApi()
        mock.open("sk-harness-example").script(turn)
        tools = [{"type": "function", "name": "f", "parameters": {}, "strict": False}]
        body = json.dumps({"model": "gpt-5", "input": "hi", "stream": True, "tools": tools}).encode()
        events = mock.handle(ReceivedRequest("POST", "/v1/responses", AUTH, raw=body)).events
        assert events
        made.append(encode_events(events))
    return [*made, made[0].replace(b"\n", b"\r\n"), b"data: [DONE]\n\n", b"event: thread.run.created\ndata: {}\n\n"]


def encoded() -> Sequence[bytes]:
    text = json.dumps({"id": "resp_1", "output": []}).encode()
    chunked = b"5\r\n" + text[:5] + b"\r\n0\r\n\r\n"
    packed = (gzip.compress(text), zlib.compress(text), zlib.compress(text, wbits=-15), chunked)
    codings = (b"gzip", b"deflate", b"br", b"zstd", b"chunked", b"")
    return [b"%b\n%b" % (coding, body) for coding in codings for body in packed]


def _plain(value: Any) -> Any:
    """Recorded bytes as JSON has them."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return {str(name): _plain(member) for name, member in value.items()}
    return [*map(_plain, value)] if isinstance(value, list) else value


def cassettes() -> Sequence[bytes]:
    return [*(yaml.safe_dump(variant).encode() for variant in VARIANTS.values()), *own_cassettes()]


def own_cassettes() -> Sequence[bytes]:
    frames = [
        {"at": 0.0, "from": "client", "text": '{"type": "response.create", "model": "gpt-4.1", "input": "hi"}'},
        {"at": 0.1, "from": "server", "text": '{"type": "error", "status": 400, "error": {"message": "No."}}'},
    ]
    header = {"format": 1, "recorded": "2026-09-21", "dialect": "openai", "sdk": "OpenAI/Python"}
    request = {"method": "POST", "uri": "https://api.openai.com/v1/responses", "headers": {}, "body": "{}"}
    response = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": '{"a": 1}'}}
    wire = {"request": "compact", "answer": "compact", "arrivals": [[0.1, 3], [0.2, 4]], "cut": True}
    made = {"request": request, "response": response, "wire": wire}
    socket = {"uri": "wss://api.openai.com/v1/responses", "headers": {}, "frames": frames}
    whole = {"version": 1, "harness": header, "interactions": [made], "sockets": [socket]}
    return [yaml.safe_dump(whole).encode(), json.dumps(whole).encode()]


def archives() -> Sequence[bytes]:
    return _raw(map(_plain, VARIANTS.values()))


def lines() -> Sequence[bytes]:
    flat = json.dumps(_plain(VARIANTS["flat"])).encode()
    return [b"\n".join([flat, flat]), flat + b"\n\n{}\n", *archives()[:10]]


def forms() -> Sequence[bytes]:
    part = b'--x\r\ncontent-disposition: form-data; name="%b"%b\r\n\r\n%b\r\n'
    file = part % (b"file", b'; filename="a.txt"\r\ncontent-type: text/plain', b"hello")
    fields = part % (b"purpose", b"", b"user_data") + part % (b"expires_after[seconds]", b"", b"3600")
    whole = file + fields + b"--x--\r\n"
    return [b"%b\n%b" % (kind, whole) for kind in (b"multipart/form-data; boundary=x", b"multipart/form-data", b"")]


def messages() -> Sequence[bytes]:
    create = {"type": "response.create", "model": "gpt-4.1", "input": "hi"}
    steer = {"type": "response.steer", "previous_response_id": "resp_1", "input": "Shorter."}
    several = [create, {**create, "stream_id": "a"}, {**create, "generate": False}, steer]
    others = ({"type": "response.create", **request} for request in REQUESTS[:20])
    return [*_raw(several), b"\n".join(_raw(several)), *_raw(others)]


def connections() -> Sequence[bytes]:
    """Bytes of HTTP/1.1, pieces of it after each 0xFF, and an upgrade with frames."""
    head = b"POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-a\r\ncontent-type: application/json\r\n"
    body = b'{"model": "gpt-4.1", "input": "hi", "stream": true}'
    whole = b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)
    upgrade = (
        b"GET /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-a\r\nupgrade: websocket\r\n"
        b"connection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    frame = b"\x81" + bytes([0x80 | len(body)]) + b"\0\0\0\0" + body
    return [
        *(whole, whole + whole, whole[:90] + b"\xff" + whole[90:], upgrade, upgrade + frame, upgrade + b"\xff" + frame),
        *(
            upgrade + b"\xff\x89\x80\0\0\0\0",
            upgrade + b"\xff\x88\x82\0\0\0\0\x03\xe8",
            upgrade.replace(b"GET", b"POST"),
        ),
        b"%btransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (head, len(body), body),
        b"GET /v1/models HTTP/1.0\r\n\r\n",
        b"GET /_harness/health HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"POST /_harness/script HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-a\r\ncontent-length: 15\r\n\r\n"
        b'{"script":["a"]}',
    ]


def scripts() -> Sequence[bytes]:
    return [*hostile_yaml("script"), *(script.encode() for script in SCRIPTS)]


def hostile_yaml(key: str) -> Sequence[bytes]:
    """Return short documents that expand without end, nest deeply, or have very long keys, texts and integers."""
    lists = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10 if n else ['x'] * 10)}]\n" for n in range(10))
    maps = "".join(
        f"a{n}: &a{n} {{{', '.join(f'k{m}: *a{n - 1}' for m in range(9)) if n else 'k: x'}}}\n" for n in range(9)
    )
    merged = "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 9))
    deep, long = "[" * 30_000 + "]" * 30_000, "x" * 60_000
    values = ["*a9", "[*a9]", "{message: *a9}", "{*a9: x}"]
    text = f"{key}:\n- &t {'x' * 30_000}\n- &l [{', '.join(['*t'] * 20)}]\n"
    return [
        *(f"{lists}{key}: {value}\n".encode() for value in values),
        f"{maps}{key}: *a8\n".encode(),
        f"a0: &a0 {{k: x}}\n{merged}{key}: *a8\n".encode(),
        *(f"{text}- {{message: [{', '.join(['*l'] * times)}]}}\n".encode() for times in (5, 15, 5_000)),
        f"{key}: &a [*a]\n".encode(),
        f"{key}: &a {{k: *a}}\n".encode(),
        *(f"{key}: {depth}\n".encode() for depth in (deep, "[" * 90 + "]" * 90, "{a: " * 900 + "1" + "}" * 900)),
        *(f"{text}\n".encode() for text in (long, f"{key}: {long}", f"{long}: x", f"{key}: {{{long}: x}}")),
        *(f"{key}: [{number}]\n".encode() for number in ("9" * 60_000, "0x" + "f" * 60_000, "1:" * 30_000 + "1")),
        (f"{key}:\n" + "".join(f"  k{n}: x\n" for n in range(6_000))).encode(),
        (f"{key}:\n" + "".join(f"- {{k{n}: x}}\n" for n in range(4_000))).encode(),
    ]


def hostile_json(key: str) -> Sequence[bytes]:
    """Return documents that nest deeply, or have very long keys, texts and numbers."""
    deep, long = "[" * 30_000 + "]" * 30_000, '"' + "x" * 60_000 + '"'
    values = [
        deep,
        "[" * 900 + "]" * 900,
        '{"a":' * 900 + "1" + "}" * 900,
        long,
        f"[{long}]",
        f"{{{long}: 1}}",
        "9" * 60_000,
    ]
    return [f'{{"{key}": {value}}}'.encode() for value in values] + [f"{{{long}: 1}}".encode()]


def contracts() -> Sequence[bytes]:
    whole = b"format: 1\nexemptions:\n- rule: unknown_parameter\n  at: mine\n"
    return [whole, *hostile_yaml("exemptions"), *(b"format: 1\n" + bad for bad in hostile_yaml("refusals"))]


def fixtures() -> Sequence[bytes]:
    fixture = {"match": {"userMessage": "hi"}, "response": {"content": "Hello."}}
    return [json.dumps({"fixtures": [fixture]}).encode(), *hostile_json("fixtures")]


def sent_scripts() -> Sequence[bytes]:
    whole = [*(yaml.safe_load(script) for script in SCRIPTS), {"turns": ["Hi."], "when": {"input": "x"}}]
    return [*hostile_json("script"), *hostile_json("refusals"), *_raw(whole)]


def reports() -> Sequence[bytes]:
    case = ReportCase("tests/test_a.py::test_b", "tests/test_a.py", 3, "passed", 0.1)
    return [render(Report(cases)).encode() for cases in ([], [case])]


def results() -> Sequence[bytes]:
    """Return what clients show of answers: texts, messages, streams, the wire's own objects."""
    parts = [{"type": "output_text", "text": "Hello.", "annotations": [{"type": "url_citation", "url": "u"}]}]
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": parts}
    delta = {"type": "response.output_text.delta", "delta": "Hello."}
    choice = {"index": 0, "message": {"content": "Hello."}, "delta": {"content": "H", "tool_calls": [{"index": 0}]}}
    kinds: list[Any] = [
        *("Hello.", ["Hel", "lo."], [delta], item, {"object": "response", "id": "resp_1", "output": [item]}),
        {
            "text": "Hello.",
            "annotations": [],
            "calls": [{"name": "f", "arguments": "{}"}],
            "reasoning": None,
            "usage": {},
        },
        {"object": "chat.completion", "id": "c", "choices": [choice]},
        [{"object": "chat.completion.chunk", "id": "c", "choices": [choice]}],
        [{"event": "thread.message.delta", "data": {"delta": {"content": [{"type": "text", "text": {"value": "H"}}]}}}],
        {"object": "list", "data": [{"object": "thread.message", "role": "assistant", "content": []}]},
    ]
    return _raw([*kinds, {"messages": kinds}])


def paths() -> Sequence[bytes]:
    body = b'{"input": [{"role": "user", "content": [{"text": "hi"}]}], "a.b": 1}'
    lines = (
        b"input[0].content[0].text",
        b"a.b",
        b"/v1/responses/resp_1",
        b"input[%b]" % (b"9" * 20),
        b"limit=1&include[]=x",
    )
    return [b"%b\n%b" % (line, body) for line in lines]


def secrets() -> Sequence[bytes]:
    """Secrets as they stand in texts, and in the encodings that are looked into."""
    texts = [around.format(secret).encode() for around, secret in KINDS.values()]
    wrapped = [json.dumps({"a": text.decode()}).encode() for text in texts[:20]]
    return [*texts, *wrapped, *map(base64.b64encode, texts[:20]), *map(gzip.compress, texts[:5]), *streams(), *forms()]
