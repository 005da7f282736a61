"""How a refusal is known: the sources of its rule, and the whole bodies of its exchange."""

from __future__ import annotations

import json
from collections.abc import Sequence
from textwrap import indent
from typing import Any

from harness.contract.rule import LEVELS, Rule, Source
from harness.core.exchange import Exchange
from harness.core.text.shorten import pluralize


def render_evidence(rule: Rule) -> str:
    """Render the documentation of a rule and all its sources, the best first."""
    sources = [describe_source(source) for source in rank_sources(rule)]
    return "\n".join([f"{rule.id}:", *(indent(text, "  ") for text in [rule.doc, *sources])])


def rank_sources(rule: Rule) -> Sequence[Source]:
    """Sort the sources of a rule, the best evidence first."""
    return sorted(rule.sources, key=lambda source: LEVELS.index(source.level))


def describe_source(source: Source) -> str:
    """Word a source in one line: `reported, https://…, 2026-03-27`."""
    return ", ".join(filter(None, [source.level, source.where, source.date]))


def render_bodies(exchange: Exchange) -> str:
    """Render the whole bodies of a request and its answer."""
    request = exchange.request
    sent = request.body if request.body is not None else request.raw.decode("utf-8", "replace")
    named = ((f"Request {exchange.number}", sent), (f"Answer {exchange.number}", exchange.answer.body))
    return "\n".join(
        f"{name}:\n{indent(_render_body(body), '  ')}" for name, body in named if body not in (None, "", b"")
    )


def _render_body(body: Any) -> str:
    if isinstance(body, bytes):
        return f"{pluralize(len(body), 'byte')}"
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2, default=str)
