"""The control plane: scripts a World and reads its journal from any language, as plain JSON over HTTP.

The bearer key of a control request names the World, as it does for the API itself; the header `x-harness-world` can
name it instead. `openapi.json` describes it for programs, `/_harness/docs` for people, without scripts or requests.
"""

import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import wraps
from html import escape
from inspect import iscoroutinefunction
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from starlette.exceptions import HTTPException

from harness.core.advice_wording import render_json
from harness.core.errors import COMMAND, HarnessError
from harness.core.exchange import Json
from harness.core.registry import suggest_name
from harness.core.text import shorten, show
from harness.server.control_plane import changes, reads
from harness.server.control_plane.live import EventRing, events, worlds
from harness.server.control_plane.requests import BODIES, Worker, api_of, mock_of
from harness.server.control_plane.view import VIEW_PATH, LiveView, view, view_case, view_run
from harness.server.mock_api import CONTROL_ROOT, MockApi
from harness.server.observe.health import describe_health
from harness.server.transport.asgi_types import AsgiApp
from harness.world.scripting.validation import InvalidData


def control_app(api: MockApi) -> AsgiApp:
    """Build the FastAPI app of a mock's control plane."""
    app = ControlApp(
        title="responses-harness", docs_url=None, redoc_url=None, openapi_url=f"{CONTROL_ROOT}/openapi.json"
    )
    checks = [Depends(_check_query)]
    app.state.api, app.state.worker = api, (worker := Worker())
    app.state.ring, app.state.live_view = EventRing(api), LiveView(api, worker)
    app.add_exception_handler(HarnessError, _render_problem)
    app.add_exception_handler(RequestValidationError, _render_bad_query)
    app.add_exception_handler(HTTPException, _render_bad_path)
    for method, path, handler in CONTROLS:
        body = describe_body(method, path)
        called = handler if iscoroutinefunction(handler) else worker.wrap(handler)
        observed = called if method == "GET" or path in _OBSERVED_OTHERWISE else _report_change(path, called)
        app.add_api_route(
            f"{CONTROL_ROOT}{path}",
            observed,
            methods=[method],
            responses=REFUSALS,
            openapi_extra=body,
            dependencies=checks,
        )
    app.add_api_route(VIEW_PATH, view, include_in_schema=False, response_class=HTMLResponse)
    app.add_api_route(f"{CONTROL_ROOT}/docs", docs, include_in_schema=False, response_class=HTMLResponse)
    return app


async def _render_problem(_: Request, problem: Exception) -> JSONResponse:
    place = problem.location if isinstance(problem, InvalidData) else ""
    message = str(HarnessError(f"{place}: {problem}")) if place else str(problem)
    message = message.encode(errors="backslashreplace").decode()  # a name may have half a surrogate pair
    return JSONResponse({"error": {"message": message, "type": "harness_error"}}, 400)


async def _render_bad_query(request: Request, problem: Exception) -> JSONResponse:
    """Render an invalid query, as found by FastAPI, in the form of all other problems."""
    assert isinstance(problem, RequestValidationError)
    mistakes = [f"{wrong['loc'][-1]} is {render_json(wrong['input'])}: {wrong['msg']}." for wrong in problem.errors()]
    return await _render_problem(request, HarnessError(" ".join(mistakes)))


async def _render_bad_path(request: Request, problem: Exception) -> JSONResponse:
    """Render an unknown path, or a method that a path does not have, in the form of all other problems."""
    assert isinstance(problem, HTTPException)
    path = request.scope["path"].removeprefix(CONTROL_ROOT)
    methods = [method for method, control_path, _ in CONTROLS if control_path == path]
    advice = (
        f"Send {' or '.join(methods)}."
        if methods
        else suggest_name(path, [control_path for _, control_path, _ in CONTROLS])
    )
    said = f"no control request {request.method} {shorten(path)}. {advice} {CONTROL_ROOT}/docs describes all."
    answer = await _render_problem(request, HarnessError(said))
    answer.status_code = problem.status_code
    answer.headers.update(problem.headers or {})
    return answer


async def _check_query(request: Request) -> None:
    """Refuse parameters that a control request does not have, or has twice."""
    path, known = request.scope["path"], _query_names(request.scope["route"].dependant)
    seen = set[str]()
    for name, _ in request.query_params.multi_items():
        if name not in known:
            advice = suggest_name(name, known) if known else "It takes none."
            raise HarnessError(f"{path}: no parameter {show(name)}. {advice}")
        if name in seen:
            raise HarnessError(f"{path}: {name} is set twice. Remove one.")
        seen.add(name)


def _query_names(takes: Dependant) -> list[str]:
    """List the names of the query parameters of a handler and of what it depends on."""
    below = (name for needed in takes.dependencies for name in _query_names(needed))
    return [*(parameter.name for parameter in takes.query_params), *below]


