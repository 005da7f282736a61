"""The ledger of approvals: each call of a remote MCP server that needed leave, who gave it, and how often it ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.api.transcript import CALL_OF_OUTPUT
from harness.core.exchange import Json
from harness.items.kind import ITEMS

REQUEST = "mcp_approval_request"
RESPONSE = "mcp_approval_response"
CALL = "mcp_call"
_ABOUT = frozenset({REQUEST, RESPONSE, CALL})


def concerns(given: Sequence[Json], output: Sequence[Json]) -> bool:
    """Whether an exchange says anything about approvals."""
    return not _ABOUT.isdisjoint([item.get("type") for item in (*given, *output)])


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


class Ledger:
    """Every approval one key has to do with, in the order they were asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Approval] = {}

    def __iter__(self) -> Iterator[Approval]:
        return iter(self._known.values())

    def note(self, number: int, before: Sequence[Json], given: Sequence[Json], output: Sequence[Json]) -> None:
        """Write down an exchange: the items that the request continues, those it brought, and what the model said."""
        for place, item in enumerate(given):
            if item.get("type") == RESPONSE:
                self._answered(item, number, [*before, *given], given[place + 1 :])
        for item in output:
            if item["type"] == REQUEST:
                self._known[item["id"]] = _asked(item, number)
            elif item["type"] == CALL and (known := self._known.get(item.get("approval_request_id") or "")):
                self._known[known.id] = replace(known, runs=(*known.runs, number))

    def _answered(self, item: Json, number: int, read: Sequence[Json], later: Sequence[Json]) -> None:
        id = item["approval_request_id"]
        known = self._known.get(id) or _asked(next(one for one in read if one.get("id") == id), None)
        if known.answers and any(self._said_after(known, one) for one in later):
            return  # a history that is sent again holds the answer again
        answers = (*known.answers, number)
        self._known[id] = replace(known, answers=answers, approve=item["approve"], reason=item.get("reason"))

    def _said_after(self, answered: Approval, item: Json) -> bool:
        """Whether an item is what the model said after an answer; requests of one response are answered in any order."""
        kind = item.get("type", "message")
        if kind == "message" or kind in CALL_OF_OUTPUT:
            return item.get("role") == "assistant"
        other = self._known.get(item.get("id", "")) if kind == REQUEST else None
        return kind in ITEMS and not (other and other.asked == answered.asked)


def _asked(item: Json, number: int | None) -> Approval:
    return Approval(item["id"], item["server_label"], item["name"], item["arguments"], number)
