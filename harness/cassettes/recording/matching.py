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
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions

MAX_DIFF_LINES = 40
"""Lines of a diff that are shown."""

_ID = re.compile(
    r"(?<![A-Za-z0-9])(?:[a-z]{2,16}[_-](?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?![A-Za-z0-9])"
)
_GATEWAY_ROOT = re.compile(r".*?/v1(?=/)|.*?(?=/responses(?:/|\Z))")
"""What a gateway may put before the paths of the API."""
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)')


class NoMatch(NamedTuple):
    """A request that was not recorded: the recorded one that is closest (None: nothing is), and how they differ."""

    closest: Interaction | None
    diff: str

    def __str__(self) -> str:
        if self.closest is None:
            return self.diff
        return f"the closest recording, {describe_request(self.closest)}, differs:\n{self.diff}"


class ComparableRequest(NamedTuple):
    """What a request says, however it was written."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any


class Replay:
    """The takes of a cassette, each played once and in order; with `again` the last that fits as often as it is asked."""

    def __init__(self, takes: Sequence[Interaction], *, again: bool = False) -> None:
        self.interactions = tuple(take for take in takes if take.status and not take.frames)
        self.sockets = tuple(take for take in takes if take.frames)
        self._repeat_last = again
        self._played: set[int] = set()
        self._answer_ids = ids_from_answers(self.interactions)
        self._requests = [comparable_request(take, self._answer_ids) for take in self.interactions]

    def play(self, request: Interaction) -> Interaction | NoMatch:
        """The recorded take whose request this is; a take without an answer will do as a request."""
        wanted = self.comparable(request)
        fitting = [number for number, recorded in enumerate(self._requests) if recorded == wanted]
        fresh = next((number for number in fitting if number not in self._played), None)
        if fresh is None and fitting and self._repeat_last:
            fresh = fitting[-1]
        if fresh is not None:
            self._played.add(fresh)
            return self.interactions[fresh]
        return self.explain_no_match(wanted, len(fitting))

    def comparable(self, request: Interaction) -> ComparableRequest:
        """What a request says, scrubbed as the recordings are."""
        return comparable_request(scrub_interactions([request])[0], self._answer_ids)

    def recorded_id_in(self, request: Interaction) -> str:
        """An id in a request that an answer of the cassette gave; empty when there is none."""
        sent = f"{request.uri}\n{request.body.decode('utf-8', 'replace')}"
        return next((id for id in _ID.findall(sent) if id in self._answer_ids), "")

    def explain_no_match(self, wanted: ComparableRequest, played: int = 0) -> NoMatch:
        """Why a request finds no take: the closest one and the difference, or that all `played` ones have been given."""
        what = f"{wanted.method} {wanted.path}"
        if played:
            times = "once" if played == 1 else f"{played} times"
            return NoMatch(None, f"{what} was recorded {times}, and has been played as often")
        if not self.interactions:
            return NoMatch(None, f"{what} was not recorded: the cassette is empty")
        closeness = [_similarity(wanted, recorded) for recorded in self._requests]
        best = max(range(len(closeness)), key=lambda number: (closeness[number], number not in self._played))
        return NoMatch(self.interactions[best], diff_requests(self._requests[best], wanted))


def api_root(takes: Sequence[Interaction]) -> str:
    """Where the API begins in the addresses of recordings: `/v1`, behind a gateway perhaps `/llm/v1`."""
    paths = [urlsplit(take.uri).path for take in takes]
    gateways = (found[0] for found in map(_GATEWAY_ROOT.match, paths) if found)
    return next(chain(filter(None, map(root_of, paths)), gateways), API_ROOTS[OPENAI])


def describe_request(take: Interaction) -> str:
    """A take in a few words: `POST /v1/responses`."""
    return f"{take.method} {urlsplit(take.uri).path}"


def comparable_request(take: Interaction, given: frozenset[str] = frozenset()) -> ComparableRequest:
    """What the request of a take says; `given` are the ids that stay as they are, others become numbers."""
    parts = urlsplit(take.uri)
    told = _IdNumbering(given)
    query = tuple(
        sorted((name, told.replace_in_text(value)) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    )
    return ComparableRequest(
        take.method.upper(),
        told.replace_in_text(parts.path.rstrip("/")),
        query,
        told.replace_in_value(_comparable_body(take)),
    )


def _comparable_body(take: Interaction) -> Any:
    if not take.body:
        return None
    kind = take.headers.get("content-type", "")
    if "multipart/" in kind and (found := _BOUNDARY.search(kind)):
        return take.body.replace(found[1].encode(), b"boundary").decode("latin-1")
    value, fault = parse_body(take.body)
    return take.body.decode("utf-8", "replace") if fault else value


class _IdNumbering:
    """Gives the ids of one request numbers, in the order in which they stand in it."""

    def __init__(self, kept: frozenset[str]) -> None:
        self._unchanged = kept
        self._numbers: dict[str, str] = {}

    def replace_in_text(self, text: str) -> str:
        return _ID.sub(lambda found: self._number_id(found[0]), text)

    def _number_id(self, id: str) -> str:
        if id in self._unchanged:
            return id
        prefix = id[: max(id.rfind("_"), id.find("-") if id.count("-") < 4 else -1) + 1]
        return self._numbers.setdefault(id, f"{prefix}#{len(self._numbers) + 1}")

    def replace_in_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.replace_in_text(value)
        if isinstance(value, list):
            return [self.replace_in_value(one) for one in value]
        if isinstance(value, dict):
            return {name: self.replace_in_value(value[name]) for name in sorted(value)}
        return value


def ids_from_answers(takes: Sequence[Interaction]) -> frozenset[str]:
    """The ids that the answers gave: those that no request had before."""
    made, given = set[str](), set[str]()
    for take in takes:
        sent = f"{take.uri}\n{take.body.decode('utf-8', 'replace')}"
        made.update(id for id in _ID.findall(sent) if id not in given)
        given.update(id for id in _ID.findall(take.answer.decode("utf-8", "replace")) if id not in made)
    return frozenset(given)


def _similarity(wanted: ComparableRequest, recorded: ComparableRequest) -> tuple[bool, bool, float]:
    same = wanted.method == recorded.method
    matcher = SequenceMatcher(None, _request_lines(recorded), _request_lines(wanted), autojunk=False)
    return same and wanted.path == recorded.path, same, matcher.quick_ratio()


def diff_requests(recorded: ComparableRequest, wanted: ComparableRequest) -> str:
    """How a request differs from a recorded one, as a diff of the two; long ones are cut."""
    lines = list(unified_diff(_request_lines(recorded), _request_lines(wanted), "recorded", "asked", lineterm="", n=2))
    more = [f"… {len(lines) - MAX_DIFF_LINES} more lines"] if len(lines) > MAX_DIFF_LINES else []
    return "\n".join([*lines[:MAX_DIFF_LINES], *more])


def _request_lines(said: ComparableRequest) -> list[str]:
    query = "".join(f"\n  {name}={value}" for name, value in said.query)
    body = said.body if isinstance(said.body, str) else orjson.dumps(said.body, option=orjson.OPT_INDENT_2).decode()
    return f"{said.method} {said.path}{query}\n{body}".splitlines()
