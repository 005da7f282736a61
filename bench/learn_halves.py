"""Learns from one half of some recordings and judges the other half: what is wrongly refused before and after.

    python -m bench.learn_halves RECORDINGS.jsonl.gz [--splits 10] [--forget 8] [--name NAME …] [--jobs 1] [--list]

With `--forget N` the mock of each split first forgets N rules, names in schemas and facts about models, chosen anew
each time, so that it can learn what it already knows; `--name` adds names. `--list` prints what it forgot, what is
still wrongly refused or missed, and why. Disagreements of one kind share the rule, the place, the type of the value and
of the item, and the model family if that matters; refusals share the error, the place and the family.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bench.forget import Forgotten, choose_forgotten, forget
from harness.contract.overrides_file import parse_overrides
from harness.contract.rule import RULES
from harness.overrides.derive import Derived, derive_overrides, is_worse
from harness.overrides.observe import Seen, observe
from harness.overrides.project_file import render_overrides
from harness.overrides.propose import exemption_key, is_about_model, refusal_key

REFUSED, MISSED = "requests.refused", "refusals.missed"
OTHER = (MISSED, "refusals.different")
COLUMNS = ("refused", "after", "known", "after", "new", "missed", "after", "known", "after", "new", "words", "after")
"""Wrong refusals, those of kinds that the learned half shows, new ones; missed ones likewise; other messages."""


def kind_of(seen: Seen) -> Any:
    """Return the kind of a disagreement: the key of its entry, and the model family."""
    if seen.verdict == REFUSED and seen.violation:
        return exemption_key(seen), seen.family if is_about_model(seen.violation) else ""
    return refusal_key(seen), seen.family


class Half(NamedTuple):
    """The effect of entries learned from one half on the judgements of the other half."""

    derived: Derived
    kinds: frozenset[Any]
    before: Mapping[str, Seen]
    after: Sequence[Seen]

    @property
    def worse(self) -> Sequence[Seen]:
        """The exchanges that the mock judges wrongly only since it has learned."""
        return [seen for seen in self.after if is_worse(seen.verdict, self.before[seen.key].verdict)]

    def is_known(self, seen: Seen) -> bool:
        """Return whether the learned half has a disagreement of this kind."""
        return kind_of(self.before[seen.key]) in self.kinds

    def explain(self, seen: Seen) -> str:
        """Explain why recording and mock still disagree on an exchange."""
        if not self.is_known(seen):
            return "unseen kind"
        alike = {verdict.key for verdict in self.derived.before if kind_of(verdict) == kind_of(self.before[seen.key])}
        return next(
            (why for key, why in self.derived.dropped.items() if key in alike), "other circumstances than those seen"
        )


def learn_half(own: Path, other: Path) -> Half:
    """Learn from `own`, and judge `other` before and after."""
    derived = derive_overrides([own])
    contract = parse_overrides(render_overrides(derived.overrides))
    kinds = frozenset(kind_of(seen) for seen in derived.before)
    before = {seen.key: seen for seen in observe([other]).seen}
    return Half(derived, kinds, before, observe([other], contract).seen)


def measure(half: Half) -> Sequence[int]:
    """Return the figures for COLUMNS."""
    rows = []
    for verdict in (REFUSED, MISSED):
        was = [seen for seen in half.before.values() if seen.verdict == verdict]
        now = [seen for seen in half.after if seen.verdict == verdict]
        still = [seen for seen in now if half.before[seen.key].verdict == verdict]
        rows += [
            len(was),
            len(now),
            sum(map(half.is_known, was)),
            sum(map(half.is_known, still)),
            len(now) - len(still),
        ]
    words = (sum(seen.verdict == "refusals.different" for seen in side) for side in (half.before.values(), half.after))
    return (*rows, *words)


def print_rest(half: Half) -> None:
    """Print what is still wrongly refused or missed, and what became wrong, with the reasons."""
    for seen in half.after:
        if seen.verdict in (REFUSED, MISSED) and half.before[seen.key].verdict == seen.verdict:
            why = seen.violation.rule.id if seen.violation else seen.error.get("message")
            print(f"  left   {seen.key}: {seen.verdict}: {why}: {half.explain(seen)}")
    for seen in half.worse:
        rule = f"{seen.violation.rule.id}: {seen.violation.error.message}" if seen.violation else ""
        print(f"  worse  {seen.key}: {seen.verdict}: {rule or seen.error.get('message')}")


def split_recordings(recordings: Path, folder: Path, seed: int) -> tuple[Path, Path]:
    """Split the recorded files into halves; return two files with the exchanges of each half."""
    by_file: dict[str, list[bytes]] = {}
    for line in _read_lines(recordings):
        by_file.setdefault(json.loads(line)["id"].rpartition("#")[0], []).append(line)
    names = sorted(by_file)
    random.Random(seed).shuffle(names)
    halves = (names[: len(names) // 2], names[len(names) // 2 :])
    own, other = folder / "own.jsonl", folder / "other.jsonl"
    for file, half in zip((own, other), halves, strict=True):
        file.write_bytes(b"".join(line for name in sorted(half) for line in by_file[name]))
    return own, other


def _read_lines(recordings: Path) -> Iterator[bytes]:
    with gzip.open(recordings, "rb") as lines:
        yield from lines


def choose(recordings: Path, count: int, names: Sequence[str], seed: int) -> Forgotten:
    """Choose what the mock forgets for a split."""
    if not count:
        return Forgotten(names=tuple(names))
    begins = {rule.id: rule.error.message.partition("{")[0] for rule in RULES.values() if rule.check}
    messages = {id: begin for id, begin in begins.items() if len(begin) > 15}
    chosen = choose_forgotten(map(json.loads, _read_lines(recordings)), messages, count, seed)
    return chosen._replace(names=(*chosen.names, *names))


def run_split(seed: int, options: argparse.Namespace) -> tuple[Sequence[int], str]:
    """Return the figures of one split, and the text for `--list`."""
    forgotten = choose(options.recordings, options.forget, options.name, seed)
    forget(forgotten)
    with TemporaryDirectory() as folder:
        half = learn_half(*split_recordings(options.recordings, Path(folder), seed))
    with redirect_stdout(StringIO()) as text:
        for kind, names in forgotten._asdict().items():
            if names:
                print(f"  forgot {kind}: {', '.join(map(str, names))}")
        print_rest(half)
    return measure(half), text.getvalue()


def main() -> None:
    """Print a row for each split and their sum."""
    parser = argparse.ArgumentParser()
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--forget", type=int, default=0, metavar="N")
    parser.add_argument("--name", nargs="*", default=())
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    print("      false refusals   of known kinds        missed refusals  of known kinds        other words")
    print(render_row("split", COLUMNS))
    total = [0] * len(COLUMNS)
    with multiprocessing.get_context("fork").Pool(options.jobs, maxtasksperchild=1) as pool:
        for seed, (row, text) in enumerate(pool.imap(partial(run_split, options=options), range(options.splits))):
            total = [sum(pair) for pair in zip(total, row, strict=True)]
            print(render_row(str(seed), row), flush=True)
            if options.list:
                print(text, end="", flush=True)
    print(render_row("all", total))


def render_row(name: str, row: Sequence[object]) -> str:
    """Render a row of the table."""
    return f"{name:5} " + " ".join(f"{cell:>7}" for cell in row)


if __name__ == "__main__":
    main()
