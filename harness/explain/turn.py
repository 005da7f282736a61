"""Explains requests without a turn (none fits, none is left, the client did not wait), and turns without a request.

Requests without a World are explained, too: their key belongs to no test, or to a test that has ended.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from re import Pattern
from typing import Any

from harness.analysis.lanes import asks_model, is_probe
from harness.contract.rules.http.access import mask_key
from harness.core.advice_wording import PYTHON, Vocabulary
from harness.core.delivery import Fault
from harness.core.errors import HarnessError, Problem, describe_code
from harness.core.exchange import Answer, Exchange, Request, Stray, answer_error
from harness.core.json_values import as_object, as_string
from harness.core.text import pluralize, shorten, show, summarize_item
from harness.ending import Ending
from harness.explain.cause import Cause, ReportFinding
from harness.items import message
from harness.items.kind import Item
from harness.items.transcript import Transcript, resolve_transcript
from harness.world.refusals import StrayLog
from harness.world.route import Matcher, Repeated, Route
from harness.world.routed_requests import RoutedPath
from harness.world.world import World

SAME_REQUEST = "an unread stream, an answer that is not awaited and a retry after a timeout each take one"
HANG_UP_FIX = (
    "Give the client a longer `timeout` than the answer takes, disable its retries (`max_retries=0`), read its stream "
    "to the end, or script a turn for the second request."
)
MAX_DIFFERING = 4
"""The maximum number of lines of a diff that are shown for each side."""


def unanswered_cause(world: World, request: Request, problem: Problem) -> Cause:
    """Explain a request without an answer: why, how it differs from the nearest route, what was sent, the fix."""
    number = next((exchange.number for exchange in world.exchanges if is_same_request(exchange, request)), 0)
    what, *advice = problem.what.splitlines() or [""]
    asked, sent = f"{request.method} {request.path}", _sent_gist(request)
    head = f"Request {number}, {asked}, could not be answered:"
    again = _find_same_request(world, request, number)
    if again and (hang_up := describe_hang_up(world, again.number)):
        left = f"{head} the client {hang_up} and sent it again."
        return Cause(left, number, "hang_up", where=what, sent=sent, fix=HANG_UP_FIX)
    why = _describe_repetition(again) if again else ""
    shown = [line.strip() for line in problem.shown]
    fix = " ".join(line.strip() for line in [*advice, *problem.fix.splitlines()])
    where = "\n".join(shown)
    return Cause(f"{head} {what}", number, "unanswered", where=where, sent=sent, why=why, fix=fix)


def _describe_repetition(again: Exchange) -> str:
    if again.status >= 400:
        return f"request {again.number} was identical and got status {again.status}: its retry takes a turn, too"
    return f"request {again.number} was identical and took a turn: {SAME_REQUEST}"


def failed_causes(world: World) -> list[Cause]:
    """Explain the requests that the server failed to answer, which the journal may lack."""
    return [
        Cause(
            f"The server failed to answer {pluralize(count, 'request')}: {problem.what}",
            kind="unanswered",
            fix=problem.fix,
        )
        for problem, count in world.all_failed.items()
    ]


def unanswered_finding(exchange: Exchange, expected: bool, fix: str) -> ReportFinding:
    """Build the finding for a request that could not be answered."""
    message = str(answer_error(exchange)["message"])
    return ReportFinding("unanswered", expected, message, exchange=exchange.number, fix=fix)


def hang_up_causes(world: World) -> list[Cause]:
    """Explain the answers that the client did not wait for, newest first."""
    described = ((exchange.number, describe_hang_up(world, exchange.number)) for exchange in reversed(world.exchanges))
    return [Cause(f"The client {text}.", number, "hang_up", fix=HANG_UP_FIX) for number, text in described if text]


def describe_hang_up(world: World, number: int) -> str:
    """Describe after how long the client hung up on a request; empty if it did not."""
    left = world.edge[number].left if number in world.edge else None
    return "" if left is None else f"hung up on request {number} after {left:.1f} s"


def miss_cause(problem: Problem, hint: str) -> Cause:
    """Explain a request that is not in a cassette: the harness's answer, the lines of its diff, the fix or a hint."""
    differing = changed_lines(problem.shown)
    gone, added = ([line for line in differing if line[0] == sign][:MAX_DIFFERING] for sign in "-+")
    hidden = len(differing) - len(gone) - len(added)
    more = [f"… {pluralize(hidden, 'line')} more"] if hidden else []
    where = "\n".join([*gone, *added, *more])
    return Cause(problem.what.partition("\n")[0], kind="unanswered", where=where, fix=problem.fix or hint)


