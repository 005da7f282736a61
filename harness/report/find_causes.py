"""The causes of failures, one function for each kind: refusals, losses, unanswered requests, unused turns, silence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.analysis.lanes import PROBE_RULES
from harness.analysis.loss import Lost
from harness.contract.rules.http.access import mask_key
from harness.core.delivery import Fault
from harness.core.exchange import Answer, Exchange, Request, Stray
from harness.core.plain import is_model
from harness.core.text.raised import DETAIL_MARKS, describe_code
from harness.core.text.shorten import pluralize, shorten_repr, summarize_item
from harness.core.text.vocabulary import PYTHON, Vocabulary
from harness.ending import Ending
from harness.items import message
from harness.items.kind import Item
from harness.report.cause import Cause
from harness.report.refusal import advise, describe_source, rank_sources
from harness.report.refusal_cause import describe_refusal, explain_refusal
from harness.world.routed import RoutedPath
from harness.world.script import Repeated, Route

if TYPE_CHECKING:
    from harness.world.refusals import ExpectedRefusal
    from harness.world.world import World

_OTHER_SERVERS = re.compile(r"(?:/v1)?/(?:(?:props|version|slots|health|info|ping|tags|get_model_info)/?$|api/)")
"""What clients of many servers ask for: those of llama.cpp, Ollama, LM Studio, vLLM, SGLang, Text Generation Inference."""
HANG_UP_FIX = (
    "Give the client more time than the answer takes (its `timeout`), let it ask once (`max_retries=0`), read its stream "
    "to the end, or script a turn for the second request."
)
SAME_REQUEST = "a stream that is not read, an answer that nobody awaits and a retry after a timeout take one each"
MAX_EXPLAINED = 5
"""How many refusals are traced to what the client did, the first ones."""
MAX_DIFFERING = 4
"""How many lines of a diff are shown of each side, the first ones."""
MAX_UNUSED = 6
"""How many unused turns are listed, the first ones."""


def refusal_cause(exchange: Exchange, exchanges: Sequence[Exchange], losses: Sequence[Lost], world: World) -> Cause:
    """A refused request: the API's words, what the client did, what it sent, the fix, the best source of the rule."""
    rule = world.rules.get(exchange.answer.rule or "")
    explained = explain_refusal(exchange, exchanges, losses, world.rules)
    sent = explained.sent if explained.sent not in explained.where else ""
    rows = [("where", explained.where), ("sent", sent)]
    if rule:
        rows += [
            ("fix", world.vocabulary.word_fix(advise(rule, exchange, world.models))),
            ("source", f"{rule.id}: {describe_source(rank_sources(rule)[0])}"),
        ]
    return Cause(explained.what, rows, exchange.number)


def unasked_causes(world: World, losses: Sequence[Lost]) -> list[Cause]:
    """The refusals that nobody asked for; the first ones are explained, with how to expect or allow all of them."""
    if not (unasked := [exchange for exchange in world.refusals.unasked if not _asks_for_other_server(exchange)]):
        return []
    rules = list(dict.fromkeys(exchange.answer.rule or "" for exchange in unasked))
    expect = world.vocabulary.expect_refusals(rules)
    explained = [refusal_cause(exchange, world.exchanges, losses, world) for exchange in unasked[:MAX_EXPLAINED]]
    rest = [Cause(describe_refusal(exchange), (), exchange.number) for exchange in unasked[MAX_EXPLAINED:]]
    return [replace(cause, rows=[*cause.rows[:-1], ("expect", expect), *cause.rows[-1:]]) for cause in explained] + rest


def probe_causes(world: World) -> list[Cause]:
    """Explain the requests by which clients find out which server they talk to, as one cause; none without any."""
    probes = [exchange for exchange in world.refusals.unasked if _asks_for_other_server(exchange)]
    if not probes:
        return []
    asked = dict.fromkeys(f"{probe.request.method} {probe.request.root}{probe.request.path}" for probe in probes)
    were = "was" if len(probes) == 1 else "were"
    rows = [
        ("where", ", ".join(asked)),
        ("fix", "The client asks so which kind of server this is. Where that is meant, expect it."),
        ("expect", world.vocabulary.expect_refusals([PROBE_RULES[1]])),
    ]
    what = f"{pluralize(len(probes), 'request')} for what only other servers have {were} refused ({probes[0].status})."
    return [Cause(what, rows, probes[0].number)]


