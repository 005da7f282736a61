"""Runs interleaved rounds and renders their table as Markdown, in bench/README.md.

Every server has a turn in each round, and a ratio compares two rates of the same round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.load import Load, measure
from bench.servers import Server

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
HEAD = ("what", "server", "result", "× aimock", "× bare", "server CPU")
WHAT = {
    "json": "POST /v1/responses",
    "json, numbered": "each body new",
    "stream": "the same, streamed",
    "stream, numbered": "streamed, each body new",
}

Row = tuple[str, str, str, str, str, str]


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
    kind: str, servers: Sequence[Server], rounds: int, seconds: float, connections: int
) -> dict[str, Series]:
    """Measure all servers in turns, and return the series of each by name."""
    series = {server.name: Series([], []) for server in servers}
    for number in range(rounds):
        # Another server goes first in each round, so that the order favours none.
        first = number % len(servers)
        for server in (*servers[first:], *servers[:first]):
            before = server.cpu()
            load = measure(server.port, kind, seconds, connections)
            series[server.name].loads.append(load)
            if before is not None and (after := server.cpu()) is not None:
                series[server.name].cpu.append((after - before) / load.answers * 1e6)
    return series


def ceiling(series: Series) -> str:
    """Describe the client's maximum rate, extrapolated from its own CPU usage with this server."""
    share = median(load.client_cpu for load in series.loads)
    rate = median(series.rates)
    return f"{share:.0%} of a core at {rate:,.0f}/s, so at most {rate / share:,.0f}/s"


def ratio(spread: Spread | None) -> str:
    return "" if spread is None else f"{spread.mid:.2f} ({spread.low:.2f}–{spread.high:.2f})"


def load_rows(what: str, series: Mapping[str, Series]) -> list[Row]:
    """Return a row per server: median rate, ratios as median (minimum–maximum) of the rounds, CPU time per answer."""
    rows: list[Row] = []
    for name, mine in series.items():
        ratios = [ratio(mine.over(series[to])) if to in series and to != name else "" for to in ("aimock", "bare")]
        cpu = f"{median(mine.cpu):,.0f} µs" if mine.cpu else ""
        rows.append((what, name, f"{median(mine.rates):,.0f}/s", *ratios, cpu))  # type: ignore[arg-type]
    return rows


def plain_row(what: str, result: str) -> Row:
    return (what, "", result, "", "", "")


def markdown(rows: Sequence[Row], notes: Sequence[str]) -> str:
    """Return the table with its columns aligned, and the notes as a list below it."""
    widths = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
    rule = tuple("-" * (width - 1) + ":" if place > 1 else "-" * width for place, width in enumerate(widths))
    lines = ["| " + " | ".join(map(pad, cells, widths, range(6))) + " |" for cells in (HEAD, rule, *rows)]
    return "\n".join([*lines, "", *(f"- {note}" for note in notes)])


def pad(cell: str, width: int, at: int) -> str:
    return cell.rjust(width) if at > 1 else cell.ljust(width)


def write(text: str) -> None:
    """Put the table between the README's markers."""
    before, rest = README.read_text().split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