def _report_change(path: str, handler: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Wrap a handler so that observers hear what it has changed."""

    @wraps(handler)
    async def change(request: Request, **given: Any) -> Any:
        made = await handler(request, **given)
        api_of(request).observers.on_changed(mock_of(request).world, path[1:])
        return made

    return change


async def docs(request: Request) -> HTMLResponse:
    """Show the documentation page of the control plane; it needs no network."""
    page = render_control_page(request.app.openapi())
    return HTMLResponse(page, headers={"content-security-policy": CONTENT_SECURITY_POLICY})


async def health(request: Request) -> Json:
    """Return whether the server is up, with its version, settings and counts; needs no token."""
    return describe_health(api_of(request))


async def metrics(request: Request) -> Json:
    """Return metrics in the text format of Prometheus, if the server was started with `--metrics`."""
    raise HarnessError(f"no metrics are counted: start the server with `{COMMAND} serve --metrics`.")


_OBSERVED_OTHERWISE = ("/world",)
"""Paths that begin or end a World, which observers hear of anyway."""

CONTROLS: Sequence[tuple[str, str, Callable[..., Any]]] = (
    ("GET", "/health", health),
    ("GET", "/metrics", metrics),
    ("POST", "/script", changes.script),
    ("POST", "/advance", changes.advance),
    ("POST", "/skip", changes.skip),
    ("POST", "/expect", changes.expect),
    ("GET", "/worlds", worlds),
    ("GET", "/events", events),
    ("GET", "/view/run", view_run),
    ("GET", "/view/case", view_case),
    ("GET", "/exchanges", reads.exchanges),
    ("GET", "/unused", reads.unused),
    ("GET", "/losses", reads.losses),
    ("GET", "/flow", reads.flow),
    ("GET", "/said", reads.said),
    ("GET", "/calls", reads.calls),
    ("GET", "/retries", reads.retries),
    ("GET", "/approvals", reads.approvals),
    ("GET", "/agents", reads.agents),
    ("GET", "/usage", reads.usage),
    ("GET", "/cache", reads.cache),
    ("GET", "/path", reads.path),
    ("GET", "/deliveries", reads.deliveries),
    ("GET", "/report", reads.report),
    ("POST", "/said", changes.hear),
    ("POST", "/surfaced", changes.compare),
    ("POST", "/open", changes.open_gate),
    ("GET", "/waiting", changes.waiting),
    ("POST", "/turns", changes.turns),
    ("POST", "/hold", changes.hold),
    ("POST", "/answer", changes.answer),
    ("POST", "/step", changes.step),
    ("POST", "/decide", changes.decide),
    ("POST", "/world", changes.begin),
    ("DELETE", "/world", changes.forget),
    ("GET", "/rules", reads.rules),
)
"""Every control request: its method, its path below `/_harness` and its handler."""


_ERROR: Json = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {"message": {"type": "string"}, "type": {"const": "harness_error"}},
            "required": ["message", "type"],
        }
    },
    "required": ["error"],
}


def _refusal(description: str) -> Json:
    return {"description": description, "content": {"application/json": {"schema": _ERROR}}}


REFUSALS: dict[int | str, Json] = {
    400: _refusal("No World, or something in the request that cannot be used; the message says what and where."),
    401: _refusal("The token of the control plane is missing or wrong."),
    403: _refusal("The Host is not a name of this server."),
}
"""The refusals that every control request may receive, by status."""


class ControlApp(FastAPI):
    """A FastAPI app whose OpenAPI document describes its real refusals: an invalid query is a 400, too."""

    def openapi(self) -> dict[str, Any]:
        """Build the OpenAPI document, without the 422 that FastAPI would declare."""
        described = super().openapi()
        for operations in described["paths"].values():
            for operation in operations.values():
                operation["responses"].pop("422", None)
        return described


def describe_body(method: str, path: str) -> dict[str, Any] | None:
    """Describe the body of a control request in OpenAPI; None for a request without a body."""
    if method != "POST" or path not in BODIES:
        return None
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": BODIES[path]}}}}


CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = (
    "body{font:16px/1.5 sans-serif;max-width:50em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "h2{font-size:1em;margin-top:2em}code{font-size:.95em}"
)
_CODE, _CODE_IN_HTML = re.compile(r"`([^`]*)`"), r"<code>\1</code>"


def render_control_page(openapi: Json) -> str:
    """Render the page for an OpenAPI document: each request with its description and parameters."""
    title = escape(openapi["info"]["title"])
    requests = "\n".join(
        _render_request(method, path, operation)
        for path, operations in openapi["paths"].items()
        for method, operation in operations.items()
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>The control plane of {title}</h1>\n"
        "<p>The bearer key of a request names its World. "
        f'<a href="openapi.json">openapi.json</a> says the same for programs.</p>\n{requests}\n</body></html>\n'
    )


def _render_request(method: str, path: str, operation: Json) -> str:
    paragraphs = operation.get("description", "").split("\n\n")
    parameters = "".join(f"<li>{parameter}</li>" for parameter in _describe_parameters(operation))
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        + "".join(f"<p>{_CODE.sub(_CODE_IN_HTML, escape(text))}</p>" for text in paragraphs)
        + (f"<ul>{parameters}</ul>" if parameters else "")
    )


def _describe_parameters(operation: Json) -> Iterator[str]:
    for parameter in operation.get("parameters", ()):
        if parameter["in"] != "query":
            continue
        schema = parameter["schema"]
        values = " | ".join(schema.get("enum", ())) or schema.get("type", "")
        yield f"<code>?{escape(parameter['name'])}={escape(values)}</code>, by default {escape(str(schema.get('default')))}"
