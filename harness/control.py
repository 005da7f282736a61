"""The control plane: what other languages use to script a World and read its journal, as plain JSON over HTTP.

The bearer key of a control request names the World, as it does for the API itself.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from harness.dialect import AZURE, OPENAI
from harness.ending import Line, line_from_wire
from harness.errors import HarnessError
from harness.exchange import Json
from harness.mock import CONTROL, Mock
from harness.rule import RULES
from harness.script import Matcher
from harness.world import World

App = Callable[[Any, Any, Any], Awaitable[None]]


def control(mock: Mock) -> App:
    """The FastAPI app of a mock's control plane."""
    app = FastAPI(title="responses-harness", docs_url=f"{CONTROL}/docs", openapi_url=f"{CONTROL}/openapi.json")

    def world_of(request: Request) -> World:
        headers = {name.lower(): value for name, value in request.headers.items()}
        world = mock.world_of(headers, AZURE if "api-key" in headers else OPENAI)
        if world is None:
            raise HarnessError("no World: send `Authorization: Bearer sk-…` with the key of the client under test.")
        return world

    @app.exception_handler(HarnessError)
    async def explain(_: Request, problem: HarnessError) -> JSONResponse:
        return JSONResponse({"error": {"message": str(problem), "type": "harness_error"}}, 400)

    @app.get(f"{CONTROL}/health")
    async def health() -> Json:
        """Whether the server is up, and how many Worlds are open."""
        return {"status": "ok", "worlds": len(mock.worlds)}

    @app.post(f"{CONTROL}/script")
    async def script(request: Request) -> Json:
        """Add turns: `{"when": {"instructions": "planner"}, "turns": [[{"type": "message", …}], …]}`."""
        world = world_of(request)
        said = await _object(request)
        conditions, added = when(said.get("when")), turns(said.get("turns"))
        route = world.turns.when(conditions).script(*added) if conditions else world.script(*added)
        return {"turns": len(route.turns)}

    @app.get(f"{CONTROL}/exchanges")
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
                "answer": _shown(exchange.answer.body),
                "rule": exchange.answer.rule,
            }
            for exchange in world_of(request).exchanges
        ]

    @app.get(f"{CONTROL}/unused")
    async def unused(request: Request) -> Json:
        """Turns that no request took, and requests that no turn answered."""
        world = world_of(request)
        return {"unused": len(world.turns.unused), "problems": [problem for _, problem in world.problems]}

    @app.delete(f"{CONTROL}/world")
    async def forget(request: Request) -> Json:
        """Forget everything about a key."""
        mock.close(world_of(request).api_key)
        return {"deleted": True}

    @app.get(f"{CONTROL}/rules")
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


def _shown(body: Any) -> Any:
    """An answer as JSON: the bytes of a file are a text, a byte a character."""
    return body.decode("latin-1") if isinstance(body, bytes) else body


async def _object(request: Request) -> Json:
    try:
        said = await request.json()
    except (ValueError, RecursionError) as problem:
        raise HarnessError(f"the body is not JSON: {problem}") from problem
    if not isinstance(said, dict):
        raise HarnessError('the body must be an object: {"turns": [[{"type": "message", …}]]}')
    return said


def when(said: Any) -> dict[str, Matcher]:
    """The conditions of a route from JSON: texts by name, for `tools` a list of them too; none for null."""
    conditions = {} if said is None else said
    if not isinstance(conditions, dict) or not all(map(_is_wanted, conditions.values())):
        raise HarnessError('`when` must be an object of texts: {"instructions": "planner", "tools": ["deploy"]}.')
    return conditions


def _is_wanted(said: Any) -> bool:
    return isinstance(said, str) or (isinstance(said, list) and all(isinstance(one, str) for one in said))


def turns(said: Any) -> list[list[Line]]:
    """Turns from JSON: a list of turns, each a line or a list of them: items in their wire form, then an ending if any."""
    if not isinstance(said, list) or not said or [] in said:
        raise HarnessError("`turns` must be a list with at least one turn, each an item or a list of at least one.")
    return [[line_from_wire(one) for one in (turn if isinstance(turn, list) else [turn])] for turn in said]
