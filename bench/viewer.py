"""`python -m bench.viewer [--keep FILE]`: how fast the viewer's page is for a large run.

The run has 20 tests with 500 exchanges each, whose requests carry a history of over a megabyte. Chromium opens the
page, scrolls, searches and goes from test to test; this needs chromium, node and npm.
"""

import argparse
import json
import random
import shutil
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.servers import CACHE
from harness.contract.rule import CREATE_RESPONSE
from harness.core.exchange import Answer, Exchange, Json, Request
from harness.explain.cause import Cause
from harness.report.report import RunFacts
from harness.viewer.build_case import CaseHead, JudgedCase, build_case
from harness.viewer.build_run import assemble_run, fill_page
from harness.viewer.json_form import to_text
from harness.viewer.page_data import ShownCase
from harness.world.world import World

CASES, EXCHANGES = 20, 500
HISTORY, PIECE = 1_000_000, 2_000
"""The number of characters of a conversation's initial history, and of each of its items."""
SPOKEN = 150
"""The number of characters of each message in an exchange."""
NEEDLE = "needleinthehay"
"""A word that only one item of one conversation contains."""
PLAYWRIGHT = "playwright-core@1.65.1"
LIMITS = {
    "first screen": 1500.0,
    "the test beside it": 1500.0,
    "scroll, a step, median": 100.0,
    "search, a keystroke, longest": 100.0,
    "next test, a step": 100.0,
    "memory of the page": 300.0,
    "file": 20.0,
}
"""The limits of the figures, in ms and MB."""


class Writer:
    """Makes up texts that are the same in each run."""

    def __init__(self) -> None:
        self.random = random.Random(1)
        self.words = ["".join(self.random.choices(string.ascii_lowercase, k=n % 8 + 3)) for n in range(2000)]

    def text(self, size: int) -> str:
        return " ".join(self.random.choices(self.words, k=size // 7))[:size]

    def item(self, role: str, size: int) -> Json:
        kind = "input_text" if role == "user" else "output_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": self.text(size)}]}


def talk(writer: Writer, needle: bool) -> Iterator[Exchange]:
    """Generate the exchanges of a conversation that begins with a long history."""
    items = [writer.item("assistant" if n % 2 else "user", PIECE) for n in range(HISTORY // PIECE)]
    if needle:
        items[77]["content"][0]["text"] += f" {NEEDLE}"
    for number in range(1, EXCHANGES + 1):
        items = [*items, writer.item("user", SPOKEN)]
        said = {"id": f"msg_{number}", "status": "completed", **writer.item("assistant", SPOKEN)}
        body = {"model": "gpt-4.1", "input": items}
        request = Request(
            "POST", "/responses", {"content-type": "application/json"}, {}, body=body, operation=CREATE_RESPONSE
        )
        yield Exchange(number, request, Answer(200, {"id": f"resp_{number}", "object": "response", "output": [said]}))
        items = [*items, said]


def build_page() -> str:
    """Build the page of the run; the first three tests failed, the third from last has the needle."""
    # All other tests share one conversation: building one is expensive, and a page shares nothing between tests.
    writer, rows, texts = Writer(), [], []
    usual, needle = build_talk(writer), build_talk(writer, needle=True)
    for number in range(CASES):
        failed = number < 3
        cause = Cause("Request 500 was refused (400): No tool output found.", EXCHANGES, fix="Answer every call.")
        head = CaseHead(f"tests/test_talk.py::test_{number}", "tests/test_talk.py", 3, "failed" if failed else "passed")
        row = build_case(head, World(head.id), JudgedCase([cause] if failed else [])).row
        case = needle if number == CASES - 3 else usual
        rows.append(replace(case.row, id=row.id, name=row.name, outcome=row.outcome, causes=row.causes))
        texts.append(to_text(replace(case, row=rows[-1])))
    return fill_page(assemble_run(rows, RunFacts("pytest", "pytest tests", time.time(), 1.0)), texts)


def build_talk(writer: Writer, *, needle: bool = False) -> ShownCase:
    """Build the case of a conversation."""
    world = World("talk")
    world.exchanges.extend(talk(writer, needle))
    world.exchange_count = len(world.exchanges)
    return build_case(CaseHead("talk", "tests/test_talk.py", 3, "passed"), world)


def install() -> Path:
    """Install the driver of Chromium, if necessary, and return its folder."""
    folder = CACHE / "viewer"
    if not (folder / "node_modules" / "playwright-core").exists():
        folder.mkdir(parents=True, exist_ok=True)
        flags = ["--no-audit", "--no-fund", "--silent", "--prefix", str(folder)]
        subprocess.run(["npm", "install", *flags, PLAYWRIGHT], check=True, timeout=300)
    return folder


def look(page: Path, folder: Path) -> dict[str, float]:
    """Let Chromium do what a reader does; return the figures by name."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("bench.viewer needs chromium: apt-get install chromium")
    script = folder / "viewer.mjs"
    shutil.copy(Path(__file__).with_name("viewer.mjs"), script)
    settings = {"executable": chromium, "file": str(page), "needle": NEEDLE}
    ended = subprocess.run(
        ["node", str(script), json.dumps(settings)], check=True, capture_output=True, text=True, timeout=300
    )
    found: Any = json.loads(ended.stdout.splitlines()[-1])
    return dict(found)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="keep the page in this file")
    parser.add_argument("-n", type=int, default=3, metavar="TIMES", help="how often, of which the least counts")
    args = parser.parse_args()
    folder = install()
    with TemporaryDirectory() as made:
        file = args.keep or Path(made) / "run.html"
        begun = time.perf_counter()
        file.write_text(build_page(), encoding="utf-8")
        built = time.perf_counter() - begun
        rounds = [look(file.resolve(), folder) for _ in range(args.n)]
        figures = {name: min(figures[name] for figures in rounds) for name in rounds[0]}
        figures["file"] = file.stat().st_size / 1e6
    print(f"{CASES * EXCHANGES:,} exchanges with a history of {HISTORY / 1e6:.0f} MB; built in {built:.1f} s\n")
    print("| what | measured | at most |\n| ---- | -------: | ------: |")
    for name, figure in figures.items():
        unit = "MB" if name in ("file", "memory of the page") else "ms"
        limit = f"{LIMITS[name]:,.0f} {unit}" if name in LIMITS else ""
        print(f"| {name} | {figure:,.0f} {unit} | {limit} |")
    if over := [name for name, limit in LIMITS.items() if figures[name] > limit]:
        sys.exit(f"too much: {', '.join(over)}")


if __name__ == "__main__":
    main()
