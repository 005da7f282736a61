"""What a client can send wrongly: the answer is the API's own error, never a 422, a 5xx, a hang or a traceback."""

import gzip
import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.core.exchange import ReceivedRequest
from harness.items import message
from harness.server.http_server import Server
from harness.server.mock_api import MockApi
from tests.support.cpu_time import cpu_time

KEY = "sk-bad-input"
AUTH = {"authorization": f"Bearer {KEY}"}
JSON = {**AUTH, "content-type": "application/json"}
GOOD = b'{"model": "gpt-4.1", "input": "hi"}'

SYNTAX = (
    "Invalid body: failed to parse JSON value. Please check the value to ensure it is valid JSON. (Common errors include "
    "trailing commas, missing closing brackets, missing quotation marks, etc.)"
)
UNICODE = (
    "Invalid body: encountered a unicode decode error when parsing this JSON value. Please check the value to ensure it "
    "is valid unicode."
)
NO_KEY = "Missing bearer or basic authentication in header"
WRONG_KEY = "Incorrect API key provided: {}. You can find your API key at https://platform.openai.com/account/api-keys."


@dataclass(frozen=True)
class Reply:
    """A whole HTTP answer."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def error(self) -> dict[str, Any]:
        assert self.headers["content-type"] == "application/json"
        error = json.loads(self.raw)["error"]
        assert set(error) == {"message", "type", "param", "code"}
        return error


def send(server: Server, method: str, path: str, body: bytes = b"", headers: dict[str, str] = JSON) -> Reply:
    connection = http.client.HTTPConnection(server.host, server.port, timeout=30)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, named, answer.read())
    finally:
        connection.close()


def post(server: Server, body: bytes, headers: dict[str, str] = JSON) -> Reply:
    return send(server, "POST", "/v1/responses", body, headers)


def spoken(server: Server, *sent: bytes) -> bytes:
    """Return what the server says to bytes until it closes the connection."""
    with socket.create_connection((server.host, server.port), 10) as wire:
        for part in sent:
            wire.sendall(part)
        return b"".join(iter(lambda: wire.recv(65536), b""))


class TestABody:
    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"hello", id="no JSON"),
            pytest.param(GOOD[:-1], id="cut off"),
            pytest.param(GOOD + b"x", id="more after the end"),
            pytest.param(b'{"model": "gpt-4.1", "input": "hi",}', id="trailing comma"),
            pytest.param(b"{'model': 'gpt-4.1'}", id="single quotes"),
            pytest.param(b"  \n", id="white space"),
            pytest.param(b"\x00", id="a zero byte"),
            pytest.param(b'{"model": "gpt-4.1", "input": "hi", "temperature": NaN}', id="NaN"),
            pytest.param(b'{"model": "gpt-4.1", "input": "hi", "temperature": -Infinity}', id="Infinity"),
            pytest.param(b'{"model": "gpt-4.1", "input": "hi", "temperature": 1e400}', id="beyond a double"),
            pytest.param(
                b'{"model": "gpt-4.1", "input": "hi", "top_logprobs": ' + b"9" * 5000 + b"}", id="5000 digits"
            ),
            pytest.param(b'{"model": "gpt-4.1", "input": "\\ud800"}', id="a lone surrogate"),
            pytest.param(b"\xef\xbb\xbf" + GOOD, id="a byte order mark"),
            pytest.param(
                b'{"model": "gpt-4.1", "input": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", id="10,000 arrays deep"
            ),
            pytest.param(b'{"a":' * 10_000 + b"1" + b"}" * 10_000, id="10,000 objects deep"),
            pytest.param(b'{"a":' * 900 + b"1" + b"}" * 900, id="900 objects deep"),
        ],
    )
    def test_a_body_that_is_no_json_is_refused_as_a_whole(self, server: Server, body: bytes) -> None:
        reply = post(server, body)
        assert reply.status == 400
        assert reply.error == {
            "message": SYNTAX,
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_json",
        }

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b'{"model": "gpt-4.1", "input": "\xff"}', id="a byte that is none"),
            pytest.param(b'{"model": "gpt-4.1", "input": "\xed\xa0\x80"}', id="an encoded surrogate"),
            pytest.param(GOOD.decode().encode("utf-16"), id="UTF-16"),
            pytest.param(gzip.compress(GOOD), id="compressed"),
        ],
    )
    def test_a_body_that_is_no_utf_8_is_refused_as_such(self, server: Server, body: bytes) -> None:
        reply = post(server, body, {**JSON, "content-encoding": "gzip"})
        assert (reply.status, reply.error["message"], reply.error["code"]) == (400, UNICODE, "invalid_json")

    @pytest.mark.parametrize(
        ("body", "kind"), [(b"[]", "an array"), (b'"hi"', "a string"), (b"1", "an integer"), (b"true", "a boolean")]
    )
    def test_a_body_that_is_no_object_is_named(self, server: Server, body: bytes, kind: str) -> None:
        reply = post(server, body)
        assert (reply.status, reply.error["message"]) == (
            400,
            f"Invalid type: expected an object, but got {kind} instead.",
        )

    @pytest.mark.parametrize("body", [b"", b"{}", b"null"])
    def test_a_body_that_is_empty_lacks_a_model(self, server: Server, body: bytes) -> None:
        reply = post(server, body)
        assert (reply.status, reply.error["param"], reply.error["code"]) == (400, "model", "missing_required_parameter")

    @pytest.mark.parametrize(
        ("body", "path"),
        [
            (b'{"model": "a", "model": "b", "input": "hi"}', "model"),
            (b'{"input": "hi", "text": {"verbosity": "low", "verbosity": "low"}}', "text.verbosity"),
            (b'{"input": [{"content": [{"text": "", "text": ""}]}]}', "input.content.text"),
            (b'{"model":1,"model" :2}', "model"),
            (b'{"model":1,"model"\n:2}', "model"),
            (b'{"model":1,"model":1,"b\\\\":1}', "model"),
            (b'{"a" : ' + b"9" * 300 + b', "model":1, "model":2}', "model"),
        ],
    )
    def test_a_body_with_a_name_twice_is_refused_with_its_place(self, server: Server, body: bytes, path: str) -> None:
        reply = post(server, body)
        name = path.rpartition(".")[2]
        said = f"Invalid body: duplicate JSON key '{name}' at '{path}'. Duplicate JSON keys are not supported."
        assert (reply.status, reply.error["message"], reply.error["code"]) == (400, said, "invalid_json")

    @pytest.mark.parametrize("text", ['":', '\\":', "a : b", ':-) "x" :', '\\\\":', "\n:", '{"input":"x","input":"y"}'])
    def test_a_body_may_hold_any_text_that_looks_like_a_name(self, server: Server, text: str) -> None:
        body = {"model": "gpt-4.1", "input": text, "metadata": {text: text}}
        for spaced in ((",", ":"), (" , ", " : "), None):
            assert post(server, json.dumps(body, separators=spaced).encode()).status == 200

    def test_a_body_of_20_mb_in_one_string_is_too_long(self, server: Server) -> None:
        reply = post(server, b'{"model": "gpt-4.1", "input": "' + b"x" * 20_000_000 + b'"}')
        assert (reply.status, reply.error["param"], reply.error["code"]) == (400, "input", "string_above_max_length")
        assert reply.error["message"] == (
            "Invalid 'input': string too long. Expected a string with maximum length 10485760, but got a string with "
            "length 20000000 instead."
        )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("last", "status", "param"),
        [({"role": "user", "content": "x"}, 200, None), ({"role": "user", "content": 5}, 400, "input[2000].content")],
    )
    def test_a_body_of_20_mb_in_many_items_is_judged_as_any_other(
        self, server: Server, last: dict[str, Any], status: int, param: str | None
    ) -> None:
        items = [{"role": "user", "content": "x" * 10_000}] * 2000
        reply = post(server, json.dumps({"model": "gpt-4.1", "input": [*items, last], "store": False}).encode())
        assert reply.status == status
        assert status == 200 or reply.error["param"] == param

    @pytest.mark.parametrize(
        ("members", "message"),
        [
            (
                {"max_output_tokens": -(10**30)},
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got -1e+30 instead.",
            ),
            (
                {"temperature": 1e300},
                "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 1e+300 instead.",
            ),
            ({"stream": 10**40}, "Invalid type for 'stream': expected a boolean, but got a decimal number instead."),
        ],
    )
    def test_a_number_out_of_range_is_refused_with_the_range(
        self, server: Server, members: dict[str, Any], message: str
    ) -> None:
        reply = post(server, json.dumps({"model": "gpt-4.1", "input": "hi", **members}).encode())
        assert (reply.status, reply.error["message"]) == (400, message)

    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "/", "é"]
    )
    def test_a_body_of_another_content_type_is_refused(self, server: Server, kind: str) -> None:
        reply = post(server, GOOD, {**AUTH, "content-type": kind.encode("latin-1").decode("latin-1")})
        said = kind.partition(";")[0]
        assert (reply.status, reply.error["code"]) == (400, "unsupported_content_type")
        assert reply.error["message"].startswith(f"Unsupported content type: '{said}'. ")

    @pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON;x"])
    def test_a_json_body_is_read_whatever_its_content_type(self, server: Server, kind: str) -> None:
        assert post(server, GOOD, {**AUTH, "content-type": kind}).status == 200


class TestAKey:
    @pytest.mark.parametrize(
        "value", [None, "", "Bearer", "Bearer ", "Bearer    ", "Token sk-1", "Basic c2stMQ==", "sk-1", "Bearer\tsk-1"]
    )
    def test_a_key_that_is_missing_or_not_a_bearer_token(self, server: Server, value: str | None) -> None:
        reply = post(server, GOOD, {} if value is None else {"authorization": value})
        assert reply.status == 401
        assert reply.error == {"message": NO_KEY, "type": "invalid_request_error", "param": None, "code": None}

    @pytest.mark.parametrize(
        ("key", "printed"),
        [
            ("x", "x"),
            ("sk-", "sk-"),
            ("pk-123456789", "pk-123456789"),
            ("pk-1234567890", "pk-12345*7890"),
            ("ÿþ", "ÿþ"),
            ('"} {key}', '"} {key}'),
            ("k" * 1_000, "k" * 8 + "*" * 988 + "k" * 4),
            ("k" * 60_000, "k" * 8 + "*" * 741 + "…" + "*" * 246 + "k" * 4),
        ],
    )
    def test_a_key_that_is_unknown_is_printed_masked(self, server: Server, key: str, printed: str) -> None:
        reply = post(server, GOOD, {"authorization": f"Bearer {key}"})
        assert (reply.status, reply.error["code"]) == (401, "invalid_api_key")
        assert reply.error["message"] == WRONG_KEY.format(printed)

    @pytest.mark.parametrize("value", ["bearer sk-1", "BEARER  sk-1 "])
    def test_a_key_is_read_however_the_scheme_is_written(self, server: Server, value: str) -> None:
        assert post(server, GOOD, {"authorization": value}).status == 200

    def test_a_key_that_was_not_named_is_unknown_to_a_server_with_keys(self) -> None:
        mock = MockApi(["k", "sk-named"], fallback=lambda _: [message("ok")])
        statuses = [
            mock.handle(ReceivedRequest("POST", "/v1/responses", {"authorization": f"Bearer {key}"}, raw=GOOD)).status
            for key in ("k", "sk-named", "sk-other", "sk-")
        ]
        assert statuses == [200, 200, 401, 401]


class TestAUrl:
    @pytest.mark.parametrize(
        ("method", "path", "message"),
        [
            ("POST", "/v1/response", "Invalid URL (POST /v1/response)"),
            ("POST", "/v1/responses/", "Invalid URL (POST /v1/responses/)"),
            ("POST", "/v1//responses", "Invalid URL (POST /v1//responses)"),
            ("POST", "/v1/", "Invalid URL (POST /v1/)"),
            ("GET", "/v1/responses/resp_1/items", "Invalid URL (GET /v1/responses/resp_1/items)"),
            ("GET", "/v1/responses/a%2Fb", "Invalid URL (GET /v1/responses/a/b)"),
            ("POST", "/v1/Responses", "Invalid URL (POST /v1/Responses)"),
            ("GET", "/v1/{x}", "Invalid URL (GET /v1/{x})"),
        ],
    )
    def test_a_url_that_is_no_endpoint(self, server: Server, method: str, path: str, message: str) -> None:
        reply = send(server, method, path)
        assert reply.status == 404
        assert reply.error == {"message": message, "type": "invalid_request_error", "param": None, "code": None}

    @pytest.mark.parametrize("path", ["/responses", "/v1", "/", "/v2/responses", "/_harnesses", "//v1/responses"])
    def test_a_url_outside_the_api(self, server: Server, path: str) -> None:
        reply = send(server, "POST", path, GOOD)
        assert (reply.status, reply.error["code"]) == (404, "unknown_url")
        assert reply.error["message"].startswith(f"Unknown request URL: POST {path}. ")

    @pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
    def test_a_url_with_another_method(self, server: Server, method: str) -> None:
        reply = send(server, method, "/v1/responses")
        assert (reply.status, reply.error["message"]) == (405, f"Invalid method for URL ({method} /v1/responses)")

    def test_a_url_asked_for_its_head_has_no_body(self, server: Server) -> None:
        reply = send(server, "HEAD", "/v1/responses")
        assert (reply.status, reply.raw) == (405, b"")

    @pytest.mark.parametrize(
        ("path", "status", "message"),
        [
            ("resp_%C3%A9", 404, "Response with id 'resp_é' not found."),
            ("resp_%FF", 404, "Response with id 'resp_\ufffd' not found."),
            ("resp_%00%0A", 404, "Response with id 'resp_\x00\n' not found."),
            ("resp_%7Bid%7D", 404, "Response with id 'resp_{id}' not found."),
            ("%20", 400, "Invalid 'response_id': ' '. Expected an ID that begins with 'resp'."),
            ("%zz", 400, "Invalid 'response_id': '%zz'. Expected an ID that begins with 'resp'."),
        ],
    )
    def test_a_url_with_an_escaped_id(self, server: Server, path: str, status: int, message: str) -> None:
        for method, below in (("GET", ""), ("DELETE", ""), ("GET", "/input_items")):
            reply = send(server, method, f"/v1/responses/{path}{below}")
            assert (reply.status, reply.error["message"]) == (status, message)


LIMIT = "Invalid 'limit': integer {} value. Expected a value {}, but got {} instead."
TYPE = "Invalid type for '{}': expected {}, but got {} instead."


@pytest.fixture(scope="module")
def response_id(server: Server) -> str:
    items = [{"role": "user", "content": str(number)} for number in range(3)]
    return str(json.loads(post(server, json.dumps({"model": "gpt-4.1", "input": items}).encode()).raw)["id"])


class TestAQuery:
    @pytest.mark.parametrize(
        ("query", "message", "param", "code"),
        [
            ("limit=0", LIMIT.format("below minimum", ">= 1", 0), "limit", "integer_below_min_value"),
            ("limit=-1", LIMIT.format("below minimum", ">= 1", -1), "limit", "integer_below_min_value"),
            ("limit=101", LIMIT.format("above maximum", "<= 100", 101), "limit", "integer_above_max_value"),
            ("limit=1&limit=0", LIMIT.format("below minimum", ">= 1", 0), "limit", "integer_below_min_value"),
            (f"limit={10**40}", LIMIT.format("above maximum", "<= 100", 10**40), "limit", "integer_above_max_value"),
            ("limit=abc", TYPE.format("limit", "an integer", "a string"), "limit", "invalid_type"),
            ("limit=", TYPE.format("limit", "an integer", "a string"), "limit", "invalid_type"),
            ("limit=1.5", TYPE.format("limit", "an integer", "a string"), "limit", "invalid_type"),
            ("limit=%D9%A3", TYPE.format("limit", "an integer", "a string"), "limit", "invalid_type"),
            ("limit[]=3", TYPE.format("limit", "an integer", "an array"), "limit", "invalid_type"),
            ("after[]=3", TYPE.format("after", "a string", "an array"), "after", "invalid_type"),
            ("order=x", "Invalid value: 'x'. Supported values are: 'asc' and 'desc'.", "order", "invalid_value"),
            ("ordr=asc", "Unknown parameter: 'ordr'. Did you mean 'order'?", "ordr", "unknown_parameter"),
            ("limit=0&x=1", "Unknown parameter: 'x'.", "x", "unknown_parameter"),
        ],
    )
    def test_a_query_is_judged_in_the_words_of_a_body(
        self, server: Server, response_id: str, query: str, message: str, param: str, code: str
    ) -> None:
        reply = send(server, "GET", f"/v1/responses/{response_id}/input_items?{query}")
        assert reply.status == 400
        assert reply.error == {"message": message, "type": "invalid_request_error", "param": param, "code": code}

    @pytest.mark.parametrize("query", ["include=x", "include[]=x", "include[]=reasoning.encrypted_content&include[]=x"])
    def test_a_query_names_what_can_be_included(self, server: Server, response_id: str, query: str) -> None:
        reply = send(server, "GET", f"/v1/responses/{response_id}?{query}")
        assert reply.status == 400
        assert reply.error["param"] == f"include[{query.count('&')}]"
        assert reply.error["message"].startswith("Invalid value: 'x'. Supported values are: 'file_search_call.results'")

    @pytest.mark.parametrize("value", ["maybe", "", "1", "True"])
    def test_a_query_takes_true_and_false_for_a_boolean(self, server: Server, response_id: str, value: str) -> None:
        reply = send(server, "GET", f"/v1/responses/{response_id}?stream={value}")
        assert reply.status == 400
        assert reply.error["message"] == TYPE.format("stream", "a boolean", "a string")

    def test_a_query_cannot_ask_for_the_stream_of_a_response_made_without_background(
        self, server: Server, response_id: str
    ) -> None:
        reply = send(server, "GET", f"/v1/responses/{response_id}?stream=true")
        assert (reply.status, reply.error) == (
            400,
            {
                "message": "This response cannot be streamed because it was not created with background=true.",
                "type": "invalid_request_error",
                "param": "stream",
                "code": None,
            },
        )

    @pytest.mark.parametrize(
        ("query", "texts"),
        [
            ("", ["2", "1", "0"]),
            ("?order=asc", ["0", "1", "2"]),
            ("?limit=2", ["2", "1"]),
            ("?limit=100&order=asc", ["0", "1", "2"]),
            ("?include[]=reasoning.encrypted_content", ["2", "1", "0"]),
        ],
    )
    def test_a_query_that_is_right_pages_through_the_items(
        self, server: Server, response_id: str, query: str, texts: list[str]
    ) -> None:
        reply = send(server, "GET", f"/v1/responses/{response_id}/input_items{query}")
        page = json.loads(reply.raw)
        assert [item["content"][0]["text"] for item in page["data"]] == texts
        assert page["has_more"] is (len(texts) < 3)

    @pytest.mark.parametrize("query", ["?stream=false", "?include_obfuscation=true", "?starting_after=3", "?"])
    def test_a_query_that_is_right_leaves_a_response_as_it_is(
        self, server: Server, response_id: str, query: str
    ) -> None:
        reply = send(server, "GET", f"/v1/responses/{response_id}{query}")
        assert (reply.status, json.loads(reply.raw)["id"]) == (200, response_id)

    def test_a_query_after_the_body_of_a_create_is_nothing_to_the_api(self, server: Server) -> None:
        assert send(server, "POST", "/v1/responses?limit=0&stream=maybe", GOOD).status == 200


class TestAConnection:
    @pytest.mark.parametrize(
        "garbage",
        [
            b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n",
            b"GET /v1/responses HTTP/1.1\r\nHost: x\r\nA\x00B: c\r\n\r\n",
            b"GET /v1/resp\xff HTTP/1.1\r\nHost: x\r\n\r\n",
            b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
            b"\x16\x03\x01\x02\x00",
            b"hello\r\n\r\n",
        ],
    )
    def test_a_connection_that_speaks_no_http_is_refused_and_harms_no_other(
        self, server: Server, garbage: bytes
    ) -> None:
        assert spoken(server, garbage).startswith(b"HTTP/1.1 400 ")
        assert post(server, GOOD).status == 200

    def test_a_connection_with_headers_no_api_knows_is_answered(self, server: Server) -> None:
        odd = {**JSON, "x-odd": "\xff\xfe", "x-long": "y" * 40_000, "openai-beta": "", "cookie": "{}"}
        assert post(server, GOOD, odd).status == 200


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
MEMBERS = st.sampled_from(
    ["model", "input", "tools", "text", "reasoning", "metadata", "prompt", "stream", "include", "x"]
)
BODIES = VALUES | st.dictionaries(MEMBERS, VALUES, max_size=5).map(
    lambda body: {"model": "gpt-4.1", "input": "", **body}
)


LONGEST_MESSAGE = 4_000
LONG_VALUES: dict[str, Any] = {
    "text": "x" * 30_000,
    "many texts": ["é" * 900] * 60,
    "many numbers": [*range(9_000)],
    "long name": {"k" * 30_000: 1},
    "many names": {f"name_{number}": {"type": "x" * 20} for number in range(1_000)},
    "large number": 10**300,
}


def bodies_with(value: Any) -> list[dict[str, Any]]:
    """Return members of requests that have a long value where another one is expected, or as a name."""
    format = {"type": "json_schema", "name": value, "schema": {"type": value, "properties": {str(value): value}}}
    call = {"type": "function_call", "call_id": value, "name": "f", "arguments": value}
    return [
        *({name: value} for name in ("model", "input", "tools", "text", "include", "metadata", "stream", "truncation")),
        *({name: {"id": value, "type": value}} for name in ("conversation", "prompt", "reasoning", "tool_choice")),
        *({"tools": [tool]} for tool in ({"type": value}, {"type": "function", "name": value, "parameters": value})),
        *({"input": [item]} for item in ({"role": value, "content": "x"}, {"role": "user", "content": [value]}, call)),
        {"tools": [{"type": "function", "name": "f", "strict": True, "parameters": {"properties": {str(value): {}}}}]},
        *({"previous_response_id": value}, {"text": {"format": format}}, {"metadata": {str(value): "x"}}),
        {str(value): 1},
    ]


def is_well_formed(status: int, body: Any) -> bool:
    """A refusal in the API's form: a status below 500 that is no teapot, four members, `param` null or a path."""
    if "error" not in body:  # a path of Foundry's gateway
        return (status, body["title"]) == (404, "Not Found")
    error = body["error"]
    named = error["param"] is None or isinstance(error["param"], str)
    return (
        400 <= status < 500
        and status not in (418, 422)
        and list(error) == ["message", "type", "param", "code"]
        and named
    )


