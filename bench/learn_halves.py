"""Learns from one half of some recordings, and judges the other half: what is refused wrongly before and after.

    python bench/learn_halves.py RECORDINGS.jsonl.gz [--splits 10] [--without RULE …]

`--without` takes rules out of the mock first, so that there is something to learn about what it knows already.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import harness.contract.rules  # noqa: F401  (registers every rule)
from harness.contract.own_contract import normalize_path, violation_path
from harness.contract.own_contract_file import parse_contract, render_contract
from harness.contract.rule import RULES
from harness.verify.disagreements.derive import derive_contract
from harness.verify.disagreements.observe import DISAGREEMENTS, Seen, observe

REFUSED = "requests.refused"


def kind_of(seen: Seen) -> Any:
    """What a wrong refusal is about: the rule and the place."""
    assert seen.violation is not None
    return seen.violation.rule.id, normalize_path(violation_path(seen.violation.facts, seen.violation.error.param))


def measure(own: Path, other: Path) -> Sequence[int]:
    """Wrong refusals of the other half before and after, those of a kind that the own half shows, new wrong ones."""
    derived = derive_contract([own])
    contract = parse_contract(render_contract(derived.contract))
    before, after = observe([other]).seen, observe([other], contract).seen
    kinds = {kind_of(seen) for seen in derived.before if seen.verdict == REFUSED}
    was = {seen.key: seen.verdict for seen in before}
    known = {seen.key for seen in before if seen.verdict == REFUSED and kind_of(seen) in kinds}
    refused = [seen for seen in after if seen.verdict == REFUSED]
    new = [seen for seen in after if seen.verdict in DISAGREEMENTS and was[seen.key] == "good"]
    return (
        sum(verdict == REFUSED for verdict in was.values()),
        len(refused),
        len(known),
        sum(seen.key in known for seen in refused),
        sum(seen.verdict == REFUSED for seen in new),
        sum(seen.verdict != REFUSED for seen in new),
        sum(verdict in DISAGREEMENTS and verdict != REFUSED for verdict in was.values()),
        sum(seen.verdict in DISAGREEMENTS and seen.verdict != REFUSED for seen in after),
    )


def main() -> None:
    """Print a row for each split, and their sum."""
    parser = argparse.ArgumentParser()
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--without", nargs="*", default=())
    options = parser.parse_args()
    for name in options.without:
        del RULES[name]
    by_file: dict[str, list[bytes]] = {}
    with gzip.open(options.recordings, "rb") as lines:
        for line in lines:
            by_file.setdefault(json.loads(line)["id"].rpartition("#")[0], []).append(line)
    print("split  refused wrongly  of a kind learned  new: refused  taken  other refusals")
    total = [0] * 8
    with TemporaryDirectory() as folder:
        for seed in range(options.splits):
            names = sorted(by_file)
            random.Random(seed).shuffle(names)
            halves = (names[: len(names) // 2], names[len(names) // 2 :])
            files = [Path(folder, f"{part}.jsonl") for part in ("own", "other")]
            for file, half in zip(files, halves, strict=True):
                file.write_bytes(b"".join(line for name in sorted(half) for line in by_file[name]))
            row = measure(*files)
            total = [sum(pair) for pair in zip(total, row, strict=True)]
            print(render_row(str(seed), row), flush=True)
    print(render_row("all", total))


def render_row(name: str, row: Sequence[int]) -> str:
    """A row of the table."""
    return (
        f"{name:5}  {row[0]:6} -> {row[1]:5}  {row[2]:8} -> {row[3]:5}  {row[4]:12}  {row[5]:5}  {row[6]:6} -> {row[7]}"
    )


if __name__ == "__main__":
    main()
