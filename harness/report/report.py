"""The data of a report on a test run or on recordings, from which every format is rendered.

A `ReportCase` is one test or recording with its exchanges and the findings in them; a `Report` holds many cases and
their coverage of the API. Texts are shortened and secrets masked when a case is made, so that no format can show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from harness.analysis.client_mistake import CLIENT_MISTAKES
from harness.analysis.flow import NO_MESSAGES, SequenceDiagram
from harness.analysis.loss import LOSSES
from harness.analysis.receivers import RECEIVER_MISTAKES
from harness.api.http.dialects import OPENAI
from harness.api.models import suggest_model
from harness.contract.rule import RULES
from harness.core.exchange import ROUTED, Json
from harness.core.json_values import as_object, omit
from harness.core.secret_prefixes import redact
from harness.core.text import pluralize, quote
from harness.explain.cause import (
    Cause,
    FindingKind,
    ReportFinding,
    causes_of_findings,
    consequences_of,
    group_entries,
    raised_cause,
)
from harness.explain.render import render_causes
from harness.report.api_coverage import DIMENSIONS, Coverage, api_surface, merge_coverage, percent_covered
from harness.world.world import World

MAX_TEXT_LENGTH = 4000
"""Maximum length of a text in a report, in characters."""
MAX_LIST_LENGTH = 500
"""Maximum length of a list in a report, including the events of a stream."""
MAX_DEPTH = 40
"""Maximum nesting of a value in a report."""
MAX_SAFE_NUMBER = 1 << 53
"""Numbers from here on are written as strings, as many JSON parsers would round them."""


def sanitize_value(value: Any, secrets: frozenset[str] = frozenset(), depth: int = MAX_DEPTH) -> Any:
    """Convert a value to plain JSON of bounded size, without secrets."""
    if isinstance(value, str):
        return _sanitize_text(value, secrets)
    if value is None or isinstance(value, bool | int | float):
        return value if isinstance(value, bool | None) or abs(value) < MAX_SAFE_NUMBER else str(value)
    if not depth:
        return "…"
    if isinstance(value, Mapping):
        return {
            _sanitize_text(str(name), secrets): sanitize_value(member, secrets, depth - 1)
            for name, member in value.items()
        }
    if isinstance(value, list | tuple):
        omitted = [f"… {len(value) - MAX_LIST_LENGTH} more"] if len(value) > MAX_LIST_LENGTH else []
        return [*(sanitize_value(member, secrets, depth - 1) for member in value[:MAX_LIST_LENGTH]), *omitted]
    return _sanitize_text(value.decode("latin-1") if isinstance(value, bytes) else str(value), secrets)


Reason = TypeVar("Reason", Cause, ReportFinding)


def sanitize_reason(reason: Reason, secrets: frozenset[str] = frozenset()) -> Reason:
    """Limit the size of the texts of a cause or a finding, and remove secrets from them."""
    return type(reason)(**sanitize_value(asdict(reason), secrets))


def _sanitize_text(text: str, secrets: frozenset[str]) -> str:
    """Truncate and mask a text, and escape characters that UTF-8 cannot encode."""
    redacted: str = redact(text if text.isascii() else text.encode("utf-8", "backslashreplace").decode(), secrets)
    hidden = len(redacted) - MAX_TEXT_LENGTH
    return redacted if hidden <= 0 else f"{redacted[:MAX_TEXT_LENGTH]}… {hidden} more characters"


MAX_NAMES = 10
"""How many names get a line, those with the most requests."""

UnknownModels = Mapping[str, int]
"""The number of requests by model name."""


def count_unknown_models(world: World) -> Counter[str]:
    """Count the answered OpenAI requests by model name, for names of whose models neither table nor test knows a fact."""
    listed = world.account.models or ()
    names = (
        as_object(exchange.request.body).get("model")
        for exchange in world.exchanges
        if exchange.request.dialect == OPENAI and 200 <= exchange.status < 300 and not exchange.is_routed
    )
    counted = Counter(name for name in names if isinstance(name, str) and name not in listed)
    families = {name: world.models.find(name) for name in counted}
    unknown = [name for name, family in families.items() if family is None or family.name_only]
    return Counter({sanitize_value(name): counted[name] for name in unknown})


def merge_unknown_models(counts: Iterable[UnknownModels]) -> Counter[str]:
    """Add up the counts of several runs."""
    merged: Counter[str] = Counter()
    for run in counts:
        merged.update(run)
    return merged


def unknown_model_lines(counts: UnknownModels) -> list[str]:
    """Return a line for each name, those with the most requests first, and one for the rest."""
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    lines = [
        f"model {quote(name)}: 0 facts; nothing was refused for it, in {pluralize(number, 'request')}{suggest_model(name)}"
        for name, number in ranked
    ]
    rest = len(lines) - MAX_NAMES
    return lines if rest <= 0 else [*lines[:MAX_NAMES], f"… and {rest} more models without facts"]


REPORT_VERSION = 1

PASSED_OUTCOMES = ("passed", "xfailed", "xpassed")
"""The outcomes of a test in which every finding was expected."""
WRONG_OUTCOMES = ("failed", "error")
OUTCOMES = (*WRONG_OUTCOMES, "passed", "skipped", "xfailed", "xpassed")
"""All outcomes, in the order in which they are counted."""


@dataclass(frozen=True, slots=True)
class ReportCase:
    """One test or recording: its place (`file` relative to the root, `line` from 1), outcome and exchanges.

    `exchanges` are JSON as in `schemas/report.json`, `diagram` is their flow as a Mermaid diagram, `sequence` the same
    as data, `why` the text of a failure, which `explained` explains. `view` is the complete case as the page shows it:
    its `row` and, compressed, its `case`; only reports for pages have it, and without it a page is built from the other
    members.
    """

    id: str
    file: str
    line: int
    outcome: str
    seconds: float
    exchanges: Sequence[Json] = ()
    found: Sequence[ReportFinding] = ()
    diagram: str = ""
    why: str = ""
    sequence: SequenceDiagram = NO_MESSAGES
    view: Json = field(default_factory=dict)
    examined: Json = field(default_factory=dict)
    explained: Sequence[Cause] = ()

    @classmethod
    def from_json(cls, members: Json) -> ReportCase:
        """Build a case from its JSON."""
        found = [ReportFinding(**finding) for finding in members["found"]]
        drawn = members.get("sequence")  # older reports have none
        sequence = SequenceDiagram.from_json(drawn) if drawn else NO_MESSAGES
        explained = [Cause(**cause) for cause in members.get("causes", ())]  # here, too
        others = omit(members, "causes")
        return cls(**{**others, "found": found, "sequence": sequence, "explained": explained})

    def to_json(self) -> Json:
        """Convert the case to JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "explained"}
        members = {name: value for name, value in values.items() if value or name not in ("view", "examined")}
        causes = [{name: text for name, text in asdict(cause).items() if text} for cause in self.explained]
        lists = {"found": list(map(asdict, self.found)), **({"causes": causes} if causes else {})}
        return {**members, **lists, "sequence": asdict(self.sequence)}

    @property
    def causes(self) -> Sequence[Cause]:
        """Why the case failed, the first cause first; of one that passed what was not expected all the same."""
        if self.outcome == "skipped":
            return ()
        is_wrong = self.outcome in WRONG_OUTCOMES
        return self.explained or causes_of_findings(self.found) or ([raised_cause(self.why)] if is_wrong else [])

    @property
    def consequences(self) -> Sequence[str]:
        """What followed from the causes, which is shown below them."""
        return consequences_of(self.why, self.causes, self.found)

    @property
    def routed(self) -> int:
        """How many of its exchanges the test has answered itself."""
        return sum(exchange["operation"] == ROUTED for exchange in self.exchanges)

    @property
    def failures(self) -> list[Failure]:
        """What a report lists of the case: the first cause of a test, else all findings; always what is forecast."""
        if not self.explained:
            return [Failure(self, cause) for cause in self.causes]
        ahead = [finding.cause for finding in self.found if finding.kind in OUTLOOK_KINDS and not finding.expected]
        return [Failure(self, cause) for cause in [*self.causes[:1], *ahead]]


