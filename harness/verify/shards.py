"""Judges recordings on several machines: each judges a shard of the files and writes a part; the parts are merged.

Shards are consecutive files of about the same total size; a part is JSON lines: a head that identifies the shard and
has its counts, the entries, and the number of entries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from itertools import accumulate
from pathlib import Path
from typing import IO

import orjson

from harness.core.dates import CONTRACT_DATE
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.verify.run import JudgeOptions, Tally

PART_FORMAT = 1
MAX_SHARDS = 100_000
_SHARD = re.compile(r"(\d{1,6})/(\d{1,6})")
_FIX = "Judge that shard again"


@dataclass(frozen=True, slots=True)
class Shard:
    """Shard `number` (from 1) of `count`."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def choose(self, files: Sequence[Path]) -> Sequence[Path]:
        """Choose the files of this shard, in order; every file belongs to exactly one shard."""
        sizes = [file.stat().st_size + 1 for file in files]
        total = sum(sizes)
        return [
            file
            for file, size, end in zip(files, sizes, accumulate(sizes), strict=True)
            if (2 * end - size) * self.count // (2 * total) == self.number - 1
        ]


def parse_shard(text: str) -> Shard:
    """Parse a shard such as `2/8`; ConfigError for anything else."""
    found = _SHARD.fullmatch(text)
    shard = Shard(int(found[1]), int(found[2])) if found else None
    if shard is None or not 1 <= shard.number <= shard.count <= MAX_SHARDS:
        raise ConfigError(f"--shard {text}: pass the number of the shard, from 1, and the total: 1/4.")
    return shard


class ShardWriter:
    """Chooses the files of a shard and writes its part."""

    def __init__(self, shard: Shard, options: JudgeOptions) -> None:
        self._shard = shard
        # All parts of one report must agree in these.
        self._run: Json = {
            "harness": f"{version('responses-harness')}, contract of {CONTRACT_DATE}",
            "hosts": list(options.hosts),
            "respell": options.respelled,
            "contract": _digest([repr(options.overrides)]) if options.overrides else "",
        }

    def choose(self, files: Sequence[Path]) -> Sequence[Path]:
        """Choose the files of the shard, and remember a digest of the names and sizes of all files."""
        named = (f"{file.as_posix()} {file.stat().st_size}" for file in files)
        self._run["recordings"] = f"{len(files)} files, {_digest(named)}"
        return self._shard.choose(files)

    def write(self, tally: Tally, paths: Sequence[Path], out: IO[bytes]) -> None:
        """Write the part of the shard; `paths` are the given ones."""
        write_part(tally, self._shard, self._run, paths, out)


def _digest(texts: Iterable[str]) -> str:
    made = sha256()
    for text in texts:
        made.update(text.encode("utf-8", "surrogatepass") + b"\n")
    return made.hexdigest()[:16]


def write_part(tally: Tally, shard: Shard, run: Json, paths: Sequence[Path], out: IO[bytes]) -> None:
    """Write the part of a shard; `run` is what all parts of one report have in common, `paths` are the given ones."""
    head = {
        "harness_verify_part": PART_FORMAT,
        "shard": shard.number,
        "of": shard.count,
        "run": run,
        "counts": {str(kind): times for kind, times in tally.counts.items()},
        "reasons": [[kind, why, times] for (kind, why), times in tally.reasons.items()],
        "grouped": [[kind, entry] for (kind, *_), entry in tally.grouped.items()],
        "paths": [path.as_posix() for path in paths],
        "bare": [path.as_posix() for path in tally.bare_paths],
        "acted": sorted(tally.acted),
        "judged": sorted(tally.judged_files),
    }
    out.write(orjson.dumps(head) + b"\n")
    count = 0
    for spool in tally.spools:
        with spool.open("rb") as lines:
            for line in lines:
                out.write(line)
                count += 1
    out.write(orjson.dumps({"entries": count}) + b"\n")


def merge_parts(files: Sequence[Path]) -> tuple[Tally, Json]:
    """Merge the parts of all shards into one tally, and return it with what the parts have in common.

    ConfigError if a part is missing, duplicate, truncated, or from another run.
    """
    heads = {file: _read_head(file) for file in files}
    first, of = next(iter(heads.items()))
    by_number: dict[int, Path] = {}
    for file, head in heads.items():
        if head["of"] != of["of"]:
            raise ConfigError(
                f"{file} is a shard of {head['of']}, {first} one of {of['of']}: pass the parts of one run."
            )
        for name in sorted(head["run"].keys() | of["run"].keys()):
            if (mine := head["run"].get(name)) != (others := of["run"].get(name)):
                raise ConfigError(
                    f"{file} and {first} are of different runs: {name} is {mine!r} and {others!r}. {_FIX}."
                )
        if other := by_number.get(head["shard"]):
            raise ConfigError(f"shard {head['shard']}/{head['of']} is duplicated: {other} and {file}. Leave one out.")
        by_number[head["shard"]] = file
    missing = [number for number in range(1, of["of"] + 1) if number not in by_number]
    if missing:
        named = ", ".join(f"{number}/{of['of']}" for number in missing[:10])
        raise ConfigError(f"missing: shard {named}{' …' if missing[10:] else ''}. Pass the parts of all {of['of']}.")
    tally = Tally(respelled=bool(of["run"].get("respell")))
    for number in sorted(by_number):
        tally.merge(_as_tally(heads[by_number[number]], by_number[number]))
    bare = set.intersection(*(set(head["bare"]) for head in heads.values()))
    tally.bare_paths = [Path(path) for path in of["paths"] if path in bare]
    return tally, of["run"]


def _read_head(file: Path) -> Json:
    """Read the first line of a part, after checking by the last line that the part is complete."""
    try:
        with file.open("rb") as lines:
            head = orjson.loads(next(lines, b""))
            if not isinstance(head, dict) or head.get("harness_verify_part") != PART_FORMAT:
                raise ConfigError(f"{file}: not a part written by `harness verify --shard` of this version. {_FIX}.")
            count, last = -1, b""
            for line in lines:
                count, last = count + 1, line
    except OSError as problem:
        raise ConfigError(f"{file}: cannot be read: {problem.strerror}. Pass the parts of all shards.") from None
    except orjson.JSONDecodeError:
        raise ConfigError(
            f"{file}: not a part of a report. Pass a file written by `--shard N/M --json FILE`."
        ) from None
    if last.rstrip() != orjson.dumps({"entries": count}):
        raise ConfigError(f"{file}: it is truncated. {_FIX}, or copy the file again.")
    return head


def _as_tally(head: Json, file: Path) -> Tally:
    tally = Tally(
        counts=Counter(head["counts"]),
        reasons=Counter({(kind, why): times for kind, why, times in head["reasons"]}),
        spools=[file],
        acted=set(head["acted"]),
        judged_files=set(head["judged"]),
    )
    for kind, entry in head["grouped"]:
        tally.add_grouped(kind, entry)
    return tally
