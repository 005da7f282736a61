"""What each examined client does on the faults of a stream, a retry and a timeout: the tables of `docs/results/clients.md`.

`python -m tests.clients --publish --behaviour openai` runs these cases alone, and replaces the rows of that client.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.core.text import pluralize
from harness.examine.results import Cell, ClientResult
from harness.examine.run_cases import ANSWER

BEGIN, END = "<!-- behaviour: begin -->", "<!-- behaviour: end -->"
GROUPS: Mapping[str, Mapping[str, str]] = {
    "When a stream breaks": {
        "streams/cut-after-6": "closed",
        "streams/cut-within-an-event": "closed inside an event",
        "streams/reset": "reset",
        "streams/end-without-final-event": "ends without a final event",
        "streams/empty": "empty",
        "streams/error-event": "`error` event",
    },
    "When a request may be sent again": {
        "errors/429-retry-after-ms": "429, `retry-after-ms`",
        "errors/429-retry-after": "429, `retry-after: 1`",
        "errors/500-once": "500 once",
        "errors/reset-once": "reset once",
        "errors/500-always": "500 always",
        "errors/409": "409",
        "errors/400": "400",
        "errors/429-quota": "429, no credit",
    },
    "When the API is slow": {
        "streams/stall": "a stream stands still",
        "errors/no-headers": "no headers",
        "errors/slow-headers": "slow headers",
    },
    "What reaches gpt-6.2-sol of its reasoning": {
        "state/reasoning-in-a-loop": "a tool loop",
        "state/reasoning-of-a-session": "a session of two turns",
        "state/reasoning-of-a-shortened-history": "a shortened history",
        "agents/reasoning-of-a-hand-off": "a hand-off",
        "agents/reasoning-of-an-approval": "an approval",
    },
}
"""The cases of each table, and the heads of their columns."""
CASES = ",".join(case for columns in GROUPS.values() for case in columns)
_ROW = re.compile(r"^\| (?P<client>[^|]+) \| .*$", re.M)


def render_behaviour(page: str, every: Sequence[ClientResult]) -> str:
    """The page, with rows for these clients in its tables; rows of other clients stay, unless they are examined anew."""
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    tables = [
        table for title, columns in GROUPS.items() for table in _table(title, columns, _section(old, title), every)
    ]
    return "\n".join([f"{before}{BEGIN}", "", *tables, f"{END}{after}"])


def _section(text: str, title: str) -> str:
    return text.partition(f"### {title}\n")[2].partition("\n### ")[0]


def _table(title: str, columns: Mapping[str, str], old: str, every: Sequence[ClientResult]) -> Iterator[str]:
    """Yield a table: a row for each client, a column for each case."""
    known = {match["client"]: match[0] for match in _ROW.finditer(old) if match["client"] != "client"}
    new = {client.client: _row(client, columns) for client in every}
    yield f"### {title}\n"
    yield f"| client | {' | '.join(columns.values())} |"
    yield f"|---|{'---|' * len(columns)}"
    yield from ({**known, **{client: row for client, row in new.items() if row}}).values()
    yield ""


def _row(found: ClientResult, columns: Iterable[str]) -> str:
    """Return the row of a client; empty when none of the cases applies to it."""
    cells = [
        (_describe_reasoning if "/reasoning-" in case else _describe)(
            [cell for cell in found.cells if cell.case == case]
        )
        for case in columns
    ]
    return f"| {found.client} | {' | '.join(cells)} |" if any(text != "–" for text in cells) else ""


def _describe_reasoning(cells: Iterable[Cell]) -> str:
    """What reached the model, `all`, or what did not; where ways of keeping a session differ, with their names."""
    ways: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.ended:
            missed = ", ".join(reason.splitlines()[0] for reason in cell.reasons)
            told = "all" if cell.verdict == "pass" else missed if cell.ended == ANSWER else cell.ended
            ways.setdefault(told, {})[cell.mode.split(",")[1]] = None
    return "; ".join(told if len(ways) == 1 else f"{told} ({', '.join(ways[told])})" for told in ways) or "–"


def _describe(cells: Iterable[Cell]) -> str:
    """What a client does in all modes of a case, each way once, the most frequent first: the end, and the retries."""
    counts: dict[str, int] = {}
    for cell in cells:
        if cell.ended:
            again = cell.asks - 1
            told = cell.ended.replace("|", "\\|") + (f" ({pluralize(again, 'retry', 'retries')})" if again > 0 else "")
            counts[told] = counts.get(told, 0) + 1
    return "; ".join(sorted(counts, key=lambda told: -counts[told])) or "–"