class Failure(NamedTuple):
    """A case that is wrong, and why."""

    case: ReportCase
    cause: Cause

    @property
    def line(self) -> int:
        """The line in the file of the case."""
        return self.cause.line or self.case.line

    @property
    def name(self) -> str:
        """The place and the name of the test; of a client that was examined its name alone."""
        case = self.case
        if not case.file:
            return case.id
        name = case.id.rpartition("::")[2]
        return f"{case.file}:{self.line}{f' {name}' if name != case.file else ''}"

    @property
    def group(self) -> str:
        """Equal for failures with the same cause."""
        return self.case.examined.get("group") or self.cause.group

    @property
    def text(self) -> str:
        """Why the case is wrong, as a terminal shows it."""
        causes = self.case.explained
        return render_causes(causes if self.cause in causes else [self.cause])


OUTLOOK_KINDS: tuple[FindingKind, ...] = ("shutdown", "migration")
"""The kinds of findings about what becomes of a request."""
MAX_NAMED = 5
"""How many tests of a cause are named, the first ones."""


def name_tests(failures: Sequence[Failure]) -> str:
    """Name the tests that fail for one cause: the first, whose facts are shown, then the others."""
    first, *others = (failure.name for failure in failures)
    if not others:
        return first
    hidden = ["…"] if len(others) >= MAX_NAMED else []
    return f"{first}, and {len(others)} more: {', '.join([*others[: MAX_NAMED - 1], *hidden])}"


