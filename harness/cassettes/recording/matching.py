"""Recorded answers for the requests that they were given to: what fits is played, what does not is told with a diff.

Requests are compared as what they say: method, path, query and JSON, both sides scrubbed. Ids that a recorded answer gave
must be those; ids that the client made itself are told apart by their order only, since they are others in every run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import orjson

from harness.api.body import parse_body
from harness.api.dialects import API_ROOTS, OPENAI
from harness.api.providers import root_of
from harness.cassettes.format.interaction import Take
from harness.cassettes.scrubbing.mask_interactions import scrubbed

LINES = 40
"""Lines of a diff that are shown."""

_ID = re.compile(
    r"(?<![A-Za-z0-9])(?:[a-z]{2,16}[_-](?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?![A-Za-z0-9])"
)
_ROOT = re.compile(r".*?/v1(?=/)|.*?(?=/responses(?:/|\Z))")
"""What a gateway may put before the paths of the API."""
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)')


class Miss(NamedTuple):
    """A request that was not recorded: the recorded one that is closest (None: nothing is), and how they differ."""

    closest: Take | None
    diff: str

    def __str__(self) -> str:
        if self.closest is None:
            return self.diff
        return f"the closest recording, {called(self.closest)}, differs:\n{self.diff}"


class Asked(NamedTuple):
    """What a request says, however it was written."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any


class Replay:
    """The takes of a cassette, each played once and in order; with `again` the last that fits as often as it is asked."""

    def __init__(self, takes: Sequence[Take], *, again: bool = False) -> None:
        self.takes = tuple(take for take in takes if take.status and not take.frames)
        self.sockets = tuple(take for take in takes if take.frames)
        self._again = again
        self._played: set[int] = set()
        self._given = given(self.takes)
        self._asked = [asked(take, self._given) for take in self.takes]

    def play(self, request: Take) -> Take | Miss:
        """The recorded take whose request this is; a take without an answer will do as a request."""
        wanted = self.asked(request)
        fitting = [number for number, recorded in enumerate(self._asked) if recorded == wanted]
        fresh = next((number for number in fitting if number not in self._played), None)
        if fresh is None and fitting and self._again:
            fresh = fitting[-1]
        if fresh is not None:
            self._played.add(fresh)
            return self.takes[fresh]
        return self.miss(wanted, len(fitting))

    def asked(self, request: Take) -> Asked:
        """What a request says, scrubbed as the recordings are."""
        return asked(scrubbed([request])[0], self._given)

    def continued(self, request: Take) -> str:
        """An id in a request that an answer of the cassette gave; empty when there is none."""
        sent = f"{request.uri}\n{request.body.decode('utf-8', 'replace')}"
        return next((id for id in _ID.findall(sent) if id in self._given), "")

    def miss(self, wanted: Asked, played: int = 0) -> Miss:
        """Why a request finds no take: the closest one and the difference, or that all `played` ones have been given."""
        what = f"{wanted.method} {wanted.path}"
        if played:
            times = "once" if played == 1 else f"{played} times"
            return Miss(None, f"{what} was recorded {times}, and has been played as often")
        if not self.takes:
            return Miss(None, f"{what} was not recorded: the cassette is empty")
        closeness = [_closeness(wanted, recorded) for recorded in self._asked]
        best = max(range(len(closeness)), key=lambda number: (closeness[number], number not in self._played))
        return Miss(self.takes[best], diff(self._asked[best], wanted))


def root(takes: Sequence[Take]) -> str:
    """Where the API begins in the addresses of recordings: `/v1`, behind a gateway perhaps `/llm/v1`."""
    paths = [urlsplit(take.uri).path for take in takes]
    gateways = (found[0] for found in map(_ROOT.match, paths) if found)
    return next(chain(filter(None, map(root_of, paths)), gateways), API_ROOTS[OPENAI])


def called(take: Take) -> str:
    """A take in a few words: `POST /v1/responses`."""
    return f"{take.method} {urlsplit(take.uri).path}"


def asked(take: Take, given: frozenset[str] = frozenset()) -> Asked:
    """What the request of a take says; `given` are the ids that stay as they are, others become numbers."""
    parts = urlsplit(take.uri)
    told = _Numbers(given)
    query = tuple(sorted((name, told.text(value)) for name, value in parse_qsl(parts.query, keep_blank_values=True)))
    return Asked(take.method.upper(), told.text(parts.path.rstrip("/")), query, told.value(_body(take)))


def _body(take: Take) -> Any:
    if not take.body:
        return None
    kind = take.headers.get("content-type", "")
    if "multipart/" in kind and (found := _BOUNDARY.search(kind)):
        return take.body.replace(found[1].encode(), b"boundary").decode("latin-1")
    value, fault = parse_body(take.body)
    return take.body.decode("utf-8", "replace") if fault else value


class _Numbers:
    """Gives the ids of one request numbers, in the order in which they stand in it."""

    def __init__(self, kept: frozenset[str]) -> None:
        self._kept = kept
        self._numbers: dict[str, str] = {}

    def text(self, text: str) -> str:
        return _ID.sub(lambda found: self._number(found[0]), text)

    def _number(self, id: str) -> str:
        if id in self._kept:
            return id
        prefix = id[: max(id.rfind("_"), id.find("-") if id.count("-") < 4 else -1) + 1]
        return self._numbers.setdefault(id, f"{prefix}#{len(self._numbers) + 1}")

    def value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self.value(one) for one in value]
        if isinstance(value, dict):
            return {name: self.value(value[name]) for name in sorted(value)}
        return value


def given(takes: Sequence[Take]) -> frozenset[str]:
    """The ids that the answers gave: those that no request had before."""
    made, given = set[str](), set[str]()
    for take in takes:
        sent = f"{take.uri}\n{take.body.decode('utf-8', 'replace')}"
        made.update(id for id in _ID.findall(sent) if id not in given)
        given.update(id for id in _ID.findall(take.answer.decode("utf-8", "replace")) if id not in made)
    return frozenset(given)


def _closeness(wanted: Asked, recorded: Asked) -> tuple[bool, bool, float]:
    same = wanted.method == recorded.method
    matcher = SequenceMatcher(None, _lines(recorded), _lines(wanted), autojunk=False)
    return same and wanted.path == recorded.path, same, matcher.quick_ratio()


def diff(recorded: Asked, wanted: Asked) -> str:
    """How a request differs from a recorded one, as a diff of the two; long ones are cut."""
    lines = list(unified_diff(_lines(recorded), _lines(wanted), "recorded", "asked", lineterm="", n=2))
    more = [f"… {len(lines) - LINES} more lines"] if len(lines) > LINES else []
    return "\n".join([*lines[:LINES], *more])


def _lines(said: Asked) -> list[str]:
    query = "".join(f"\n  {name}={value}" for name, value in said.query)
    body = said.body if isinstance(said.body, str) else orjson.dumps(said.body, option=orjson.OPT_INDENT_2).decode()
    return f"{said.method} {said.path}{query}\n{body}".splitlines()
