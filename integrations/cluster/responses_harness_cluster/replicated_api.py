"""The mock of one process that shares its Worlds with others."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from harness.api.models import MODELS
from harness.core.account import DEFAULT_ORGANIZATION
from harness.core.errors import Problem
from harness.core.exchange import EMPTY_MAPPING, Answer, ReceivedRequest, Request, Stray
from harness.core.limits import UNLIMITED
from harness.ending import DEFAULT_ENDING
from harness.items.transcript import EMPTY_CHAIN
from harness.server.keyed_worlds import key_of, opens_world
from harness.server.mock_api import MockApi, key_at
from harness.world.websocket_state import SILENT_SCRIPT
from harness.world.world import NONE_FAILED, World, count_failed


class ReplicatedApi(MockApi):
    """A mock that counts requests without a World as the store's log does, so that all processes agree.

    The time a client has waited is not in the log, so quotas are refilled only by skipped time. Webhooks are delivered
    by the app's `SharedCourier`. A request that the log has accepted cannot be held.
    """

    has_courier = False
    can_hold = False

    def __init__(self, keys: Sequence[str] | None = None, **options: Any) -> None:
        super().__init__(keys, **{"counts_waiting": False, **options})
        self.failed_unlogged: dict[str, Mapping[Problem, int]] = {}

    def _add_stray(self, request: Request, answer: Answer) -> None:
        self.strays.add(Stray(request, answer, key_of(request.headers, request.dialect, request.query) or ""))

    @property
    def own_objects(self) -> Mapping[str, object]:
        """The objects in a World that each process has its own copy of, by name.

        Snapshots refer to them by these names.
        """
        return {
            "account": DEFAULT_ORGANIZATION,
            "contract": self.options.overrides,
            "courier": self.courier,
            "failed unlogged": self.failed_unlogged,
            "empty chain": EMPTY_CHAIN,
            "empty mapping": EMPTY_MAPPING,
            "ending": DEFAULT_ENDING,
            "judge": self.judge,
            "limits": self.options.limits,
            "model": self.options.fallback,
            "models": MODELS,
            "observers": self.observers,
            "organization": self.options.organization,
            "pace": self.options.pace,
            "silence": SILENT_SCRIPT,
            "strays": self.strays,
            "unlimited": UNLIMITED,
            "vocabulary": self.options.vocabulary,
        }

    def put_world(self, world: World) -> None:
        """Add a World, which knows what this server failed to answer."""
        world.failed_unlogged = self.failed_unlogged
        super().put_world(world)

    def close(self, key: str) -> None:
        """Forget a World, and the failures to answer it."""
        self.failed_unlogged.pop(key, None)
        super().close(key)

    def note_failed(self, received: ReceivedRequest, problem: Problem) -> None:
        """Record that this server failed to answer a request; the log, and so the other servers, learn of it later."""
        if key := self.world_key(received.path, received.headers, received.query):
            known = self.failed_unlogged.get(key, NONE_FAILED)
            self.failed_unlogged[key] = count_failed(known, problem, 1)
            self.open(key)

    def encode_failed(self, key: str) -> bytes:
        """Encode what the log of a key does not know yet of failures to answer; empty if it knows all."""
        failed = self.failed_unlogged.get(key)
        return orjson.dumps([(what, fix, count) for (what, _, fix), count in failed.items()]) if failed else b""

    def count_failed(self, key: str, encoded: bytes, *, answers_client: bool) -> None:
        """Count failures to answer that are now in the log; with `answers_client` this server has put them there."""
        world = self.open(key).world
        for what, fix, count in orjson.loads(encoded):
            problem = Problem(what, fix=fix)
            world.note_failed(problem, count)
            if answers_client and key in self.failed_unlogged:
                left = dict(self.failed_unlogged[key])
                left[problem] = left.get(problem, 0) - count
                self.failed_unlogged[key] = {problem: count for problem, count in left.items() if count > 0}

    def mark_lost(self, key: str) -> None:
        """Record that the store has lost the earlier requests of a key; its World starts over."""
        self.open(key).world.was_dropped = True

    def make_empty(self) -> MockApi:
        """Create a mock that knows the same keys and has no Worlds."""
        return MockApi(None if self.known_keys is None else sorted(self.known_keys), dialect=self.dialect)

    def world_key(self, path: str, headers: Mapping[str, str], query: Mapping[str, Any] = EMPTY_MAPPING) -> str:
        """Return the key of the World that a request belongs to, or an empty string."""
        key, dialect = key_at(path, headers, query, self.dialect)
        if key is None:
            return ""
        key = self._aliases.get(key, key)
        return key if key in self.worlds or opens_world(key, dialect, self.known_keys) else ""