def _asks_for_other_server(exchange: Exchange) -> bool:
    return exchange.answer.rule in PROBE_RULES and bool(_OTHER_SERVERS.match(exchange.request.path))


def absence_cause(expected: ExpectedRefusal) -> Cause:
    """A refusal that was expected and did not come: what came in its place."""
    return Cause(expected.absence, [("came", "\n".join(expected.list_refusals())), ("fix", expected.name_hint)])


def dropped_world_cause() -> Cause:
    """The server has dropped an earlier World of this key, and nobody knows what was in it."""
    return Cause(
        "The server had dropped what this key did before, to keep no more Worlds than its limit, as a worker had ended, or "
        "as its store had lost it; nothing of it is judged.",
        [
            (
                "fix",
                "Serve with a higher --worlds, from a store that evicts nothing, or end each test with DELETE "
                "/_harness/world.",
            )
        ],
    )


def loss_cause(lost: Lost, vocabulary: Vocabulary) -> Cause:
    """A loss: what is gone, where it is missing and which exchange said it, the fix, how to allow it."""
    said = f"exchange {lost.said} said it; " if lost.said else ""
    rows = [
        ("where", lost.at or "the request"),
        ("fix", lost.fix),
        ("allow", vocabulary.allow_losses([lost.loss])),
        ("source", f"{said}`harness losses {lost.loss}` explains it"),
    ]
    return Cause(f"Loss {lost.loss} in request {lost.exchange}: {lost.message}", rows, lost.exchange)


def shown_otherwise_cause(world: World, message: str) -> Cause:
    """Explain a difference between what a client shows and what it was said, as `POST /_harness/surfaced` told it."""
    rows = [
        ("fix", "Look where the client makes its result of what it received; GET /_harness/said has that."),
        ("allow", world.vocabulary.allow_losses([])),
        ("source", "POST /_harness/surfaced compared them"),
    ]
    return Cause(f"The client does not show what was said: {message}", rows)


def unanswered_cause(world: World, request: Request, text: str) -> Cause:
    """A request that the harness could not answer: why, what differed from the nearest route, what it sent, the fix.

    The first line of the text says what is wrong; lines that begin with `-` or `+` show a difference, those of
    `DETAIL_MARKS` what code of the test has raised, others the fix.
    """
    number = next((exchange.number for exchange in world.exchanges if is_same_request(exchange, request)), 0)
    what, *rest = text.splitlines() or [""]
    again = _find_same_request(world, request, number)
    if again and again.number in world.hang_ups:
        left = f"the client {_describe_hang_up(world, again.number)} and asked again."
        rows = [("where", what), ("sent", _sent_gist(request)), ("fix", HANG_UP_FIX)]
        return Cause(f"Request {number}, {request.method} {request.path}, could not be answered: {left}", rows, number)
    why = f"request {again.number} asked the same and took a turn: {SAME_REQUEST}" if again else ""
    shown = [line.strip() for line in rest if line.lstrip().startswith(("-", "+", *DETAIL_MARKS))]
    fix = " ".join(line.strip() for line in rest if line.strip() not in shown)
    rows = [("where", "\n".join(shown)), ("sent", _sent_gist(request)), ("why", why), ("fix", fix)]
    return Cause(f"Request {number}, {request.method} {request.path}, could not be answered: {what}", rows, number)


def _find_same_request(world: World, request: Request, number: int) -> Exchange | None:
    """Find the newest exchange before number `number` that answered the same request."""
    earlier = (exchange for exchange in reversed(world.exchanges) if exchange.number < number and exchange.status < 400)
    return next((exchange for exchange in earlier if _asks_the_same(exchange.request, request)), None)


