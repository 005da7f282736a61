"""`GET /_harness/metrics`: counts for Prometheus. Labels have few values: ids of operations and rules, statuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from harness.core.exchange import Answer
from harness.server.mock_api import MockApi
from harness.server.observe.health import harness_version, uptime
from harness.server.observe.observed import ObservedRequest

BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Upper bounds, in seconds, of the time that an answer takes to be made."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one mock: `note` is their observer, `render` the text for Prometheus.

    `open_streams` counts the streams that are on their way.
    """

    def __init__(self, api: MockApi, open_streams: Callable[[], int] = lambda: 0) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_State(api, open_streams))
        labels = ("operation", "status", "dialect")
        self._requests = Counter("harness_requests", "Requests answered.", labels, registry=self._registry)
        self._refusals = Counter("harness_refusals", "Requests refused, by rule.", ("rule",), registry=self._registry)
        self._streams = Counter(
            "harness_streams", "Answers that were streams.", ("operation",), registry=self._registry
        )
        self._seconds = Histogram(
            "harness_request_duration_seconds",
            "Time in which an answer was made; sending it is not included.",
            ("operation",),
            buckets=BUCKETS,
            registry=self._registry,
        )

    def note(self, one: ObservedRequest) -> None:
        """Count a request."""
        self._requests.labels(one.operation, str(one.answer.status), one.dialect).inc()
        self._seconds.labels(one.operation).observe(one.seconds)
        if one.answer.rule:
            self._refusals.labels(one.answer.rule).inc()
        if one.answer.events is not None:
            self._streams.labels(one.operation).inc()

    def render(self) -> bytes:
        """All metrics in the text format."""
        return generate_latest(self._registry)

    def answer(self) -> Answer:
        """The same as an answer."""
        return Answer(200, self.render(), {"content-type": CONTENT_TYPE, "cache-control": "no-store"})


class _State(Collector):
    """What is read of a mock when its metrics are asked for."""

    def __init__(self, api: MockApi, open_streams: Callable[[], int]) -> None:
        self._api = api
        self._open_streams = open_streams

    def collect(self) -> Iterator[Metric]:
        worlds = list(self._api.worlds.values())
        build = GaugeMetricFamily("harness_build_info", "What serves.", labels=("version", "as_of", "dialect"))
        build.add_metric((harness_version(), self._api.as_of, self._api.dialect or "any"), 1)
        yield build
        yield GaugeMetricFamily("harness_uptime_seconds", "Seconds since the start.", uptime())
        yield GaugeMetricFamily("harness_worlds", "Worlds that are open.", len(worlds))
        yield CounterMetricFamily(
            "harness_worlds_dropped", "Worlds dropped to keep no more than --worlds.", self._api.dropped_count
        )
        yield GaugeMetricFamily("harness_streams_open", "Streams that are on their way.", self._open_streams())
        turns = sum(len(world.unused) for world in worlds)
        yield GaugeMetricFamily(
            "harness_turns_left", "Scripted turns, and listed answers of routes, that no request has taken.", turns
        )
        kept = sum(len(world.exchanges) for world in worlds)
        yield GaugeMetricFamily("harness_exchanges_kept", "Exchanges in the journals of open Worlds.", kept)
        dropped = sum(world.exchange_count for world in worlds) - kept
        yield GaugeMetricFamily("harness_exchanges_dropped", "Exchanges of open Worlds that journals dropped.", dropped)
        unexpected = sum(len(world.refusals.unasked) for world in worlds)
        yield GaugeMetricFamily(
            "harness_refusals_unexpected", "Refusals of open Worlds that nobody expected.", unexpected
        )
        yield GaugeMetricFamily(
            "harness_unanswered",
            "Requests of open Worlds without a turn.",
            sum(len(world.problems) for world in worlds),
        )
