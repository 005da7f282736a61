"""A WebSocket to the server under examination: what is said to an event is the reply that HTTP would have given."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from harness.live.client.http import RawAnswer, ServerReply, parse_reply
from harness.live.client.websocket import SWITCHING_PROTOCOLS, WebSocketClient
from harness.verify.judging.websocket_pairs import SocketExchange

RESPONSES_PATH = "/responses"
MOST = 100_000
"""Events of an answer beyond which it is given up."""


class ConformanceSocket:
    """One connection, opened by the first event; `url` is the base URL, `timeout` the seconds an answer may take."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._headers = headers
        self._dial = WebSocketClient(f"ws{url.removeprefix('http')}{RESPONSES_PATH}", timeout)

    def send_event(self, event: bytes) -> ServerReply:
        """The reply to an event; an upgrade that is refused is one. Never raises."""
        if not self._dial.is_open:
            opened = self._dial.open(self._headers)
            if opened.status != SWITCHING_PROTOCOLS:
                return self._build_reply(RawAnswer(opened.status, opened.headers, opened.raw, opened.fault))
        part = self._dial.send_event(event.decode("utf-8", "replace"), _is_enough)
        return self._reply_to_event(
            part, self._dial.fault or ("" if part.is_settled else f"it has more than {MOST} events")
        )

    def close(self) -> None:
        """End the connection, if there is one."""
        self._dial.close()

    def _reply_to_event(self, part: SocketExchange, fault: str) -> ServerReply:
        answer = part.answer
        told = self._build_reply(RawAnswer(answer.status, fault=fault)).recorded
        if answer.status >= 400:
            return ServerReply(told._replace(answer=answer.body), fault)
        return ServerReply(told._replace(events=part.http_events), fault)

    def _build_reply(self, read: RawAnswer) -> ServerReply:
        return parse_reply(urlsplit(self._dial.url).hostname or "", "POST", RESPONSES_PATH, self._headers, read)


def _is_enough(part: SocketExchange) -> bool:
    return part.is_settled or len(part.events) > MOST
