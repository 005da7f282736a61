"""The evidence that rules name: exchanges somebody published, one cassette a rule, in its name.

`cassettes/README.md` says what a cassette holds. A cassette whose name is no rule's, or whose origin says too little, is
an EvidenceError. Coverage is what `harness rules --coverage` shows: how well each area is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.decoding import decode_answer
from harness.cassettes.format import serializer
from harness.cassettes.format.interaction import Interaction
from harness.contract.rule import LEVELS, Level, Rule
from harness.contract.rules import AREAS
from harness.core.account import Organization
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.verify.judging.websocket_pairs import SocketExchange, SocketLog

if TYPE_CHECKING:
    from rich.table import Table

EVIDENCE_LEVELS: tuple[Level, ...] = ("recorded", "reported")
"""The levels that an exchange stands behind."""
SETUP_LEVELS: tuple[Level, ...] = ("recorded", "assumed")
"""The levels of what was stored before a refusal: nobody publishes it, but a recording holds it."""
PUBLISHED_MEMBERS = ("status", "message", "type", "param", "code")
"""What a report can publish of an error."""
_HERE = Path(__file__).parent.parent
_URL = re.compile(r"https?://\S+")


class EvidenceError(HarnessError):
    """A cassette that cannot be used as evidence."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an exchange is known from.

    `request` says whether the request itself was published or rebuilt from the report; `published` lists what was
    published of the error, `begins` how the message begins when the rest was cut; `organization` is what the account
    behind the key was, `key` what was sent as key when that is the point (`""`: none). An exchange of level `assumed`
    was not published: it stands for what was stored before.
    """

    level: Level
    where: str
    date: str = ""
    project: str = ""
    request: str = "published"
    published: tuple[str, ...] = PUBLISHED_MEMBERS
    begins: str = ""
    organization: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None

    @property
    def as_json(self) -> Json:
        """What of it goes without saying left out, as a cassette holds it."""
        told = ((each.name, getattr(self, each.name), each.default) for each in fields(Origin))
        return {name: value for name, value, usual in told if value not in (usual, {})}


@dataclass(frozen=True, slots=True)
class SourcedInteraction:
    """A take and where it is known from: a request and its answer, or a WebSocket, whose last event is then the request."""

    origin: Origin
    interaction: Interaction

    @property
    def status(self) -> int:
        """The status of the answer, 0 when there was none."""
        return self._last_socket_exchange.answer.status if self._last_socket_exchange else self.interaction.status

    @property
    def answer(self) -> Any:
        """What was answered: JSON, the events of a stream, over a WebSocket an error or a response as HTTP has it."""
        if self._last_socket_exchange:
            return self._last_socket_exchange.answer.body
        told = decode_answer(self.interaction.answer, self.interaction.answer_headers)
        return told.body if told.events is None else told.events

    @property
    def socket_exchanges(self) -> list[SocketExchange]:
        """Of a WebSocket, the events of the client with what was said to each."""
        return SocketLog(self.interaction.frames).parts

    @property
    def is_refusal(self) -> bool:
        """Is this a refusal, and not what was stored before?"""
        return self.status >= 400

    @property
    def _last_socket_exchange(self) -> SocketExchange | None:
        parts = self.socket_exchanges
        return parts[-1] if parts else None


def attach_origin(take: Interaction, origin: Origin) -> SourcedInteraction:
    """A take as evidence of this origin."""
    return SourcedInteraction(origin, replace(take, origin=origin.as_json))


@dataclass(frozen=True, slots=True)
class RuleCassette:
    """The exchanges of one rule, in order, as one key saw them."""

    rule: str
    file: Path
    interactions: tuple[SourcedInteraction, ...]


@dataclass(frozen=True, slots=True)
class EvidenceGap:
    """A rule that claims to be recorded or reported and has no cassette, and why."""

    rule: str
    level: Level
    reason: str


def evidence_directory() -> Path:
    """Where the cassettes are: inside an installed package, or beside it in a checkout; EvidenceError when nowhere."""
    places = (_HERE / "evidence", _HERE.parent / "cassettes")
    for place in places:
        if (place / "openai").is_dir():
            return place
    raise EvidenceError(f"no cassettes in {places[0]} or {places[1]}: reinstall responses-harness")


def load_rule_cassettes(place: Path | None = None) -> dict[str, RuleCassette]:
    """All cassettes of rules by the rule's id; EvidenceError names the file and the entry that cannot be used."""
    files = sorted(((place or evidence_directory()) / "openai" / "rules").glob("*.yaml"))
    return {file.stem: read_rule_cassette(file) for file in files}


def read_rule_cassette(file: Path) -> RuleCassette:
    """One cassette; EvidenceError when it is none, or an origin is missing or says too little."""
    found = read_interactions(file)
    if not found[-1].is_refusal:
        raise EvidenceError(f"{file}: its last interaction must be a refusal")
    return RuleCassette(file.stem, file, found)


def read_interactions(file: Path) -> tuple[SourcedInteraction, ...]:
    """What a file holds with its origins, WebSockets last, one at least; EvidenceError as for `read`."""
    try:
        tape = serializer.parse_cassette(file.read_text(encoding="utf-8"), str(file))
    except (HarnessError, UnicodeDecodeError) as problem:
        raise EvidenceError(str(problem) if isinstance(problem, HarnessError) else f"{file}: not UTF-8") from None
    if tape.header is None or not tape.interactions:
        what = "no interactions" if tape.header else "no header"
        raise EvidenceError(f"{file}: {what}; cassettes/README.md shows the form")
    return tuple(
        _parse_interaction(take, f"{file}: interaction {number}") for number, take in enumerate(tape.interactions, 1)
    )