def is_answered(method: str, path: str, query: dict[str, Any], raw: bytes) -> bool:
    answer = MockApi(fallback=lambda _: [message("ok")]).handle(ReceivedRequest(method, path, AUTH, query, raw))
    return "object" in answer.body if answer.status == 200 else is_well_formed(answer.status, answer.body)


class TestAnything:
    @pytest.mark.slow
    @settings(max_examples=100, deadline=None)
    @given(BODIES)
    def test_json_earns_a_response_or_an_error_of_the_api(self, body: Any) -> None:
        assert is_answered("POST", "/v1/responses", {}, json.dumps(body).encode())

    @pytest.mark.parametrize("value", LONG_VALUES.values(), ids=LONG_VALUES)
    def test_long_values_are_refused_at_once_and_quoted_in_part(self, value: Any) -> None:
        mock = MockApi(fallback=lambda _: [message("ok")])
        for wrong in bodies_with(value):
            raw = json.dumps({"model": "gpt-4.1", "input": "hi", **wrong}).encode()
            with cpu_time() as spent:
                answer = mock.handle(ReceivedRequest("POST", "/v1/responses", AUTH, raw=raw))
            assert spent.seconds < 1
            error = answer.body.get("error") or {}
            assert all(len(error.get(name) or "") <= LONGEST_MESSAGE for name in ("message", "param")), wrong

    def test_a_value_of_a_thousand_characters_is_quoted_whole(self) -> None:
        mock = MockApi()
        for id, shown in (("x" * 1_000, "x" * 1_000), ("x" * 30_000, f"{'x' * 749}…{'x' * 250}")):
            answer = mock.handle(ReceivedRequest("GET", f"/v1/conversations/{id}", AUTH))
            assert f"'{shown}'" in answer.body["error"]["message"]

    @pytest.mark.slow
    @settings(max_examples=200, deadline=None)
    @given(
        st.sampled_from(["properties", "required", "anyOf", "items", "$defs", "type", "$ref"]), VALUES, st.booleans()
    )
    def test_json_schemas_of_any_kind_earn_a_response_or_an_error_of_the_api(
        self, name: str, said: Any, strict: bool
    ) -> None:
        closed = {"type": "object", "additionalProperties": False, "required": ["a"]}
        wrong = {**closed, "properties": {"a": {**closed, name: said}}, name: said}
        tool = {"type": "function", "name": "f", "parameters": wrong, "strict": strict}
        format = {"type": "json_schema", "name": "n", "schema": wrong, "strict": strict}
        for members in ({"tools": [tool]}, {"text": {"format": format}}):
            body = {"model": "gpt-4.1", "input": "hi", **members}
            assert is_answered("POST", "/v1/responses", {}, json.dumps(body).encode())

    @settings(max_examples=200, deadline=None)
    @given(st.binary(max_size=60))
    def test_bytes_earn_a_response_or_an_error_of_the_api(self, raw: bytes) -> None:
        assert is_answered("POST", "/v1/responses", {}, raw)

    @pytest.mark.slow
    @settings(max_examples=200, deadline=None)
    @given(
        st.text(max_size=30),
        st.dictionaries(st.text(max_size=8), st.text(max_size=8) | st.lists(st.text()), max_size=3),
    )
    def test_paths_and_queries_earn_an_error_of_the_api(self, path: str, query: dict[str, Any]) -> None:
        for below in (path, f"/v1/{path}", f"/v1/responses/{path}", f"/v1/responses/resp_{path}/input_items"):
            assert is_answered("GET", below, query, b"")
