"""The ledger of approvals: each call of a remote MCP server that needed one, the client's answers, and its executions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.core.exchange import Json
from harness.core.limits import oldest_beyond
from harness.items.kind import CALL_OF_OUTPUT, ITEMS

APPROVAL_REQUEST = "mcp_approval_request"
APPROVAL_RESPONSE = "mcp_approval_response"
MCP_CALL = "mcp_call"
APPROVAL_TYPES = frozenset({APPROVAL_REQUEST, APPROVAL_RESPONSE, MCP_CALL})


def concerns_approvals(items: Sequence[Json]) -> bool:
    """Return whether any of these items is an approval request, its answer or an MCP call."""
    return not APPROVAL_TYPES.isdisjoint([item.get("type") for item in items])


@dataclass(frozen=True, slots=True)
class Approval:
    """One `mcp_approval_request`, its answers and the executions of its call.

    `arguments` is the JSON text of the wire. `asked` is the number of the exchange with the request, None when only the
    client sent it; `answers` are the exchanges in which the client answered, `runs` those in which the call was executed:
    one of each is correct. `approve` and `reason` are those of the last answer, None before it.
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
        """How often the call was executed."""
        return len(self.runs)


class ApprovalLedger:
    """All approvals of one API key, in the order in which they were requested."""

    def __init__(self) -> None:
        self._approvals: dict[str, Approval] = {}

    def __iter__(self) -> Iterator[Approval]:
        return iter(self._approvals.values())

    def __len__(self) -> int:
        return len(self._approvals)

    def add_exchange(
        self, number: int, previous: Iterable[Json], added: Sequence[Json], output: Sequence[Json]
    ) -> None:
        """Record an exchange: the items of the `previous` transcript, those the request `added`, the model's output."""
        for index, item in enumerate(added):
            if item.get("type") == APPROVAL_RESPONSE:
                self._add_answer(item, number, [*previous, *added], added[index + 1 :])
        for item in output:
            if item["type"] == APPROVAL_REQUEST:
                self._approvals[item["id"]] = _approval_from(item, number)
            # An MCP call without a request was allowed by `require_approval: never`.
            elif item["type"] == MCP_CALL and (known := self._approvals.get(item.get("approval_request_id") or "")):
                self._approvals[known.id] = replace(known, runs=(*known.runs, number))

    def keep_newest(self, most: int | None) -> None:
        """Drop the oldest approvals beyond `most`."""
        for id in oldest_beyond(self._approvals, most):
            del self._approvals[id]

    def _add_answer(self, item: Json, number: int, transcript: Sequence[Json], later: Sequence[Json]) -> None:
        id = item["approval_request_id"]
        if id not in self._approvals and (
            request := next((asked_item for asked_item in transcript if asked_item.get("id") == id), None)
        ):
            self._approvals[id] = _approval_from(request, None)
        if (known := self._approvals.get(id)) is None:
            return  # a recording may begin after the request for the approval
        if known.answers and any(self._is_later_output(known, later_item) for later_item in later):
            return  # a history that is sent again holds the answer again
        answers = (*known.answers, number)
        self._approvals[id] = replace(known, answers=answers, approve=item["approve"], reason=item.get("reason"))

    def _is_later_output(self, answered: Approval, item: Json) -> bool:
        kind = item.get("type", "message")
        if kind == "message" or kind in CALL_OF_OUTPUT:
            return item.get("role") == "assistant"
        # The approval requests of one response may be answered in any order, so its other requests are not later.
        other = self._approvals.get(item.get("id", "")) if kind == APPROVAL_REQUEST else None
        return kind in ITEMS and not (other and other.asked == answered.asked)


def _approval_from(item: Json, number: int | None) -> Approval:
    return Approval(item["id"], item["server_label"], item["name"], item["arguments"], number)
