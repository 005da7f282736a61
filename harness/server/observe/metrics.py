"""`GET /_harness/metrics`: counters for Prometheus. Labels have few values: ids of operations and rules, statuses."""

from collections.abc import Callable, Mapping
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from harness.core.exchange import Answer
from harness.server.mock_api import MockApi
from harness.server.observe.health import harness_version, uptime
from harness.server.observe.observed import ObservedRequest
from harness.world.world import World

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Upper bounds, in seconds, for the time it takes to build an answer."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one mock: `note` is their observer, `answer` is for Prometheus.

    `open_streams` returns how many streams are being sent. Values read from the mock on request are gauges: with
    several processes, only running ones count.
    """

    def __init__(self, api: MockApi, open_streams: Callable[[], int] = lambda: 0) -> None:
        self._api = api
        self._open_streams = open_streams
        self._registry = registry = CollectorRegistry()
        gauge, counter = partial(Gauge, registry=registry), partial(Counter, registry=registry)
        build = gauge("harness_build_info", "What serves.", ("version", "as_of", "dialect"))
        build.labels(harness_version(), api.as_of, api.dialect or "any").set(1)
        self._uptime = gauge("harness_uptime_seconds", "Seconds since the start.")
        self._dropped = counter("harness_worlds_dropped", "Worlds dropped to keep no more than --worlds.")
        self._dropped_before = 0
        self._streams_open = gauge("harness_streams_open", "Streams in progress.")
        self._gauges = {name: gauge(name, documentation) for name, (documentation, _) in _COUNTS.items()}
        self._requests = counter("harness_requests", "Requests answered.", ("operation", "status", "dialect"))
        self._refusals = counter("harness_refusals", "Requests refused, by rule.", ("rule",))
        self._streams = counter("harness_streams", "Answers that were streams.", ("operation",))
        documentation = "Time to make an answer, without sending it."
        self._seconds = Histogram(
            "harness_request_duration_seconds", documentation, ("operation",), buckets=BUCKETS, registry=registry
        )

    def note(self, observed: ObservedRequest) -> None:
        """Count a request."""
        self._requests.labels(observed.operation, str(observed.answer.status), observed.dialect).inc()
        self._seconds.labels(observed.operation).observe(observed.seconds)
        if observed.answer.rule:
            self._refusals.labels(observed.answer.rule).inc()
        if observed.answer.events is not None:
            self._streams.labels(observed.operation).inc()

    async def _update(self) -> None:
        """Read the values that are not counted request by request from the mock, with pauses for its clients."""
        sums = dict.fromkeys(_COUNTS, 0)
        async for world in self._api.each_world():
            for name, (_, count) in _COUNTS.items():
                sums[name] += count(world)
        self._uptime.set(uptime())
        self._dropped.inc(self._api.dropped_count - self._dropped_before)
        self._dropped_before = self._api.dropped_count
        self._streams_open.set(self._open_streams())
        for name, total in sums.items():
            self._gauges[name].set(total)

    async def answer(self) -> Answer:
        """Answer with all metrics in the text format of Prometheus."""
        await self._update()
        headers = {"content-type": CONTENT_TYPE, "cache-control": "no-store"}
        return Answer(200, generate_latest(self._registry), headers)


_COUNTS: Mapping[str, tuple[str, Callable[[World], int]]] = {
    "harness_worlds": ("Worlds that are open.", lambda world: 1),
    "harness_turns_left": (
        "Scripted turns, and listed answers of routes, that no request has taken.",
        lambda world: len(world.unused),
    ),
    "harness_exchanges_kept": ("Exchanges in the journals of open Worlds.", lambda world: len(world.exchanges)),
    "harness_exchanges_dropped": (
        "Exchanges of open Worlds that journals dropped.",
        lambda world: world.exchange_count - len(world.exchanges),
    ),
    "harness_refusals_unexpected": (
        "Refusals of open Worlds that nobody expected.",
        lambda world: len(world.refusals.unexpected),
    ),
    "harness_unanswered": ("Requests of open Worlds without a turn.", lambda world: len(world.problems)),
}
"""The gauges summed over all Worlds: by name the documentation, and the value of a World."""