class Totals(NamedTuple):
    """Counts: `expected` and `unexpected` refusals, all losses, and the unexpected findings of other kinds.

    `routed` are exchanges that a test has answered itself, which are not judged.
    """

    tests: int = 0
    exchanges: int = 0
    expected: int = 0
    unexpected: int = 0
    losses: int = 0
    unanswered: int = 0
    unused: int = 0
    disagreements: int = 0
    unreadable: int = 0
    routed: int = 0
    webhooks: int = 0
    client: int = 0


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts about a run: `source`, `command`, the time it `began` (unix seconds, 0: unknown) and the duration.

    `commit` is the branch with the beginning of the commit, `versions` are those of packages by name. `outcomes` count
    everything that was run by outcome, cases or not; they are empty if only the cases are known.
    """

    source: str = "report"
    command: str = ""
    began: float = 0.0
    seconds: float = 0.0
    commit: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)


NO_FACTS = RunFacts()


@dataclass(frozen=True, slots=True)
class Report:
    """The cases of a run; by dimension of the API, the `known` names and those that were `hit`.

    `unknown_models` are names of models of which no fact is known, with the number of their requests. Only pages show
    the `facts`. `examination` has the clients and the descriptions of the cases of an examination.
    """

    cases: Sequence[ReportCase] = ()
    known: Coverage = field(default_factory=api_surface)
    hit: Coverage = field(default_factory=lambda: merge_coverage(()))
    unknown_models: UnknownModels = field(default_factory=dict)
    facts: RunFacts = NO_FACTS
    examination: Json = field(default_factory=dict)

    @property
    def line(self) -> str:
        """The summary of the run in one line."""
        if not self.examination:
            return summary_line(self.totals)
        verdicts: dict[str, Counter[str]] = {}
        for case in self.cases:
            verdicts.setdefault(case.examined["client"], Counter())[case.examined["verdict"]] += 1
        counted = (
            f"{client}: {', '.join(f'{count} {verdict}' for verdict, count in counts.items())}"
            for client, counts in verdicts.items()
        )
        return "; ".join(counted)

    @property
    def totals(self) -> Totals:
        """The totals of all cases."""
        counted = (count_totals(len(case.exchanges), case.found, case.routed) for case in self.cases)
        return Totals(*map(sum, zip(Totals(), *counted, strict=True)))

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How many tests had each outcome; those that did not use the mock are only counted if the run has told."""
        return self.facts.outcomes or Counter(case.outcome for case in self.cases)

    @property
    def groups(self) -> list[list[Failure]]:
        """The failures by their cause, the most frequent causes first."""
        failures = [failure for case in self.cases for failure in case.failures]
        return group_entries(failures, lambda failure: failure.group)

    @property
    def head(self) -> list[str]:
        """The first lines: how many tests failed, passed and so on, for how many causes, and the run in one line."""
        if self.examination:
            return [self.line]
        causes = len(self.groups)
        counts = "; ".join([count_outcomes(self.outcomes), *([pluralize(causes, "cause")] if causes else [])])
        return [counts, self.line]

    def percent_covered(self, dimension: str) -> int:
        """Return the covered share of a dimension, in whole per cent."""
        return percent_covered(self.hit[dimension], self.known[dimension])

    def summary_json(self) -> Json:
        """Return the members of `schemas/report.json` except the tests."""
        surface = {name: {"known": sorted(self.known[name]), "hit": sorted(self.hit[name])} for name in DIMENSIONS}
        unknown = {"unknown_models": dict(sorted(self.unknown_models.items()))}
        examined = {"examination": self.examination} if self.examination else {"outcomes": dict(self.outcomes)}
        return {"version": REPORT_VERSION, "totals": self.totals._asdict(), "surface": surface, **unknown, **examined}


