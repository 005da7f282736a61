"""The first process of a server with workers: accepts connections and hands each to the worker of its key.

It answers no requests, so nothing in it can block. A connection:

    accepted ──whole head, or HEAD_SECONDS──> handed over to the worker of its key
                                                 ^      │
                                                 └──────┘ given back when its next request has another key

Over TLS, a worker gets one end of a socket pair, and the connection stays here as a relay until either side closes it.
A worker:

    started ──> serving ──ends by itself, is killed, hangs──> started again, its keys marked as lost
                   │                                             └──MOST_FAILURES in a row at once──> ConfigError
                   └──SIGTERM once the server stops──> ending ──> ended
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from zlib import crc32

from harness.cluster.workers.channel import CONNECTION, STRAY, Channel, ChannelClosed, open_channel
from harness.cluster.workers.request_key import HeadReader, KeyReader
from harness.cluster.workers.tls_relay import READ_SIZE, SecuredSocket, TlsRelay
from harness.cluster.workers.watchdog import HUNG
from harness.core.errors import ConfigError
from harness.server.tls.context import ServerContext

RELAY_SECONDS = 1.0
"""Seconds in which the last bytes of workers that have ended are still sent to their clients."""
HEAD_SECONDS = 20.0
"""Seconds after which a request without a complete head goes to the first worker, which refuses it."""
MOST_ASSIGNED = 10_000
"""How many keys are assigned in rotation; later keys are assigned by checksum."""
LEAST_SECONDS = 1.0
MOST_FAILURES = 5
"""How many times in a row a worker may end by itself within LEAST_SECONDS."""

RunWorker = Callable[[int, Channel, Sequence[str]], int]
"""Runs a worker by number until it ends, given the keys of lost Worlds; returns the exit code.

