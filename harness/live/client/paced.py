"""Requests sent to the live API, at the pace that it allows: what it asks to wait for is waited for.

What makes going on pointless ends it: nobody there, a key that is refused, no credit. Everything else is an answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, TypeVar

from harness.api.dialects import API_ROOTS, FOUNDRY, OPENAI
from harness.api.providers import provider_of_host
from harness.api.upstream import Upstream
from harness.cassettes.format.interaction import Interaction
from harness.core.errors import HarnessError
from harness.core.exchange import EMPTY_MAPPING, Json
from harness.core.redact import redact
from harness.live.client.http import HttpClient, ServerReply
from harness.live.client.websocket import WebSocketClient, handshake_error
from harness.verify.judging.websocket_pairs import SocketExchange

T = TypeVar("T")
MAX_TRIES = 6
"""How often a request that was limited or failed is sent again."""
MAX_LIMIT_SECONDS = 300.0
"""Seconds beyond which a limit is none to wait for: a day's quota."""
MAX_UNANSWERED = 3
"""Requests in a row that nobody could answer, after which it is no use to go on."""
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m(?!s))?(?:([\d.]+)s)?(?:(\d+)ms)?")
_PROJECT = re.compile(r"/api/projects/[^/]+")


class UpstreamError(HarnessError):
    """The live API cannot be asked any further: nobody there, a wrong key, no credit."""


@dataclass(frozen=True, slots=True)
class LiveApi:
    """The API behind an address, and the key to it."""

    upstream: Upstream
    key: str

    @property
    def public_name(self) -> str:
        """How a recording names it: by its host, unless that tells the account."""
        scheme, _, host = self.upstream.origin.partition("://")
        known = provider_of_host(host.partition(":")[0], self.upstream.root)
        return self.upstream.origin if known in ("", OPENAI) else f"{scheme}://{known}"

    def path(self, known: str) -> str:
        """Where a path of the API (`/v1/responses`) is found there."""
        own = f"{API_ROOTS[OPENAI]}/"
        if known.startswith(own):
            return f"{self.upstream.root}/{known[len(own) :]}"
        project = _PROJECT.match(self.upstream.root)
        return _PROJECT.sub(project[0], known, count=1) if project else known

    def headers(self, asked: Mapping[str, str], good: bool = True) -> dict[str, str]:
        """The headers to send, with the key in the place of any good one."""
        told = {name: value for name, value in asked.items() if not good or name not in ("authorization", "api-key")}
        if not good:
            return told
        own = (
            {"authorization": f"Bearer {self.key}"}
            if self.upstream.dialect in (OPENAI, FOUNDRY)
            else {"api-key": self.key}
        )
        return {**told, **own}


