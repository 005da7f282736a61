"""What a client begins and does not end, or asks for twice over: it gets an answer in time, and nothing is kept."""

import json
import socket
import time
from collections.abc import Iterator

import pytest

from harness.server.transport.request_parser import END, BadRequest, Part, RequestHead, RequestParser, Upgrade
from tests.support.servers.live_server import request_head
from tests.support.servers.served import Served, serving
from tests.support.slow import slow_except

BODY = json.dumps({"model": "gpt-4.1", "input": "hi"}).encode()
STREAM = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True}).encode()
AUTH = b"Authorization: Bearer sk-1\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + b"A" * 22
CONNECTIONS = 500
QUICK = "import harness.server.transport.connection as made; made.REQUEST_SECONDS = 1"
GATED = """
from harness.faults import pause
from harness.items import message
def script(request):
    return pause(message("Once"), until="never") if request.body.get("stream") else message("Sure.")
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that gives a request one second."""
    (script := tmp_path_factory.mktemp("script") / "gated.py").write_text(GATED)
    with serving("--script", str(script), patch=QUICK) as running:
        yield running


def said(wire: socket.socket) -> bytes:
    """Return all that is said until the connection is closed."""
    with wire:
        return b"".join(iter(lambda: wire.recv(65536), b""))


def is_open(wire: socket.socket) -> bool:
    """Return whether the server has not closed the connection; what it has said is passed over."""
    wire.setblocking(False)
    try:
        while wire.recv(65536):
            pass
    except BlockingIOError:
        return True
    return False


def head(*headers: bytes, start: bytes = b"POST /v1/responses HTTP/1.1") -> bytes:
    return b"\r\n".join([start, *headers, AUTH])


class TestHalfARequest:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "sent",
        slow_except(
            (0, 4),
            [
                b"",
                b"P",
                b"\r\n",
                b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nX-A: ",
                request_head(BODY) + BODY[:-1],
                b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            ],
        ),
        ids=["nothing", "a letter", "a line end", "a head", "a body", "a chunk"],
    )
    def test_half_a_request_is_refused_when_its_time_is_up(self, served: Served, sent: bytes) -> None:
        assert said(served.say(sent)).startswith(b"HTTP/1.1 408 ")

    @pytest.mark.slow
    def test_half_a_request_of_five_hundred_clients_leaves_nothing_open(self, served: Served) -> None:
        wires = [served.say(b"POST /v1/responses HTTP/1.1\r\nX-A: ") for _ in range(CONNECTIONS)]
        assert [said(wire)[:12] for wire in wires] == [b"HTTP/1.1 408"] * CONNECTIONS

    @pytest.mark.slow
    def test_half_a_request_that_grows_a_byte_at_a_time_is_refused_as_well(self, served: Served) -> None:
        with served.say(b"POST /v1/responses HTTP/1.1\r\nX-A: ") as wire:
            wire.settimeout(0.2)
            begun, answer = time.monotonic(), b""
            while not answer and time.monotonic() - begun < 30:
                wire.sendall(b"a")
                try:
                    answer = wire.recv(100)
                except TimeoutError:
                    continue
        assert answer.startswith(b"HTTP/1.1 408 ")

    @pytest.mark.slow
    def test_behind_a_whole_one_leaves_the_answer_to_that_alone(self, served: Served) -> None:
        """Two looks at the clock pass, as two slow clients that came later show."""
        with served.say(request_head(STREAM).replace(b"close", b"keep-alive") + STREAM + b"POST /v1") as wire:
            assert wire.recv(65536).startswith(b"HTTP/1.1 200 ")
            for _ in range(2):
                said(served.say(b"P"))
            assert is_open(wire)


class TestAnUpgrade:
    @pytest.mark.slow
    @pytest.mark.parametrize("to", [b"websocket", b"h2c"])
    def test_an_upgrade_of_a_post_means_nothing(self, served: Served, to: bytes) -> None:
        """Its body is read, and so is the request behind it; Java's client sends one with each request."""
        upgrading = request_head(BODY).replace(b"Connection: close\r\n", UPGRADE + b"==\r\n") + BODY
        answer = said(served.say(upgrading.replace(b"websocket", to) + request_head(BODY) + BODY))
        assert [part[:3] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"200"]

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "headers",
        [b"X-Long: " + b"x" * 9000, b"\r\n".join([b"X: y"] * 200), b"Content-Length: 2"],
        ids=["a long header", "many headers", "a body"],
    )
    def test_an_upgrade_that_the_library_does_not_read_is_refused(self, served: Served, headers: bytes) -> None:
        asked = head(b"Host: x", UPGRADE + b"==", headers, start=b"GET /v1/responses HTTP/1.1") + b"\r\n"
        answer = said(served.say(asked + (b"{}" if b"Content-Length" in headers else b"")))
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert answer.endswith(b"an address or a header of the handshake that is not ASCII.")