def changed_lines(diff: Sequence[str]) -> list[str]:
    """Return the removed and added lines of a unified diff, without its header."""
    return [line for line in diff[2:] if line.startswith(("-", "+"))]


def has_problem(world: World, exchange: Exchange) -> bool:
    """Return whether the harness could not answer the request of an exchange."""
    return any(is_same_request(exchange, request) for request, _ in world.problems)


def is_same_request(exchange: Exchange, request: Request) -> bool:
    """Return whether an exchange belongs to a request, or to the WebSocket event that contains it."""
    return exchange.request is request or (request.raw != b"" and exchange.request.raw is request.raw)


def _find_same_request(world: World, request: Request, number: int) -> Exchange | None:
    """Find the newest exchange before `number` that answered the same request, or failed it as scripted."""
    asked = (request.method, request.path, request.body)
    earlier = (exchange for exchange in reversed(world.exchanges) if exchange.number < number)
    answered = (exchange for exchange in earlier if exchange.status < 400 or exchange.answer.expected)
    sent = ((exchange, exchange.request) for exchange in answered)
    return next((exchange for exchange, before in sent if (before.method, before.path, before.body) == asked), None)


def _sent_gist(request: Request) -> str:
    input = as_object(request.body).get("input")
    last = input[-1] if isinstance(input, list) and input else {"role": "user", "content": input}
    return summarize_item(last) if input else f"{request.method} {request.path}"


MAX_SHOWN = 80
"""The maximum number of characters shown of a value in a request."""


@dataclass(frozen=True, slots=True)
class TriedRoute:
    """A route that a request was tried against: the number of the `turn` that answered, else 0 and `why` not."""

    route: str
    turn: int = 0
    why: str = ""


def tried_routes(world: World, exchange: Exchange) -> list[TriedRoute]:
    """List the routes that a request was tried against, in order; the last one answered, if any did.

    A request that a rule refused was tried against no route; a request for a path that the API lacks, against all
    routes of `mock.route`.
    """
    if is_probe(exchange) or exchange.is_routed:
        return list(_tried_paths(world, exchange))
    if not asks_model(exchange.request):
        return []
    taken = world.answered_by.sources.get(exchange.number)
    if taken is None and not has_problem(world, exchange):
        return []
    return list(_tried_routes(world, exchange, taken[0] if taken else None, taken[1] if taken else 0))


def _tried_routes(world: World, exchange: Exchange, answered: object, turn: int) -> Iterator[TriedRoute]:
    request, transcript = exchange.request, _read_transcript(world, exchange)
    for route in world.script.all_routes:
        if route is answered:
            yield TriedRoute(str(route), turn)
            return
        yield TriedRoute(str(route), why=_first_unmet_condition(route, request, transcript, world.vocabulary))


def _read_transcript(world: World, exchange: Exchange) -> Transcript:
    """Return what the model read at that time, as its conversation may have gone on since."""
    body, store = as_object(exchange.request.body), world.store
    answered = store.responses.get(as_string(as_object(exchange.answer.body).get("id")))
    before = answered and answered.chain.previous
    return resolve_transcript(before, body, store.items) if before else store.transcript(body)


def _tried_paths(world: World, exchange: Exchange) -> Iterator[TriedRoute]:
    request, taken = exchange.request, world.answered_by.sources.get(exchange.number)
    for routed in world.routed:
        if taken and routed is taken[0]:
            yield TriedRoute(str(routed), taken[1])
            return
        is_other_method = routed.method != request.method
        why = f"the request is a {request.method}" if is_other_method else f"the path is {request.path}"
        yield TriedRoute(str(routed), why=why)


def _first_unmet_condition(route: Route, request: Request, transcript: Transcript, words: Vocabulary) -> str:
    try:
        unmet = route.unmet_conditions(request, transcript)
    except HarnessError as problem:
        return str(problem)
    return describe_unmet(*unmet[0], words) if unmet else "it had no turns left, or none yet"


