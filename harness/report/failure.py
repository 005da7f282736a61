"""The report section of a failed test: the cause in two lines, then journal, refusals, losses and flow of its World.

Long texts, lists and bodies are truncated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill, indent
from typing import TYPE_CHECKING, Any

from harness.analysis.flow_steps import is_unanswered
from harness.analysis.lanes import asks_model, without_probes
from harness.analysis.loss import Lost
from harness.contract.rule import RULES
from harness.core.delivery import Fault
from harness.core.exchange import Exchange, Request
from harness.core.shorten import LINE_WIDTH, pluralize, shorten, summarize_item
from harness.ending import Ending
from harness.items.kind import Item
from harness.report.journal import render_journal
from harness.report.refusal import render_refusal
from harness.report.refusal_cause import explain_refusal
from harness.world.mock import Mock

if TYPE_CHECKING:
    from harness.world.script import Route, Turn
    from harness.world.world import World

SECTION_TITLE = "responses-harness"
DIAGRAM_TITLE = "responses-harness: the flow as a Mermaid diagram"
MAX_REFUSALS = 5
"""How many refusals are explained, the newest ones."""
MAX_UNUSED = 10
"""How many unused turns are listed, the first ones."""
MAX_LOSSES = 10
"""How many losses are listed, the first ones."""
MAX_STEPS = 20
"""How many exchanges of the flow are shown, the newest ones."""


def verdict(world: World, losses: Sequence[Lost] = (), *, unused: bool = True) -> str:
    """Why a test fails although its own assertions passed, the cause first; empty when it does not fail.

    `losses` are those of accepted requests; `unused` says whether unused turns of the script fail a test.
    """
    unused_turns = world.script.unused if unused else []
    parts = [
        _unanswered_headline(world),
        _losses_headline(losses),
        _render_unused(unused_turns) if unused_turns else "",
    ]
    refused = _last_refused_request(world) if unused_turns and not any(parts[:2]) else None
    return "\n".join(filter(None, [_refusal_headline(world, refused, losses) if refused else "", *parts]))


def render_failure(world: World, losses: Sequence[Lost] = (), *, unused: bool = False, verdict: str = "") -> str:
    """The whole section; its first two lines are the cause, those of the `verdict` if there is one.

    With `unused` it lists the unused turns of the script.
    """
    unused_turns = world.script.unused if unused else []
    parts = [
        "\n".join(verdict.splitlines()[:2]) or _newest_problem(world, losses),
        render_journal(world.exchanges, Mock(world).lanes) or _no_request_text(world),
        *_render_refusals(world.exchanges),
        *_render_problems(world),
        *_render_losses(losses),
        f"The flow:\n{indent(Mock(world).flow.last_steps(MAX_STEPS).text, '  ')}" if world.exchanges else "",
        _render_unused(unused_turns) if unused_turns else "",
    ]
    return "\n\n".join(filter(None, parts))


def render_diagram(world: World) -> str:
    """The newest part of the flow as a Mermaid diagram; empty when there was no request."""
    return Mock(world).flow.last_steps(MAX_STEPS).mermaid if world.exchanges else ""


def _newest_problem(world: World, losses: Sequence[Lost]) -> str:
    """The newest problem in two lines: a refusal, an unanswered request, or the first loss after both."""
    refused = next((one for one in reversed(without_probes(world.exchanges)) if one.status >= 400), None)
    later = [lost for lost in losses if refused is None or lost.exchange > refused.number]
    return _loss_headline(later[0]) if later else _refusal_headline(world, refused, losses) if refused else ""


def _refusal_headline(world: World, refused: Exchange, losses: Sequence[Lost]) -> str:
    if not is_unanswered(refused):
        return "\n".join(explain_refusal(refused, world.exchanges, losses))
    return next((_problem_headline(world, *one) for one in world.problems if _is_exchange_of(refused, one[0])), "")


def _last_refused_request(world: World) -> Exchange | None:
    """The last request to the model if it was refused, which explains unused turns; else None."""
    model_requests = [exchange for exchange in world.exchanges if asks_model(exchange.request)]
    return model_requests[-1] if model_requests and model_requests[-1].status >= 400 else None


def _losses_headline(losses: Sequence[Lost]) -> str:
    """The first loss in two lines, and how to allow it."""
    if not losses:
        return ""
    more = f" ({len(losses) - 1} more below)" if len(losses) > 1 else ""
    known = ", ".join(f'"{id}"' for id in dict.fromkeys(lost.loss for lost in losses))
    return f"{_loss_headline(losses[0])}\nMend the client{more}, or allow it: @pytest.mark.harness(losses=[{known}])."


def _loss_headline(lost: Lost) -> str:
    origin = f"said in exchange {lost.said}; " if lost.said else ""
    place = lost.at or "the request"
    loss = f"Loss {lost.loss} in request {lost.exchange}: {_join_lines(lost.message)}"
    return f"{loss}\n{place}: {origin}{_join_lines(lost.fix)}"


def _render_losses(losses: Sequence[Lost]) -> Iterator[str]:
    for lost in losses[:MAX_LOSSES]:
        details = [
            ("where", lost.at),
            ("what", lost.message),
            ("said", f"in exchange {lost.said}" if lost.said else ""),
        ]
        lines = [f"  {name:<8}{_wrap(text)}" for name, text in [*details, ("fix", lost.fix)] if text]
        yield "\n".join([f"Request {lost.exchange} shows a loss, {lost.loss}:", *lines])
    if (hidden := len(losses) - MAX_LOSSES) > 0:
        yield f"… {hidden} more {'loss' if hidden == 1 else 'losses'}"


def _render_refusals(exchanges: Sequence[Exchange]) -> list[str]:
    refused = [
        (exchange, RULES[rule])
        for exchange in without_probes(exchanges)
        if (rule := exchange.answer.rule or "") in RULES
    ]
    hidden = len(refused) - MAX_REFUSALS
    earlier = [f"… {pluralize(hidden, 'earlier refusal')}"] if hidden > 0 else []
    return [*earlier, *(render_refusal(exchange, rule) for exchange, rule in refused[-MAX_REFUSALS:])]


def _render_problems(world: World) -> list[str]:
    shown = world.problems[-MAX_REFUSALS:]
    return [f"{_request_label(world, request)} could not be answered:\n{indent(text, '  ')}" for request, text in shown]


def _unanswered_headline(world: World) -> str:
    if not world.problems:
        return ""
    more = f" (and {len(world.problems) - 1} more)" if len(world.problems) > 1 else ""
    return _problem_headline(world, *world.problems[0], more)


def _problem_headline(world: World, request: Request, text: str, more: str = "") -> str:
    """An unanswered request in two lines: why, and what differed or what was sent."""
    first, *rest = text.splitlines()
    differing = [line.strip() for line in rest if line.lstrip().startswith(("-", "+"))]
    why = "; ".join(differing) or f"it sent {_sent_gist(request)}"
    return f"{_request_label(world, request)} could not be answered{more}: {first}\n{shorten(why, 300)}"


def _sent_gist(request: Request) -> str:
    """The end of the input of a request, or its path."""
    input = request.body.get("input") if isinstance(request.body, dict) else None
    last = input[-1] if isinstance(input, list) and input else {"role": "user", "content": input}
    return summarize_item(last) if input else f"{request.method} {request.path}"


def _request_label(world: World, request: Request) -> str:
    number = next((exchange.number for exchange in world.exchanges if _is_exchange_of(exchange, request)), 0)
    return f"Request {number}, {request.method} {request.path},"


def _is_exchange_of(exchange: Exchange, request: Request) -> bool:
    """Whether an exchange belongs to a request, or to the WebSocket event that holds the request."""
    return exchange.request is request or (request.raw != b"" and exchange.request.raw is request.raw)


def _render_unused(unused_turns: Sequence[tuple[Route, Turn]]) -> str:
    lines = [f"  {route}: {summarize_turn(turn)}" for route, turn in unused_turns[:MAX_UNUSED]]
    if hidden := len(unused_turns) - len(lines):
        lines.append(f"  … {hidden} more")
    fix = 'Remove what is too much, or allow it: @pytest.mark.harness(unused="allow").'
    return "\n".join([f"{pluralize(len(unused_turns), 'turn')} of the script no request took:", *lines, fix])


def summarize_turn(turn: Any) -> str:
    """A turn in one line: its items, its ending, its faults."""
    return " + ".join(map(_summarize_line, turn if isinstance(turn, list | tuple) else [turn]))


def _summarize_line(line: Any) -> str:
    """An item, ending or fault of a turn; else the function that would return them."""
    if isinstance(line, Item):
        return summarize_item({**line.members, "role": line.type})
    if isinstance(line, Ending | Fault):
        return getattr(line, "status", type(line).__name__.lower())
    return f"the function {getattr(line, '__name__', type(line).__name__)}"


def _no_request_text(world: World) -> str:
    return (
        f"No request came with this test's key {world.api_key}. The code under test must read\n"
        "OPENAI_BASE_URL and OPENAI_API_KEY while the test runs (a client made at import is too early), or be given\n"
        "mock.base_url and mock.api_key."
    )


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _wrap(text: str) -> str:
    return fill(text, LINE_WIDTH, break_long_words=False, break_on_hyphens=False, subsequent_indent=" " * 10)
