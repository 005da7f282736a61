"""Finds how a client's requests differ from the recorded ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.cassettes.format.interaction import Interaction
from harness.cassettes.recording.matching import ComparableRequest, comparable_request, diff_requests
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.core.exchange import Exchange
from harness.core.text import pluralize
from harness.verify.recorded_script import RecordedScript, requests_of


@dataclass(frozen=True, slots=True)
class RequestChange:
    """A request that differs from the recorded one: its exchange, and the difference as a diff.

    `exchange` is None if the recorded request did not come again.
    """

    exchange: int | None
    what: str
    diff: str

    def __str__(self) -> str:
        if self.exchange is None:
            return f"{self.what} was recorded and did not come"
        if not self.diff:
            return f"request {self.exchange}, {self.what}, was not recorded"
        return f"request {self.exchange}, {self.what}, differs from the recording:\n{self.diff}"


def find_changes(script: RecordedScript, exchanges: Sequence[Exchange]) -> list[RequestChange]:
    """Compare the requests of a journal with the recorded ones, in order for each method and path.

    Ids are ignored, and whatever else the replay of a cassette ignores.
    """
    came: dict[str, list[Exchange]] = defaultdict(list)
    for exchange in exchanges:
        came[_key_of(exchange)].append(exchange)
    recorded: dict[str, list[Interaction]] = defaultdict(list)
    for endpoint, interaction in requests_of(script):
        recorded[endpoint].append(interaction)
    found = [
        change for endpoint, before in recorded.items() for change in _compare(endpoint, before, came.get(endpoint, []))
    ]
    return sorted(found, key=lambda change: (change.exchange is None, change.exchange or 0))


def summarize_changes(changes: Sequence[RequestChange], name: str) -> str:
    """Summarize in one line how many requests differ, are additional, or did not come."""
    counts: Mapping[str, int] = {
        "differ": sum(bool(change.diff) for change in changes),
        "not recorded": sum(change.exchange is not None and not change.diff for change in changes),
        "missing": sum(change.exchange is None for change in changes),
    }
    words = {
        "differ": "{} differ{} from it",
        "not recorded": "{} came besides",
        "missing": "{} did not come",
    }
    told = [
        words[kind].format(pluralize(count, "request"), "s" if count == 1 else "")
        for kind, count in counts.items()
        if count
    ]
    return f"{name}: {', '.join(told)}"


def _compare(what: str, recorded: Sequence[Interaction], came: Sequence[Exchange]) -> Iterator[RequestChange]:
    for before, exchange in zip(recorded, came, strict=False):
        known, asked = _comparable(before), _comparable(_as_interaction(exchange, what))
        if known != asked:
            yield RequestChange(exchange.number, what, "\n".join(diff_requests(known, asked)))
    yield from (RequestChange(exchange.number, what, "") for exchange in came[len(recorded) :])
    yield from (RequestChange(None, what, "") for _ in recorded[len(came) :])


def _comparable(interaction: Interaction) -> ComparableRequest:
    [scrubbed] = scrub_interactions([interaction])
    return comparable_request(scrubbed)


def _as_interaction(exchange: Exchange, what: str) -> Interaction:
    request = exchange.request
    return Interaction(what.partition(" ")[0], what.partition(" ")[2], request.headers, request.raw)


def _key_of(exchange: Exchange) -> str:
    """Return the method and path of a request below the API root; for a WebSocket as for HTTP."""
    request = exchange.request
    return f"{'POST' if request.method == 'WS' else request.method} {request.path}"
