"""The requests of the benchmark, either always the same or numbered, and what each server answers.

Every word of its text has five letters, so that a mock which splits a text by size (6 characters, with the space) makes the
same 50 deltas as one which splits it by words.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import count, repeat

PATH = "/v1/responses"
TEXT = (
    "Every river bends where stone meets water under quiet light while birds drift above green hills after early rains "
    "carry loose earth along banks whose roots stand proud below heavy skies until later winds bring fresh scent among "
    "trees which never sleep while night holds still those small homes again"
)
HEADERS = {"authorization": "Bearer sk-bench", "content-type": "application/json"}
NUMBER = b"000000000000"
"""The placeholder in a body for its number, which has as many digits."""
BODIES = {
    "json": b'{"model":"gpt-4.1","input":"Say fifty words."}',
    "json, numbered": b'{"model":"gpt-4.1","input":"Say fifty words. ' + NUMBER + b'"}',
    "stream": b'{"model":"gpt-4.1","input":"Say fifty words.","stream":true}',
    "stream, numbered": b'{"model":"gpt-4.1","input":"Say fifty words. ' + NUMBER + b'","stream":true}',
}
OF_THE_CONNECTION = {"connection", "content-length", "date", "keep-alive", "server", "transfer-encoding"}


@dataclass(frozen=True)
class Captured:
    """An answer: its headers (in lower case, without those of the connection) and its whole body."""

    headers: dict[str, str]
    body: str

    @property
    def events(self) -> list[str]:
        """The names of the server-sent events, in order."""
        return [line[7:] for line in self.body.splitlines() if line.startswith("event: ")]

    @property
    def text(self) -> str:
        """The output text, joined from the deltas of a stream or read from the JSON answer."""
        if self.events:
            data = (json.loads(line[6:]) for line in self.body.splitlines() if line.startswith("data: {"))
            return "".join(e["delta"] for e in data if e["type"] == "response.output_text.delta")
        parts = (p for i in json.loads(self.body)["output"] for p in i["content"])
        return "".join(part["text"] for part in parts)


def capture(port: int, kind: str) -> Captured:
    """Return the answer of the server on `port` to the request `kind` ("json" or "stream"). RuntimeError unless 200."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", PATH, BODIES[kind], HEADERS)
        answer = connection.getresponse()
        body = answer.read().decode()
    finally:
        connection.close()
    if answer.status != 200:
        raise RuntimeError(f"port {port} answers {answer.status} to the {kind} request: {body[:500]}")
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Captured({n: v for n, v in headers.items() if n not in OF_THE_CONNECTION}, body)


def unused_number() -> int:
    """Return a number greater than all that earlier rounds used: the microseconds since 1970, in 12 digits."""
    return time.time_ns() // 1000 % 10**12


def numbered(wire: bytes) -> Iterator[bytes]:
    """Yield a request forever, each time with the next number if it has one, which no earlier round has used."""
    before, number, after = wire.partition(NUMBER)
    return (b"%b%012d%b" % (before, number, after) for number in count(unused_number())) if number else repeat(wire)


def request_bytes(port: int, kind: str, key: int = 0) -> bytes:
    """Return the bytes of an HTTP/1.1 request for a keep-alive connection; `key` numbers the API key."""
    own = {**HEADERS, "authorization": f"{HEADERS['authorization']}-{key}"} if key else HEADERS
    fields = {"host": f"127.0.0.1:{port}", **own, "content-length": str(len(BODIES[kind]))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"POST {PATH} HTTP/1.1\r\n{head}\r\n".encode() + BODIES[kind]
