"""Renders a refused request: what was sent, where and why it was refused, the fix, the evidence of the rule."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import fill, indent
from typing import Any

from harness.contract.rule import LEVELS, Rule, Source
from harness.core.exchange import Exchange, Request
from harness.core.shorten import LINE_WIDTH, answer_error, shorten, shorten_json

_PATH_STEP = re.compile(r"\[(\d+)]|([^.\[\]]+)")


def render_refusal(exchange: Exchange, rule: Rule) -> str:
    """The lines of a refused request: what was sent, where, why, the fix, the sources of the rule."""
    error = {"message": rule.summary, "param": None, **answer_error(exchange)}
    details = [
        ("sent", describe_sent_part(exchange.request, error["param"])),
        ("where", error["param"] or ""),
        ("why", "\n".join([_wrap(shorten(error["message"], 400)), *filter(None, rule.doc.splitlines())])),
        ("fix", _wrap(rule.fix)),
        ("source", "\n".join(_source_lines(rule.sources))),
    ]
    lines = [f"{name:<8}{indent(text, ' ' * 8).lstrip()}" for name, text in details if text]
    head = f"Request {exchange.number} was refused ({exchange.status}) by {rule.id}:"
    return "\n".join([head, *(indent(line, "  ") for line in lines)])


def describe_sent_part(request: Request, param: str | None) -> str:
    """The part of a request that an error is about: the body at `param`, or the deepest part that exists."""
    if request.fault:
        return shorten(request.raw.decode("utf-8", "replace"))
    if not isinstance(request.body, dict):
        return shorten(f"{request.method} {request.path}") if request.body is None else shorten_json(request.body)
    found, value, missing = resolve_path(request.body, param or "")
    if not missing:
        return f"{found} = {shorten_json(value)}" if found else shorten_json(value)
    return f"no {missing} in {found or 'the body'}: {shorten_json(value)}"


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


def _source_lines(sources: Sequence[Source]) -> list[str]:
    ranked = sorted(sources, key=lambda source: LEVELS.index(source.level))
    return [", ".join(filter(None, [source.level, source.where, source.date])) for source in ranked[:3]]


def _wrap(text: str) -> str:
    return fill(text, LINE_WIDTH, break_long_words=False, break_on_hyphens=False)
