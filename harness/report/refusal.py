"""What was sent, as far as an error points to it; the evidence of a rule; the full bodies of an exchange."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from textwrap import indent
from typing import Any

from harness.api.models import Models
from harness.contract.rule import LEVELS, Rule, Source
from harness.core.exchange import Exchange, Request
from harness.core.loose_json import as_object
from harness.core.text.shorten import pluralize, quote, shorten, shorten_json

_PATH_STEP = re.compile(r"\[(\d+)]|([^.\[\]]+)")
_LEADING_MEMBERS = ("type", "role")
"""The members that say what an object is; they are shown beside those that matter."""


def render_evidence(rule: Rule) -> str:
    """The documentation of a rule and all its sources, the best first."""
    sources = [describe_source(source) for source in rank_sources(rule)]
    return "\n".join([f"{rule.id}:", *(indent(text, "  ") for text in [rule.doc, *sources])])


def rank_sources(rule: Rule) -> Sequence[Source]:
    """The sources of a rule, the best evidence first."""
    return sorted(rule.sources, key=lambda source: LEVELS.index(source.level))


def describe_source(source: Source) -> str:
    """A source in one line: `reported, https://…, 2026-03-27`."""
    return ", ".join(filter(None, [source.level, source.where, source.date]))


def advise(rule: Rule, exchange: Exchange, models: Models) -> str:
    """The fix of a rule; for the name of a model that is one slip from another, with the one that was meant."""
    request = exchange.request
    name = request.params.get("model") or as_object(request.body).get("model")
    is_about_name = rule.error.code == "model_not_found" and isinstance(name, str)
    meant = models.find_meant(str(name)) if is_about_name else None
    return f"Did you mean '{meant}'? {rule.fix}" if meant else rule.fix


def render_bodies(exchange: Exchange) -> str:
    """The whole bodies of a request and its answer."""
    sent = (
        exchange.request.body if exchange.request.body is not None else exchange.request.raw.decode("utf-8", "replace")
    )
    named = ((f"Request {exchange.number}", sent), (f"Answer {exchange.number}", exchange.answer.body))
    return "\n".join(
        f"{name}:\n{indent(_render_body(body), '  ')}" for name, body in named if body not in (None, "", b"")
    )


def _render_body(body: Any) -> str:
    if isinstance(body, bytes):
        return f"{pluralize(len(body), 'byte')}"
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2, default=str)


def describe_sent_part(request: Request, param: str | None, names: Collection[str] = ()) -> str:
    """The part of a request that an error is about: the body at `param`, or the deepest part that exists.

    Of a list or an object only what holds one of the `names` is shown: ids, or names of members.
    """
    if request.fault:
        return shorten(request.raw.decode("utf-8", "replace"))
    if not isinstance(request.body, dict):
        return shorten(f"{request.method} {request.path}") if request.body is None else shorten_json(request.body)
    found, value, missing = resolve_path(request.body, param or "")
    part = shorten(_cut_around(value, frozenset(names)), 200) if _holds(value, names) else shorten_json(value)
    if not missing:
        return f"{found} = {part}" if found else part
    return f"no {missing} in {found or 'the body'}: {part}"


def resolve_path(body: Any, path: str) -> tuple[str, Any, str]:
    """Follow a path such as `input[0].role`: the place reached, its value, and the step that fails (or "")."""
    reached, value = "", body
    for match in _PATH_STEP.finditer(path):
        index, name = match.groups()
        step: Any = name if index is None else int(index)
        try:
            value = value[step]
        except (IndexError, KeyError, TypeError):
            return reached, value, match[0]
        reached += f"[{index}]" if name is None else f".{name}" if reached else name
    return reached, value, ""


def _holds(value: Any, names: Collection[str]) -> bool:
    """Whether one of the names is a string in a value, or the name of a member."""
    if isinstance(value, str):
        return value in names
    if isinstance(value, dict):
        return any(name in names or _holds(own, names) for name, own in value.items())
    return isinstance(value, list) and any(_holds(each, names) for each in value)


def _cut_around(value: Any, names: Collection[str]) -> str:
    """A value without the entries and members that hold none of the names; how many there were stands in their place."""
    if isinstance(value, list):
        return f"[{', '.join(_cut_list(value, names))}]"
    if isinstance(value, dict) and _holds(value, names):
        return f"{{{', '.join(_cut_object(value, names))}}}"
    return quote(value, 60) if isinstance(value, str) else shorten_json(value, 1)


def _cut_list(entries: Sequence[Any], names: Collection[str]) -> Iterator[str]:
    hidden = 0
    for entry in entries:
        if _holds(entry, names):
            if hidden:
                yield f"… {pluralize(hidden, 'entry', 'entries')}"
            hidden = 0
            yield _cut_around(entry, names)
        else:
            hidden += 1
    if hidden:
        yield f"… {pluralize(hidden, 'entry', 'entries')}"


def _cut_object(members: dict[str, Any], names: Collection[str]) -> Iterator[str]:
    shown = 0
    for name, own in members.items():
        if name in names or name in _LEADING_MEMBERS or _holds(own, names):
            shown += 1
            yield f"{json.dumps(name)}: {_cut_around(own, names) if _holds(own, names) else shorten_json(own, 1)}"
    if hidden := len(members) - shown:
        yield f"… {hidden} more"