class Sender:
    """Sends to a live API; `timeout` is in seconds, `sleep` waits that many."""

    def __init__(self, live: LiveApi, timeout: float = 120.0, sleep: Callable[[float], None] = time.sleep) -> None:
        self.live = live
        self.day = date.today().isoformat()
        self.calls = 0
        self.waited = 0.0
        self._endpoint = HttpClient(live.upstream.origin, live.key, timeout, max_attempts=1)
        self._timeout = timeout
        self._sleep = sleep
        self._silent = 0
        self._answered = False

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, good: bool = True
    ) -> ServerReply:
        """The reply to a request at a path of the API; `good` says whether it goes with the key.

        UpstreamError when it is no use to go on.
        """
        told = self.live.headers(headers, good)
        return self._send_paced(
            lambda: self._endpoint.send(method, self.live.path(path), told, body), _facts_of_reply, good
        )

    def open_socket(self, path: str, headers: Mapping[str, str] = EMPTY_MAPPING) -> tuple[WebSocketClient, Interaction]:
        """A WebSocket at a path of the API, and the answer to the request for it; UpstreamError as for `send`."""
        url = f"ws{self.live.upstream.origin.removeprefix('http')}{self.live.path(path)}"
        line = WebSocketClient(url, self._timeout)
        return line, self._send_paced(lambda: line.open(self.live.headers(headers)), _facts_of_handshake)

    def send_event(
        self, line: WebSocketClient, text: str, is_enough: Callable[[SocketExchange], bool]
    ) -> SocketExchange:
        """An event of the client and what is said to it until that is enough; UpstreamError as for `send`."""
        known = len(line.frames)

        def ask() -> SocketExchange:
            line.discard_frames(known)
            return line.send_event(text, is_enough)

        return self._send_paced(ask, lambda part: _facts_of_exchange(part, line.fault))

    def _send_paced(self, ask: Callable[[], T], read: Callable[[T], _PacingFacts], good: bool = True) -> T:
        """What is answered at last, asked again as often and as late as the API says."""
        for attempt in range(MAX_TRIES):
            answer = ask()
            heard = read(answer)
            self.calls += 1
            self._raise_if_hopeless(heard, good)
            wait = _retry_delay(heard, attempt)
            if wait is None:
                break
            self._wait(wait)
        self._wait(_delay_before_next(heard.headers))
        return answer

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self.waited += seconds
            self._sleep(seconds)

    def _raise_if_hopeless(self, heard: _PacingFacts, good: bool) -> None:
        """Raise UpstreamError when no further request can be answered."""
        where, status, fault = self.live.upstream.origin, heard.status, heard.fault
        failed = not status or (status >= 500 and bool(fault))
        self._silent = self._silent + 1 if failed else 0
        if failed and (not (self._answered or status) or self._silent >= MAX_UNANSWERED):
            raise UpstreamError(f"{where}: {f'{status}, ' * bool(status)}{fault}. Is it up, and is the address right?")
        if fault and not self._answered and not failed:
            raise UpstreamError(f"{where}: {status}, {fault}. Give the root of the API, say {where}/v1.")
        if status == 401 and good:
            said = redact(str(heard.error.get("message")))
            raise UpstreamError(f"{where} refuses the key: {said} Give a key that it knows.")
        if status == 429 and heard.error.get("code") == "insufficient_quota":
            raise UpstreamError(f"{where}: the account is out of credit. Add some; what is recorded is kept.")
        self._answered = self._answered or not failed


class _PacingFacts(NamedTuple):
    """What the pace of asking depends on."""

    status: int
    headers: Mapping[str, str]
    error: Json
    fault: str


def _facts_of_reply(reply: ServerReply) -> _PacingFacts:
    body = reply.body if isinstance(reply.body, dict) else {}
    return _PacingFacts(reply.status, reply.recorded.answer_headers, _error_object(body), reply.fault)


def _facts_of_handshake(opened: Interaction) -> _PacingFacts:
    return _PacingFacts(opened.status, opened.answer_headers, handshake_error(opened), opened.reason)


def _facts_of_exchange(part: SocketExchange, fault: str) -> _PacingFacts:
    answer = part.answer
    return _PacingFacts(0 if fault else answer.status, answer.headers, _error_object(answer.body or {}), fault)


def _error_object(body: Json) -> Json:
    error = body.get("error", body)
    return error if isinstance(error, dict) else {}


def _retry_delay(heard: _PacingFacts, attempt: int) -> float | None:
    """The seconds after which to send the same again; None when this is the answer."""
    if heard.status not in (408, 429, 500, 502, 503, 504):
        return None
    told = _requested_delay(heard.headers)
    if heard.status == 500 and attempt >= 1:
        return None  # it may be the answer
    wait = float(2**attempt) if told is None else told
    return wait if wait <= MAX_LIMIT_SECONDS else None


def _requested_delay(headers: Mapping[str, str]) -> float | None:
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            return max(0.0, float(headers[name]) / unit)
        except (KeyError, ValueError):
            continue
    return None


def _delay_before_next(headers: Mapping[str, str]) -> float:
    """The seconds until a limit that is used up is there again."""
    used = (kind for kind in ("requests", "tokens") if headers.get(f"x-ratelimit-remaining-{kind}") == "0")
    return min(
        MAX_LIMIT_SECONDS,
        max((_parse_duration(headers.get(f"x-ratelimit-reset-{kind}", "")) for kind in used), default=0.0),
    )


def _parse_duration(duration: str) -> float:
    """The seconds of `6m0s`, `1.5s`, `120ms`."""
    found = _DURATION.fullmatch(duration)
    if found is None:
        return 0.0
    hours, minutes, seconds, thousandths = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds + thousandths / 1000
