"""Containers in paths and tools: they must belong to this key, and not have expired."""

from collections.abc import Iterator
from typing import Any

from harness.api.resources.containers import CODE_CALL
from harness.contract.phrasing import missing_parameter
from harness.contract.rule import Case, RuleScope, WorldView, after, assumed, documented, reported, rule
from harness.contract.rules.example_requests import ANY_UPLOAD, CREATE_CONTAINER, FORM_HEADERS
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object
from harness.items.hosted import code_interpreter_call
from harness.items.message import message
from harness.items.transcript import Transcript

SCOPE = RuleScope(area="containers")
CONTAINER_PATH = "/containers/{container_id}"
CREATE_FILE = f"POST {CONTAINER_PATH}/files"
LIFETIME = 20 * 60
"""Seconds after which an unused container expires."""
EXPIRED_WORDS = "Container is expired."
EXPIRED_SOURCES = [
    reported(
        "https://community.openai.com/t/container-is-expired-error-in-openai-responses-api-stream/1321773", "2025"
    ),
    reported("public code and notes of four more origins that meet it", "2026"),
]


UPLOAD_TO_CONTAINER = Case(
    raw=b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\nParis\r\n--x--\r\n',
    headers=FORM_HEADERS,
    on="POST /containers/{0.id}/files",
)
"""Uploads a file to a container."""


def _code_body(container: Any) -> Json:
    return {"tools": [{"type": "code_interpreter", "container": container}]}


@rule(
    ApiError(404, "Container with id '{id}' not found."),
    reported("https://github.com/BerriAI/litellm/pull/39464: for this path, with the status", "2026-08"),
    assumed("that there is neither `param` nor `code`, and that deleted ones are not found at once"),
    on="*{container_id}*",
    rejects={
        "cntr_x": "GET /containers/cntr_x",
        "{0.id}": after(CREATE_CONTAINER, "DELETE /containers/{0.id}", "GET /containers/{0.id}/files"),
    },
    accepts=[after(CREATE_CONTAINER, "GET /containers/{0.id}")],
    fix="Use the id the API gave, with the same key.",
)
def container_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The id in the path must name a container of this key."""
    id = request.params["container_id"]
    if world.containers.find(id) is None:
        yield {"id": id}


@rule(
    bad_request(EXPIRED_WORDS),
    *EXPIRED_SOURCES,
    assumed("that its files are refused as a response with it is"),
    on=f"* {CONTAINER_PATH}/files*",
    rejects=[after(CREATE_CONTAINER, Case(on="GET /containers/{0.id}/files", skip=LIFETIME))],
    accepts=[
        after(CREATE_CONTAINER, Case(on="GET /containers/{0.id}/files", skip=LIFETIME - 60)),
        after(CREATE_CONTAINER, Case(on="GET /containers/{0.id}", skip=LIFETIME)),
    ],
    fix="Fetch files while the container lives: each use restarts its 20 minutes.",
)
def container_expired(request: Request, world: WorldView) -> bool:
    """The files of an expired container are gone; the container itself can still be read."""
    return world.containers.is_expired(request.params["container_id"])


@rule(
    missing_parameter("file"),
    documented(
        "openapi 2.3.0 bbfd19ab#/paths/~1containers~1{container_id}~1files: a file, or an id as JSON", "2026-11"
    ),
    assumed("the words: those for any that is missing"),
    on=CREATE_FILE,
    rejects=[after(CREATE_CONTAINER, Case({}, on="POST /containers/{0.id}/files"))],
    accepts=[
        after(CREATE_CONTAINER, UPLOAD_TO_CONTAINER),
        after(CREATE_CONTAINER, ANY_UPLOAD, Case({"file_id": "{1.id}"}, on="POST /containers/{0.id}/files")),
    ],
    fix="Send `file` in a form, or the `file_id` of an uploaded file as JSON.",
)
def container_file_incomplete(request: Request) -> bool:
    """A file for a container is either in a form, or an uploaded one named by its id."""
    body = as_object(request.body)
    return not isinstance(body.get("file"), dict) and not isinstance(body.get("file_id"), str)


@rule(
    ApiError(404, "Container with id '{id}' not found."),
    reported("https://github.com/BerriAI/litellm/pull/30936: the status, for this endpoint", "2026-06-21"),
    assumed("the words: those for a container in a path"),
    when="tools",
    mentions="code_interpreter",
    rejects={
        "cntr_x": after(CREATE_CONTAINER, _code_body("cntr_x")),
        "{0.id}": after(CREATE_CONTAINER, "DELETE /containers/{0.id}", _code_body("{0.id}")),
    },
    accepts=[after(CREATE_CONTAINER, _code_body("{0.id}")), _code_body("cntr_elsewhere"), _code_body({"type": "auto"})],
    fix='Create it first: `POST /containers`; `{"type": "auto"}` needs none.',
)
def tool_container_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The container of `code_interpreter` must exist for this key, once the key has created any itself."""
    for id in _tool_containers(request):
        if world.containers.has_known and world.containers.find(id) is None:
            yield {"id": id}


def _tool_containers(request: Request) -> Iterator[str]:
    for tool in request.body.get("tools") or ():
        if tool["type"] == "code_interpreter" and isinstance(tool.get("container"), str):
            yield tool["container"]


_AUTO = _code_body({"type": "auto"})
_PLOT = [code_interpreter_call("plot()"), message("Done.")]


def _after_plot(seconds: int, **members: Any) -> Case:
    continued = Case({**members, "previous_response_id": "{0.id}"}, skip=seconds)
    return after({**_AUTO, "input": "Plot it."}, continued, turns=[_PLOT])


@rule(
    bad_request(EXPIRED_WORDS),
    *EXPIRED_SOURCES,
    assumed("that the latest call decides when a conversation has several"),
    when="tools",
    mentions="code_interpreter",
    rejects=[_after_plot(LIFETIME, **_AUTO)],
    accepts=[_after_plot(LIFETIME - 60, **_AUTO), _after_plot(LIFETIME)],
    fix="Continue within 20 minutes, keep the container alive by reading it, or leave the old calls out.",
)
def tool_container_expired(request: Request, world: WorldView, transcript: Transcript) -> bool:
    """Code cannot run in an expired container, whether it is the tool's or that of the latest earlier call."""
    tools = [tool for tool in request.body.get("tools") or () if tool["type"] == "code_interpreter"]
    named = list(_tool_containers(request))
    if tools and not named:
        calls = transcript.items_of(CODE_CALL)
        # With `container: auto` the newest call's container is used again.
        named = [id for item in calls[-1:] if isinstance(id := item.get("container_id"), str)]
    return any(world.containers.is_expired(id) for id in named)
