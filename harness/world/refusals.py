"""Refused requests: those that a World had asked for, and those with a key of no World.

A refusal is asked for by a turn of the script or by the account (`Answer.expected`), by an `ExpectedRefusal`, or by a test
that has caught the client's error for that very request. Every other one fails its test.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from copy import copy
from difflib import get_close_matches
from math import inf
from types import TracebackType
from typing import Any, NamedTuple

import harness.contract.rules  # noqa: F401  (registers every rule)
from harness.analysis.judgement import last_number
from harness.analysis.lanes import PROBE_RULES
from harness.contract.overrides import AREA
from harness.contract.rule import RULES
from harness.core.errors import COMMAND, ConfigError
from harness.core.exchange import Answer, Exchange, Json, Stray, answer_error
from harness.core.headers import REQUEST_ID_HEADERS
from harness.core.registry import suggest_name
from harness.core.text import pluralize, shorten, show

MAX_STRAYS = 1_000
"""The number of requests without a World that are kept; the newest are."""
MAX_SHOWN = 100
"""The number of those that a World shows; the newest are."""
MAX_BODY = 16 * 1024
"""The largest body, in bytes, kept of such a request; its headers suffice to identify the sender."""


class StrayLog:
    """The newest requests without a World; `number` is that of the latest.

    Numbers of another `epoch` are unrelated to those of this one.
    """

    def __init__(self) -> None:
        self.kept: deque[tuple[int, Stray]] = deque(maxlen=MAX_STRAYS)
        self.number = 0
        self.epoch = ""

    def add(self, stray: Stray) -> None:
        """Keep a request, without its body if that is large."""
        request = stray.request
        if len(request.raw) > MAX_BODY or (request.body and not request.raw):
            stray = stray._replace(request=request._replace(body=None, raw=b""))
        self.number += 1
        self.kept.append((self.number, stray))

    def restart(self, epoch: str = "", number: int = 0) -> None:
        """Drop all requests and continue counting from `number`."""
        self.kept.clear()
        self.epoch, self.number = epoch, number


NO_STRAYS = StrayLog()
"""The log of a World without a server."""


class HeardStray(NamedTuple):
    """A request without a World: its number in the log, and how many exchanges of the World came before; None: all."""

    number: int
    before: int | None
    stray: Stray


class HeardStrays:
    """The requests of a log that came during the life of a World.

    Adding a request to the log costs a World nothing: the World records at each of its own exchanges how many have
    come.
    """

    __slots__ = ("_epoch", "_first", "_last", "_marks", "log")

    def __init__(self, log: StrayLog) -> None:
        self.log = log
        self._epoch, self._first, self._last = log.epoch, log.number, inf
        self._marks: list[tuple[int, int]] = []

    @property
    def number(self) -> int:
        """The number of the latest request."""
        return self.log.number

    def note(self, exchange_count: int) -> None:
        """Record the log's number at an exchange of the World, which follows `exchange_count` others."""
        if self.log.epoch != self._epoch:
            self._epoch, self._first = self.log.epoch, 0
            self._marks.clear()
        number = self.log.number
        if number > (self._marks[-1][0] if self._marks else self._first):
            self._marks.append((number, exchange_count))
            del self._marks[:-MAX_SHOWN]

    def copy(self) -> HeardStrays:
        """Return these requests as they are now."""
        made, log = copy(self), copy(self.log)
        log.kept = self.log.kept.copy()
        made.log, made._marks = log, self._marks.copy()
        return made

    def end(self) -> None:
        """Stop listening."""
        self._last = self.log.number

    def read(self) -> list[HeardStray]:
        """Return the requests that are still kept, oldest first."""
        if not self.log.kept:
            return []
        is_same = self.log.epoch == self._epoch
        first, marks = (self._first, self._marks) if is_same else (0, [])
        noted, counts = [number for number, _ in marks], [*(count for _, count in marks), None]
        return [
            HeardStray(number, counts[bisect_left(noted, number)], stray)
            for number, stray in self.log.kept
            if first < number <= self._last
        ]


MAX_KEPT = 1000
"""The maximum number of refusals remembered of each kind; the first are kept."""
ANY = ""
"""The text that matches every refusal."""
LEAST_ALIKE = 0.8
"""How alike a text must be to the name of a rule to be a misspelling of it, and no part of a message."""
_NAME = re.compile(r"[a-z]+(?:_[a-z0-9]+)+")


