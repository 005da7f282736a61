"""Runs interleaved rounds: every server has a turn in each round, and a ratio compares two rates of the same round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.load import Load, measure
from bench.servers import Server


@dataclass(frozen=True)
class Spread:
    """The median, minimum and maximum of some numbers."""

    mid: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


@dataclass(frozen=True)
class Series:
    """The rounds of one server; `cpu` is its CPU time per answer in microseconds, if known."""

    loads: list[Load]
    cpu: list[float]

    @property
    def rates(self) -> list[float]:
        return [load.rate for load in self.loads]

    def over(self, other: Series) -> Spread:
        """Return the ratio to the other server's rate, round by round."""
        return spread([mine / its for mine, its in zip(self.rates, other.rates, strict=True)])


def interleave(
    kind: str,
    servers: Sequence[Server],
    rounds: int,
    seconds: float,
    connections: int,
    client: Callable[[int, str, float, int], Load] = measure,
) -> dict[str, Series]:
    """Measure all servers in turns, loaded by `client`, and return the series of each by name."""
    series = {server.name: Series([], []) for server in servers}
    for number in range(rounds):
        # Another server goes first in each round, so that the order favours none.
        first = number % len(servers)
        for server in (*servers[first:], *servers[:first]):
            before = server.cpu()
            load = client(server.port, kind, seconds, connections)
            series[server.name].loads.append(load)
            if before is not None and (after := server.cpu()) is not None:
                series[server.name].cpu.append((after - before) / load.answers * 1e6)
    return series


def ceiling(series: Series) -> str:
    """Describe the client's maximum rate, extrapolated from its own CPU usage with this server."""
    share = median(load.client_cpu for load in series.loads)
    rate = median(series.rates)
    return f"{share:.0%} of a core at {rate:,.0f}/s, so at most {rate / share:,.0f}/s"
