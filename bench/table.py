"""Renders the table as Markdown and writes it to bench/README.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.rounds import Series, Spread

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
