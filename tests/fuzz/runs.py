"""A run: wrong requests from a seed, sent in short sessions; what does not hold is reduced and reported once a kind."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from harness.analysis.loss import losses_of
from harness.core.exchange import Json
from harness.report.judge_world import judge_world
from harness.world.mock import Mock
from harness.world.world import World
from tests.fuzz.checks import complaints
from tests.fuzz.kept import read_cases
from tests.fuzz.mutants import mutated, stock_of
from tests.fuzz.sent import Sent, Stand
from tests.fuzz.stands import MakeStand, stands

PER_SESSION = 8
"""Requests that are sent to one stand, so that later ones meet what earlier ones have left."""
CHUNK = 10_000
"""Requests that follow from one seed; a multiple of PER_SESSION."""
OFTEN = ("samples", "remembering")
"""Stands with many right requests; each of the others has one."""
KEPT = Path(__file__).parent / "found.json"


@dataclass(frozen=True, slots=True)
class Found:
    """Requests to a stand, the last of which was not answered as it must be, and what was wrong."""

    stand: str
    sent: Sequence[Sent]
    complaint: str

    @property
    def kind(self) -> str:
        """The complaint without what differs from request to request."""
        return re.sub(r"\d+|'[^']*'", "…", self.complaint.partition("\n")[0])[:160]

    def to_json(self) -> Json:
        """Return the case as `found.json` keeps it."""
        return {"was": self.complaint, "stand": self.stand, "sent": [item.to_json() for item in self.sent]}


def kept() -> list[Found]:
    """Return the cases that earlier runs have found."""
    return [Found(case["stand"], [*map(Sent.from_json, case["sent"])], case["was"]) for case in read_cases(KEPT)]


def replay(made: Stand, sent: Sequence[Sent]) -> list[str]:
    """Return the complaints about the last of some requests, and about the journal that they leave."""
    found: list[str] = []
    for item in sent:
        found = complaints(made, item)
    return [*found, *_of_journal(made)]


def run(
    seed: int, count: int, more: Mapping[str, MakeStand] | None = None, tell: Callable[[int], None] = lambda sent: None
) -> Iterator[Found]:
    """Send `count` wrong requests; yields each kind of complaint once, with the fewest requests that cause it.

    They come in chunks of CHUNK, each with a seed of its own: the requests of a chunk do not depend on the others.
    `tell` is called with the number of requests that were sent so far, about every PER_SESSION.
    """
    makers, seen = {**stands(), **(more or {})}, set[str]()
    names = [*makers]
    weights = [{"uploading": 60}.get(name, 300 if name in OFTEN or name in (more or {}) else 1) for name in names]
    for sent in range(0, count, PER_SESSION):
        if sent % CHUNK == 0:
            chance = Random(f"{seed}.{sent // CHUNK}")
        (name,) = chance.choices(names, weights)
        for finding in _session(name, makers[name], chance):
            if finding.kind not in seen and (reduced := _reduced(finding, makers[name])):
                seen.add(finding.kind)
                yield replace(reduced, stand="samples") if name in (more or {}) else reduced
        tell(min(sent + PER_SESSION, count))


def _session(name: str, make: MakeStand, chance: Random) -> Iterator[Found]:
    stand, sent = make(), list[Sent]()
    stock = stock_of(stand.seeds)
    for _ in range(PER_SESSION):
        sent.append(mutated(chance.choice(stand.seeds), chance, stock))
        yield from (Found(name, tuple(sent), complaint) for complaint in complaints(stand, sent[-1]))
    yield from (Found(name, tuple(sent), exchange) for exchange in _of_journal(stand))


READERS: Mapping[str, Callable[[World], object]] = {
    "losses": lambda world: losses_of(world.exchanges, True),
    "flow": lambda world: Mock(world).flow.mermaid,
    "calls": lambda world: [call.as_json() for call in Mock(world).calls],
    "approvals": lambda world: Mock(world).approvals,
    "replies": lambda world: [item.as_json() for item in Mock(world).replies],
    "report": lambda world: judge_world(Mock(world), verbose=True),
}
"""What a test and its report read of a journal."""


def _of_journal(stand: Stand) -> Iterator[str]:
    """A test reads the journal when it ends, whatever is in it."""
    for name, read in READERS.items():
        try:
            read(stand.world)
        except Exception as problem:
            yield f"exception: {name}: {type(problem).__name__}: {problem}"


def _reduced(found: Found, make: MakeStand) -> Found | None:
    """Return the case with requests left out that it does not need; None when it does not happen again."""

    def happens(sent: Sequence[Sent]) -> bool:
        return any(Found("", (), problem).kind == found.kind for problem in replay(make(), sent))

    sent = found.sent
    if not happens(sent):
        return None
    for item in found.sent[:-1]:
        fewer = [request for request in sent if request is not item]
        sent = fewer if happens(fewer) else sent
    return Found(found.stand, sent, found.complaint)
