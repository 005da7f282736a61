"""The control plane: what other languages use to script a World and read its journal, as plain JSON over HTTP.

The bearer key of a control request names the World, as it does for the API itself; or the header `x-harness-world` does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, replace
from functools import wraps
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse

from harness.analysis.loss import losses_of
from harness.analysis.receivers import mistakes_of
from harness.analysis.surfaced import describe_difference
from harness.contract.rule import RULES
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.text.raised import Place
from harness.core.text.vocabulary import VOCABULARIES
from harness.server.control_plane.acts import answer, hold, step, turns, waiting
from harness.server.control_plane.decide import decide
from harness.server.control_plane.docs_page import CONTENT_SECURITY_POLICY, render_control_page
from harness.server.control_plane.live import events, worlds
from harness.server.control_plane.openapi import REFUSALS, describe_body
from harness.server.control_plane.requests import api_of, mock_of, read_object
from harness.server.control_plane.view import VIEW_PATH, view, view_case, view_run
from harness.server.judgement import judge_world
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.server.observe.health import describe_health
from harness.world.mock import Mock
from harness.world.scripting.document import parse_sent_script
from harness.world.scripting.settings import ALLOW, refusal_texts
from harness.world.scripting.validation import TEXT, WHOLE_NUMBER, InvalidData, ValueForm, check_members
from harness.world.webhooks import ALL_ALLOWED

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]
Outcome = Literal["fail", "allow"]


def control_app(api: MockApi) -> AsgiApp:
    """Make the FastAPI app of a mock's control plane."""
    app = FastAPI(title="responses-harness", docs_url=None, redoc_url=None, openapi_url=f"{CONTROL_ROOT}/openapi.json")
    app.state.api = api
    app.add_exception_handler(HarnessError, _render_problem)
    for method, path, handler in CONTROLS:
        body = describe_body(method, path)
        told = handler if method == "GET" or path in _TOLD_OTHERWISE else _tell_of_change(path, handler)
        app.add_api_route(f"{CONTROL_ROOT}{path}", told, methods=[method], responses=REFUSALS, openapi_extra=body)
    app.add_api_route(VIEW_PATH, view, include_in_schema=False, response_class=HTMLResponse)
    app.add_api_route(f"{CONTROL_ROOT}/docs", docs, include_in_schema=False, response_class=HTMLResponse)
    return app


async def _render_problem(_: Request, problem: Exception) -> JSONResponse:
    place = problem.location if isinstance(problem, InvalidData) else ""
    message = f"{place}: {problem}" if place else str(problem)
    return JSONResponse({"error": {"message": message, "type": "harness_error"}}, 400)


