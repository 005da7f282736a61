"""Published exchanges as evidence for rules: one cassette per rule, named after it, with the origin of every exchange.

`cassettes/README.md` describes such a cassette. Raises EvidenceError if an origin lacks what evidence needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from harness.api.http.bodies import decode_answer
from harness.cassettes.format import serializer
from harness.cassettes.format.interaction import Interaction
from harness.contract.rule import Level
from harness.core.account import Organization
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.verify.judging.websockets import SocketExchange, SocketLog

EVIDENCE_LEVELS: tuple[Level, ...] = ("recorded", "reported")
"""The possible levels of a refusal in a cassette."""
SETUP_LEVELS: tuple[Level, ...] = ("recorded", "assumed")
"""The possible levels of the exchanges before a refusal, which are never published, but may be recorded."""
PUBLISHED_MEMBERS = ("status", "message", "type", "param", "code")
FURTHER_MEMBERS = ("details",)
"""Members of an error that only some providers have."""
"""What a report may publish of an error."""
CASSETTES = Path(__file__).parents[2] / "cassettes"


class EvidenceError(HarnessError):
    """A cassette that cannot be used as evidence."""

    section = "recordings"


@dataclass(frozen=True, slots=True)
class Origin:
    """The source of an exchange.

    `request` states whether the request itself was published or was rebuilt from the report; `published` lists the
    published members of the error, `begins` is the beginning of a message that was published in part; `organization`
    describes the account behind the key; `key` is the key that was sent if the rule is about keys (`""`: none). An
    exchange of level `assumed` was not published: it creates what the account had stored before.
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
        """The origin as in a cassette, without members that have their default."""
        members = ((member.name, getattr(self, member.name), member.default) for member in fields(Origin))
        return {name: value for name, value, default in members if value not in (default, {})}


@dataclass(frozen=True, slots=True)
class SourcedInteraction:
    """An Interaction with its parsed origin, which is opaque JSON in the format of cassettes.

    It is an HTTP exchange, or a WebSocket whose last client event is the request.
    """

    origin: Origin
    interaction: Interaction

    @property
    def status(self) -> int:
        """The status of the answer, 0 without one."""
        return self._last_socket_exchange.answer.status if self._last_socket_exchange else self.interaction.status

    @property
    def answer(self) -> Any:
        """The answer: JSON, the events of a stream, or for a WebSocket an error or a response as over HTTP."""
        if self._last_socket_exchange:
            return self._last_socket_exchange.answer.body
        decoded = decode_answer(self.interaction.answer, self.interaction.answer_headers)
        return decoded.body if decoded.events is None else decoded.events

    @property
    def socket_exchanges(self) -> list[SocketExchange]:
        """The client events of a WebSocket, each with the server events that answer it; empty for HTTP."""
        return SocketLog(self.interaction.frames).parts

    @property
    def is_refusal(self) -> bool:
        """Whether the API refused the request; otherwise the exchange precedes the refusal."""
        return self.status >= 400

    @property
    def _last_socket_exchange(self) -> SocketExchange | None:
        parts = self.socket_exchanges
        return parts[-1] if parts else None


def attach_origin(interaction: Interaction, origin: Origin) -> SourcedInteraction:
    """Attach an origin to an interaction, which makes it evidence."""
    return SourcedInteraction(origin, replace(interaction, origin=origin.as_json))


@dataclass(frozen=True, slots=True)
class RuleCassette:
    """The exchanges that prove one rule, in order, all with the same key."""

    rule: str
    file: Path
    interactions: tuple[SourcedInteraction, ...]


def load_rule_cassettes(place: Path = CASSETTES) -> dict[str, RuleCassette]:
    """Load the cassettes of all rules, by rule id. EvidenceError names the file and the unusable entry."""
    files = sorted((place / "openai" / "rules").glob("*.yaml"))
    return {file.stem: read_rule_cassette(file) for file in files}


def read_rule_cassette(file: Path) -> RuleCassette:
    """Read the cassette in a file. EvidenceError if it is invalid, or if an origin is missing or incomplete."""
    found = read_interactions(file)
    if not found[-1].is_refusal:
        raise EvidenceError(f"{file}: its last interaction must be a refusal")
    return RuleCassette(file.stem, file, found)


def read_interactions(file: Path) -> tuple[SourcedInteraction, ...]:
    """Read the interactions of a file with their origins, WebSockets last. EvidenceError also for an empty file."""
    try:
        cassette = serializer.parse_cassette(file.read_text(encoding="utf-8"), str(file))
    except (HarnessError, UnicodeDecodeError) as problem:
        raise EvidenceError(str(problem) if isinstance(problem, HarnessError) else f"{file}: not UTF-8") from None
    if cassette.header is None or not cassette.interactions:
        what = "no interactions" if cassette.header else "no header"
        raise EvidenceError(f"{file}: {what}; cassettes/README.md shows the form")
    numbered = enumerate(cassette.interactions, 1)
    return tuple(_parse_interaction(interaction, f"{file}: interaction {number}") for number, interaction in numbered)


def _parse_interaction(interaction: Interaction, place: str) -> SourcedInteraction:
    sourced = SourcedInteraction(_parse_origin(interaction.origin, f"{place}: origin"), interaction)
    if problem := _find_problem(sourced):
        raise EvidenceError(f"{place}: {problem}")
    return sourced


def _parse_origin(members: Mapping[str, Any], place: str) -> Origin:
    """Parse an origin, which already conforms to `schemas/cassette.json`."""
    if not members:
        raise EvidenceError(f"{place} must have level and where")
    if unknown := set(members.get("organization", ())) - set(Organization.__dataclass_fields__):
        raise EvidenceError(f"{place}.organization: there is no {', '.join(sorted(unknown))}")
    texts = {name: str(members.get(name, "")).strip() for name in ("where", "date")}
    return Origin(**{**members, **texts, "published": tuple(members.get("published", PUBLISHED_MEMBERS))})


def _find_problem(sourced: SourcedInteraction) -> str:
    """Explain why an interaction cannot be evidence; empty if it can."""
    if sourced.origin.level not in (EVIDENCE_LEVELS if sourced.is_refusal else SETUP_LEVELS):
        refusals, setup = " or ".join(EVIDENCE_LEVELS), " or ".join(SETUP_LEVELS)
        return f"origin.level must be {refusals} for a refusal, {setup} for what was stored before"
    if sourced.is_refusal and not sourced.origin.date:
        return "origin.date must say when it was reported"
    return _find_error_problem(sourced) if sourced.is_refusal else ""


def _find_error_problem(sourced: SourcedInteraction) -> str:
    error = sourced.answer.get("error") if isinstance(sourced.answer, dict) else None
    if not isinstance(error, dict) or not error:
        return "its answer must hold what was published of the error"
    if sourced.origin.level == "recorded":
        return ""
    published = set(sourced.origin.published)
    # A cassette that contains more than its source published would prove what was never observed.
    if published - {"status"} != set(error):
        return f"origin.published must list what the error holds: {', '.join(error)}"
    if "message" not in published and not sourced.origin.begins:
        return "origin.begins must say how the message begins, where it was not published whole"
    return ""