class TestTheHead:
    def test_the_head_with_two_hosts_is_refused(self, served: Served) -> None:
        answer = said(served.say(head(b"Host: a", b"Host: b", b"Content-Length: 0") + b"\r\n"))
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.endswith(b"A request has one Host header, this one has several.")

    @pytest.mark.parametrize("body", [BODY, b"{"])
    def test_the_head_of_http_1_0_gets_a_length(self, served: Served, body: bytes) -> None:
        length = b"Content-Length: %d" % len(body)
        answer = said(served.say(head(length, start=b"POST /v1/responses HTTP/1.0") + b"\r\n" + body))
        before, _, after = answer.partition(b"\r\n\r\n")
        assert b"content-length: %d" % len(after) in before.lower()
        assert json.loads(after)

    @pytest.mark.slow
    def test_the_head_of_http_1_0_gets_a_stream_without_chunks(self) -> None:
        with serving() as own:
            length = b"Content-Length: %d" % len(STREAM)
            answer = said(own.say(head(length, start=b"POST /v1/responses HTTP/1.0") + b"\r\n" + STREAM))
        before, _, after = answer.partition(b"\r\n\r\n")
        assert b"transfer-encoding" not in before.lower()
        assert after.startswith(b"event: response.created\n")
        assert after.endswith(b"}\n\n")


HOST = b"Host: x\r\n"
ASKED = b"POST /v1 HTTP/1.1\r\n" + HOST
CHUNKED = ASKED + b"Transfer-Encoding: chunked\r\n\r\n"
WEBSOCKET = HOST + UPGRADE + b"==\r\n\r\n"


def get(target: bytes = b"/v1", version: bytes = b"HTTP/1.1", headers: bytes = HOST) -> bytes:
    return b"GET %b %b\r\n%b\r\n" % (target, version, headers)


def parts_of(sent: bytes, size: int) -> list[Part]:
    """Return the parts of what is sent in pieces of this size, until one of them is refused."""
    parser, parts = RequestParser(), list[Part]()
    for start in range(0, len(sent), size):
        parts += parser.feed(sent[start : start + size])
        if parts and isinstance(parts[-1], BadRequest):
            break
    return parts


def head_of(sent: bytes, size: int) -> RequestHead:
    """Return the head of a request that is sent in pieces of this size."""
    parts = (part[0] if type(part) is tuple else part for part in parts_of(sent, size))
    return next(part for part in parts if isinstance(part, RequestHead))


