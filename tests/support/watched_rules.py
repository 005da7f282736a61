"""Rules that are watched while they run: what each reads, named as `reads` of a rule names it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from types import GeneratorType
from typing import Any

import pytest

from harness.contract import check as contract
from harness.contract.call import WorldCall
from harness.contract.rule import Facts, Rule
from harness.core.exchange import Request

PLANNED_BY = ("method", "operation", "dialect", "schema")
"""Parts of a request that decide which rules run at all, so that none has to declare them."""


class WatchedMembers(dict[str, Any]):
    """A JSON object that notes which members are read, and `*` for all of them.

    It is empty as a `dict`: what reads it past its methods, as a JSON encoder does, finds nothing.
    """

    def __init__(self, members: Mapping[str, Any], reads: set[str], prefix: str = "") -> None:
        super().__init__()
        self._members = members
        self._reads = reads
        self._prefix = prefix

    def _note(self, name: object) -> None:
        self._reads.add(f"{self._prefix}{name}")

    def __getitem__(self, name: str) -> Any:
        self._note(name)
        return self._members[name]

    def get(self, name: str, default: Any = None) -> Any:
        self._note(name)
        return self._members.get(name, default)

    def __contains__(self, name: object) -> bool:
        self._note(name)
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        self._note("*")
        return iter(self._members)

    def keys(self) -> Any:
        self._note("*")
        return self._members.keys()

    def values(self) -> Any:
        self._note("*")
        return self._members.values()

    def items(self) -> Any:
        self._note("*")
        return self._members.items()

    def __len__(self) -> int:
        self._note("*")
        return len(self._members)

    def __eq__(self, other: object) -> bool:
        self._note("*")
        return self._members == other

    __hash__ = None  # type: ignore[assignment]


class WatchedParts:
    """A request, World or transcript that notes which of its parts are read."""

    def __init__(self, watched: Any, reads: set[str], prefix: str, instead: Mapping[str, Any]) -> None:
        self._watched = watched
        self._reads = reads
        self._prefix = prefix
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        if name in self._instead:
            return self._instead[name]
        self._reads.add(f"{self._prefix}.{name}")
        return getattr(self._watched, name)


def watch_request(request: Request, reads: set[str]) -> Any:
    """Return a request that notes what is read of it; whether its body is an object may always be asked."""
    body = WatchedMembers(request.body, reads) if isinstance(request.body, dict) else request.body
    instead = {
        **{name: getattr(request, name) for name in PLANNED_BY},
        "body": body,
        "headers": WatchedMembers(request.headers, reads, "request.headers."),
    }
    return WatchedParts(request, reads, "request", instead)


class Excesses(dict[str, set[str]]):
    """What rules have read beyond their declaration, by the rule's id; `watched` are all that were called."""

    def __init__(self) -> None:
        super().__init__()
        self.watched: set[str] = set()
        self.met: dict[str, set[str]] = defaultdict(set)

    def run(self, rule: Rule, call: WorldCall) -> None:
        """Call a rule with watched subjects: it reads no more than it says, and finds the same."""
        if rule.reads is None:
            return
        reads: set[str] = set()
        watched: dict[str, Any] = {
            "request": watch_request(call.request, reads),
            "world": call.world and WatchedParts(call.world, reads, "world", {}),
        }
        if "transcript" in rule.needs:
            watched["transcript"] = WatchedParts(call.transcript, reads, "transcript", {})
        found = _found(rule, [watched.get(name) or getattr(call, name) for name in rule.needs])
        self.watched.add(rule.id)
        self.met[rule.id] |= reads
        if excess := {"transcript" if name.startswith("transcript.") else name for name in reads} - rule.reads:
            self.setdefault(rule.id, set()).update(excess)
        if found != _found(rule, [getattr(call, name) for name in rule.needs]):
            self.setdefault(rule.id, set()).add("(something past its watch)")


@pytest.fixture
def excesses(monkeypatch: pytest.MonkeyPatch) -> Excesses:
    """Watches all rules that are called from now on."""
    noted, run = Excesses(), contract.run_rules

    def run_watched(rules: Iterable[Rule], call: WorldCall, is_exempt: Any) -> Any:
        rules = [*rules]
        for rule in rules:
            noted.run(rule, call)
            if run([rule], call, is_exempt):
                break
        return run(rules, call, is_exempt)

    monkeypatch.setattr(contract, "run_rules", run_watched)
    return noted


def _found(rule: Rule, members: list[Any]) -> bool | list[Facts]:
    """Return what a rule finds: whether there is a violation, or the facts of each."""
    found = rule.check(*members)
    return list(found) if isinstance(found, GeneratorType) else bool(found)
