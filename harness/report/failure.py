"""What a failed test shows of its World: the cause in two lines, then the journal, refusals, losses and the whole flow.

Every function takes data and returns text; long texts, lists and bodies are shown by their beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

from harness.analysis.lanes import asks_model, without_probes
from harness.analysis.loss import Lost
from harness.analysis.steps import is_unanswered
from harness.contract.rule import RULES
from harness.core.delivery import Fault
from harness.core.exchange import Exchange, Request
from harness.core.shorten import LINE_WIDTH, pluralize, shorten, summarize_item
from harness.ending import Ending
from harness.items.kind import Item
from harness.report.cause import cause
from harness.report.journal import journal
from harness.report.refusal import refusal

if TYPE_CHECKING:
    from harness.world.script import Route, Turn
    from harness.world.world import World

TITLE = "responses-harness"
DIAGRAM = "responses-harness: the flow as a Mermaid diagram"
REFUSALS = 5
"""Refusals that are explained, the newest ones."""
UNUSED = 10
"""Unused turns that are named, the first ones."""
LOSSES = 10
"""Losses that are told, the first ones."""
STEPS = 20
"""Exchanges of a flow that are told, the newest ones."""


def verdict(world: World, losses: Sequence[Lost] = (), *, unused: bool = True) -> str:
    """Why a test whose own assertions held has failed nevertheless, its cause first; empty when it has not.

    `losses` are those of requests that the API took, `unused` says whether turns that no request took do.
    """
    left = world.turns.unused if unused else []
    parts = [_unanswered(world), _lost(losses), _unused(left) if left else ""]
    refused = _stopped(world) if left and not any(parts[:2]) else None
    return "\n".join(filter(None, [_headline(world, refused, losses) if refused else "", *parts]))


def report(world: World, losses: Sequence[Lost] = (), *, unused: bool = False, verdict: str = "") -> str:
    """What a World saw; its first two lines are the cause of the failure, those of the `verdict` if there is one.

    With `unused` also the turns left over.
    """
    left = world.turns.unused if unused else []
    parts = [
        "\n".join(verdict.splitlines()[:2]) or _newest(world, losses),
        journal(world.exchanges, world.lanes) or _silent(world),
        *_refusals(world.exchanges),
        *_problems(world),
        *_told(losses),
        f"The flow:\n{indent(world.flow.last_steps(STEPS).text, '  ')}" if world.exchanges else "",
        _unused(left) if left else "",
    ]
    return "\n\n".join(filter(None, parts))


def diagram(world: World) -> str:
    """The newest part of the flow as a Mermaid diagram; empty when there was no request."""
    return world.flow.last_steps(STEPS).mermaid if world.exchanges else ""


def _newest(world: World, losses: Sequence[Lost]) -> str:
    """The newest problem, in two lines: a refusal, a request that no turn answered, or the first loss after both."""
    refused = next((one for one in reversed(without_probes(world.exchanges)) if one.status >= 400), None)
    later = [lost for lost in losses if refused is None or lost.exchange > refused.number]
    return _loss(later[0]) if later else _headline(world, refused, losses) if refused else ""


def _headline(world: World, refused: Exchange, losses: Sequence[Lost]) -> str:
    if not is_unanswered(refused):
        return "\n".join(cause(refused, world.exchanges, losses))
    return next((_problem(world, *one) for one in world.problems if _is_of(refused, one[0])), "")


def _stopped(world: World) -> Exchange | None:
    """The last request to the model when it was refused: what was scripted for later requests never had its turn."""
    asked = [exchange for exchange in world.exchanges if asks_model(exchange.request)]
    return asked[-1] if asked and asked[-1].status >= 400 else None


def _lost(losses: Sequence[Lost]) -> str:
    """The first loss in two lines, and how to allow it."""
    if not losses:
        return ""
    more = f" ({len(losses) - 1} more below)" if len(losses) > 1 else ""
    known = ", ".join(f'"{id}"' for id in dict.fromkeys(lost.loss for lost in losses))
    return f"{_loss(losses[0])}\nMend the client{more}, or allow it: @pytest.mark.harness(losses=[{known}])."


def _loss(lost: Lost) -> str:
    origin = f"said in exchange {lost.said}; " if lost.said else ""
    place = lost.at or "the request"
    return f"Loss {lost.loss} in request {lost.exchange}: {_flat(lost.message)}\n{place}: {origin}{_flat(lost.fix)}"


def _told(losses: Sequence[Lost]) -> Iterator[str]:
    for lost in losses[:LOSSES]:
        details = [
            ("where", lost.at),
            ("what", lost.message),
            ("said", f"in exchange {lost.said}" if lost.said else ""),
        ]
        lines = [f"  {name:<8}{_wrapped(text)}" for name, text in [*details, ("fix", lost.fix)] if text]
        yield "\n".join([f"Request {lost.exchange} shows a loss, {lost.loss}:", *lines])
    if (hidden := len(losses) - LOSSES) > 0:
        yield f"… {hidden} more {'loss' if hidden == 1 else 'losses'}"


def _refusals(exchanges: Sequence[Exchange]) -> list[str]:
    refused = [
        (exchange, RULES[rule]) for exchange in without_probes(exchanges) if (rule := exchange.answer.rule) in RULES
    ]
    hidden = len(refused) - REFUSALS
    earlier = [f"… {pluralize(hidden, 'earlier refusal')}"] if hidden > 0 else []
    return [*earlier, *(refusal(exchange, rule) for exchange, rule in refused[-REFUSALS:])]


def _problems(world: World) -> list[str]:
    shown = world.problems[-REFUSALS:]
    return [f"{_named(world, request)} could not be answered:\n{indent(text, '  ')}" for request, text in shown]


def _unanswered(world: World) -> str:
    if not world.problems:
        return ""
    more = f" (and {len(world.problems) - 1} more)" if len(world.problems) > 1 else ""
    return _problem(world, *world.problems[0], more)


def _problem(world: World, request: Request, text: str, more: str = "") -> str:
    """A request that no turn answered, in two lines: why, and what differed or what was sent."""
    first, *rest = text.splitlines()
    differing = [line.strip() for line in rest if line.lstrip().startswith(("-", "+"))]
    why = "; ".join(differing) or f"it sent {_sent(request)}"
    return f"{_named(world, request)} could not be answered{more}: {first}\n{shorten(why, 300)}"


def _sent(request: Request) -> str:
    """The end of the input of a request, or its path."""
    asked = request.body.get("input") if isinstance(request.body, dict) else None
    last = asked[-1] if isinstance(asked, list) and asked else {"role": "user", "content": asked}
    return summarize_item(last) if asked else f"{request.method} {request.path}"


def _named(world: World, request: Request) -> str:
    number = next((exchange.number for exchange in world.exchanges if _is_of(exchange, request)), 0)
    return f"Request {number}, {request.method} {request.path},"


def _is_of(exchange: Exchange, request: Request) -> bool:
    """Whether it is the exchange of a request, or of the event of a WebSocket that a request was made of."""
    return exchange.request is request or (request.raw != b"" and exchange.request.raw is request.raw)


def _unused(left: Sequence[tuple[Route, Turn]]) -> str:
    lines = [f"  {route}: {said_in(turn)}" for route, turn in left[:UNUSED]]
    if hidden := len(left) - len(lines):
        lines.append(f"  … {hidden} more")
    fix = 'Remove what is too much, or allow it: @pytest.mark.harness(unused="allow").'
    return "\n".join([f"{pluralize(len(left), 'turn')} of the script no request took:", *lines, fix])


def said_in(turn: Any) -> str:
    """A turn in one line: what is said in it, how it ends, what goes wrong."""
    return " + ".join(map(_line, turn if isinstance(turn, list | tuple) else [turn]))


def _line(line: Any) -> str:
    """A line of a turn: what is said, how it ends or what goes wrong with it; else the function that would say it."""
    if isinstance(line, Item):
        return summarize_item({**line.members, "role": line.type})
    if isinstance(line, Ending | Fault):
        return getattr(line, "status", type(line).__name__.lower())
    return f"the function {getattr(line, '__name__', type(line).__name__)}"


def _silent(world: World) -> str:
    return (
        f"No request came with this test's key {world.api_key}. The code under test must read\n"
        "OPENAI_BASE_URL and OPENAI_API_KEY while the test runs (a client made at import is too early), or be given\n"
        "mock.base_url and mock.api_key."
    )


def _flat(text: str) -> str:
    return " ".join(text.split())


def _wrapped(text: str) -> str:
    return fill(text, LINE_WIDTH, break_long_words=False, break_on_hyphens=False, subsequent_indent=" " * 10)
