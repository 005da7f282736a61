"""Sends requests to the live API, limited and failed ones again when it says so, and estimates costs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple, TypeVar

import orjson

from harness.analysis.client_mistakes.retries import is_out_of_quota
from harness.analysis.find_retries import asked_delay
from harness.api.http.dialects import API_ROOTS, FOUNDRY, OPENAI, Upstream, provider_of_host
from harness.api.tokens import CHARACTERS_PER_TOKEN
from harness.cassettes.format.interaction import Interaction
from harness.core.errors import HarnessError
from harness.core.exchange import EMPTY_MAPPING, Json
from harness.core.json_values import as_object, omit
from harness.core.secret_prefixes import redact
from harness.live.http import HttpClient, ServerReply
from harness.live.websocket import WebSocketClient, handshake_error
from harness.verify.judging.websockets import SocketExchange

T = TypeVar("T")
MAX_TRIES = 6
"""The maximum number of attempts for a limited or failed request."""
MAX_LIMIT_SECONDS = 300.0
"""The longest wait in seconds; a longer limit, such as a daily quota, is not waited for."""
MAX_UNANSWERED = 3
"""The number of consecutive unanswered requests after which no more are sent."""
_PROJECT = re.compile(r"/api/projects/[^/]+")


class UpstreamError(HarnessError):
    """The live API cannot answer any request: no server, an invalid key, no credit."""

    section = "another-server"


@dataclass(frozen=True, slots=True)
class LiveApi:
    """A live API: its address, and the key for it."""

    upstream: Upstream
    key: str

    @property
    def public_name(self) -> str:
        """The name of the API in recordings: its origin, or the provider if the origin reveals the account."""
        scheme, _, host = self.upstream.origin.partition("://")
        known = provider_of_host(host.partition(":")[0], self.upstream.root)
        return self.upstream.origin if known in ("", OPENAI) else f"{scheme}://{known}"

    def path(self, public: str) -> str:
        """Translate a public path of the API (`/v1/responses`) to the path at this address."""
        root = f"{API_ROOTS[OPENAI]}/"
        if public.startswith(root):
            return f"{self.upstream.root}/{public[len(root) :]}"
        project = _PROJECT.match(self.upstream.root)
        return _PROJECT.sub(project[0], public, count=1) if project else public

    def headers(self, headers: Mapping[str, str], with_key: bool = True) -> dict[str, str]:
        """Return the headers to send; `with_key` replaces any key in them with this API's."""
        if not with_key:
            return dict(headers)
        rest = omit(headers, "authorization", "api-key")
        if self.upstream.dialect in (OPENAI, FOUNDRY):
            return {**rest, "authorization": f"Bearer {self.key}"}
        return {**rest, "api-key": self.key}


class Sender:
    """Sends requests to a live API; `timeout` is in seconds, `sleep` is called with seconds to wait."""

    def __init__(self, live: LiveApi, timeout: float = 120.0, sleep: Callable[[float], None] = time.sleep) -> None:
        self.live = live
        self.day = date.today().isoformat()
        self.calls = 0
        self._client = HttpClient(live.upstream.origin, live.key, timeout, max_attempts=1)
        self._timeout = timeout
        self._sleep = sleep
        self._unanswered = 0
        self._answered = False

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, with_key: bool = True
    ) -> ServerReply:
        """Send a request for a public path of the API and return the reply. UpstreamError if no request can succeed."""
        own, path = self.live.headers(headers, with_key), self.live.path(path)
        return self._send_paced(lambda: self._client.send(method, path, own, body), _facts_of_reply, with_key)

    def open_socket(self, path: str, headers: Mapping[str, str] = EMPTY_MAPPING) -> tuple[WebSocketClient, Interaction]:
        """Open a WebSocket at a public path of the API; return it and its handshake. UpstreamError as for `send`."""
        url = f"ws{self.live.upstream.origin.removeprefix('http')}{self.live.path(path)}"
        client = WebSocketClient(url, self._timeout)
        return client, self._send_paced(lambda: client.open(self.live.headers(headers)), _facts_of_handshake)

    def send_event(
        self, client: WebSocketClient, text: str, is_enough: Callable[[SocketExchange], bool]
    ) -> SocketExchange:
        """Send a client event and return its answer, read until it `is_enough`. UpstreamError as for `send`."""
        frame_count = len(client.frames)

        def send() -> SocketExchange:
            client.discard_frames(frame_count)
            return client.send_event(text, is_enough)

        return self._send_paced(send, lambda exchange: _facts_of_exchange(exchange, client.fault))

    def _send_paced(self, send: Callable[[], T], read: Callable[[T], _PacingFacts], with_key: bool = True) -> T:
        """Send, retrying and waiting as the API demands, and return the final answer."""
        for attempt in range(MAX_TRIES):
            answer = send()
            facts = read(answer)
            self.calls += 1
            self._raise_if_hopeless(facts, with_key)
            delay = _retry_delay(facts, attempt)
            if delay is None:
                break
            self._sleep(delay)
        return answer

    def _raise_if_hopeless(self, facts: _PacingFacts, with_key: bool) -> None:
        where, status, fault = self.live.upstream.origin, facts.status, facts.fault
        failed = not status or (status >= 500 and bool(fault))
        self._unanswered = self._unanswered + 1 if failed else 0
        # A server that has answered before may recover from a failure; an address that never has will not.
        if failed and (not (self._answered or status) or self._unanswered >= MAX_UNANSWERED):
            raise UpstreamError(f"{where}: {f'{status}, ' * bool(status)}{fault}. Is it running, and is the URL right?")
        # Something else than the API answers there: a login page, another path.
        if fault and not self._answered and not failed:
            raise UpstreamError(f"{where}: {status}, {fault}. Pass the root of the API, such as {where}/v1.")
        if status == 401 and with_key:
            message = redact(str(facts.error.get("message")))
            raise UpstreamError(f"{where} refuses the key: {message} Use a valid key.")
        if status == 429 and is_out_of_quota(facts.error):
            raise UpstreamError(f"{where}: the account is out of credit. Add some; recordings so far are kept.")
        self._answered = self._answered or not failed


