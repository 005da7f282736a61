"""A loss: something that a client dropped or changed in its history, in a request that the API accepts.

A loss is a generator function of a request and the history before it that yields facts; `@loss` adds the message, the fix
and the examples. The function's name with hyphens is the id of the loss, its docstring the documentation.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.analysis.history.history import History, collect_sent
from harness.analysis.history.items import describe_item
from harness.analysis.history.request import HistoryRequest
from harness.analysis.history.tool_results import ToolResults
from harness.contract.rule import Case
from harness.core.errors import RegistrationError
from harness.core.exchange import Exchange, Json, ToolRuns
from harness.core.registry import Registry

LossFacts = Mapping[str, Any]
"""`at`: the place in the request, `said`: the exchange with the original, the message's fields, a more precise `fix`."""
LossCheck = Callable[[HistoryRequest, History], Iterable[LossFacts]]


@dataclass(frozen=True, slots=True)
class Lost:
    """Something that a client lost: the id of the `loss`, the number of the `exchange`, the place `at` in its request.

    `message` names cause and original in one line, `said` is the number of the exchange with the original.
    """

    loss: str
    exchange: int
    at: str
    message: str
    said: int | None
    fix: str


@dataclass(frozen=True, slots=True)
class Loss:
    """A kind of loss: message with `{fact}` fields, fix, examples with and without the loss, and check.

    A `strict` loss may be intended by the client and is reported only on demand.
    """

    id: str
    area: str
    doc: str
    message: str
    fix: str
    loses: tuple[Case, ...]
    keeps: tuple[Case, ...]
    strict: bool
    check: LossCheck

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def find(self, request: HistoryRequest, history: History) -> Iterator[Lost]:
        """Yield each loss of this kind in a request, given the history before it."""
        for facts in self.check(request, history):
            message = self.message.format_map(facts)
            writer, _, at = facts["at"].rpartition("/")
            yield Lost(self.id, int(writer or request.number), at, message, facts["said"], facts.get("fix", self.fix))


LOSSES: Registry[Loss] = Registry("loss")
"""Every loss by id; filled by importing `harness.analysis.losses`."""


def facts_about(at: str, said: int | None, item: Json, **more: Any) -> LossFacts:
    """Return the facts of a loss at a place of a request: `what` was lost there is an item that exchange `said` has."""
    return {"at": at, "said": said, "what": describe_item(item), **more}


def loss(
    *, message: str, fix: str, loses: Sequence[Case], keeps: Sequence[Case], strict: bool = False
) -> Callable[[LossCheck], LossCheck]:
    """Register a generator `(request, history)` that yields the facts of each loss.

    `loses` are conversations that show the loss, `keeps` conversations that do not.
    """

    def register(check: LossCheck) -> LossCheck:
        id, area = check.__name__.replace("_", "-"), check.__module__.rpartition(".")[2]
        doc = inspect.getdoc(check) or ""
        made = Loss(id, area, doc, message, fix, tuple(loses), tuple(keeps), strict, check)
        if problem := _declaration_problem(made):
            raise RegistrationError(f"loss {made.id} in {check.__module__} {problem}")
        LOSSES.add(made.id, made, check.__module__)
        return check

    return register


def _declaration_problem(made: Loss) -> str | None:
    if not inspect.isgeneratorfunction(made.check):
        return "is not a generator: write a function of (request, history) that yields facts"
    if not made.doc:
        return "has no docstring"
    if not (made.loses and made.keeps):
        return "needs examples of both kinds: loses=[after(…)], keeps=[after(…)]"
    return None


def losses_of(exchanges: Sequence[Exchange], strict: bool = False, tool_runs: ToolRuns | None = None) -> list[Lost]:
    """List what the clients in a journal lost, oldest first, each loss once; with `strict` also what may be intended.

    `tool_runs` are the recorded executions of their tools and turns of their chat UIs.
    """
    # An answer that the test gives itself has a meaning that only the test knows.
    exchanges = [exchange for exchange in exchanges if not exchange.is_routed]
    history = History(collect_sent(exchanges), ToolResults(exchanges, tool_runs), tool_runs.turns if tool_runs else ())
    found: dict[tuple[str, int | None, str], Lost] = {}
    for exchange in exchanges:
        request = history.read_request(exchange)
        if request:
            for kind in LOSSES.values():
                for lost in kind.find(request, history) if strict or not kind.strict else ():
                    found.setdefault((lost.loss, lost.said, lost.message), lost)
        # Added only after the search: a request is compared with what came before it.
        history.add_exchange(exchange, request)
    return list(found.values())


def losses_in_accepted(
    exchanges: Sequence[Exchange], strict: bool = False, tool_runs: ToolRuns | None = None
) -> list[Lost]:
    """List the losses that fail a test: those in accepted requests, since a refusal has already informed the client."""
    return losses_of([exchange for exchange in exchanges if exchange.status < 400], strict, tool_runs)
