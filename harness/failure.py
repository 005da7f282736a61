"""What a failed test shows of its World: the journal, refusals with reason and repair, requests no turn answered.

Every function takes data and returns text; long texts, lists and bodies are shown by their beginning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

from harness.exchange import Exchange, Json, Request
from harness.rule import LEVELS, RULES, Rule, Source

if TYPE_CHECKING:
    from harness.script import Route, Turn
    from harness.world import World

TITLE = "responses-harness"
WIDTH = 100
NEWEST = 20
"""Lines of a journal that are shown, the newest ones."""
REFUSALS = 5
"""Refusals that are explained, the newest ones."""
UNUSED = 10
"""Unused turns that are named, the first ones."""

_STEP = re.compile(r"\[(\d+)]|([^.\[\]]+)")


def verdict(world: World, *, unused: bool = True) -> str:
    """Why a test whose own assertions held has failed nevertheless; empty when it has not.

    `unused` says whether turns that no request took count.
    """
    left = world.turns.unused if unused else []
    return "\n".join(filter(None, [_unanswered(world), _unused(left) if left else ""]))


def report(world: World, *, unused: bool = False) -> str:
    """The journal of a World, its refusals and its unanswered requests; with `unused` also the turns left over."""
    left = world.turns.unused if unused else []
    parts = [journal(world.exchanges) or _silent(world), *_refusals(world.exchanges), *_problems(world)]
    return "\n\n".join([*parts, *([_unused(left)] if left else [])])


def journal(exchanges: Sequence[Exchange]) -> str:
    """One line for each of the newest exchanges: number, method and path, model, input, status, and what refused it."""
    shown = exchanges[-NEWEST:]
    rows = [_row(exchange) for exchange in shown]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if hidden := len(exchanges) - len(shown):
        lines.insert(0, f"… {_count(hidden, 'earlier request')}")
    return "\n".join(lines)


def refusal(exchange: Exchange, rule: Rule) -> str:
    """A refused request: what was sent, where the API saw the fault, why it says so, how to fix it, how we know."""
    error = {"message": rule.summary, "param": None, **_error(exchange)}
    details = [
        ("sent", sent(exchange.request, error["param"])),
        ("where", error["param"] or ""),
        ("why", "\n".join([_wrapped(_cut(error["message"], 400)), *filter(None, rule.doc.splitlines())])),
        ("fix", _wrapped(rule.fix)),
        ("source", "\n".join(_evidence(rule.sources))),
    ]
    lines = [f"{name:<8}{indent(text, ' ' * 8).lstrip()}" for name, text in details if text]
    return "\n".join([f"Request {exchange.number} was refused ({exchange.status}) by {rule.id}:", *_indented(lines)])


def sent(request: Request, param: str | None) -> str:
    """The part of a request an error is about: the body at `param`, or what is there when nothing is."""
    if request.fault:
        return _cut(request.raw.decode("utf-8", "replace"))
    if not isinstance(request.body, dict):
        return _cut(f"{request.method} {request.path}") if request.body is None else brief(request.body)
    found, value, missing = at(request.body, param or "")
    if not missing:
        return f"{found} = {brief(value)}" if found else brief(value)
    return f"no {missing} in {found or 'the body'}: {brief(value)}"


def at(body: Any, path: str) -> tuple[str, Any, str]:
    """How far a path like `input[0].role` leads: the place reached, its value, and the step that fails (or "")."""
    reached, value = "", body
    for match in _STEP.finditer(path):
        index, name = match.groups()
        step: Any = name if index is None else int(index)
        try:
            value = value[step]
        except (IndexError, KeyError, TypeError):
            return reached, value, match[0]
        reached += f"[{index}]" if name is None else f".{name}" if reached else name
    return reached, value, ""


def brief(value: Any, depth: int = 3) -> str:
    """A JSON value in at most about 160 characters: the first members, the beginning of each text."""
    return _cut(_shortened(value, depth), 160)


def gist(item: Any) -> str:
    """An item in a few words: its role or type, its name or `call_id`, the beginning of its text."""
    if not isinstance(item, dict):
        return brief(item, 1)
    named = [item.get("role") or item.get("type") or "item", item.get("name") or item.get("call_id")]
    text = _text(item)
    said = _cut(text, 40) if text.startswith(("{", "[")) else _quoted(text) if text else ""
    return " ".join([*(_cut(str(word), 40) for word in named if word), *([said] if said else [])])


def _row(exchange: Exchange) -> tuple[str, ...]:
    body = exchange.request.body if isinstance(exchange.request.body, dict) else {}
    refused = exchange.answer.rule or (_error(exchange).get("code") if exchange.status >= 400 else None)
    return (
        f"{exchange.number:>3}",
        f"{exchange.request.method} {_middle(exchange.request.path)}",
        _cut(str(body.get("model") or ""), 24),
        _asked(body.get("input")),
        str(exchange.status),
        str(refused or ""),
    )


def _error(exchange: Exchange) -> Json:
    """What an answer says of an error: its `error`, or itself where Azure has no such object."""
    body = exchange.answer.body if isinstance(exchange.answer.body, dict) else {}
    error = body.get("error", body)
    return error if isinstance(error, dict) else {}


def _asked(said: Any) -> str:
    if isinstance(said, str):
        return _quoted(said)
    if not isinstance(said, list) or not said:
        return "" if said is None else brief(said, 1)
    last = gist(said[-1])
    return last if len(said) == 1 else f"{len(said)} items, last: {last}"


def _text(item: Json) -> str:
    for member in ("content", "output", "arguments", "input", "text"):
        value = item.get(member)
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            return " ".join(str(part.get("text") or part.get("type")) for part in value[:3] if isinstance(part, dict))
    return ""


def _refusals(exchanges: Sequence[Exchange]) -> list[str]:
    refused = [(exchange, RULES[rule]) for exchange in exchanges if (rule := exchange.answer.rule) in RULES]
    hidden = len(refused) - REFUSALS
    earlier = [f"… {_count(hidden, 'earlier refusal')}"] if hidden > 0 else []
    return [*earlier, *(refusal(exchange, rule) for exchange, rule in refused[-REFUSALS:])]


def _problems(world: World) -> list[str]:
    shown = world.problems[-REFUSALS:]
    return [f"{_named(world, request)} could not be answered:\n{indent(text, '  ')}" for request, text in shown]


def _unanswered(world: World) -> str:
    if not world.problems:
        return ""
    request, text = world.problems[0]
    more = f" (and {len(world.problems) - 1} more)" if len(world.problems) > 1 else ""
    return f"{_named(world, request)} could not be answered{more}: {text.splitlines()[0]}"


def _named(world: World, request: Request) -> str:
    number = next((exchange.number for exchange in world.exchanges if exchange.request is request), 0)
    return f"Request {number}, {request.method} {request.path},"


def _unused(left: Sequence[tuple[Route, Turn]]) -> str:
    lines = [f"  {route}: {_turn(turn)}" for route, turn in left[:UNUSED]]
    if hidden := len(left) - len(lines):
        lines.append(f"  … {hidden} more")
    fix = 'Remove what is too much, or allow it: @pytest.mark.harness(unused="allow").'
    return "\n".join([f"{_count(len(left), 'turn')} of the script no request took:", *lines, fix])


def _turn(turn: Any) -> str:
    items = turn if isinstance(turn, list | tuple) else [turn]
    return " + ".join(
        gist({**item.members, "role": item.type}) if hasattr(item, "members") else _code(item) for item in items
    )


def _code(turn: Callable[..., Any] | Iterator[Any]) -> str:
    return f"the function {getattr(turn, '__name__', type(turn).__name__)}"


def _silent(world: World) -> str:
    return (
        f"No request came with this test's key {world.api_key}. The code under test must read\n"
        "OPENAI_BASE_URL and OPENAI_API_KEY while the test runs (a client made at import is too early), or be given\n"
        "mock.base_url and mock.api_key."
    )


def _evidence(sources: Sequence[Source]) -> list[str]:
    ranked = sorted(sources, key=lambda source: LEVELS.index(source.level))
    return [", ".join(filter(None, [source.level, source.where, source.date])) for source in ranked[:3]]


def _shortened(value: Any, depth: int) -> str:
    if isinstance(value, str):
        return _quoted(value, 60)
    if isinstance(value, dict):
        pairs = (
            [f"{json.dumps(name)}: {_shortened(own, depth - 1)}" for name, own in list(value.items())[:6]]
            if depth
            else []
        )
        return f"{{{_listed(pairs, len(value))}}}"
    if isinstance(value, list):
        return f"[{_listed([_shortened(own, depth - 1) for own in value[:3]] if depth else [], len(value))}]"
    return json.dumps(value)


def _listed(shown: Sequence[str], total: int) -> str:
    hidden = total - len(shown)
    return ", ".join(chain(shown, [f"… {hidden} more" if shown else "…"] if hidden else []))


def _quoted(text: str, width: int = 40) -> str:
    return json.dumps(_cut(text, width), ensure_ascii=False)


def _cut(text: str, width: int = WIDTH) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _middle(path: str) -> str:
    return path if len(path) <= 40 else f"{path[:26]}…{path[-13:]}"


def _wrapped(text: str) -> str:
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _indented(lines: Sequence[str]) -> Iterator[str]:
    return (indent(line, "  ") for line in lines)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