class _PacingFacts(NamedTuple):
    """The parts of an answer that the pace depends on."""

    status: int
    headers: Mapping[str, str]
    error: Json
    fault: str


def _facts_of_reply(reply: ServerReply) -> _PacingFacts:
    return _PacingFacts(reply.status, reply.recorded.answer_headers, _error_object(reply.body), reply.fault)


def _facts_of_handshake(opened: Interaction) -> _PacingFacts:
    return _PacingFacts(opened.status, opened.answer_headers, handshake_error(opened), opened.reason)


def _facts_of_exchange(exchange: SocketExchange, fault: str) -> _PacingFacts:
    answer = exchange.answer
    return _PacingFacts(0 if fault else answer.status, answer.headers, _error_object(answer.body), fault)


def _error_object(body: Any) -> Json:
    return as_object(as_object(body).get("error", body))


def _retry_delay(facts: _PacingFacts, attempt: int) -> float | None:
    """Return the seconds to wait before a retry; None if this is the final answer."""
    if facts.status not in (408, 429, 500, 502, 503, 504) or attempt + 1 == MAX_TRIES:
        return None
    if facts.status == 500 and attempt >= 1:
        return None  # this request may always be answered so
    asked = asked_delay(facts.headers)
    delay = float(2**attempt) if asked is None else asked
    return delay if delay <= MAX_LIMIT_SECONDS else None


DEFAULT_OUTPUT_TOKENS = 500
"""The assumed tokens of the answer to a short request without a limit."""
LIMIT_MEMBERS = ("max_output_tokens", "max_completion_tokens")
MODEL_PATHS = ("/responses", "/runs", "/submit_tool_outputs", "/compact")
"""Suffixes of the paths that a model answers; nothing else is billed by token."""


class Budget(NamedTuple):
    """The number of calls, and an estimate of the maximum number of tokens."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def at_least(self, used: Mapping[str, Any]) -> Budget:
        """Return the budget, raised to the `usage` of an answer where that is higher."""
        counts = (used.get(name) for name in ("input_tokens", "output_tokens"))
        input, output = (count if isinstance(count, int) else 0 for count in counts)
        return Budget(self.calls, max(self.input_tokens, input), max(self.output_tokens, output))

    def __str__(self) -> str:
        calls = "1 call" if self.calls == 1 else f"{self.calls:,} calls"
        return f"{calls}, at most about {self.input_tokens:,} tokens in and {self.output_tokens:,} out"


def estimate_request(method: str, path: str, body: bytes, is_accepted: bool) -> Budget:
    """Estimate the cost of one request; `path` is without its query. A refused request costs no tokens."""
    if not is_accepted or method != "POST" or not path.endswith(MODEL_PATHS):
        return Budget(1)
    return Budget(1, -(-len(body) // CHARACTERS_PER_TOKEN), _output_limit(body))


def _output_limit(body: bytes) -> int:
    try:
        request = as_object(orjson.loads(body))
    except orjson.JSONDecodeError:
        return DEFAULT_OUTPUT_TOKENS
    limits = (request.get(name) for name in LIMIT_MEMBERS)
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), DEFAULT_OUTPUT_TOKENS)


def sum_budgets(budgets: Iterable[Budget]) -> Budget:
    """Return the sum of all budgets."""
    return Budget(*map(sum, zip(*budgets, strict=True)))