def _asks_the_same(request: Request, other: Request) -> bool:
    return (request.method, request.path, request.body) == (other.method, other.path, other.body)


def _describe_hang_up(world: World, number: int) -> str:
    return f"hung up on request {number} after {world.hang_ups[number]:.1f} s"


def hang_up_causes(world: World) -> list[Cause]:
    """Explain the answers that a client did not wait for, the newest first."""
    shown = {exchange.number for exchange in world.exchanges}
    return [
        Cause(f"The client {_describe_hang_up(world, number)}.", [("fix", HANG_UP_FIX)], number)
        for number in sorted(shown.intersection(world.hang_ups), reverse=True)
    ]


def miss_cause(text: str, fix: str) -> Cause:
    """A request that a cassette does not hold: what the harness answered it, the lines of its diff, how to record it."""
    what, *diff = text.splitlines() or [""]
    differing = [line for line in diff if line.startswith(("-", "+")) and not line.startswith(("---", "+++"))]
    gone, added = ([line for line in differing if line[0] == sign][:MAX_DIFFERING] for sign in "-+")
    hidden = len(differing) - len(gone) - len(added)
    more = [f"… {pluralize(hidden, 'line')} more"] if hidden else []
    return Cause(what, [("where", "\n".join([*gone, *added, *more])), ("fix", fix)])


def is_same_request(exchange: Exchange, request: Request) -> bool:
    """Whether an exchange belongs to a request, or to the WebSocket event that holds the request."""
    return exchange.request is request or (request.raw != b"" and exchange.request.raw is request.raw)


def _sent_gist(request: Request) -> str:
    """The end of the input of a request, or its path."""
    input = request.body.get("input") if isinstance(request.body, dict) else None
    last = input[-1] if isinstance(input, list) and input else {"role": "user", "content": input}
    return summarize_item(last) if input else f"{request.method} {request.path}"


def unused_cause(world: World, refused: Exchange | None = None) -> Cause:
    """Turns and answers that no request took: their routes and items, how to allow them.

    `refused` is the last request if it was refused as expected: such a request takes no turn.
    """
    turns = len(world.script.unused)
    answers = len(world.unused) - turns
    counted = [
        f"{pluralize(turns, 'turn')} of the script" if turns else "",
        f"{pluralize(answers, 'answer')} of mock.route" if answers else "",
    ]
    fix = "Remove what is too much, or look why the requests for it did not come."
    why = f"request {refused.number}, the last one, was refused, and so took no turn" if refused else ""
    rows = [("where", _list_unused(world)), ("why", why), ("fix", fix), ("allow", world.vocabulary.allow_unused)]
    return Cause(f"{' and '.join(filter(None, counted))} no request took.", rows)


def no_request_cause(world: World) -> Cause:
    """No request came at all: how clients find the mock, and the turns that wait."""
    words = world.vocabulary
    if world.not_awaited:
        fix = "Write `await` before the call of an async client, or run what it returns; until then it sends nothing."
        rows = [("where", "\n".join(world.not_awaited)), ("unused", _list_unused(world)), ("fix", fix)]
        return Cause("No request came, and a call was never awaited.", rows)
    fix = (
        f"The code under test must read OPENAI_BASE_URL and OPENAI_API_KEY{words.too_early}, or be given "
        f"{words.base_url} and {words.api_key}."
    )
    return Cause(
        f"No request came with this test's key {world.api_key}.", [("unused", _list_unused(world)), ("fix", fix)]
    )


