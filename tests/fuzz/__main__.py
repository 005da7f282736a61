"""Send wrong requests to the mock: `python -m tests.fuzz -n 1000000 [--seed N] [--recordings FOLDER] [--keep]`.

Prints a line for each kind of complaint; ends with 1 if there is any. With `--keep` they are added to `found.json`, which
the tests replay.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.runs import KEPT, Found, kept, run
from tests.fuzz.stands import recorded
from tests.support.shared import SHARED


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; returns the exit code."""
    said = _parser().parse_args(arguments)
    more = {"recorded": recorded(said.recordings)} if said.recordings.is_dir() else {}
    began, found = time.monotonic(), list[Found]()
    for one in run(said.seed, said.number, more):
        found.append(one)
        print(f"{one.complaint}\n  {one.stand}: {json.dumps(one.sent[-1].to_json())[:1500]}", flush=True)
    if said.keep:
        cases = [each.to_json() for each in (*kept(), *found)]
        KEPT.write_text(json.dumps(cases, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(
        f"{said.number} requests of seed {said.seed}, {time.monotonic() - began:.0f} s: {len(found)} kinds of complaint"
    )
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description="Send wrong requests to the mock.")
    parser.add_argument("-n", "--number", type=int, default=20_000, help="how many requests")
    parser.add_argument("--seed", type=int, default=0, help="the run that is made: the same seed, the same requests")
    parser.add_argument("--recordings", type=Path, default=SHARED / "corpus", help="a folder of recorded exchanges")
    parser.add_argument("--keep", action="store_true", help="add what is found to found.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
