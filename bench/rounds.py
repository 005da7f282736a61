"""Interleaved rounds: every server takes its turn in each round, and a ratio compares two rates of one round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.load import Load, measure
from bench.servers import Server


@dataclass(frozen=True)
class Spread:
    """The median of a few numbers, and their least and greatest."""

    mid: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    return Spread(median(values), min(values), max(values))


@dataclass(frozen=True)
class Series:
    """One server's rounds; `cpu` is the server's CPU time per answer in microseconds, where it is known."""

    loads: list[Load]
    cpu: list[float]

    @property
    def rates(self) -> list[float]:
        return [load.rate for load in self.loads]

    def over(self, other: Series) -> Spread:
        """How many times the other's rate, round by round."""
        return spread([mine / its for mine, its in zip(self.rates, other.rates, strict=True)])


def interleave(
    kind: str,
    servers: Sequence[Server],
    rounds: int,
    seconds: float,
    connections: int,
    client: Callable[[int, str, float, int], Load] = measure,
) -> dict[str, Series]:
    """Return the series of each server, by name; the one that goes first changes with each round, `client` loads it."""
    series = {server.name: Series([], []) for server in servers}
    for number in range(rounds):
        first = number % len(servers)
        for server in (*servers[first:], *servers[:first]):
            before = server.cpu()
            load = client(server.port, kind, seconds, connections)
            series[server.name].loads.append(load)
            if before is not None and (after := server.cpu()) is not None:
                series[server.name].cpu.append((after - before) / load.answers * 1e6)
    return series


def ceiling(series: Series) -> str:
    """Return what the client could do at most, by what it spent itself on this server's answers."""
    share = median(load.client_cpu for load in series.loads)
    rate = median(series.rates)
    return f"{share:.0%} of a core at {rate:,.0f}/s, so at most {rate / share:,.0f}/s"
