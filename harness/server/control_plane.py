"""The control plane: what other languages use to script a World and read its journal, as plain JSON over HTTP.

The bearer key of a control request names the World, as it does for the API itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from harness.analysis.loss import losses_in_accepted, losses_of
from harness.analysis.surfaced import describe_difference
from harness.api.dialects import AZURE, OPENAI
from harness.contract.rule import RULES
from harness.core.errors import HarnessError
from harness.core.exchange import Json
from harness.core.headers import normalize_headers
from harness.report import failure
from harness.server.mock_api import CONTROL_ROOT, Mock
from harness.world.scripting.document import parse_document, parse_route
from harness.world.scripting.validation import TEXT, WHOLE_NUMBER, InvalidData, check_members
from harness.world.world import World

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]


def control_app(mock: Mock) -> AsgiApp:
    """The FastAPI app of a mock's control plane."""
    app = FastAPI(
        title="responses-harness", docs_url=f"{CONTROL_ROOT}/docs", openapi_url=f"{CONTROL_ROOT}/openapi.json"
    )

    def world_of(request: Request) -> World:
        headers = normalize_headers(request.headers.raw)
        world = mock.world_of(headers, AZURE if "api-key" in headers else OPENAI)
        if world is None:
            raise HarnessError("no World: send `Authorization: Bearer sk-…` with the key of the client under test.")
        return world

    @app.exception_handler(HarnessError)
    async def explain(_: Request, problem: HarnessError) -> JSONResponse:
        place = problem.location if isinstance(problem, InvalidData) else ""
        message = f"{place}: {problem}" if place else str(problem)
        return JSONResponse({"error": {"message": message, "type": "harness_error"}}, 400)

    @app.get(f"{CONTROL_ROOT}/health")
    async def health() -> Json:
        """Whether the server is up, and how many Worlds are open."""
        return {"status": "ok", "worlds": len(mock.worlds)}

    @app.post(f"{CONTROL_ROOT}/script")
    async def script(request: Request) -> Json:
        """Add a route, `{"when": {"instructions": "planner"}, "turns": [[{"message": "Ask ops."}], …], "repeat": true}`.

        Or all that a script file in YAML may say: `{"script": […], "when": […], "organization": {…}, "mcp": {…}, …}`. An
        item may also be in its wire form, `{"type": "message", …}`. Returns how many turns wait, and the ids of files.
        """
        world, said = world_of(request), await _read_object(request)
        return (parse_route(said) if "turns" in said else parse_document(said)).apply(world)

    @app.post(f"{CONTROL_ROOT}/advance")
    async def advance(request: Request) -> list[Json]:
        """Move a background response or a run on by one step, `{"id": "resp_…"}`, or with `{}` all of them."""
        world, said = world_of(request), check_members(await _read_object(request), "member", ("id",))
        return world.advance(TEXT.check("id", said["id"]) if "id" in said else None)

    @app.post(f"{CONTROL_ROOT}/skip")
    async def skip(request: Request) -> Json:
        """Let time pass, `{"seconds": 3600}`; returns the World's time, in unix seconds."""
        world, said = world_of(request), check_members(await _read_object(request), "member", ("seconds",))
        return {"now": world.skip(WHOLE_NUMBER.check("seconds", said.get("seconds")))}

    @app.get(f"{CONTROL_ROOT}/exchanges")
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
            for exchange in world_of(request).exchanges
        ]

    @app.get(f"{CONTROL_ROOT}/unused")
    async def unused(request: Request) -> Json:
        """Turns that no request took, and requests that no turn answered."""
        world = world_of(request)
        return {"unused": len(world.turns.unused), "problems": [problem for _, problem in world.problems]}

    @app.get(f"{CONTROL_ROOT}/losses")
    async def losses(request: Request, strict: bool = False) -> list[Json]:
        """What the client lost of what was said, oldest first; with `strict=true` also what may be a right habit."""
        return [asdict(lost) for lost in losses_of(world_of(request).exchanges, strict)]

    @app.get(f"{CONTROL_ROOT}/flow")
    async def flow(request: Request) -> Json:
        """What happened, as a text and as a Mermaid diagram; who sent which exchange, and what led from one to another."""
        world = world_of(request)
        told = world.flow
        return {
            "text": told.text,
            "mermaid": told.mermaid,
            "lanes": {name: [exchange.number for exchange in own] for name, own in world.lanes.items()},
            "hand_offs": [hand_off._asdict() for hand_off in told.hand_offs],
        }

    @app.get(f"{CONTROL_ROOT}/said")
    async def said(request: Request) -> list[Json]:
        """What the model said, one for each response or run, oldest first."""
        return [each.as_json() for each in world_of(request).said]

    @app.get(f"{CONTROL_ROOT}/calls")
    async def calls(request: Request) -> list[Json]:
        """The calls that a client has to make, oldest first, each with its answers."""
        return [each.as_json() for each in world_of(request).calls]

    @app.get(f"{CONTROL_ROOT}/approvals")
    async def approvals(request: Request) -> list[Json]:
        """The calls of hosted MCP servers that needed leave, oldest first: who gave it, and how often each was made."""
        return [{**asdict(each), "executed": each.executed} for each in world_of(request).approvals]

    @app.get(f"{CONTROL_ROOT}/report")
    async def report(request: Request) -> Json:
        """What a failing test shows, its cause in the first two lines; `verdict` is why one fails that held, else null."""
        world = world_of(request)
        lost = losses_in_accepted(world.exchanges)
        why = failure.verdict(world, lost)
        return {"verdict": why or None, "report": failure.render_failure(world, world.losses, unused=True, verdict=why)}

    @app.post(f"{CONTROL_ROOT}/surfaced")
    async def compare(request: Request) -> Json:
        """Compare what a client shows with what was said: `{"result": {"text": "…", "annotations": […]}, "only": []}`.

        `message` says what the client lost, doubled, cut or changed; it is null when it did not.
        """
        world, sent = world_of(request), await _read_object(request)
        return {"message": describe_difference(sent.get("result"), world.said, sent.get("only") or ())}

    @app.post(f"{CONTROL_ROOT}/open")
    async def open_gate(request: Request) -> Json:
        """Let go on what a turn holds until a gate opens: `{"gate": "shown"}`."""
        name = (await _read_object(request)).get("gate")
        if not isinstance(name, str):
            raise HarnessError('`gate` must be the name of a gate: {"gate": "shown"}.')
        world_of(request).gate(name).open()
        return {"open": name}

    @app.delete(f"{CONTROL_ROOT}/world")
    async def forget(request: Request) -> Json:
        """Forget everything about a key."""
        mock.close(world_of(request).api_key)
        return {"deleted": True}

    @app.get(f"{CONTROL_ROOT}/rules")
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

    return app


def _answer_json(body: Any) -> Any:
    """An answer as JSON: the bytes of a file are a text, a byte a character."""
    return body.decode("latin-1") if isinstance(body, bytes) else body


async def _read_object(request: Request) -> Json:
    try:
        said = await request.json()
    except (ValueError, RecursionError) as problem:
        raise HarnessError(f"the body is not JSON: {problem}") from problem
    if not isinstance(said, dict):
        raise HarnessError('the body must be an object: {"turns": [[{"type": "message", …}]]}')
    return said