class ExpectedRefusal:
    """Refusals expected during a `with` block or until `end`: at least one must come.

    `text` is the id of a rule, an area of rules, or a part of the error's message. If `required` is False, none needs
    to come.
    """

    def __init__(self, text: str, journal: Sequence[Exchange], strays: HeardStrays, *, required: bool = True) -> None:
        self.text = text
        self.required = required
        self._taken: list[Exchange] = []
        self._journal = journal
        self._strays = strays
        self._after_stray, self._last_stray = strays.number, inf
        self._first = last_number(journal) + 1
        self._last: int | None = None

    def __enter__(self) -> ExpectedRefusal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        __tracebackhide__ = True
        self.end()
        if error is None and not self.exchanges:
            raise AssertionError(self.describe_absence())

    def __repr__(self) -> str:
        return f"<refuses {self.text!r}: {[exchange.number for exchange in self.exchanges]}>"

    def end(self) -> None:
        """End the expectation."""
        if self.is_open:
            self._last_stray = self._strays.number
            self._taken = self.exchanges
            self._last = last_number(self._journal)

    @property
    def is_open(self) -> bool:
        """Whether it still matches new refusals."""
        return self._last is None

    def copy(self, journal: Sequence[Exchange], strays: HeardStrays) -> ExpectedRefusal:
        """Return the expectation as it is now, with copies of the journal and the strays."""
        made = copy(self)
        made._taken, made._journal, made._strays = self._taken.copy(), journal, strays
        return made

    def take(self, exchange: Exchange) -> bool:
        """Record a new refusal if it is expected here; returns whether it is."""
        if not self.is_open or not is_refused_by(exchange, self.text):
            return False
        if len(self._taken) < MAX_KEPT:
            self._taken.append(exchange)
        return True

    def takes_stray(self, heard: HeardStray) -> bool:
        """Return whether a request without a World is expected here."""
        is_during = self._after_stray < heard.number <= self._last_stray
        return is_during and is_refused(heard.stray.answer) and is_refused_by(_as_exchange(heard, 0), self.text)

    @property
    def exchanges(self) -> list[Exchange]:
        """The refusals that came, oldest first; one without a World has the number of the exchange before it."""
        if not self.is_open:
            return self._taken
        last = last_number(self._journal)
        strays = [_as_exchange(heard, last) for heard in self._strays.read() if self.takes_stray(heard)]
        return sorted([*self._taken, *strays], key=lambda exchange: exchange.number) if strays else self._taken

    @property
    def exchange(self) -> Exchange:
        """The first refusal that came; AssertionError if there was none."""
        if not self.exchanges:
            raise AssertionError(self.describe_absence())
        return self.exchanges[0]

    @property
    def rule(self) -> str:
        """The id of the refusing rule."""
        return self.exchange.answer.rule or ""

    @property
    def error(self) -> Json:
        """The error of the answer: its `message`, `type`, `param`, `code`."""
        return answer_error(self.exchange)

    def describe_absence(self) -> str:
        """Describe the missing refusal: which refusals came instead, and the nearest name."""
        came = "; ".join(self.list_refusals())
        return " ".join(filter(None, [f"{self.absence[:-1]}: {came}.", self.name_hint]))

    @property
    def absence(self) -> str:
        """The sentence that no such refusal came."""
        return f'No request was refused by "{self.text}", which was expected.'

    @property
    def name_hint(self) -> str:
        """The nearest rule or area if the text looks like the name of one; else empty."""
        names = rule_names()
        if self.text in names or not self.text.isidentifier():
            return ""
        suggestion = suggest_name(self.text, sorted(names))
        return suggestion if suggestion.startswith("Did") else f"No rule has this name: `{COMMAND} rules` lists all."

    def list_refusals(self) -> list[str]:
        """Describe the first refusals within this time, or say that nothing was refused."""
        last = float("inf") if self._last is None else self._last
        during = [exchange for exchange in self._journal if self._first <= exchange.number <= last]
        refused = [_summarize_refusal(exchange) for exchange in during if exchange.answer.rule]
        rest = f"none of {pluralize(len(during), 'request')} was refused" if during else "no request came"
        return [*refused[:3], *(["…"] if refused[3:] else [])] or [rest]


