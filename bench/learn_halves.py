"""Learns from one half of some recordings, and judges the other half: what is refused wrongly before and after.

    python -m bench.learn_halves RECORDINGS.jsonl.gz [--splits 10] [--without RULE …] [--forget NAME …] [--list]

`--without` takes rules out of the mock first, `--forget` members and values out of its schemas, so that there is something
to learn about what it knows already. `--list` says what is still refused wrongly, and why.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import harness.contract.rules  # noqa: F401  (registers every rule)
from harness.contract import schema
from harness.contract.body_places import normalize_path
from harness.contract.own_contract import violation_path
from harness.contract.own_contract_file import parse_contract, render_contract
from harness.contract.rule import RULES
from harness.verify.disagreements.derive import Derived, derive_contract, is_worse
from harness.verify.disagreements.observe import Seen, observe

REFUSED = "requests.refused"
OTHER = ("refusals.missed", "refusals.different")


def forget(names: Collection[str]) -> None:
    """Take members and values of these names out of every schema, as if the API had got them after the release."""
    load = schema._load_epoch

    def cut(node: Any) -> Any:
        if isinstance(node, list):
            return [cut(each) for each in node if not isinstance(each, str) or each not in names]
        if not isinstance(node, dict):
            return node
        kept = {name: cut(each) for name, each in node.items()}
        if isinstance(kept.get("properties"), dict):
            kept["properties"] = {name: each for name, each in kept["properties"].items() if name not in names}
        return kept

    schema._load_epoch = cache(lambda root, epoch: cut(load(root, epoch)))  # type: ignore[assignment]


def kind_of_refused(seen: Seen) -> Any:
    """The kind of a wrong refusal; None for another disagreement."""
    return kind_of(seen) if seen.verdict == REFUSED else None


def kind_of(seen: Seen) -> Any:
    """What a wrong refusal is about: the rule and the place."""
    assert seen.violation is not None
    return seen.violation.rule.id, normalize_path(violation_path(seen.violation.facts, seen.violation.error.param))


class Half(NamedTuple):
    """What the entries learned from one half did to the judgements of the other."""

    derived: Derived
    kinds: frozenset[Any]
    before: Mapping[str, Seen]
    after: Sequence[Seen]

    @property
    def worse(self) -> Sequence[Seen]:
        """Exchanges about which the mock is wrong only since it has learned."""
        return [seen for seen in self.after if is_worse(seen.verdict, self.before[seen.key].verdict)]

    def is_known(self, seen: Seen) -> bool:
        """Whether the learned half shows a wrong refusal of this kind."""
        return kind_of(self.before[seen.key]) in self.kinds

    def explain(self, seen: Seen) -> str:
        """Why an exchange is still refused wrongly."""
        if not self.is_known(seen):
            return "unseen kind"
        alike = {one.key for one in self.derived.before if kind_of_refused(one) == kind_of(self.before[seen.key])}
        return next(
            (why for key, why in self.derived.dropped.items() if key in alike), "other circumstances than those seen"
        )


def learn_half(own: Path, other: Path) -> Half:
    """Learn from `own`, judge `other` before and after."""
    derived = derive_contract([own])
    contract = parse_contract(render_contract(derived.contract))
    kinds = frozenset(kind_of(seen) for seen in derived.before if seen.verdict == REFUSED)
    before = {seen.key: seen for seen in observe([other]).seen}
    return Half(derived, kinds, before, observe([other], contract).seen)


def measure(half: Half) -> Sequence[int]:
    """Wrong refusals before and after, those of a kind that the learned half shows, new wrong ones, other refusals."""
    was = [seen for seen in half.before.values() if seen.verdict == REFUSED]
    refused = [seen for seen in half.after if seen.verdict == REFUSED]
    still = [seen for seen in refused if half.before[seen.key].verdict == REFUSED]
    return (
        len(was),
        len(refused),
        sum(half.is_known(seen) for seen in was),
        sum(half.is_known(seen) for seen in still),
        sum(seen.verdict == REFUSED for seen in half.worse),
        sum(seen.verdict != REFUSED for seen in half.worse),
        sum(seen.verdict in OTHER for seen in half.before.values()),
        sum(seen.verdict in OTHER for seen in half.after),
    )


def print_rest(half: Half) -> None:
    """Print what is still refused wrongly, and what is wrong only now, with the reason."""
    for seen in half.after:
        if seen.verdict == REFUSED and half.before[seen.key].verdict == REFUSED and seen.violation:
            print(f"  left   {seen.key}: {seen.violation.rule.id}: {half.explain(seen)}")
    for seen in half.worse:
        print(f"  worse  {seen.key}: {seen.verdict}: {seen.error.get('message')}")


def main() -> None:
    """Print a row for each split, and their sum."""
    parser = argparse.ArgumentParser()
    parser.add_argument("recordings", type=Path)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--without", nargs="*", default=())
    parser.add_argument("--forget", nargs="*", default=())
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    for name in options.without:
        del RULES[name]
    if options.forget:
        forget(options.forget)
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
            half = learn_half(*files)
            row = measure(half)
            total = [sum(pair) for pair in zip(total, row, strict=True)]
            print(render_row(str(seed), row), flush=True)
            if options.list:
                print_rest(half)
    print(render_row("all", total))


def render_row(name: str, row: Sequence[int]) -> str:
    """A row of the table."""
    return (
        f"{name:5}  {row[0]:6} -> {row[1]:5}  {row[2]:8} -> {row[3]:5}  {row[4]:12}  {row[5]:5}  {row[6]:6} -> {row[7]}"
    )


if __name__ == "__main__":
    main()