It starts with SIGTERM blocked, and unblocks it once it has installed a handler.
"""


@dataclass(slots=True)
class _Worker:
    number: int
    pid: int
    channel: Channel
    begun: float
    failures: int = 0


@dataclass(slots=True, eq=False)
class _Arriving:
    """A connection on which no complete head has arrived yet."""

    connection: socket.socket | SecuredSocket
    begun: float
    head: HeadReader = field(default_factory=HeadReader)
    parts: list[bytes] = field(default_factory=list)

    def receive(self) -> bytes | None:
        """Read the available bytes: None if nothing is available, empty once the client has disconnected."""
        if isinstance(self.connection, SecuredSocket):
            return self.connection.receive()
        try:
            return self.connection.recv(READ_SIZE)
        except BlockingIOError:
            return None
        except OSError:
            return b""


@dataclass
class Dispatcher:
    """Accepts on `listening` for `count` workers; `report` receives a line about each worker that ended unexpectedly.

    With `tls`, it speaks TLS with clients and plain HTTP with workers.
    """

    listening: socket.socket
    count: int
    keys: KeyReader
    run_worker: RunWorker
    report: Callable[[str], None]
    loses_worlds: bool = True
    tls: ServerContext | None = None
    _workers: dict[int, _Worker] = field(default_factory=dict)
    _assigned: dict[str, int] = field(default_factory=dict)
    _arriving: set[_Arriving] = field(default_factory=set)
    _relays: set[TlsRelay] = field(default_factory=set)
    _signals: int = 0

    def __post_init__(self) -> None:
        self.listening.setblocking(False)
        self._selector = selectors.DefaultSelector()
        # A signal that comes between a look at `_signals` and the select wakes the select by a byte.
        self._wake, self._woken = socket.socketpair()
        self._wake.setblocking(False)
        self._woken.setblocking(False)

    def stop(self) -> None:
        """Stop serving, from a signal handler; a second call stops without delay."""
        self._signals += 1
        with suppress(OSError):
            self._wake.send(b".")

    def start(self) -> None:
        """Start the workers."""
        for number in range(self.count):
            self._start(number, [], 0)

    def run(self) -> None:
        """Serve until `stop`, then wait for the workers; ConfigError if workers cannot be kept running."""
        self._selector.register(self.listening, selectors.EVENT_READ, self._accept)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        try:
            while not self._signals:
                for key, mask in self._selector.select(1.0):
                    self._handle(key.data, mask)
                self._give_up_slow()
        finally:
            self._end()

    def _handle(self, subject: object, mask: int) -> None:
        if isinstance(subject, _Worker):
            self._exchange(subject, mask)
        elif isinstance(subject, TlsRelay):
            self._pump(subject)
        elif isinstance(subject, _Arriving):
            self._read(subject)
        elif subject is not None:
            self._accept()

    def _accept(self) -> None:
        with suppress(OSError):
            # A burst of new connections must not keep the others from being read.
            for _ in range(64):
                connection, _ = self.listening.accept()
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                secured = SecuredSocket(connection, self.tls) if self.tls else connection
                arriving = _Arriving(secured, time.monotonic())
                self._arriving.add(arriving)
                self._selector.register(secured, selectors.EVENT_READ, arriving)

    def _read(self, arriving: _Arriving) -> None:
        if (data := arriving.receive()) is None:
            return
        if not data:
            self._forget(arriving)
            # A client that turns the certificate down leaves without a word after the handshake.
            if isinstance(arriving.connection, SecuredSocket) and not arriving.parts:
                arriving.connection.note_silence()
            arriving.connection.close()
            return
        arriving.parts.append(data)
        arriving.head.feed(data)
        if arriving.head.is_whole:
            self._hand_over(arriving)

    def _forget(self, arriving: _Arriving) -> None:
        self._selector.unregister(arriving.connection)
        self._arriving.discard(arriving)

    def _hand_over(self, arriving: _Arriving) -> None:
        self._forget(arriving)
        if isinstance(arriving.connection, SecuredSocket):
            if not arriving.connection.is_open:
                arriving.connection.close()
                return
            # The state of TLS cannot go to another process, so this one decrypts, and the worker reads plain bytes.
            relayed, plain = socket.socketpair()
            self._relays.add(TlsRelay(arriving.connection, relayed, self._selector))
        else:
            plain = arriving.connection
        self._give(plain.detach(), b"".join(arriving.parts))

    def _pump(self, relay: TlsRelay) -> None:
        if not relay.has_ended:
            relay.pump()
        if relay.has_ended:
            self._relays.discard(relay)

    def _give_up_slow(self) -> None:
        now = time.monotonic()
        for arriving in [slow for slow in self._arriving if now - slow.begun > HEAD_SECONDS]:
            # A worker refuses what does not become whole, with the 408 of any other connection.
            self._hand_over(arriving)

    def _give(self, connection: int, head: bytes) -> None:
        """Send a connection to the worker that owns the key of its first request."""
        worker = self._workers[self._owner(self.keys.read(head))]
        self._send(worker, CONNECTION, head, connection)

    def _owner(self, key: str) -> int:
        """Return the number of the worker that owns a key, assigning one if needed.

        The first owns requests without a World.
        """
        if not key:
            return 0
        if key in self._assigned:
            return self._assigned[key]
        # Whoever sends ever new keys must not fill this process; a hash needs no table.
        if len(self._assigned) >= MOST_ASSIGNED:
            return crc32(key.encode("utf-8", "surrogatepass")) % self.count
        self._assigned[key] = len(self._assigned) % self.count
        return self._assigned[key]

    def _send(self, worker: _Worker, kind: bytes, data: bytes, connection: int | None = None) -> None:
        try:
            worker.channel.send(kind, data, connection)
        except ChannelClosed:
            self._replace(worker)
            return
        self._watch(worker)

    def _watch(self, worker: _Worker) -> None:
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if worker.channel.has_unsent else 0)
        self._selector.modify(worker.channel, events, worker)

    def _exchange(self, worker: _Worker, mask: int) -> None:
        if self._workers.get(worker.number) is not worker:
            return  # it was replaced meanwhile
        try:
            if mask & selectors.EVENT_WRITE:
                worker.channel.flush()
            messages = worker.channel.receive() if mask & selectors.EVENT_READ else []
        except ChannelClosed:
            self._replace(worker)
            return
        self._watch(worker)
        for message in messages:
            if message.connection is not None:
                self._give(message.connection.detach(), message.data)
            elif message.kind == STRAY:
                for receiver in [peer for peer in self._workers.values() if peer is not worker]:
                    self._send(receiver, STRAY, message.data)

    def _replace(self, worker: _Worker) -> None:
        """Restart a worker that has ended."""
        self._selector.unregister(worker.channel)
        worker.channel.close()
        _, status = os.waitpid(worker.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        how = f"by signal {-code}" if code < 0 else f"with {code}"
        if code == HUNG:
            how = "since it hung"
        lost = [key for key, number in self._assigned.items() if number == worker.number] if self.loses_worlds else []
        what = f"; what {len(lost)} of its keys had stored is lost" if lost else ""
        self.report(f"worker {worker.number + 1} has ended {how} and is started again{what}.")
        # Killed from outside it is started again; one that ends by itself as soon as it runs would do so for ever.
        is_killed = -code in (signal.SIGKILL, signal.SIGTERM)
        failures = worker.failures + 1 if not is_killed and time.monotonic() - worker.begun < LEAST_SECONDS else 0
        if failures >= MOST_FAILURES:
            del self._workers[worker.number]
            raise ConfigError(f"--workers: worker {worker.number + 1} exits as soon as it is started, {how}.")
        self._start(worker.number, lost, failures)

    def _start(self, number: int, lost: Sequence[str], failures: int) -> None:
        ours, theirs = open_channel()
        # Until the worker has its own handler, a SIGTERM would go to the one that it has from this process, and be lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                # A descriptor that the child keeps would keep the port, or the connection of a client, open.
                ours.close()
                self._close_all()
                code = self.run_worker(number, theirs, lost)
            finally:
                os._exit(code)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        theirs.close()
        worker = self._workers[number] = _Worker(number, pid, ours, time.monotonic(), failures)
        self._selector.register(ours, selectors.EVENT_READ, worker)

    def _close_all(self) -> None:
        """Close what belongs to the first process alone: at its own end, and in each forked worker."""
        self._selector.close()
        for sock in (self.listening, self._wake, self._woken):
            sock.close()
        for open_one in (*(arriving.connection for arriving in self._arriving), *self._relays):
            # A forked process shares these connections: ending their TLS would end it for the first process, too.
            open_one.forget() if isinstance(open_one, SecuredSocket | TlsRelay) else open_one.close()
        for worker in self._workers.values():
            worker.channel.close()

    def _end(self) -> None:
        """Stop the workers, repeating the signals received here, and wait for them."""
        self._selector.unregister(self.listening)
        self.listening.close()
        for arriving in list(self._arriving):
            self._forget(arriving)
            arriving.connection.close()
        for worker in self._workers.values():
            self._selector.unregister(worker.channel)
        self._selector.unregister(self._woken)
        self._relay(0)  # what clients have sent by now comes before the signal
        sent, running = 0, {worker.pid: worker.number for worker in self._workers.values()}
        while running:
            while sent < max(1, self._signals):
                sent += 1
                for pid in running:
                    os.kill(pid, signal.SIGTERM)
            for pid in list(running):
                waited, status = os.waitpid(pid, os.WNOHANG)
                if waited and os.waitstatus_to_exitcode(status) == HUNG:
                    self.report(f"worker {running[pid] + 1} was ended since it hung.")
                if waited:
                    del running[pid]
            self._relay(0.01)
        ended = time.monotonic()
        while self._relays and time.monotonic() - ended < RELAY_SECONDS:
            self._relay(0.01)
        for relay in self._relays:
            relay.close()
        self._close_all()

    def _relay(self, seconds: float) -> None:
        """Relay bytes for `seconds` at most."""
        for key, _ in self._selector.select(seconds):
            self._pump(key.data)