def describe_unmet(name: str, wanted: Matcher, actual: Any, words: Vocabulary) -> str:
    """Describe how a request fails a condition: `instructions does not contain 'planner': 'You are ops.'`."""
    sent = shorten(words.render_value(actual), MAX_SHOWN)
    if callable(wanted):
        return f"{name}: {describe_code(wanted)} rejects {sent}"
    if isinstance(wanted, Pattern):
        return f"{name} does not match {words.render_value(wanted.pattern)}: {sent}"
    if name == "model":
        return f"model is {sent}, not {words.render_value(wanted)}"
    if name != "tools":
        return f"{name} does not contain {words.render_value(wanted)}: {sent}"
    missing = sorted(set([wanted] if isinstance(wanted, str) else wanted) - set(actual))
    return f"tools does not contain {', '.join(map(words.render_value, missing))}: {sent}"


MAX_UNUSED = 6
"""The maximum number of unused turns that are listed."""
UNUSED_FIX = "Remove the turn"


def unused_cause(world: World) -> Cause:
    """Explain turns and answers that no request took: their routes and items, and how to allow them."""
    turns = len(world.script.unused)
    answers = len(world.unused) - turns
    counted = [pluralize(turns, "turn") + " of the script"] if turns else []
    counted += [pluralize(answers, "answer") + " of mock.route"] if answers else []
    asked = [exchange for exchange in world.exchanges if asks_model(exchange.request)]
    last = asked[-1] if asked else None
    refused = last if last and last.status >= 400 and not has_problem(world, last) else None
    return Cause(
        f"{' and '.join(counted)} {'was' if len(world.unused) == 1 else 'were'} never used.",
        kind="unused",
        where=list_unused(world),
        why=f"request {refused.number}, the last one, was refused and therefore took no turn" if refused else "",
        fix="Remove the turns that are not needed, or find out why no request came for them.",
        allow=world.vocabulary.allow_unused,
    )


def empty_route_cause(route: Route) -> Cause:
    """Explain a route that answers nothing, because `when` was given no turn."""
    return Cause(
        f"{route} has no turns, so it answers no requests.",
        kind="unused",
        where=route.made_at.short,
        fix="Add one, such as `.script(message('…'))`, after the condition, or remove the condition.",
        allow=route.vocabulary.allow_unused,
    )


def no_request_cause(world: World) -> Cause:
    """Explain that no request came at all: how clients find the mock, and the turns that are waiting."""
    words = world.vocabulary
    if world.not_awaited:
        return Cause(
            "No request came, and a call was never awaited.",
            kind="no_request",
            where="\n".join(world.not_awaited),
            unused=list_unused(world),
            fix="Write `await` before the call of an async client, or run the coroutine; until then it sends nothing.",
        )
    return Cause(
        f"No request came with this test's key {world.api_key}.",
        kind="no_request",
        unused=list_unused(world),
        fix=f"The code under test must read OPENAI_BASE_URL and OPENAI_API_KEY{words.too_early}, or be passed "
        f"{words.base_url} and {words.api_key}.",
    )


def unused_findings(world: World, expected: bool) -> list[ReportFinding]:
    """Build a finding for each turn and answer that no request took."""
    allow = world.vocabulary.allow_unused
    fix = f"{UNUSED_FIX}, or allow it: {allow}." if allow else f"{UNUSED_FIX}."
    return [ReportFinding("unused", expected, summarize_unused(route, turn), fix=fix) for route, turn in world.unused]


def list_unused(world: World) -> str:
    """Summarize the first unused turns and answers, one line each."""
    lines = [summarize_unused(route, turn) for route, turn in world.unused[:MAX_UNUSED]]
    hidden = len(world.unused) - len(lines)
    return "\n".join([*lines, *([f"… {hidden} more"] if hidden else [])])


def summarize_unused(route: Route | RoutedPath, turn: Any) -> str:
    """Summarize an unused turn, or one answer of a list, in one line that names the route."""
    if not isinstance(route, RoutedPath):
        return f"{route}: {summarize_turn(turn)}"
    if isinstance(turn, Fault) or callable(turn):
        return f"{route}: {_summarize_line(turn)}"
    status, body = (turn.status, turn.body) if isinstance(turn, Answer) else (route.status, turn)
    return f"{route}: {status} {show(body, 80)}"


def summarize_turn(turn: Any) -> str:
    """Summarize a turn in one line: items, ending, faults."""
    if isinstance(turn, Repeated):
        return f"{', '.join(map(summarize_turn, turn.turns))}, repeated"
    return " + ".join(map(_summarize_line, turn if isinstance(turn, list | tuple) else [turn]))


