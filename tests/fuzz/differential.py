"""The protocol of the server beside that of a bare uvicorn: the same bytes, cut elsewhere, have the same answers.

The bare one gets each byte alone, and has answered what is whole before the next: so it never sees a request behind one that
is not answered yet, which it would refuse out of order.
"""

import asyncio
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, cast

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from harness.core.delivery import SendRecord
from harness.core.exchange import Answer, ReceivedRequest
from harness.server.transport.connection import HttpConnection
from harness.server.transport.deliver import send_answer
from harness.server.transport.request_parser import RequestHead
from tests.fuzz.parsers.connection import Wire

METHODS = (
    *("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "COPY", "LOCK", "MKCOL", "MOVE"),
    *("PROPFIND", "PROPPATCH", "SEARCH", "UNLOCK", "BIND", "REBIND", "UNBIND", "ACL", "REPORT", "MKACTIVITY", "MERGE"),
    *("CHECKOUT", "M-SEARCH", "NOTIFY", "SUBSCRIBE", "UNSUBSCRIBE", "PURGE", "MKCALENDAR", "LINK", "UNLINK", "SOURCE"),
    *("QUERY", "PRI", "DESCRIBE", "ANNOUNCE", "SETUP", "PLAY", "PAUSE", "TEARDOWN", "GET_PARAMETER", "SET_PARAMETER"),
    *("REDIRECT", "RECORD", "FLUSH", "BREW", "post", ""),
)
"""All methods that the parser knows, and some that it does not."""
TARGETS = (
    *("/v1/responses", "/v1/responses?a=b&c", "/%7Eme/x%20y", "http://h/v1/responses", "http://h:80/a?b", "h:443"),
    *("*", "", "/a b", "//", "http://", "/\xe9", "example.com:443", "/v1/files#part"),
)
VERSIONS = ("HTTP/1.1",) * 8 + ("HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "HTTP/1", "http/1.1", "ICE/1.0")
HEADERS = (
    *("Host: h", "Connection: close", "Connection: keep-alive", "Connection: TE, keep-alive", "Expect: 100-continue"),
    *("X-A: 1", "X-A:", "X-A: 1\r\n 2", "X-A: 1\r\n\t2", "X A: 1", ": 1", "X-A", "X-A: \x00", "X-A: \xe9"),
    *("Content-Type: application/json", "Authorization: Bearer sk-1", "X-Long: " + "x" * 300, "Keep-Alive: 5"),
    *("Content-Length: 3", "Content-Length: -1", "Content-Length: x", "Transfer-Encoding: gzip", "Trailer: X-B"),
)
UPGRADES = ("websocket", "WebSocket", "h2c", "TLS/1.0", "foo, websocket", "")
BODIES = (b"", b"{}", b'{"model":"gpt-4.1","input":"hi"}', b"abc", b"GET / HTTP/1.1\r\n\r\n", b"\r\n\r\n", b"x" * 600)
UPGRADED = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"


class Case(NamedTuple):
    """The pieces that the mock is sent, and the bytes that the bare server is: without upgrades that nobody makes."""

    pieces: Sequence[bytes]
    plain: bytes
    methods: frozenset[str]


class Said(NamedTuple):
    """The answers of a connection, and whether it was closed after them."""

    answers: Sequence[tuple[int, bytes]]
    closed: bool


def make_case(chance: random.Random) -> Case:
    """Return a connection of one to four requests, most of them right, cut anywhere."""
    sent, plain, methods = b"", b"", set[str]()
    for _ in range(chance.choice((1, 1, 2, 2, 3, 4))):
        lines, body, upgrade = _make_request(chance)
        methods.add(lines[0].partition(" ")[0])
        before = chance.choice(("", "", "", "\r\n", "\r\n\r\n"))
        one = _encode(before, lines, upgrade, body)
        other = _encode(before, lines, upgrade if _is_made(lines, upgrade) else [], body)
        if not upgrade and chance.random() < 0.2:
            one = other = _mutate(chance, one)
        sent, plain = sent + one, plain + other
    if chance.random() < 0.1:
        cut = chance.randrange(1, 20)
        if sent[-cut:] == plain[-cut:]:  # what is left has the same end, and the same faults
            sent, plain = sent[:-cut], plain[:-cut]
    return Case(_split(chance, sent), plain, frozenset(methods))


def _make_request(chance: random.Random) -> tuple[list[str], bytes, list[str]]:
    """Return the lines of a head, its body, and those of its lines that ask for an upgrade."""
    if chance.random() < 0.1:  # what is answered at once
        body = chance.choice(BODIES)
        return ["POST /v1/responses HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"], body, []
    is_odd = chance.random() < 0.3
    method = chance.choice(METHODS if is_odd else METHODS[:9])
    target = chance.choice(TARGETS if is_odd else TARGETS[:6])
    lines = [f"{method} {target} {chance.choice(VERSIONS if is_odd else VERSIONS[:9])}", "Host: x"]
    lines += chance.sample(HEADERS[1:] if is_odd else HEADERS[1:6], chance.randrange(3))
    body = chance.choice(BODIES)
    if chance.random() < 0.3:
        lines.append("Transfer-Encoding: chunked")
        body = _chunk(chance, body)
    elif body or chance.random() < 0.5:
        lines.append(f"Content-Length: {len(body)}")
    asks = chance.random() < 0.25
    upgrade = ["Connection: Upgrade", f"Upgrade: {chance.choice(UPGRADES)}"] if asks else []
    return lines, body, upgrade


def _is_made(lines: Sequence[str], upgrade: Sequence[str]) -> bool:
    """Return whether the upgrade that is asked for is made, or the request is broken for another reason.

    A bare server makes one of HTTP/1.0, too.
    """
    is_old = lines[0].endswith(" HTTP/1.0")
    return (
        not is_old and lines[0].startswith("GET ") and upgrade[-1:] in (["Upgrade: websocket"], ["Upgrade: WebSocket"])
    )


def _chunk(chance: random.Random, body: bytes) -> bytes:
    middle = chance.randrange(len(body) + 1)
    parts = [part for part in (body[:middle], body[middle:]) if part]
    chunks = b"".join(b"%x%b\r\n%b\r\n" % (len(part), chance.choice((b"", b";a=b")), part) for part in parts)
    return chunks + b"0\r\n" + chance.choice((b"", b"", b"X-B: 1\r\n")) + b"\r\n"


def _encode(before: str, lines: Sequence[str], upgrade: Sequence[str], body: bytes) -> bytes:
    return (before + "\r\n".join([*lines, *upgrade, "", ""])).encode("latin-1") + body


def _mutate(chance: random.Random, data: bytes) -> bytes:
    """Return the bytes with one deleted, replaced or inserted, or with line ends of one character."""
    at = chance.randrange(len(data))
    byte = bytes([chance.choice((0, 9, 10, 13, 32, 58, 255, chance.randrange(256)))])
    made = (data[:at] + data[at + 1 :], data[:at] + byte + data[at + 1 :], data[:at] + byte + data[at:])
    return chance.choice((*made, data.replace(b"\r\n", b"\n"), data.replace(b"\r\n", b"\r")))


def _split(chance: random.Random, data: bytes) -> Sequence[bytes]:
    if (kind := chance.random()) < 0.3 or len(data) < 2:
        return [data]
    if kind < 0.4 and len(data) < 500:
        return [data[number : number + 1] for number in range(len(data))]
    cuts = sorted(chance.sample(range(1, len(data)), min(chance.randrange(1, 6), len(data) - 1)))
    return [data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message.get("body", b""), message.get("more_body", False)
    await send_answer(send, _answer(scope["method"], scope["path"], dict(scope["headers"]).get(b"x-a", b""), body))


def _answer(method: str, path: str, header: bytes, body: bytes) -> Answer:
    return Answer(200, {"heard": f"{method} {path} {header!r} {body!r}"})


class _Mock:
    """Answers what has arrived whole, as the mock does."""

    def takes_whole(self, head: RequestHead) -> bool:
        return head.method == "POST"

    def answer(self, received: ReceivedRequest, _: SendRecord) -> Answer:
        header = received.headers.get("x-a", "").encode("latin-1")
        return _answer(received.method, received.path, header, received.raw)

    async def deliver(self, answer: Answer, _: ReceivedRequest, __: Any, send: Any) -> None:
        await send_answer(send, answer)


class _Upgraded(asyncio.Protocol):
    """Ends a connection that becomes a WebSocket, and says so."""

    def __init__(self, **_: Any) -> None:
        pass

    def connection_made(self, transport: Any) -> None:
        transport.write(UPGRADED)
        transport.close()


@dataclass
class Sides:
    """The bare protocol and those of the mock, on one event loop."""

    loop: asyncio.AbstractEventLoop

    def __post_init__(self) -> None:
        quiet: dict[str, Any] = {
            "log_level": "critical",
            "access_log": False,
            "lifespan": "off",
            "server_header": False,
        }
        self.config = Config(_echo, ws=cast("Any", _Upgraded), **quiet)
        self.config.date_header = False
        self.config.load()
        self.made: dict[str, Callable[..., Any]] = {
            "plain": HttpConnection,
            "closing": partial(HttpConnection, keep_alive=False),
            "mock": partial(HttpConnection, service=_Mock()),
        }

    def ask_bare(self, case: Case) -> Said:
        """Return what a bare server says."""
        return self._ask(HttpToolsProtocol, [case.plain[number : number + 1] for number in range(len(case.plain))])

    def ask(self, name: str, case: Case) -> Said:
        """Return what the mock says."""
        return self._ask(self.made[name], case.pieces)

    def _ask(self, make: Callable[..., Any], pieces: Sequence[bytes]) -> Said:
        wire, state = Wire(), ServerState()
        wire.protocol = make(config=self.config, server_state=state, app_state={}, _loop=self.loop)
        wire.protocol.connection_made(wire)
        for piece in pieces:
            if wire.closed:
                break
            wire.protocol.data_received(piece)
            self._turn(state, len(piece) > 1)
        self._turn(state, True)
        said = Said(read_answers(bytes(wire.said)), wire.closed)
        wire.protocol.connection_lost(None)
        for task in state.tasks:
            task.cancel()
        self._turn(state, True)
        return said

    def _turn(self, state: ServerState, always: bool) -> None:
        """Let the event loop turn while there is something to do."""
        if always or state.tasks:
            for _ in range(8):
                self.loop.call_soon(self.loop.stop)
                self.loop.run_forever()


def read_answers(said: bytes) -> Sequence[tuple[int, bytes]]:
    """Return the statuses and bodies of answers written one after another, without those that say to go on."""
    answers = []
    while said:
        head, _, said = said.partition(b"\r\n\r\n")
        found = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
        assert found, (head[:100], answers)
        if found[1] == b"100":
            continue
        length = re.search(rb"\r\ncontent-length: (\d+)", head)
        size = int(length[1]) if length and not said.startswith(b"HTTP/1.1 ") else 0
        answers.append((int(found[1]), said[:size]))
        said = said[size:]
    return answers


def expected(bare: Said, name: str, case: Case) -> Said:
    """Return what the mock has to say where a bare server says this."""
    if name == "closing" and bare.answers:
        return Said(bare.answers[:1], True)
    for number, (_, body) in enumerate(bare.answers, 1):
        if b'"CONNECT ' in body:  # a bare server goes on with what belongs to the tunnel that it has not made
            return Said(bare.answers[:number], True)
    return bare


@dataclass
class Figures:
    """What was sent in a run, and the differences that were found."""

    connections: int = 0
    sent: int = 0
    answers: int = 0
    methods: set[str] = field(default_factory=set)
    differences: list[str] = field(default_factory=list)


def run(seed: int, count: int) -> Figures:
    """Compare so many connections; the same seed makes the same ones."""
    chance, figures = random.Random(seed), Figures()
    loop = asyncio.new_event_loop()
    sides = Sides(loop)
    for _ in range(count):
        case = make_case(chance)
        bare = sides.ask_bare(case)
        figures.methods |= case.methods
        for name in sides.made:
            said, wanted = sides.ask(name, case), expected(bare, name, case)
            figures.connections += 1
            figures.sent += sum(map(len, case.pieces))
            figures.answers += len(said.answers)
            if said != wanted:
                figures.differences.append(f"{name}: {b'|'.join(case.pieces)!r}\n  said {said}\n  bare {wanted}")
    loop.close()
    return figures
