"""A WebSocket to the server under examination, whose events are answered by the replies that HTTP would have given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.cassettes.format.interaction import Interaction
from harness.live.client.http import ServerReply, parse_reply
from harness.live.client.websocket import SWITCHING_PROTOCOLS, WebSocketClient
from harness.verify.judging.websockets.pairs import SocketExchange

RESPONSES_PATH = "/responses"
MAX_EVENTS = 100_000
"""Events after which an answer is no longer read."""


class ConformanceSocket:
    """One connection, opened by the first event; `url` is the base URL, `timeout` the seconds an answer may take."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        self._headers = headers
        self._client = WebSocketClient(f"ws{url.removeprefix('http')}{RESPONSES_PATH}", timeout)

    def send_event(self, event: bytes) -> ServerReply:
        """Send an event and return the reply; a refused upgrade is one, too. Never raises."""
        if not self._client.is_open:
            opened = self._client.open(self._headers)
            if opened.status != SWITCHING_PROTOCOLS:
                return parse_reply(replace(opened, method="POST"), RESPONSES_PATH)
        exchange = self._client.send_event(event.decode("utf-8", "replace"), _is_enough)
        too_long = "" if exchange.is_settled else f"it has more than {MAX_EVENTS} events"
        return self._reply_to_event(exchange, self._client.fault or too_long)

    def close(self) -> None:
        """End the connection, if there is one."""
        self._client.close()

    def _reply_to_event(self, exchange: SocketExchange, fault: str) -> ServerReply:
        answer = exchange.answer
        sent = Interaction("POST", self._client.url, self._headers, status=answer.status, cut=bool(fault), reason=fault)
        reply = parse_reply(sent, RESPONSES_PATH)
        as_http = {"answer": answer.body} if answer.status >= 400 else {"events": exchange.http_events}
        return ServerReply(reply.recorded._replace(**as_http), sent)


def _is_enough(exchange: SocketExchange) -> bool:
    return exchange.is_settled or len(exchange.events) > MAX_EVENTS