def stray_cause(world: World) -> Cause:
    """Requests that came with keys of no World while this one waited for its own: whose keys, which requests, when."""
    words = world.vocabulary
    _, last = world.strays[-1]
    shown = mask_key(last.key)
    what = f"with another key, {shown}," if last.key else "without a key"
    where = "\n".join(
        f"{stray.request.method} {stray.request.path}, {f'after request {before}' if before else 'before any of its own'}"
        for before, stray in world.strays
        if stray.key == last.key
    )
    fix = f"The client must send the key of this test: OPENAI_API_KEY{words.too_early}, or {words.api_key}."
    if last.key and words.mark:
        let_in = words.mark.format(f'key="{shown if shown == last.key else "…"}"')
        fix = f"Let a program in that has a key of its own: {let_in}. Else give its client {words.api_key}."
    if last.owner:
        fix = (
            f"The client was made in {last.owner}, which has ended. Make one in each test, or set `harness_env = session`: "
            "its key leads to the running test."
        )
    return Cause(
        f"A request came {what} and was refused ({last.answer.status}).",
        [("where", where), ("unused", _list_unused(world)), ("fix", fix)],
    )


def late_cause(strays: Sequence[Stray], during: Sequence[str], asked: Iterable[str], made: Iterable[str]) -> Cause:
    """Explain requests with the key of a test that had ended, or of none while no test had a World, and how to wait.

    `during` are the tests that ran then, empty for none; `asked` and `made` the lines that asked and that made clients.
    """
    first, owner = strays[0], strays[0].owner
    test = owner.rpartition("::")[2]
    whose = f"with the key {mask_key(first.key)}" if first.key else "without a key"
    what = f"with the key of {owner} after it had ended" if owner else f"{whose} while no test used `mock`"
    when = [f"while {name} ran" if name else "after the last test with `mock`" if owner else "" for name in during]
    where = [
        f"{stray.request.method} {stray.request.path}{f', {place}' if place else ''}"
        for stray, place in zip(strays, when, strict=True)
    ]
    fix = (
        f"Wait in {test}, or in a fixture that requests `mock`, for what it has started: thread.join(), "
        "executor.shutdown(), process.wait(), the end of a task. A client belongs to one test."
        if owner
        else "Ask while a test uses `mock`: in the test, or in a fixture that requests it."
    )
    rule = first.answer.rule
    marked, listed = PYTHON.mark.format(f'refusals=["{rule}"]'), f"harness_refusals = {rule or 'allow'}"
    return Cause(
        f"A request came {what}, and was refused ({first.answer.status}).",
        [
            ("where", "\n".join(where)),
            ("asked", "\n".join(asked)),
            ("made", "\n".join(made) or (f"while {test} ran, on a line that is not known" if owner else "")),
            ("fix", fix),
            ("allow", marked if owner and rule else f"{listed} in pytest's configuration"),
        ],
    )


def _list_unused(world: World) -> str:
    """The first unused turns and answers, a line each."""
    unused = world.unused
    lines = [summarize_unused(route, turn) for route, turn in unused[:MAX_UNUSED]]
    hidden = len(unused) - len(lines)
    return "\n".join([*lines, *([f"… {hidden} more"] if hidden else [])])


def summarize_unused(route: Route | RoutedPath, turn: Any) -> str:
    """Name a route, and describe its turn, or one answer of its list, in one line."""
    if not isinstance(route, RoutedPath):
        return f"{route}: {summarize_turn(turn)}"
    if isinstance(turn, Fault) or (callable(turn) and not is_model(turn)):
        return f"{route}: {_summarize_line(turn)}"
    status, body = (turn.status, turn.body) if isinstance(turn, Answer) else (route.status, turn)
    return f"{route}: {status} {shorten_repr(body, 80)}"


def summarize_turn(turn: Any) -> str:
    """A turn in one line: its items, its ending, its faults."""
    if isinstance(turn, Repeated):
        return f"{', '.join(map(summarize_turn, turn.turns))}, over and over"
    return " + ".join(map(_summarize_line, turn if isinstance(turn, list | tuple) else [turn]))


def _summarize_line(line: Any) -> str:
    """An item, ending or fault of a turn, a text as the message that it is; else the function that would return them."""
    if isinstance(line, str):
        line = message(line)
    if isinstance(line, Item):
        return summarize_item({**line.members, "role": line.type})
    if isinstance(line, Ending | Fault):
        return getattr(line, "status", type(line).__name__.lower())
    return f"the function {describe_code(line)}"