def _summarize_line(line: Any) -> str:
    """Summarize an item, ending or fault of a turn (a string is a message), or name a function."""
    if isinstance(line, str):
        line = message(line)
    if isinstance(line, Item):
        return summarize_item({**line.members, "role": line.type})
    if isinstance(line, Ending):
        return "empty" if line.is_empty else line.status
    if isinstance(line, Fault):
        return type(line).__name__.lower()
    return f"the function {describe_code(line)}"


def stray_cause(world: World) -> Cause:
    """Explain requests with another key, or without one, that came while this World waited for requests."""
    words = world.vocabulary
    _, last = world.strays[-1]
    shown = mask_key(last.key)
    what = f"with another key, {shown}," if last.key else "without a key"
    where = "\n".join(
        f"{stray.request.method} {stray.request.path}, "
        f"{f'after request {before}' if before else 'before any request of this test'}"
        for before, stray in world.strays
        if stray.key == last.key
    )
    fix = f"The client must send this test's key: OPENAI_API_KEY{words.too_early}, or {words.api_key}."
    if last.key and words.mark:
        let_in = words.mark.format(f'key="{shown if shown == last.key else "…"}"')
        fix = f"To accept a program with its own key: {let_in}. Otherwise pass {words.api_key} to its client."
    if last.owner:
        fix = (
            f"The client was created in {last.owner}, which has ended. Create one in each test, or set "
            "`harness_env = session`: its key leads to the running test."
        )
    head = f"A request {what} was refused ({last.answer.status})."
    return Cause(head, kind="stray", where=where, unused=list_unused(world), fix=fix)


def late_cause(strays: Sequence[Stray], during: Sequence[str], asked: Iterable[str], made: Iterable[str]) -> Cause:
    """Explain requests with the key of an ended test, or with any key while no test had a World, and how to wait.

    `during` are the tests that ran meanwhile, empty strings for none; `asked` and `made` the lines of code that sent
    the requests and created the clients.
    """
    first, owner = strays[0], strays[0].owner
    test = owner.rpartition("::")[2]
    whose = f"with the key {mask_key(first.key)}" if first.key else "without a key"
    what = (
        f"with the key of {owner} came after that test had ended"
        if owner
        else f"{whose} came while no test used `mock`"
    )
    when = [f"while {name} ran" if name else "after the last test that used `mock`" if owner else "" for name in during]
    where = [
        f"{stray.request.method} {stray.request.path}{f', {place}' if place else ''}"
        for stray, place in zip(strays, when, strict=True)
    ]
    fix = (
        f"In {test}, or in a fixture that requests `mock`, wait for everything it started: thread.join(), "
        "executor.shutdown(), process.wait(), the end of a task. A client belongs to one test."
        if owner
        else "Send requests only while a test uses `mock`: in the test, or in a fixture that requests it."
    )
    rule = first.answer.rule
    marked, listed = PYTHON.mark.format(f'refusals=["{rule}"]'), f"harness_refusals = {rule or 'allow'}"
    return Cause(
        f"A request {what} and was refused ({first.answer.status}).",
        kind="stray",
        where="\n".join(where),
        asked="\n".join(asked),
        made="\n".join(made) or (f"while {test} ran, on an unknown line" if owner else ""),
        fix=fix,
        allow=marked if owner and rule else f"{listed} in pytest's configuration",
    )


def unknown_key_cause(strays: StrayLog) -> Cause | None:
    """Explain the requests of a whole run whose keys lead to no World; None without any."""
    if not strays.kept:
        return None
    _, (request, answer, *_) = strays.kept[-1]
    error = answer.body.get("error", answer.body) if isinstance(answer.body, dict) else {}
    return Cause(
        f"{pluralize(strays.number, 'request')} came with an unknown key, the last one "
        f"{request.method} {request.path}: {answer.status} {error.get('message', '')}",
        kind="stray",
    )


def stray_finding(cause: Cause, stray: Stray) -> ReportFinding:
    """Build the finding for requests without a World; the answer to one of them names the rule."""
    why = "\n".join(f"{label} {text}" for label, text in cause.rows if label in ("where", "asked", "made"))
    fix = f"{cause.fix} Or allow it: {cause.allow}" if cause.allow else cause.fix
    return ReportFinding("refusal", False, cause.what, stray.answer.rule or "", why=why, fix=fix)
