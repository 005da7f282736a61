"""A live API to record: the mock on loopback, over TLS with a certificate of its own, or plain."""

import asyncio
import shutil
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.api.http.dialects import parse_upstream
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.recording.proxy import SILENCE_TIMEOUT, run_proxy
from harness.cassettes.recording.recorder import InteractionObserver, Recording
from harness.server.http_server import App, bind, uvicorn_config
from harness.server.transport.stoppable_server import StoppableServer
from tests.support.processes import run, wait_until


@dataclass(frozen=True)
class Certificate:
    """A self-signed certificate for 127.0.0.1 and its key."""

    file: Path
    key: Path


def certificate(folder: Path) -> Certificate:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"]
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    run([openssl, "req", "-x509", *kind, *names, "-out", made.file, "-keyout", made.key], check=True)
    return made


@contextmanager
def serving(app: Any, tls: Certificate | None = None) -> Iterator[str]:
    """Provide an ASGI app on loopback; yields its origin."""
    settings = uvicorn_config(app if not hasattr(app, "handle") else App(app))
    if tls:
        settings.ssl_certfile, settings.ssl_keyfile = str(tls.file), str(tls.key)
    server, listening = StoppableServer(settings), bind("127.0.0.1", 0)
    port = listening.getsockname()[1]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        server.stop()
        thread.join(60)


@contextmanager
def over_tls(app: Any, factory: pytest.TempPathFactory) -> Iterator[str]:
    """An ASGI app or a mock on loopback over TLS, with a certificate that every client of this process trusts."""
    tls = certificate(factory.mktemp("tls"))
    with pytest.MonkeyPatch.context() as patch, serving(app, tls) as origin:
        patch.setenv("SSL_CERT_FILE", str(tls.file))
        yield origin


@contextmanager
def behind_tls(port: int, factory: pytest.TempPathFactory) -> Iterator[str]:
    """Provide what listens on a port of this machine, over TLS; yields its origin."""
    tls = certificate(factory.mktemp("tls"))
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(tls.file, tls.key)
    loop = asyncio.new_event_loop()

    async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        sink.close()

    async def accept(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(source, outer), pump(inner, sink))

    server = loop.run_until_complete(asyncio.start_server(accept, "127.0.0.1", 0, ssl=secure))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def stop() -> None:
        server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0.1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(tls.file))
        try:
            yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            asyncio.run_coroutine_threadsafe(stop(), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join(60)
            loop.close()


def request_head(body: bytes, key: str = "sk-server") -> bytes:
    """Return the head of a `POST /v1/responses` with this body, as sent over a socket."""
    lines = ["POST /v1/responses HTTP/1.1", "Host: x", f"Authorization: Bearer {key}", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "Connection: close", "", ""]).encode()


class Front(NamedTuple):
    """A recorder in front of a live API: where it listens, and what it has recorded."""

    origin: str
    root: str
    recording: Recording

    def interactions(self, number: int = 1) -> list[Interaction]:
        """Return what was recorded, once there are so many: a client may have its answer a moment earlier."""
        assert wait_until(lambda: len(self.recording.interactions) == number)
        return self.recording.interactions


@contextmanager
def recorded(url: str, watch: InteractionObserver | None = None, timeout: float = SILENCE_TIMEOUT) -> Iterator[Front]:
    """Provide a recorder in front of the API at a URL."""
    behind, recording, listening = parse_upstream(url), Recording(watch), bind("127.0.0.1", 0)
    with run_proxy(behind, recording, listening, timeout):
        yield Front(f"http://127.0.0.1:{listening.getsockname()[1]}", behind.root, recording)