def count_totals(exchanges: int, findings: Sequence[ReportFinding], routed: int = 0) -> Totals:
    """Count the totals of one case."""
    counts = Counter((finding.kind, finding.expected) for finding in findings)
    losses = counts["loss", True] + counts["loss", False]
    refused = (counts["refusal", expected] for expected in (True, False))
    rest = (counts[kind, False] for kind in ("unanswered", "unused", "disagreement", "unreadable"))
    return Totals(*(1, exchanges, *refused, losses, *rest, routed, counts["webhook", False], counts["client", False]))


def count_outcomes(outcomes: Mapping[str, int]) -> str:
    """Word the numbers of tests by outcome, the wrong ones first: `3 failed, 1 error, 12 passed`."""
    counted = {name: outcomes[name] for name in OUTCOMES if outcomes.get(name)}
    words = (pluralize(count, name) if name == "error" else f"{count} {name}" for name, count in counted.items())
    return ", ".join(words) or "no case"


def summary_line(totals: Totals) -> str:
    """Summarize the exchanges of a run in one line."""
    refusals = f"{pluralize(totals.expected, 'refusal')} expected"
    parts = [
        f"{pluralize(totals.exchanges, 'exchange')}{f' ({totals.routed} routed, not judged)' if totals.routed else ''}",
        f"{refusals}, {totals.unexpected} unexpected" if totals.unexpected else refusals,
        "1 loss" if totals.losses == 1 else f"{totals.losses} losses",
        f"{totals.unanswered} unanswered" if totals.unanswered else "",
        f"{pluralize(totals.unused, 'turn')} unused" if totals.unused else "",
        pluralize(totals.disagreements, "disagreement") if totals.disagreements else "",
        f"{totals.unreadable} unreadable" if totals.unreadable else "",
        f"{pluralize(totals.webhooks, 'wrong webhook')}" if totals.webhooks else "",
        pluralize(totals.client, "mistake of a client", "mistakes of clients") if totals.client else "",
    ]
    return f"contract: {', '.join(filter(None, parts))}"


def documentation_of(id: str) -> Json:
    """Return the documentation of a rule or a loss: summary, text, best source, fix; `{}` for an unknown id."""
    if rule := RULES.get(id):
        best = min(rule.sources, key=lambda source: source.level != rule.level)
        source = " ".join(filter(None, (best.level, best.where, best.date)))
        return {"summary": rule.summary, "doc": rule.doc, "area": rule.area, "source": source, "fix": rule.fix}
    if loss := LOSSES.get(id):
        return {"summary": loss.summary, "doc": loss.doc, "area": loss.area, "source": "", "fix": loss.fix}
    if kind := RECEIVER_MISTAKES.get(id) or CLIENT_MISTAKES.get(id):
        return {"summary": kind.summary, "doc": kind.doc, "area": kind.area, "source": kind.source, "fix": kind.fix}
    return {}
