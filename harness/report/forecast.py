"""What becomes of requests later: models that will be gone, and what another model would make of each request.

A request is judged a second time, in the same World, as if it named the other model. Only a difference counts: what
that model would refuse and the present one does not, and, as an expected finding, which settings it would have instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from harness.answers.prompt import read_settings
from harness.api.http.dialects import OPENAI
from harness.api.model_facts import find_shutdown
from harness.contract.call import WorldCall
from harness.contract.check import check
from harness.contract.rule import CREATE_RESPONSE
from harness.core.dates import CONTRACT_DATE, parse_as_of
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object
from harness.core.text import pluralize, quote
from harness.explain.cause import ReportFinding
from harness.world.world import World

EVERY_DAY = "all"
"""The day of a forecast of all announced shutdowns."""
MAX_NAMED = 5
"""How many cases with the same finding are named."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is asked: which models are gone `by` a day (YYYY-MM-DD, `all`, or "": not asked), and what `model` would say."""

    by: str = ""
    model: str = ""

    def __bool__(self) -> bool:
        return bool(self.by or self.model)

    @classmethod
    def parse(cls, by: str, model: str, option: str) -> Outlook:
        """Parse the values of the options; `option` is the name of that for the day. ConfigError for no day."""
        return cls(by if by in ("", EVERY_DAY) else parse_as_of(by, option), model)

    def findings(self, request: Request, world: World, exchange: int | None) -> Iterator[ReportFinding]:
        """Yield what becomes of a request that the API has accepted; nothing for Azure, whose names are deployments."""
        name = as_object(request.body).get("model")
        if request.dialect != OPENAI or not isinstance(name, str):
            return
        shutdown = find_shutdown(name) if self.by else None
        if shutdown and (self.by == EVERY_DAY or shutdown.day <= self.by):
            fix = f"Use {shutdown.replacement}, which OpenAI recommends." if shutdown.replacement else ""
            yield ReportFinding(
                "shutdown",
                False,
                f"{quote(name)} shuts down on {shutdown.day}.",
                exchange=exchange,
                at="model",
                fix=fix,
            )
        if self.model and self.model != name:
            yield from _judge_as(self.model, request, world, exchange)


NOTHING_ASKED = Outlook()


def _judge_as(model: str, request: Request, world: World, exchange: int | None) -> Iterator[ReportFinding]:
    """Yield what another model would refuse in a request, else what would change, else that the model is unknown."""
    day = world.as_of
    if check(WorldCall(request, world)).violation:  # since then, the World has lost what the request needs
        return
    try:
        world.as_of = max(day, CONTRACT_DATE)
        other = WorldCall(request._replace(body={**request.body, "model": model}), world)
        if violation := check(other).violation:
            message = f"{model} refuses this request: {violation.error.status} {violation.error.message}"
            rule, where = violation.rule, violation.error.param or ""
            yield ReportFinding("migration", False, message, rule.id, exchange, where, fix=rule.fix)
            return
        changes = list(_list_changes(WorldCall(request, world), other, world))
    finally:
        world.as_of = day
    family = world.models.find(model)
    if family is None or family.name_only:
        changes = [f"nothing is known of {model}, so nothing was refused for it"]
    if changes:
        message = f"{model} takes this request otherwise: {'; '.join(changes)}."
        yield ReportFinding("migration", True, message, exchange=exchange, at="model")


def _list_changes(call: WorldCall, other: WorldCall, world: World) -> Iterator[str]:
    """Yield the settings that another model would have instead, and the reasoning that it may not read."""
    if call.request.operation != CREATE_RESPONSE:
        return
    before, after = (_read_settings(asked, world) for asked in (call, other))
    for name, value in after.items():
        if name != "model" and before.get(name) != value:
            yield f"{name} {_show(before.get(name))} becomes {_show(value)}"
    if "reasoning" in call.transcript.types:
        made, read = call.members["model"], other.members["model"]
        yield f"reasoning of {made} in the input: {read} may not read it"


def _read_settings(call: WorldCall, world: World) -> Json:
    """Return the settings that a response would repeat, the members of objects by their path."""
    settings = read_settings(call.members, call.transcript, call.conversation, world.models, world.as_of)
    flat: Json = {}
    for name, value in settings.initial_response.items():
        members = value if name in ("reasoning", "text") and isinstance(value, dict) else {"": value}
        flat |= {f"{name}.{member}".rstrip("."): inner for member, inner in members.items()}
    return flat


def _show(value: Any) -> str:
    return "null" if value is None else str(value)


def outlook_lines(cases: Iterable[tuple[str, Iterable[ReportFinding]]]) -> list[str]:
    """Return a line for each different finding, the most frequent first, with the cases it is in."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name, findings in cases:
        for message_and_fix in dict.fromkeys((finding.message, finding.fix) for finding in findings):
            groups.setdefault(message_and_fix, []).append(name)
    lines = []
    for (message, fix), names in sorted(groups.items(), key=lambda group: -len(group[1])):
        named = ", ".join([*names[:MAX_NAMED], *(["…"] if names[MAX_NAMED:] else [])])
        lines.append(f"{' '.join(filter(None, (message, fix)))} {pluralize(len(names), 'case')}: {named}")
    return lines
