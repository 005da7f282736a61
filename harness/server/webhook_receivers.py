"""Receivers of webhooks: a URL, or an ASGI or WSGI app of this process. Each returns the status of the answer."""

from __future__ import annotations

import asyncio
import inspect
import io
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from threading import Event
from time import monotonic
from typing import Any, NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit
from wsgiref.util import setup_testing_defaults

from harness.core.errors import ConfigError, describe_raised
from harness.core.webhooks import LOOP_ENDED
from harness.server.deadline import run_within, shut_down

APP_ORIGIN = "http://localhost"
"""The origin under which an app of this process is called."""
_LOOK_SECONDS = 0.05
_MAX_READ = 1024 * 1024
"""The maximum number of bytes of an answer that are read."""
_GONE_SECONDS = 1.0
"""Seconds for which the event loop of an app may stand still before its test counts as ended."""


class DeliveryProblem(Exception):
    """Why a delivery failed.

    `status` is set if the app raised an exception, which a server would answer with that status.
    """

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


class SignedRequest(NamedTuple):
    """A signed request to a receiver."""

    headers: Mapping[str, str]
    body: bytes


class ReceiverAnswer(NamedTuple):
    """The status of an answer, and the seconds until it was complete."""

    status: int
    seconds: float


class Receiver(Protocol):
    """Sends a delivery and returns its answer; DeliveryProblem without an answer."""

    def __call__(self, url: str, request: SignedRequest, timeout: float) -> ReceiverAnswer:
        """Send the delivery."""


def resolve_receiver(receiver: Any, path: str, url: str) -> tuple[str, Receiver | None]:
    """Return the URL of deliveries, and the receiver to call unless they are posted to it; ConfigError if invalid."""
    if path and url:
        raise ConfigError(f"webhooks(…, {path!r}, url={url!r}): the URL includes the path; omit the other one.")
    if isinstance(receiver, str):
        if path:
            raise ConfigError(f"webhooks({receiver!r}, {path!r}): only an app takes a path; the URL has its own.")
        check_url(receiver)
        # Posted there in place of their own URL.
        return (
            (check_url(url), lambda _, request, timeout: post(receiver, request, timeout)) if url else (receiver, None)
        )
    made = make_receiver(receiver)
    return check_url(url or f"{APP_ORIGIN}{'' if path.startswith('/') else '/'}{path}"), made


def make_receiver(app: Any) -> Receiver:
    """Wrap an app as a receiver; ConfigError for anything else.

    An ASGI app runs in the event loop of this thread if one is running, otherwise in a loop of its own.
    """
    call = app if inspect.isroutine(app) else getattr(app, "__call__", None)  # noqa: B004 (it may be async)
    # ASGI calls an app with three arguments, WSGI with two.
    if callable(app) and (inspect.iscoroutinefunction(call) or (not _takes(app, 2) and _takes(app, 3))):
        return AsgiReceiver(app)
    if callable(app) and _takes(app, 2):
        return WsgiReceiver(app)
    raise ConfigError(
        f"webhooks({app!r}): pass a URL, or an ASGI or WSGI app. Serve any other app, such as one of aiohttp, with "
        "its own test server, and pass its URL."
    )


