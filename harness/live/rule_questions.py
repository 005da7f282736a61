"""Turns the examples of rules into questions to a server: what to send, what to expect, which examples to leave out.

`conformance` asks any server whether it follows the rules; maintainers ask the live API whether a rule is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from harness.api.http.dialects import OPENAI, parse_api_path
from harness.contract.rule import CREATE_RESPONSE, Case, Rule
from harness.core.dates import CONTRACT_DATE, is_valid_on
from harness.core.exchange import Answer, Json
from harness.live.client.http import ServerReply
from harness.server.mock_api import API_ROOT
from harness.verify.examples import PlayedCase, fill_placeholders, play_case

OTHER_PROVIDER = "it is another provider's"


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """A request to a server, the setup requests before it, and the expected answer.

    `expected_message` is the message of the expected error, with placeholders for values from earlier answers; None if
    the request must be accepted. `root` is the API root in the mock that computes the expected answer.
    """

    case: Case
    expected_message: str | None = None
    root: str = API_ROOT

    @property
    def kind(self) -> Literal["refusal", "accept"]:
        """Whether the request must be refused or accepted."""
        return "accept" if self.expected_message is None else "refusal"

    @cached_property
    def steps(self) -> tuple[Case, ...]:
        """The requests, in order; the last one is the actual question."""
        return (*self.case.before, self.case)

    @property
    def socket_step_count(self) -> int:
        """How many of the steps, always the last ones, are events of one WebSocket."""
        return sum(map(is_socket_event, self.steps))

    @cached_property
    def played(self) -> PlayedCase:
        """The mock's answers."""
        return play_case(self.case, self.root)

    @property
    def setup_statuses(self) -> tuple[int, ...]:
        """The expected statuses of the setup requests."""
        return tuple(answer.status for answer in self.played.before)

    @property
    def error_body(self) -> Json:
        """The JSON of the expected refusal."""
        body: Json = self.played.answer.body
        return body

    def expected_error(self, before: Sequence[Answer] | Sequence[ServerReply]) -> Json:
        """Return the expected error after these answers: its status and its members."""
        body = self.error_body
        error = {"status": self.played.answer.status, **body.get("error", body)}
        return {**error, "message": fill_placeholders(self.expected_message, before)} if "message" in error else error


def examples_of(rule: Rule) -> Iterator[tuple[str | None, Case]]:
    """Yield the examples of a rule: the refused ones with their messages, then the accepted ones with None."""
    yield from rule.rejects.items()
    yield from ((None, case) for case in rule.accepts)


def explain_left_out(rule: Rule, case: Case, dialect: str) -> str:
    """Explain why no API of this dialect can be asked an example, whatever the account; empty if it can."""
    steps = (*case.before, case)
    if not is_valid_on(CONTRACT_DATE, rule.since, rule.until):
        return "the API no longer says it"
    if any(step.as_of and step.as_of < CONTRACT_DATE for step in steps):
        return "it is about an earlier day"
    if _is_for_other_provider(rule, steps, dialect):
        return OTHER_PROVIDER
    if any(step.account for step in steps):
        return "it needs an account of its own"
    if any(step.skip for step in steps):
        return "time has to pass"
    return "a model has to say certain words" if any(step.turns for step in steps) else ""


def _is_for_other_provider(rule: Rule, steps: Sequence[Case], dialect: str) -> bool:
    paths = [(step.on or CREATE_RESPONSE).partition(" ")[2] for step in steps]
    if any(path.startswith("!") and parse_api_path(path[1:]).dialect != dialect for path in paths):
        return True
    if dialect != OPENAI and any(map(is_socket_event, steps)):
        return True
    return bool(rule.dialects) and dialect not in rule.dialects


def is_socket_event(case: Case) -> bool:
    """Return whether a step is sent over a WebSocket."""
    return (case.on or CREATE_RESPONSE).startswith("WS ")
