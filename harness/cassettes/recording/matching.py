"""Finds the recorded answer to a request, or explains with a diff why nothing matches.

Requests are compared by method, path, query and JSON, both sides scrubbed. Ids that a recorded answer created must
match; ids that the client made up are compared only by their order, since they differ in every run.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher, unified_diff
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import orjson

from harness.api.http.bodies import parse_body
from harness.api.http.dialects import API_ROOTS, OPENAI, root_of
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions

MAX_DIFF_LINES = 40
"""How many lines of a diff are shown."""

ID = re.compile(
    r"(?<![A-Za-z0-9])(?:[a-z]{2,16}[_-](?=[A-Za-z]*[0-9])[A-Za-z0-9]{12,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?![A-Za-z0-9])"
)
"""Matches an id that the API or a client made up."""
_GATEWAY_ROOT = re.compile(r".*?/v1(?=/)|.*?(?=/responses(?:/|\Z))")
"""The prefix that a gateway may put before the paths of the API."""
_BOUNDARY = re.compile(r'boundary="?([^";,\s]+)')


class NoMatch(NamedTuple):
    """Why a request has no recorded answer, with the diff from the closest recording if there is one."""

    why: str
    diff: Sequence[str] = ()

    def __str__(self) -> str:
        return "\n".join([self.why, *self.diff])


class ComparableRequest(NamedTuple):
    """The parts of a request that are compared, independent of its spelling."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    body: Any


class Replay:
    """The interactions of a cassette, each replayed once, in order; with `repeat_last` the last match is repeated."""

    def __init__(self, interactions: Sequence[Interaction], *, repeat_last: bool = False) -> None:
        self.interactions = tuple(
            interaction for interaction in interactions if interaction.status and not interaction.frames
        )
        self.sockets = tuple(interaction for interaction in interactions if interaction.frames)
        self._repeat_last = repeat_last
        self._played: set[int] = set()
        self._answer_ids = ids_from_answers(self.interactions)
        self._requests = [comparable_request(interaction, self._answer_ids) for interaction in self.interactions]

    def play(self, request: Interaction) -> Interaction | NoMatch:
        """Return the recorded interaction for this request, whose own answer is ignored, and mark it as played."""
        wanted = self.comparable(request)
        matches = [number for number, recorded in enumerate(self._requests) if recorded == wanted]
        fresh = next((number for number in matches if number not in self._played), None)
        if fresh is None and matches and self._repeat_last:
            fresh = matches[-1]
        if fresh is not None:
            self._played.add(fresh)
            return self.interactions[fresh]
        return self.explain_no_match(wanted, len(matches))

    def comparable(self, request: Interaction) -> ComparableRequest:
        """Scrub a request as recordings are, and make it comparable."""
        return comparable_request(scrub_interactions([request])[0], self._answer_ids)

    def recorded_id_in(self, request: Interaction) -> str:
        """Return an id in a request that an answer of the cassette created, or an empty string."""
        sent = f"{request.uri}\n{request.body.decode('utf-8', 'replace')}"
        return next((id for id in ID.findall(sent) if id in self._answer_ids), "")

    def explain_no_match(self, wanted: ComparableRequest, played: int) -> NoMatch:
        """Explain why a request has no match: the diff from the closest, or that all `played` matches were replayed."""
        name = f"{wanted.method} {wanted.path}"
        if played:
            times = "once" if played == 1 else f"{played} times"
            return NoMatch(f"{name} was recorded {times}, and has been replayed as often")
        if not self.interactions:
            return NoMatch(f"{name} was not recorded: the cassette is empty")
        closeness = [_similarity(wanted, recorded) for recorded in self._requests]
        best = max(range(len(closeness)), key=lambda number: (closeness[number], number not in self._played))
        why = f"the closest recording, {describe_request(self.interactions[best])}, differs:"
        return NoMatch(why, diff_requests(self._requests[best], wanted))


def api_root(interactions: Sequence[Interaction]) -> str:
    """Return the API's root in the URLs of recordings: `/v1`, or behind a gateway perhaps `/llm/v1`."""
    paths = [urlsplit(interaction.uri).path for interaction in interactions]
    gateways = (match[0] for match in map(_GATEWAY_ROOT.match, paths) if match)
    return next(chain(filter(None, map(root_of, paths)), gateways), API_ROOTS[OPENAI])