def _tell_of_change(path: str, handler: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a handler so that observers hear of what it has changed."""

    @wraps(handler)
    async def change(request: Request, **given: Any) -> Any:
        made = await handler(request, **given)
        api_of(request).observers.on_changed(mock_of(request).world, path[1:])
        return made

    return change


async def docs(request: Request) -> HTMLResponse:
    """The page that describes all of this; it needs no network."""
    page = render_control_page(request.app.openapi())
    return HTMLResponse(page, headers={"content-security-policy": CONTENT_SECURITY_POLICY})


async def health(request: Request) -> Json:
    """Whether the server is up: its version, settings and counts; it needs no token."""
    return describe_health(api_of(request))


async def metrics(request: Request) -> Json:
    """Counts in the text format of Prometheus, if the server was started with `--metrics`."""
    raise HarnessError("no metrics are counted: start the server with `harness serve --metrics`.")


async def script(request: Request) -> Json:
    """Add a route, `{"when": {"instructions": "planner"}, "turns": [[{"message": "Ask ops."}], …], "repeat": true}`.

    Or all that a script file in YAML may say: `{"script": […], "when": […], "organization": {…}, "mcp": {…}, …}`. An
    item may also be a text, or in its wire form, `{"type": "message", …}`. Returns how many turns wait, and the ids of
    files.
    """
    mock, sent = mock_of(request), await read_object(request)
    return parse_sent_script(sent).apply(mock, lambda _: _SENT)


async def advance(request: Request) -> list[Json]:
    """Move a background response or a run on by one step, `{"id": "resp_…"}`, or with `{}` all of them."""
    mock, sent = mock_of(request), check_members(await read_object(request), "member", ("id",))
    return mock.advance(TEXT.check("id", sent["id"]) if "id" in sent else None)


async def skip(request: Request) -> Json:
    """Let time pass, `{"seconds": 3600}`; returns the World's time, in unix seconds."""
    mock, sent = mock_of(request), check_members(await read_object(request), "member", ("seconds",))
    return {"now": mock.skip(WHOLE_NUMBER.check("seconds", sent.get("seconds")))}


async def expect(request: Request) -> Json:
    """Expect refusals from now on: `{"refusals": "call_needs_output"}`, or a list; each is a rule, an area or a text.

    Of each at least one has to come. `"allow"` permits all, `[]` none any more. Returns what was expected before, each
    with the numbers of its exchanges; it has `ended`.
    """
    mock, sent = mock_of(request), check_members(await read_object(request), "member", ("refusals",))
    texts, allowed = refusal_texts(sent.get("refusals")), sent.get("refusals") == ALLOW
    ended = mock.world.refusals.end_expected()
    for text in texts:
        mock.world.refusals.expect(text, required=not allowed)
    return {
        "expected": len(texts),
        "ended": [
            {"refusals": expected.text or ALLOW, "exchanges": [exchange.number for exchange in expected.exchanges]}
            for expected in ended
        ],
    }


async def exchanges(request: Request) -> list[Json]:
    """The journal of a World, oldest first."""
    return [
        {
            "number": exchange.number,
            "request": {
                "method": exchange.request.method,
                "path": exchange.request.path,
                "body": exchange.request.body,
            },
            "status": exchange.status,
            "answer": _answer_json(exchange.answer.body),
            "rule": exchange.answer.rule,
        }
        for exchange in mock_of(request).exchanges
    ]


async def unused(request: Request) -> Json:
    """Turns and listed answers of routes that no request took, and requests that no turn answered."""
    world = mock_of(request).world
    return {"unused": len(world.unused), "problems": [str(problem) for _, problem in world.problems]}


async def losses(request: Request, strict: bool = False) -> list[Json]:
    """What the client lost of the model's answers, oldest first; with `strict=true` also what may be intended."""
    return [asdict(lost) for lost in losses_of(mock_of(request).exchanges, strict)]


async def flow(request: Request) -> Json:
    """What happened, as a text and as a Mermaid diagram; who sent which exchange, and what led from one to another."""
    mock = mock_of(request)
    drawn = mock.flow
    return {
        "text": drawn.text,
        "mermaid": drawn.mermaid,
        "lanes": {name: [exchange.number for exchange in exchanges] for name, exchanges in mock.lanes.items()},
        "hand_offs": [hand_off._asdict() for hand_off in drawn.hand_offs],
    }


async def said(request: Request) -> list[Json]:
    """What the model said, one for each response or run, oldest first."""
    return [reply.as_json() for reply in mock_of(request).replies]


async def calls(request: Request, name: str | None = None) -> list[Json]:
    """The calls that a client has to make, oldest first, each with its agent and its answers; those of a `name`."""
    return [call.as_json() for call in mock_of(request).calls if name in (None, call.name)]


async def retries(request: Request) -> list[Json]:
    """The requests that were sent again after a failure, oldest first: of which one, how long after, and why."""
    return [asdict(retry) for retry in mock_of(request).retries]


async def approvals(request: Request) -> list[Json]:
    """The calls of hosted MCP servers that needed an approval, oldest first, each with its answer and executions."""
    return [{**asdict(approval), "executed": approval.executed} for approval in mock_of(request).approvals]


async def agents(request: Request) -> list[str]:
    """The agents by name, in the order in which they took over; one that acts again later is in it again."""
    return mock_of(request).agents


async def usage(request: Request) -> Json:
    """The tokens of all answers: input, output, and what of them was cached or reasoning; and those of each agent."""
    used = mock_of(request).usage
    return {**used.as_json(), "by_agent": {name: share.as_json() for name, share in used.by_agent.items()}}


async def path(request: Request) -> Json:
    """Which agent acted, what it called and said, in order: as a text in one line, and each step."""
    taken = mock_of(request).path
    return {"text": str(taken), "steps": [asdict(step) for step in taken.steps]}


async def deliveries(request: Request) -> Json:
    """What was delivered to webhooks, oldest first, after what is due has been; and the `mistakes` of their receivers."""
    mock = mock_of(request)
    await _finish_deliveries(mock)
    made = mock.deliveries
    shown = ("event", "response", "id", "url", "attempt", "at", "signature", "status", "error", "seconds")
    return {
        "deliveries": [{name: getattr(delivery, name) for name in shown} for delivery in made],
        "mistakes": [asdict(mistake) for mistake in mistakes_of(made, mock.exchanges)],
    }


async def _finish_deliveries(mock: Mock) -> None:
    if mock.world.webhooks and mock.world.courier:
        await mock.world.courier.delivered(mock.world)


async def report(
    request: Request,
    unused: Outcome = "fail",
    losses: Outcome = "fail",
    webhooks: Outcome = "fail",
    client: Literal["fail", "allow", "strict"] | None = None,
    verbose: bool = False,
) -> Json:
    """What a failing test shows, the cause first; `verdict` is why one fails that held, else null.

    With `unused=allow` unused turns are no reason, nor are losses with `losses=allow` and mistakes of receivers of webhooks
    with `webhooks=allow`. `client` says how the client is judged from then on: `strict` looks for all that clients do wrong.
    With `verbose=true` every cause in full, the evidence and the bodies.
    """
    mock, outcomes = mock_of(request), {"unused": unused, "losses": losses}
    await _finish_deliveries(mock)
    if webhooks == ALLOW and mock.world.webhooks:
        mock.world.webhooks.allowed.add(ALL_ALLOWED)
    if client is not None:
        mock.world.client = replace(mock.world.client, option=client)
    api_of(request).observers.on_judged(mock, [name for name, outcome in outcomes.items() if outcome == ALLOW])
    judged = judge_world(mock, unused=unused == "fail", losses=losses == "fail", verbose=verbose)
    return {"verdict": judged.verdict or None, "report": judged.report}


async def compare(request: Request) -> Json:
    """Compare what a client shows with what was said: `{"result": {"text": "…", "annotations": […]}, "only": []}`.

    `message` says what the client lost, doubled, cut or changed; it is null when it did not. A message is in the `verdict`
    of the report from then on, unless the body has `"losses": "allow"`.
    """
    mock, sent = mock_of(request), check_members(await read_object(request), "member", ("result", "only", "losses"))
    allowed = "losses" in sent and _ALLOWED.check("losses", sent["losses"]) == ALLOW
    message = describe_difference(sent.get("result"), mock.replies, sent.get("only", ()))
    if message and not allowed:
        mock.world.add_shown_otherwise(message)
    return {"message": message}


async def open_gate(request: Request) -> Json:
    """Open a gate that a turn waits for: `{"gate": "shown"}`."""
    name = check_members(await read_object(request), "member", ("gate",)).get("gate")
    if not isinstance(name, str):
        raise HarnessError('`gate` must be the name of a gate: {"gate": "shown"}.')
    mock_of(request).gate(name).open()
    return {"open": name}


async def forget(request: Request) -> Json:
    """Forget everything about a key."""
    world = mock_of(request).world
    api_of(request).held.end(world)
    api_of(request).close(world.api_key)
    return {"deleted": True}


async def begin(request: Request) -> Json:
    """Forget everything about a key and begin again, `{"name": "weather.test.ts > asks"}`; ids follow from the name.

    `"language": "javascript"` words the advice in reports for tests in vitest and jest.
    """
    world, sent = mock_of(request).world, check_members(await read_object(request), "member", ("name", "language"))
    name, language = TEXT.check("name", sent.get("name")), _LANGUAGE.check("language", sent.get("language", "json"))
    api_of(request).held.end(world)
    api_of(request).close(world.api_key)
    return {"name": api_of(request).open(world.api_key, name, vocabulary=VOCABULARIES[language]).world.name}


_ALLOWED = ValueForm(f'"{ALLOW}"', lambda value: value == ALLOW)
_LANGUAGE = ValueForm(f"one of {', '.join(VOCABULARIES)}", lambda value: value in list(VOCABULARIES))


async def rules() -> list[Json]:
    """Every rule: id, area, summary, evidence level, words."""
    return [
        {
            "id": rule.id,
            "area": rule.area,
            "summary": rule.summary,
            "level": rule.level,
            "message": rule.error.message,
        }
        for rule in RULES.values()
    ]


_TOLD_OTHERWISE = ("/world",)
"""The paths of requests that begin and end Worlds, of which observers hear anyway."""
_SENT = Place(f"POST {CONTROL_ROOT}/script")
"""Where a turn stands that came over HTTP."""

CONTROLS: Sequence[tuple[str, str, Callable[..., Awaitable[Any]]]] = (
    ("GET", "/health", health),
    ("GET", "/metrics", metrics),
    ("POST", "/script", script),
    ("POST", "/advance", advance),
    ("POST", "/skip", skip),
    ("POST", "/expect", expect),
    ("GET", "/worlds", worlds),
    ("GET", "/events", events),
    ("GET", "/view/run", view_run),
    ("GET", "/view/case", view_case),
    ("GET", "/exchanges", exchanges),
    ("GET", "/unused", unused),
    ("GET", "/losses", losses),
    ("GET", "/flow", flow),
    ("GET", "/said", said),
    ("GET", "/calls", calls),
    ("GET", "/retries", retries),
    ("GET", "/approvals", approvals),
    ("GET", "/agents", agents),
    ("GET", "/usage", usage),
    ("GET", "/path", path),
    ("GET", "/deliveries", deliveries),
    ("GET", "/report", report),
    ("POST", "/surfaced", compare),
    ("POST", "/open", open_gate),
    ("GET", "/waiting", waiting),
    ("POST", "/turns", turns),
    ("POST", "/hold", hold),
    ("POST", "/answer", answer),
    ("POST", "/step", step),
    ("POST", "/decide", decide),
    ("POST", "/world", begin),
    ("DELETE", "/world", forget),
    ("GET", "/rules", rules),
)
"""Every control request: its method, its path below `/_harness` and its handler."""


def _answer_json(body: Any) -> Any:
    """Make JSON of an answer: the bytes of a file become a text, a character a byte."""
    return body.decode("latin-1") if isinstance(body, bytes) else body