def _takes(app: Callable[..., Any], count: int) -> bool:
    try:
        inspect.signature(app).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def check_url(url: str) -> str:
    """Return a URL that can be posted to; ConfigError for any other."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ConfigError(f"webhooks({url!r}): pass a URL like http://localhost:8000/hook, or an app.")
    return url


def post(url: str, request: SignedRequest, timeout: float) -> ReceiverAnswer:
    """Post a delivery without following redirects."""
    parts, begun, statuses = urlsplit(url), monotonic(), list[int]()
    connection, connected, stopped = _connect(parts, timeout), list[socket.socket](), Event()

    def send() -> ReceiverAnswer:
        connection.connect()
        connected.append(connection.sock)  # the connection forgets it with the head of an answer that closes it
        if monotonic() - begun > timeout:
            raise TimeoutError  # nobody waits any more for what would be sent now
        target = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
        connection.request("POST", target, request.body, dict(request.headers))
        with connection.getresponse() as answer:
            if not stopped.is_set():  # otherwise `stop` has ended the head
                statuses.append(answer.status)
            # The status decides; an endless body must not hold the delivery.
            answer.read(_MAX_READ)
            return ReceiverAnswer(answer.status, monotonic() - begun)

    def stop() -> None:
        stopped.set()
        shut_down(*connected)

    try:
        return run_within(timeout, send, stop)
    except TimeoutError as problem:
        raise _too_late(statuses, timeout) from problem
    except (OSError, HTTPException, ValueError) as problem:  # a name that cannot be encoded is a ValueError
        raise DeliveryProblem(f"{parts.netloc} cannot be reached: {problem or type(problem).__name__}") from problem
    finally:
        connection.close()


def _too_late(statuses: Sequence[int], timeout: float) -> DeliveryProblem:
    """Make the problem of an answer that did not end in time, with the statuses received so far."""
    begun = f"answered {statuses[-1]}, did not end" if statuses else "no answer"
    return DeliveryProblem(f"{begun} within {timeout:g} s")


def post_nearby(url: str, request: SignedRequest, timeout: float) -> ReceiverAnswer:
    """Post to a loopback address.

    Others, which code under test registered, are refused, as a test must not call them.
    """
    host = urlsplit(url).hostname or ""
    try:
        is_near = ip_address(host).is_loopback
    except ValueError:
        is_near = host == "localhost" or host.endswith(".localhost")
    if not is_near:
        raise DeliveryProblem(
            f"not sent, as {host} is another machine; lead it to a hook: mock.webhooks(app, url={url!r})"
        )
    return post(url, request, timeout)


def _connect(parts: SplitResult, timeout: float) -> HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return HTTPSConnection(host, parts.port, timeout=timeout, context=ssl.create_default_context())
    return HTTPConnection(host, parts.port, timeout=timeout)


class WsgiReceiver:
    """Calls a WSGI app in a thread, which is left behind if the app does not return in time."""

    def __init__(self, app: Callable[[dict[str, Any], Any], Iterable[bytes]]) -> None:
        self._app = app

    def __call__(self, url: str, request: SignedRequest, timeout: float) -> ReceiverAnswer:
        """Call the app; an exception it raises counts as status 500, as with a real server."""
        statuses, stopped, begun = list[int](), Event(), monotonic()
        environ = _wsgi_environ(urlsplit(url), request)
        try:
            run_within(timeout, lambda: self._call(environ, statuses, stopped), stopped.set)
        except TimeoutError as problem:
            raise _too_late(statuses, timeout) from problem
        if not statuses:
            raise DeliveryProblem("the app has not called start_response", 500)
        return ReceiverAnswer(statuses[-1], monotonic() - begun)

    def _call(self, environ: dict[str, Any], statuses: list[int], stopped: Event) -> None:
        def start_response(status: str, _headers: Any, _error: Any = None) -> Callable[[bytes], object]:
            if not stopped.is_set():
                statuses.append(int(status[:3]))
            return lambda _: None

        unread = _MAX_READ
        try:
            parts_of_body = self._app(environ, start_response)
            try:
                for part in parts_of_body:
                    unread -= len(part)
                    if unread < 0 or stopped.is_set():
                        break
            finally:
                if close := getattr(parts_of_body, "close", None):
                    close()
        except Exception as problem:
            raise DeliveryProblem(f"the app raised {describe_raised(problem)}", 500) from problem


def _wsgi_environ(parts: SplitResult, request: SignedRequest) -> dict[str, Any]:
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "",
        "PATH_INFO": parts.path or "/",
        "QUERY_STRING": parts.query,
        "HTTP_HOST": parts.netloc,
        "CONTENT_LENGTH": str(len(request.body)),
        "wsgi.input": io.BytesIO(request.body),
        "wsgi.errors": sys.stderr,
    }
    for name, value in request.headers.items():
        variable = name.upper().replace("-", "_")
        environ[variable if variable == "CONTENT_TYPE" else f"HTTP_{variable}"] = value
    setup_testing_defaults(environ)
    return environ


class AsgiReceiver:
    """Calls an ASGI app, without its lifespan, in the event loop it was given in, else in a loop shared by apps."""

    def __init__(self, app: Callable[..., Coroutine[Any, Any, None]]) -> None:
        self._app = app
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            self._loop = _common_loop()

    def __call__(self, url: str, request: SignedRequest, timeout: float) -> ReceiverAnswer:
        """Call the app; an exception it raises counts as status 500, as with a real server."""
        if self._loop.is_closed():
            raise DeliveryProblem(LOOP_ENDED)
        answered = _AsgiAnswer()
        calling: Future[None] = asyncio.run_coroutine_threadsafe(self._call(url, request, answered), self._loop)
        seen_running = begun = answered.begun
        # Polls, since neither a stopped loop nor an answer that is sent before the app returns completes the future.
        while True:
            try:
                calling.result(_LOOK_SECONDS)
                return answered.result(timeout)
            except TimeoutError:
                now = monotonic()
                seen_running = now if self._loop.is_running() else seen_running
                if now - seen_running > _GONE_SECONDS:
                    calling.cancel()
                    raise DeliveryProblem(LOOP_ENDED) from None
                if now - begun > timeout and answered.seconds is None:
                    calling.cancel()
                    raise _too_late(answered.statuses, timeout) from None
                if answered.seconds is not None and now - begun > answered.seconds + timeout:
                    return answered.result(timeout)  # the answer was complete in time; work after it takes longer
            except CancelledError as problem:
                raise DeliveryProblem("the app was cancelled") from problem

    async def _call(self, url: str, request: SignedRequest, answered: _AsgiAnswer) -> None:
        parts = urlsplit(url)
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": parts.scheme,
            "path": parts.path or "/",
            "raw_path": (parts.path or "/").encode(),
            "root_path": "",
            "query_string": parts.query.encode(),
            "headers": [
                (b"host", parts.netloc.encode()),
                (b"content-length", b"%d" % len(request.body)),
                *((name.encode(), value.encode()) for name, value in request.headers.items()),
            ],
            "client": ("127.0.0.1", 0),
            "server": (parts.hostname, parts.port or 80),
            "state": {},
        }
        ended, is_read, unread = asyncio.Event(), False, _MAX_READ

        async def receive() -> dict[str, Any]:
            nonlocal is_read
            if is_read:
                await ended.wait()
                return {"type": "http.disconnect"}
            is_read = True
            return {"type": "http.request", "body": request.body, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal unread
            if ended.is_set():
                raise OSError("the answer is not read any further")
            if message["type"] == "http.response.start":
                answered.statuses.append(message["status"])
            elif message["type"] == "http.response.body":
                unread -= len(message.get("body", b""))
                if unread < 0 or not message.get("more_body"):
                    answered.seconds = monotonic() - answered.begun
                    ended.set()

        try:
            await self._app(scope, receive, send)
        except Exception as problem:
            if answered.seconds is None:  # otherwise a server would have sent the answer by now
                raise DeliveryProblem(f"the app raised {describe_raised(problem)}", 500) from problem


class _AsgiAnswer:
    """The answer of an ASGI app as far as it has been sent; `seconds` until it was complete."""

    def __init__(self) -> None:
        self.begun = monotonic()
        self.statuses: list[int] = []
        self.seconds: float | None = None

    def result(self, timeout: float) -> ReceiverAnswer:
        if self.seconds is None:
            raise DeliveryProblem("the app has not answered", 500)
        if self.seconds > timeout:
            raise _too_late(self.statuses, timeout)
        return ReceiverAnswer(self.statuses[-1], self.seconds)


@cache
def _common_loop() -> asyncio.AbstractEventLoop:
    """Start the event loop, in a thread of its own, of apps that were given outside a running loop."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="responses-harness-apps", daemon=True).start()
    return loop