def describe_request(interaction: Interaction) -> str:
    """Return the method and path of a request: `POST /v1/responses`."""
    return f"{interaction.method} {urlsplit(interaction.uri).path}"


def comparable_request(interaction: Interaction, known_ids: frozenset[str] = frozenset()) -> ComparableRequest:
    """Return the request of an interaction with numbers in place of ids, except for `known_ids`."""
    parts = urlsplit(interaction.uri)
    ids = _IdNumbering(known_ids)
    query = tuple(
        sorted((name, ids.replace_in_text(value)) for name, value in parse_qsl(parts.query, keep_blank_values=True))
    )
    return ComparableRequest(
        interaction.method.upper(),
        ids.replace_in_text(parts.path.rstrip("/")),
        query,
        ids.replace_in_value(_comparable_body(interaction)),
    )


def _comparable_body(interaction: Interaction) -> Any:
    if not interaction.body:
        return None
    kind = interaction.headers.get("content-type", "")
    if "multipart/" in kind and (found := _BOUNDARY.search(kind)):
        return interaction.body.replace(found[1].encode(), b"boundary").decode("latin-1")
    value, fault = parse_body(interaction.body)
    return interaction.body.decode("utf-8", "replace") if fault else value


class _IdNumbering:
    """Replaces the ids of one request by numbers, in the order in which they occur."""

    def __init__(self, known_ids: frozenset[str]) -> None:
        self._unchanged = known_ids
        self._numbers: dict[str, str] = {}

    def replace_in_text(self, text: str) -> str:
        return ID.sub(lambda found: self._number_id(found[0]), text)

    def _number_id(self, id: str) -> str:
        if id in self._unchanged:
            return id
        prefix = id[: max(id.rfind("_"), id.find("-") if id.count("-") < 4 else -1) + 1]
        return self._numbers.setdefault(id, f"{prefix}#{len(self._numbers) + 1}")

    def replace_in_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.replace_in_text(value)
        if isinstance(value, list):
            return [self.replace_in_value(element) for element in value]
        if isinstance(value, dict):
            return {name: self.replace_in_value(value[name]) for name in sorted(value)}
        return value


def ids_from_answers(interactions: Sequence[Interaction]) -> frozenset[str]:
    """Return the ids created by the answers: those that no earlier request had."""
    sent_before, created = set[str](), set[str]()
    for interaction in interactions:
        sent = f"{interaction.uri}\n{interaction.body.decode('utf-8', 'replace')}"
        sent_before.update(id for id in ID.findall(sent) if id not in created)
        created.update(id for id in ID.findall(interaction.answer.decode("utf-8", "replace")) if id not in sent_before)
    return frozenset(created)


def _similarity(wanted: ComparableRequest, recorded: ComparableRequest) -> tuple[bool, bool, float]:
    same = wanted.method == recorded.method
    matcher = SequenceMatcher(None, _request_lines(recorded), _request_lines(wanted), autojunk=False)
    return same and wanted.path == recorded.path, same, matcher.quick_ratio()


def diff_requests(recorded: ComparableRequest, wanted: ComparableRequest) -> list[str]:
    """Return a diff between a recorded request and another one, of at most `MAX_DIFF_LINES` lines."""
    lines = list(unified_diff(_request_lines(recorded), _request_lines(wanted), "recorded", "asked", lineterm="", n=2))
    more = [f"… {len(lines) - MAX_DIFF_LINES} more lines"] if len(lines) > MAX_DIFF_LINES else []
    return [*lines[:MAX_DIFF_LINES], *more]


def _request_lines(request: ComparableRequest) -> list[str]:
    query = "".join(f"\n  {name}={value}" for name, value in request.query)
    body = (
        request.body
        if isinstance(request.body, str)
        else orjson.dumps(request.body, option=orjson.OPT_INDENT_2).decode()
    )
    return f"{request.method} {request.path}{query}\n{body}".splitlines()