class RefusalLedger:
    """The refusals in a journal: which are expected, and which errors a test has caught itself.

    `count` is their total number, including those dropped from the journal.
    """

    def __init__(self, journal: Sequence[Exchange], strays: HeardStrays) -> None:
        self.expected: list[ExpectedRefusal] = []
        self.count = 0
        self._journal = journal
        self._caught: set[str] = set()
        self._unexpected: list[Exchange] = []
        self._strays = strays

    def copy(self, journal: Sequence[Exchange], strays: HeardStrays) -> RefusalLedger:
        """Return the ledger as it is now, with copies of the journal and the strays."""
        made = copy(self)
        made.expected = [refusal.copy(journal, strays) for refusal in self.expected]
        made._caught, made._unexpected = self._caught.copy(), self._unexpected.copy()
        made._journal, made._strays = journal, strays
        return made

    def expect(self, text: str, *, required: bool = True) -> ExpectedRefusal:
        """Expect refusals from now on; ConfigError for a text that is empty or misspells the name of a rule."""
        if required and (problem := _explain_vague_text(text)):
            raise ConfigError(problem)
        self.expected.append(ExpectedRefusal(text, self._journal, self._strays, required=required))
        return self.expected[-1]

    def end_expected(self) -> list[ExpectedRefusal]:
        """End all open expectations; returns those that ended."""
        ended = [expected for expected in self.expected if expected.is_open]
        for expected in ended:
            expected.end()
        return ended

    def note_caught(self, headers: Mapping[str, Any]) -> None:
        """Record that a test has caught the error of an answer with these headers."""
        self._caught.update(str(headers[name]) for name in REQUEST_ID_HEADERS if headers.get(name))

    def add(self, exchange: Exchange) -> None:
        """Add a new exchange, whether its answer is a refusal or not."""
        if not is_refused(exchange.answer):
            return
        self.count += 1
        # A list, so that every matching expectation takes the refusal, not only the first.
        expected = [refusal.take(exchange) for refusal in self.expected]
        if not any(expected) and not exchange.answer.expected and len(self._unexpected) < MAX_KEPT:
            self._unexpected.append(exchange)

    @property
    def unexpected(self) -> list[Exchange]:
        """The refusals that were not asked for, oldest first."""
        return self._without_caught(self._unexpected)

    @property
    def unexpected_strays(self) -> list[Exchange]:
        """The refused requests without a World that were not asked for, oldest first.

        A request whose key led to a closed World does not count.
        """
        return self._without_expected([heard for heard in self._strays.read() if not heard.stray.owner])

    def is_expected(self, answer: Answer) -> bool:
        """Return whether a refused request without a World was expected when it came, or its error was caught."""
        heard = [stray for stray in self._strays.read() if stray.stray.answer is answer and is_refused(answer)]
        return bool(heard) and not self._without_expected(heard)

    def _without_expected(self, strays: Sequence[HeardStray]) -> list[Exchange]:
        refused = [
            heard
            for heard in strays
            if is_refused(heard.stray.answer)
            and not heard.stray.answer.expected
            and not any(refusal.takes_stray(heard) for refusal in self.expected)
        ]
        return self._without_caught([_as_exchange(heard, last_number(self._journal)) for heard in refused])

    def _without_caught(self, refused: Sequence[Exchange]) -> list[Exchange]:
        return [
            exchange
            for exchange in refused
            if not any(exchange.answer.headers.get(name) in self._caught for name in REQUEST_ID_HEADERS)
        ]

    @property
    def missing(self) -> list[ExpectedRefusal]:
        """The expected refusals that did not come."""
        return [expected for expected in self.expected if expected.required and not expected.exchanges]


def _explain_vague_text(text: str) -> str:
    """Describe why a text can expect no particular refusal; empty if it can."""
    if not text.strip():
        return (
            f"refuses({text!r}) matches every refusal: pass the id of a rule, an area of rules, or part of the message."
        )
    names = rule_names()
    if text in names or not _NAME.fullmatch(text) or any(text in rule.error.message for rule in RULES.values()):
        return ""
    near = get_close_matches(text, names, 1, LEAST_ALIKE)
    return f"refuses({text!r}): no rule has this name. Did you mean {near[0]!r}?" if near else ""


def is_refused(answer: Answer) -> bool:
    """Return whether a rule has refused the answered request."""
    return answer.rule is not None and answer.status >= 400


def _as_exchange(heard: HeardStray, last: int) -> Exchange:
    stray = heard.stray
    return Exchange(last if heard.before is None else heard.before, stray.request, stray.answer)


def rule_names() -> set[str]:
    """Return the ids and areas of all rules."""
    return {*RULES, *[rule.area for rule in RULES.values()], AREA}


def is_refused_by(exchange: Exchange, text: str) -> bool:
    """Return whether a request was refused by this rule or area, or with a message that contains this text."""
    rule = exchange.answer.rule or ""
    if text in (rule, ANY) or (text == PROBE_RULES[1] and rule in PROBE_RULES):
        return True
    if text in rule_names():
        return text in (rule, RULES[rule].area if rule in RULES else AREA)
    return text in str(answer_error(exchange).get("message"))


def _summarize_refusal(exchange: Exchange) -> str:
    message = " ".join(str(answer_error(exchange).get("message")).split())
    return (
        f"request {exchange.number} was refused ({exchange.status}) by {exchange.answer.rule}: {shorten(message, 160)}"
    ).removesuffix(".")


def describe_unknown_rule(names: Sequence[Any]) -> str:
    """Describe the first name that is neither a rule nor an area, with the nearest name; empty if all are known."""
    known = rule_names()
    unknown = next((name for name in names if not isinstance(name, str) or name not in known), None)
    if unknown is None:
        return ""
    nearest = suggest_name(unknown, sorted(known))
    hint = nearest if nearest.startswith("Did") else f"`{COMMAND} rules` lists all."
    return f"no rule and no area is called {show(unknown)}. {hint}"
