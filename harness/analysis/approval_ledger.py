"""The ledger of approvals: each call of a remote MCP server that needed leave, who gave it, and how often it ran."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.core.exchange import Json
from harness.items.kind import CALL_OF_OUTPUT, ITEMS

APPROVAL_REQUEST = "mcp_approval_request"
APPROVAL_RESPONSE = "mcp_approval_response"
MCP_CALL = "mcp_call"
_APPROVAL_TYPES = frozenset({APPROVAL_REQUEST, APPROVAL_RESPONSE, MCP_CALL})


def concerns_approvals(given: Sequence[Json], output: Sequence[Json]) -> bool:
    """Whether an exchange says anything about approvals."""
    return not _APPROVAL_TYPES.isdisjoint([item.get("type") for item in (*given, *output)])


@dataclass(frozen=True, slots=True)
class Approval:
    """One request for leave to call a tool, and what came of it.

    `arguments` is the JSON text of the wire. `asked` is the number of the exchange that asked, None when the client brought
    the request itself; `answers` are those in which the client answered, `runs` those in which the call was made: one of
    each is right. `approve` and `reason` are the last answer's, None before it.
    """

    id: str
    server_label: str
    name: str
    arguments: str
    asked: int | None = None
    answers: tuple[int, ...] = ()
    approve: bool | None = None
    reason: str | None = None
    runs: tuple[int, ...] = ()

    @property
    def executed(self) -> int:
        """How often the call was made."""
        return len(self.runs)


class ApprovalLedger:
    """Every approval one key has to do with, in the order they were asked for."""

    def __init__(self) -> None:
        self._approvals: dict[str, Approval] = {}

    def __iter__(self) -> Iterator[Approval]:
        return iter(self._approvals.values())

    def add_exchange(self, number: int, before: Iterable[Json], given: Sequence[Json], output: Sequence[Json]) -> None:
        """Write down an exchange: the items that the request continues, those it brought, and what the model said."""
        for place, item in enumerate(given):
            if item.get("type") == APPROVAL_RESPONSE:
                self._add_answer(item, number, [*before, *given], given[place + 1 :])
        for item in output:
            if item["type"] == APPROVAL_REQUEST:
                self._approvals[item["id"]] = _approval_from(item, number)
            elif item["type"] == MCP_CALL and (known := self._approvals.get(item.get("approval_request_id") or "")):
                self._approvals[known.id] = replace(known, runs=(*known.runs, number))

    def _add_answer(self, item: Json, number: int, read: Sequence[Json], later: Sequence[Json]) -> None:
        id = item["approval_request_id"]
        if id not in self._approvals and (request := next((one for one in read if one.get("id") == id), None)):
            self._approvals[id] = _approval_from(request, None)
        if (known := self._approvals.get(id)) is None:
            return  # a recording may begin after the request for the approval
        if known.answers and any(self._is_later_output(known, one) for one in later):
            return  # a history that is sent again holds the answer again
        answers = (*known.answers, number)
        self._approvals[id] = replace(known, answers=answers, approve=item["approve"], reason=item.get("reason"))

    def _is_later_output(self, answered: Approval, item: Json) -> bool:
        """Whether an item is what the model said after an answer; requests of one response are answered in any order."""
        kind = item.get("type", "message")
        if kind == "message" or kind in CALL_OF_OUTPUT:
            return item.get("role") == "assistant"
        other = self._approvals.get(item.get("id", "")) if kind == APPROVAL_REQUEST else None
        return kind in ITEMS and not (other and other.asked == answered.asked)


def _approval_from(item: Json, number: int | None) -> Approval:
    return Approval(item["id"], item["server_label"], item["name"], item["arguments"], number)
