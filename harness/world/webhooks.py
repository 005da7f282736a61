"""The webhooks of a World: the endpoints for ended background responses, scheduled and past deliveries.

Nothing is sent here. Scheduled attempts are data; a `Courier` (`server/webhook_courier.py`) takes them, delivers them and
records the outcome. Time is the World's: a retry is due once `mock.skip` or requests have let enough of it pass.

    an event  -> due, once for each endpoint, as its faults say -> delivered
    delivered -> done if the receiver answered 2xx; a delivery with a fault in its signature is done in any case
    delivered -> due again after the next of RETRY_SECONDS; given up after the last one

If several servers may deliver, one of them first takes a due attempt under a name.
"""

from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import Any, NamedTuple

from harness.core.errors import COMMAND, ConfigError
from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.core.limits import drop_oldest
from harness.core.registry import suggest_name
from harness.core.text import show
from harness.core.webhooks import (
    DEFAULT_SECRET,
    EVENT_TYPES,
    SECRET_PREFIX,
    TIMEOUT_SECONDS,
    Signature,
    WebhookDelivery,
    WebhookEvent,
    make_secret,
)

RETRY_SECONDS = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000)
"""The waits between attempts, as Standard Webhooks shows them, within the 72 hours in which OpenAI retries."""
ROTATION_SECONDS = 24 * 60 * 60
"""How long the old secret still signs after a rotation that keeps it."""
REORDER_SECONDS = 60
"""How long a `reordered` endpoint holds an event back for the next one to overtake it."""
FAULTS = {
    "doubled": "each event twice, with the same webhook-id",
    "reordered": "each event after the one that follows it",
    "forged": "before each event one that was signed with another secret",
    "unsigned": "before each event one without the headers of a signature",
    "stale": "before each event one that was signed ten minutes ago",
}
"""What can go wrong with the deliveries to an endpoint, by name."""
_PREPENDED: dict[str, Signature] = {"forged": "wrong", "unsigned": "missing", "stale": "stale"}
ALL_ALLOWED = "allow"
NO_COURIER = f"webhooks: nothing delivers here. Use the fixture `mock`, or `{COMMAND} serve`."
_MAX_DELIVERIES = 10_000
_SECRET_BYTES = 24


@dataclass(frozen=True, slots=True)
class WebhookEndpoint:
    """A receiver of `events` at `url`, signed with `secret` and, until `old_until`, also with `old_secret`.

    `late` is how many seconds of the World's time the first attempt is delayed; `effects` is a function of the test
    whose value a second delivery must not change. The courier calls `receiver`, if set, instead of posting to the URL.
    One that `is_registered` was created through the API, as was its `name`.
    """

    id: str
    url: str
    secret: str = DEFAULT_SECRET
    events: Sequence[str] = EVENT_TYPES
    faults: Sequence[str] = ()
    late: int = 0
    timeout: float = TIMEOUT_SECONDS
    effects: Callable[[], Any] | None = None
    receiver: Any = None
    old_secret: str = ""
    old_until: int = 0
    name: str = "webhook"
    created_at: int = 0
    updated_at: int = 0
    is_registered: bool = False

    def secrets_at(self, now: int) -> list[str]:
        """Return the secrets that sign at `now` in the World's time, newest first."""
        return [self.secret, self.old_secret] if now < self.old_until else [self.secret]


class DueDelivery(NamedTuple):
    """An attempt to deliver an event, scheduled for `at`; `webhook_id` is the same in each attempt."""

    endpoint: str
    event: WebhookEvent
    webhook_id: str
    at: int
    attempt: int = 1
    signature: Signature = "valid"

    def ended(self, endpoint: WebhookEndpoint, status: int | None, error: str, **seen: Any) -> WebhookDelivery:
        """Make the delivery that this attempt was: its `status` and `error`, with further members in `seen`."""
        return WebhookDelivery(
            event=self.event.type,
            response=self.event.response,
            id=self.webhook_id,
            url=endpoint.url,
            attempt=self.attempt,
            at=self.at,
            signature=self.signature,
            status=status,
            error=error,
            limit=endpoint.timeout,
            **seen,
        )