def _parse_interaction(take: Interaction, place: str) -> SourcedInteraction:
    made = SourcedInteraction(_parse_origin(take.origin, f"{place}: origin"), take)
    if problem := _find_problem(made):
        raise EvidenceError(f"{place}: {problem}")
    return made


def _parse_origin(said: Mapping[str, Any], place: str) -> Origin:
    """What an origin says, which has the form that the schema of cassettes gives it."""
    if not said:
        raise EvidenceError(f"{place} must have level and where")
    if unknown := set(said.get("organization", ())) - set(Organization.__dataclass_fields__):
        raise EvidenceError(f"{place}.organization: there is no {', '.join(sorted(unknown))}")
    texts = {name: str(said.get(name, "")).strip() for name in ("where", "date")}
    return Origin(**{**said, **texts, "published": tuple(said.get("published", PUBLISHED_MEMBERS))})


def _find_problem(made: SourcedInteraction) -> str:
    """What keeps an interaction from being evidence; empty when nothing does."""
    if made.origin.level not in (EVIDENCE_LEVELS if made.is_refusal else SETUP_LEVELS):
        refusals, setup = " or ".join(EVIDENCE_LEVELS), " or ".join(SETUP_LEVELS)
        return f"origin.level must be {refusals} for a refusal, {setup} for what was stored before"
    if made.is_refusal and not made.origin.date:
        return "origin.date must say when it was reported"
    return _find_error_problem(made) if made.is_refusal else ""


def _find_error_problem(made: SourcedInteraction) -> str:
    error = made.answer.get("error") if isinstance(made.answer, dict) else None
    if not isinstance(error, dict) or not error:
        return "its answer must hold what was published of the error"
    if made.origin.level == "recorded":
        return ""
    published = set(made.origin.published)
    if published - {"status"} != set(error):
        return f"origin.published must list what the error holds: {', '.join(error)}"
    if "message" not in published and not made.origin.begins:
        return "origin.begins must say how the message begins, where it was not published whole"
    return ""


def find_orphans(rules: Mapping[str, Rule], cassettes: Iterable[str]) -> list[str]:
    """The names of cassettes that belong to no rule."""
    return [name for name in cassettes if name not in rules]


def find_gaps(rules: Mapping[str, Rule], cassettes: Mapping[str, RuleCassette]) -> list[EvidenceGap]:
    """Every rule that claims to be recorded or reported and has no cassette, in order of precedence."""
    return [
        EvidenceGap(rule.id, rule.level, _explain_gap(rule))
        for rule in rules.values()
        if rule.level in EVIDENCE_LEVELS and rule.id not in cassettes
    ]


def _explain_gap(rule: Rule) -> str:
    if rule.error.body_template is not None and "error" not in rule.error.body_template:
        return "its answer is no error object, which a cassette holds"
    assumptions = [source.where for source in rule.sources if source.level == "assumed"]
    proving = [source for source in rule.sources if source.level in EVIDENCE_LEVELS]
    if assumptions:
        return f"assumed {assumptions[0]}"
    if not any(source.date for source in proving):
        return "no source has a date"
    if not any(source.date and _URL.search(source.where) for source in proving):
        return "no dated source has an address"
    return NOT_TRANSCRIBED


NOT_TRANSCRIBED = "not transcribed yet"
"""The one reason for a gap that is work left to do."""


def coverage_rows(rules: Mapping[str, Rule], cassettes: Mapping[str, RuleCassette]) -> list[dict[str, Any]]:
    """How well each area is known: its rules by level, in all, with a cassette, and the refusals those hold.

    One row an area, in order of precedence, and a last one, `all`. EvidenceError when a cassette belongs to no rule.
    """
    if strays := find_orphans(rules, cassettes):
        raise EvidenceError(f"no rule is named like these cassettes: {', '.join(strays)}; rename or delete them")
    areas = dict.fromkeys((*AREAS, *(rule.area for rule in rules.values())))
    parts = {area: [rule for rule in rules.values() if rule.area == area] for area in areas}
    listed = [_coverage_row(area, part, cassettes) for area, part in parts.items() if part]
    return [*listed, _coverage_row("all", list(rules.values()), cassettes)]


def _coverage_row(area: str, rules: list[Rule], cassettes: Mapping[str, RuleCassette]) -> dict[str, Any]:
    proved = [cassettes[rule.id] for rule in rules if rule.id in cassettes]
    levels = [rule.level for rule in rules]
    return {
        "area": area,
        "rules": len(rules),
        **{level: levels.count(level) for level in LEVELS},
        "cassettes": len(proved),
        "refusals": sum(one.is_refusal for cassette in proved for one in cassette.interactions),
    }


def coverage_table(listed: Sequence[Mapping[str, Any]]) -> Table:
    """The rows as a table for a terminal; zeros are left blank."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False)
    for name in listed[0]:
        made.add_column(name, justify="left" if name == "area" else "right")
    for row in listed:
        made.add_row(*(str(value or "") for value in row.values()))
    return made
