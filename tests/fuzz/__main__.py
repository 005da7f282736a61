"""Send wrong requests to the mock: `python -m tests.fuzz -n 1000000 [--seed N] [--recordings FOLDER…] [--keep]`.

Prints a line for each kind of complaint; ends with 1 if there is any. With `--keep` they are added to `found.json`, which
the tests replay. SIGINT ends a run early: what was found until then is said and kept.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.kept import write_cases
from tests.fuzz.runs import KEPT, Found, kept, run
from tests.fuzz.stands import recorded
from tests.support.shared import SHARED

TERMINAL_SECONDS, LOG_SECONDS = 0.5, 10.0
"""How often the line is written, on a terminal and elsewhere."""


class Progress:
    """Says on stderr how many of `total` things are done; `note` is added to each line."""

    def __init__(self, what: str, total: int) -> None:
        self.done, self.note = 0, ""
        self._what, self._total = what, total
        self._is_terminal = sys.stderr.isatty()
        self._began = self._said = time.monotonic()

    def tell(self, done: int) -> None:
        """Note that so many are done; written if it is time, or all are."""
        self.done, now = done, time.monotonic()
        if now - self._said < (TERMINAL_SECONDS if self._is_terminal else LOG_SECONDS) and done < self._total:
            return
        self._said = now
        left = (now - self._began) / max(done, 1) * (self._total - done)
        line = f"{done:,} of {self._total:,} {self._what}, {left / 60:.0f} min left{self.note}"
        ends = ("\r\x1b[K", "" if done < self._total else "\n") if self._is_terminal else ("", "\n")
        print(f"{ends[0]}{line}", end=ends[1], file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the arguments say; returns the exit code."""
    said = _parser().parse_args(arguments)
    more = {f"recordings in {recording}": recorded(recording) for recording in said.recordings if recording.is_dir()}
    gc.freeze()  # what the requests are made from stays; a collection that visits it takes much longer than a request
    found, progress = list[Found](), Progress("requests", said.number)
    began = time.monotonic()
    try:
        for finding in run(said.seed, said.number, more, progress.tell):
            found.append(finding)
            progress.note = f", {len(found)} kinds of complaint"
            print(
                f"{finding.complaint}\n  {finding.stand}: {json.dumps(finding.sent[-1].to_json())[:1500]}", flush=True
            )
    except KeyboardInterrupt:
        print("stopped", end=": ")
    if said.keep:
        write_cases(KEPT, [finding.to_json() for finding in (*kept(), *found)])
    print(
        f"{progress.done} requests of seed {said.seed}, {time.monotonic() - began:.0f} s: "
        f"{len(found)} kinds of complaint"
    )
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m tests.fuzz", description="Send wrong requests to the mock.")
    parser.add_argument("-n", "--number", type=int, default=20_000, help="how many requests")
    parser.add_argument("--seed", type=int, default=0, help="the run that is made: the same seed, the same requests")
    parser.add_argument(
        "--recordings", type=Path, nargs="*", default=[SHARED / "corpus"], help="folders of recorded exchanges"
    )
    parser.add_argument("--keep", action="store_true", help="add what is found to found.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