@dataclass(slots=True, eq=False)
class Webhooks:
    """The endpoints of a World by id, its deliveries so far, oldest first, and the scheduled attempts.

    `in_progress` holds the attempt being made, at most one, by the name under which a server has taken it. `allowed` holds
    the ids of mistakes that receivers may make; `ALL_ALLOWED` permits any.
    """

    ids: Ids
    allowed: set[str] = field(default_factory=set)
    endpoints: dict[str, WebhookEndpoint] = field(default_factory=dict)
    deliveries: list[WebhookDelivery] = field(default_factory=list)
    in_progress: dict[str, tuple[DueDelivery, WebhookEndpoint]] = field(default_factory=dict)
    _due: list[tuple[int, int, DueDelivery]] = field(default_factory=list)
    _delayed: dict[str, list[DueDelivery]] = field(default_factory=dict)
    _count: int = 0

    def add_endpoint(self, url: str, **options: Any) -> WebhookEndpoint:
        """Add an endpoint; ConfigError for unknown events or faults, or an invalid secret or time."""
        made = self._new_endpoint(url, **options)
        check_names("events", made.events, EVENT_TYPES)
        check_names("faults", made.faults, FAULTS)
        _check_secret(made.secret)
        if not (made.late >= 0 and made.timeout > 0):
            raise ConfigError("webhooks: `late` is a non-negative number of seconds, and `timeout` a positive one.")
        self.endpoints[made.id] = made
        return made

    def register(self, body: Json, now: int) -> WebhookEndpoint:
        """Add an endpoint as the API does, with a secret of its own.

        If a test has prepared an endpoint with the same URL, that one is registered and keeps its receiver and faults.
        """
        url = body["url"]
        prepared = (made for made in self.endpoints.values() if made.url == url and not made.is_registered)
        endpoint = next(prepared, None) or self._new_endpoint(url)
        self.endpoints[endpoint.id] = registered = replace(
            endpoint,
            name=body["name"],
            events=tuple(body["event_types"]),
            secret=self._new_secret(),
            created_at=now,
            updated_at=now,
            is_registered=True,
        )
        return registered

    def _new_endpoint(self, url: str, **options: Any) -> WebhookEndpoint:
        return WebhookEndpoint(self.ids.hex("we_", 32), url, **options)

    def update(self, id: str, body: Json, now: int) -> WebhookEndpoint:
        """Change an endpoint as the API does; without a change, `updated_at` stays the same."""
        endpoint = self.endpoints[id]
        events = tuple(body.get("event_types", endpoint.events))
        changed = replace(
            endpoint, url=body.get("url", endpoint.url), name=body.get("name", endpoint.name), events=events
        )
        if changed != endpoint:
            self.endpoints[id] = changed = replace(changed, updated_at=now)
        return changed

    def _new_secret(self) -> str:
        return make_secret(bytes.fromhex(self.ids.hex("", 2 * _SECRET_BYTES)))

    def is_allowed(self, mistake: str) -> bool:
        """Return whether receivers may make a mistake."""
        return mistake in self.allowed or ALL_ALLOWED in self.allowed

    def rotate(self, id: str, now: int, *, keep_old: bool, secret: str = "") -> WebhookEndpoint:
        """Replace an endpoint's secret; with `keep_old` the old one also signs for a day.

        Without a `secret`, a new one is made.
        """
        endpoint, new = self.endpoints[id], secret or self._new_secret()
        _check_secret(new)
        old = (endpoint.secret, now + ROTATION_SECONDS) if keep_old else ("", 0)
        changes: Json = {"secret": new, "old_secret": old[0], "old_until": old[1], "updated_at": now}
        self.endpoints[id] = rotated = replace(endpoint, **changes)
        return rotated

    def add_event(self, response: Json, now: int) -> None:
        """Schedule the event of an ended background response at each endpoint that subscribes to it."""
        type = f"response.{response['status']}"
        event = WebhookEvent(self.ids.hex("evt_", 32), type, now, response["id"])
        for endpoint in list(self.endpoints.values()):
            if type in endpoint.events:
                self._add_in_order(endpoint, list(self._attempts(endpoint, event, now)))

    def _attempts(self, endpoint: WebhookEndpoint, event: WebhookEvent, now: int) -> list[DueDelivery]:
        """Return the first attempts to deliver an event to an endpoint, in order."""
        at = now + endpoint.late
        attempts = [
            self._new_attempt(endpoint, event._replace(id=self.ids.hex("evt_", 32)), at)._replace(signature=kind)
            for fault, kind in _PREPENDED.items()
            if fault in endpoint.faults
        ]
        valid = self._new_attempt(endpoint, event, at)
        return [*attempts, valid, valid] if "doubled" in endpoint.faults else [*attempts, valid]

    def _new_attempt(self, endpoint: WebhookEndpoint, event: WebhookEvent, at: int) -> DueDelivery:
        return DueDelivery(endpoint.id, event, self.ids.hex("wh_", 32), at)

    def _add_in_order(self, endpoint: WebhookEndpoint, attempts: list[DueDelivery]) -> None:
        """Schedule attempts; for an endpoint that gets events out of order, hold them until the next event."""
        if "reordered" not in endpoint.faults:
            for attempt in attempts:
                self._push(attempt)
        elif delayed := self._delayed.pop(endpoint.id, None):
            for attempt in (*attempts, *delayed):
                self._push(attempt._replace(at=attempts[0].at))
        else:
            self._delayed[endpoint.id] = attempts

    def _push(self, attempt: DueDelivery) -> None:
        self._count += 1
        heappush(self._due, (attempt.at, self._count, attempt))

    def take_due(self, now: int) -> tuple[DueDelivery, WebhookEndpoint] | None:
        """Take the oldest attempt whose time has come, or None; attempts for removed endpoints are dropped."""
        for id, delayed in list(self._delayed.items()):
            if delayed[0].at + REORDER_SECONDS <= now:
                for attempt in self._delayed.pop(id):
                    self._push(attempt)
        while self._due and self._due[0][0] <= now:
            attempt = heappop(self._due)[2]
            # A deleted endpoint gets nothing more, as in the API.
            if endpoint := self.endpoints.get(attempt.endpoint):
                return attempt, endpoint
        return None

    @property
    def is_outstanding(self) -> bool:
        """Whether an attempt is scheduled, held back, or in progress."""
        return bool(self._due or self._delayed or self.in_progress)

    def may_take(self, now: int) -> bool:
        """Return whether an attempt is due while no other is in progress."""
        is_due = any(due <= now for due, _, _ in self._due[:1])
        return not self.in_progress and (
            is_due or any(delayed[0].at + REORDER_SECONDS <= now for delayed in self._delayed.values())
        )

    def take(self, name: str, now: int) -> tuple[DueDelivery, WebhookEndpoint] | None:
        """Take the oldest due attempt under a name; None if nothing is due, or while another is in progress."""
        if not self.may_take(now) or (due := self.take_due(now)) is None:
            return None
        self.in_progress[name] = due
        return due

    def record_taken(self, name: str, delivery: WebhookDelivery) -> None:
        """Record the outcome of the attempt taken under a name."""
        self.record(self.in_progress.pop(name)[0], delivery)

    def next_time(self, now: int) -> int | None:
        """Return the World's time of the next attempt after `now`; None if nothing waits."""
        times = [due for due, _, _ in self._due]
        times += [delayed[0].at + REORDER_SECONDS for delayed in self._delayed.values()]
        return min((time for time in times if time > now), default=None)

    def hurry(self, until: int, now: int) -> None:
        """Bring forward all attempts that are due `until` a later time, to now."""
        waiting = self._due
        self._due = []
        for due, _, attempt in sorted(waiting, key=lambda entry: entry[:2]):
            self._push(attempt._replace(at=now) if now < due <= until else attempt)
        for delayed in self._delayed.values():
            delayed[:] = [attempt._replace(at=attempt.at - max(0, until - now)) for attempt in delayed]

    def record(self, attempt: DueDelivery, delivery: WebhookDelivery) -> None:
        """Record the outcome of an attempt; one that was not accepted is scheduled again."""
        self.deliveries.append(delivery)
        drop_oldest(self.deliveries, _MAX_DELIVERIES)
        if attempt.signature == "valid" and not delivery.is_accepted and attempt.attempt <= len(RETRY_SECONDS):
            wait = RETRY_SECONDS[attempt.attempt - 1]
            self._push(attempt._replace(at=attempt.at + wait, attempt=attempt.attempt + 1))


def check_names(what: str, names: object, known: Sequence[str] | dict[str, str]) -> None:
    """Check a list of names; ConfigError, with the known ones, for any other."""
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ConfigError(f"webhooks({what}={show(names)}): pass a list of {', '.join(known)}.")
    for name in names:
        if name not in known:
            raise ConfigError(f"webhooks({what}=[{show(name)}]): {suggest_name(name, known)}")


def _check_secret(secret: object) -> None:
    try:
        is_prefixed = isinstance(secret, str) and secret.startswith(SECRET_PREFIX)
        is_valid = is_prefixed and b64decode(str(secret)[len(SECRET_PREFIX) :], validate=True)
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ConfigError(f"webhooks(secret={show(secret)}): a signing secret is {SECRET_PREFIX} and bytes in base64.")