NO_REQUESTS = {
    "bare line feeds": get().replace(b"\r\n", b"\n"),
    "a bare line feed in a header": get(headers=HOST + b"A: b\nC: d\r\n"),
    "a bare carriage return in a header": get(headers=HOST + b"A: b\rc\r\n"),
    "a folded header": get(headers=HOST + b"A: b\r\n c\r\n"),
    "a header folded by a tab": get(headers=HOST + b"A: b\r\n\tc\r\n"),
    "a header without a colon": get(headers=HOST + b"A\r\n"),
    "a header without a name": get(headers=HOST + b": a\r\n"),
    "a space before a colon": get(headers=HOST + b"A : b\r\n"),
    "a space in a name": get(headers=HOST + b"A B: c\r\n"),
    "a name that is not ASCII": get(headers=HOST + "Ä: b\r\n".encode()),
    "NUL in a header": get(headers=HOST + b"A: b\0c\r\n"),
    "a control character in a header": get(headers=HOST + b"A: b\x7fc\r\n"),
    "NUL in the address": get(b"/v1\0"),
    "a space in the address": get(b"/v 1"),
    "an address that is not ASCII": get("/ä".encode()),
    "an address without a slash": get(b"v1"),
    "no address": b"GET HTTP/1.1\r\n" + HOST + b"\r\n",
    "two hosts": get(headers=HOST + HOST),
    "no method": b" /v1 HTTP/1.1\r\n\r\n",
    "a method in small letters": get().replace(b"GET", b"get"),
    "an unknown method": get().replace(b"GET", b"ASK"),
    "tabs in the first line": get().replace(b" ", b"\t"),
    "a space before the method": b" " + get(),
    "the version 1.2": get(version=b"HTTP/1.2"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a TLS handshake": bytes.fromhex("160301020001000100"),
    "a length and chunks": CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
    "chunks and a length": ASKED + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": CHUNKED[:-2] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks that are not last": CHUNKED.replace(b"chunked", b"chunked, gzip"),
    "another encoding": CHUNKED.replace(b"chunked", b"identity"),
    **{
        f"the length {length!r}": ASKED + f"Content-Length: {length}\r\n\r\n".encode("latin-1")
        for length in ("", "-1", "+5", "0x5", "5, 5", "5 5", "\xb2", 2**64)
    },
    "two equal lengths": ASKED + b"Content-Length: 5\r\n" * 2 + b"\r\n",
    "two lengths": ASKED + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
    **{
        f"the size {size!r} of a chunk": CHUNKED + f"{size}\r\nabcde\r\n0\r\n\r\n".encode()
        for size in ("", "-5", "0x5", "5 ", "z", "4", "6", f"{2**64:x}")
    },
    "bare line feeds around chunks": CHUNKED + b"5\nabcde\n0\n\n",
    "a length behind the chunks": CHUNKED + b"0\r\nContent-Length: 5\r\n\r\n",
    "a trailer without a colon": CHUNKED + b"0\r\nA b\r\n\r\n",
    "text behind the body": ASKED + b"Content-Length: 5\r\n\r\nabcdefgh\r\n",
}


@pytest.mark.parametrize("size", [1, 1 << 20], ids=["bytewise", "whole"])
class TestWhatIsSent:
    @pytest.mark.parametrize("sent", NO_REQUESTS.values(), ids=NO_REQUESTS)
    def test_what_is_no_request_is_refused(self, sent: bytes, size: int) -> None:
        assert isinstance(parts_of(sent, size)[-1], BadRequest)

    @pytest.mark.parametrize(
        "chunks",
        [
            b"5;a=b\r\nabcde\r\n0;c\r\n\r\n",
            b"0000000000005\r\nabcde\r\n0\r\n\r\n",
            b"2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n",
            b"5\r\nabcde\r\n0\r\nHost: y\r\nAuthorization: Bearer sk-2\r\n\r\n",
        ],
        ids=["extensions", "zeros", "two of them", "a trailer"],
    )
    def test_a_body_in_chunks_is_what_is_in_them(self, chunks: bytes, size: int) -> None:
        _, head, *body = parts_of(CHUNKED + chunks, size)
        assert isinstance(head, RequestHead)
        assert (head.texts, body.pop()) == ({"host": "x", "transfer-encoding": "chunked"}, END)
        assert b"".join(part for part in body if isinstance(part, bytes)) == b"abcde"

    @pytest.mark.parametrize(
        ("target", "path"),
        [(b"http://y", "/"), (b"http://y/v1", "/v1"), (b"http://[::1]:80/v1?a", "/v1"), (b"*", "*"), (b"//y", "//y")],
    )
    def test_an_address_may_be_a_whole_url(self, target: bytes, path: str, size: int) -> None:
        assert head_of(get(target), size).target.path == path

    @pytest.mark.parametrize("target", [b"http://[::1/v1", b"http://y:70000/v1"])
    def test_an_address_that_is_none_is_refused_when_it_is_read(self, target: bytes, size: int) -> None:
        head = head_of(get(target), size)
        with pytest.raises(BadRequest):
            _ = head.target

    def test_an_upgrade_is_none_in_http_1_0(self, size: int) -> None:
        assert isinstance(parts_of(get(headers=WEBSOCKET), size)[-1], Upgrade)
        assert not any(isinstance(part, Upgrade) for part in parts_of(get(b"/v1", b"HTTP/1.0", WEBSOCKET), size))

    def test_leave_to_send_is_not_asked_for_in_http_1_0(self, size: int) -> None:
        expecting = HOST + b"Expect: 100-continue\r\n"
        heads = [head_of(get(b"/v1", version, expecting), size) for version in (b"HTTP/1.0", b"HTTP/1.1")]
        assert [head.expects_continue for head in heads] == [False, True]
