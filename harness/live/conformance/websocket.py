"""A WebSocket to the server under examination: what is said to an event is the reply that HTTP would have given."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from harness.live.client.http import Read, Reply, reply
from harness.live.client.websocket import SWITCHED, Dial
from harness.verify.judging.websocket_pairs import SocketExchange

PATH = "/responses"
MOST = 100_000
"""Events of an answer beyond which it is given up."""


class Socket:
    """One connection, opened by the first event; `url` is the base URL, `timeout` the seconds an answer may take."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._headers = headers
        self._dial = Dial(f"ws{url.removeprefix('http')}{PATH}", timeout)

    def ask(self, event: bytes) -> Reply:
        """The reply to an event; an upgrade that is refused is one. Never raises."""
        if not self._dial.is_open:
            opened = self._dial.open(self._headers)
            if opened.status != SWITCHED:
                return self._reply(Read(opened.status, opened.headers, opened.raw, opened.fault))
        part = self._dial.ask(event.decode("utf-8", "replace"), _is_enough)
        return self._heard(part, self._dial.fault or ("" if part.is_settled else f"it has more than {MOST} events"))

    def close(self) -> None:
        """End the connection, if there is one."""
        self._dial.hang_up()

    def _heard(self, part: SocketExchange, fault: str) -> Reply:
        answer = part.answer
        told = self._reply(Read(answer.status, fault=fault)).recorded
        if answer.status >= 400:
            return Reply(told._replace(answer=answer.body), fault)
        return Reply(told._replace(events=part.http_events), fault)

    def _reply(self, read: Read) -> Reply:
        return reply(urlsplit(self._dial.url).hostname or "", "POST", PATH, self._headers, read)


def _is_enough(part: SocketExchange) -> bool:
    return part.is_settled or len(part.events) > MOST
