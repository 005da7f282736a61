"""Files and containers in paths, input and tools: they must belong to this key, and still exist."""

from collections.abc import Iterator
from typing import Any

from harness.api.resources.containers import CODE_CALL
from harness.contract.phrasing import missing_parameter
from harness.contract.rule import Case, RuleScope, WorldView, after, assumed, documented, recorded, reported, rule
from harness.contract.rules.example_requests import ANY_UPLOAD, CREATE_CONTAINER, FORM_HEADERS, upload
from harness.contract.rules.request.input_items.media import find_part_texts, find_parts
from harness.core.account import Organization
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object
from harness.items.hosted import code_interpreter_call
from harness.items.message import message
from harness.items.transcript import Transcript

NOT_DOWNLOADABLE = ("assistants", "user_data")
"""Purposes whose files cannot be downloaded; no refusal is known for other purposes."""
ACCOUNT_WITH_OLD_FILES = Organization(files=frozenset(["file-old", "vs_old"]))


def _image_body(id: str) -> Json:
    return {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": id}]}]}


def _file_body(id: str) -> Json:
    return {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": id}]}]}


@rule(
    ApiError(404, "No such File object: {id}", "id"),
    reported("https://github.com/danny-avila/LibreChat/issues/2632", "2024-05-07"),
    reported("public reports of three more origins, two with the whole error", "2025"),
    on="* /files/{file_id}*",
    rejects={
        "file-x": "GET /files/file-x",
        "file-y": "DELETE /files/file-y",
        "{0.id}": after(ANY_UPLOAD, "DELETE /files/{0.id}", "GET /files/{0.id}/content"),
    },
    accepts=[after(ANY_UPLOAD, "GET /files/{0.id}"), Case(on="GET /files/file-old", account=ACCOUNT_WITH_OLD_FILES)],
    fix="Use the id the API gave; a file that was deleted or has expired is gone.",
)
def file_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The id in the path must name a file of this key that has not expired."""
    id = request.params["file_id"]
    if world.uploads.file(id) is None:
        yield {"id": id, "missing": [id]}


@rule(
    bad_request("Not allowed to download files of purpose: {purpose}"),
    reported("public reports of four origins, for `assistants` and `user_data`", "2025-12-23"),
    on="GET /files/{file_id}/content",
    rejects={
        "user_data": after(ANY_UPLOAD, "GET /files/{0.id}/content"),
        "assistants": after(upload("purpose=assistants"), "GET /files/{0.id}/content"),
    },
    accepts=[after(upload("purpose=batch", name="a.jsonl"), "GET /files/{0.id}/content")],
    fix="Keep a copy: a file uploaded for a model cannot be downloaded.",
)
def file_not_downloadable(request: Request, world: WorldView) -> Iterator[Json]:
    """A file uploaded for a model cannot be downloaded."""
    file = world.uploads.file(request.params["file_id"])
    if file and file.object["purpose"] in NOT_DOWNLOADABLE:
        yield {"purpose": file.object["purpose"]}


@rule(
    ApiError(404, "Files [{ids}] were not found"),
    recorded("a public project: a picture", "2026"),
    assumed("that an `input_file` gets the same error; that several are joined as for a vector store"),
    when="input[]",
    mentions="file_id",
    rejects={
        "file-x": after(ANY_UPLOAD, _image_body("file-x")),
        "file-y": after(ANY_UPLOAD, _file_body("file-y")),
        "{0.id}": after(ANY_UPLOAD, "DELETE /files/{0.id}", _file_body("{0.id}")),
        "file-z": after(ANY_UPLOAD, Case({"model": "gpt-4.1", **_file_body("file-z")}, on="POST /responses/compact")),
        "file-w": after(
            ANY_UPLOAD, Case({"model": "gpt-4.1", **_image_body("file-w")}, on="POST /responses/input_tokens")
        ),
        "file-a, file-b": after(ANY_UPLOAD, [*_image_body("file-a")["input"], *_image_body("file-b")["input"]]),
    },
    accepts=[
        after(ANY_UPLOAD, _file_body("{0.id}")),
        after(ANY_UPLOAD, _image_body("{0.id}")),
        _file_body("file-elsewhere"),
        Case(_file_body("file-old"), account=ACCOUNT_WITH_OLD_FILES),
        Case(_image_body("assistant-1"), account=Organization(files=frozenset(["assistant-1"]))),
    ],
    fix="Upload it first: `POST /files`, or `mock.file(…)` in a test; `mock.organization(files=…)` sets which exist.",
)
def input_file_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A file named in the input must have been uploaded with the same key, and not be deleted or expired.

    Until a key has stored anything, all ids are accepted: a client's test need not upload the files that it names.
    """
    if not world.uploads.has_known_files:
        return
    missing = [id for _, id in find_part_texts(request, "file_id") if world.uploads.file(id) is None]
    if missing:
        yield {"ids": ", ".join(dict.fromkeys(missing)), "missing": missing}


READABLE_FILES = (
    ".art, .bat, .brf, .c, .cls, .css, .csv, .diff, .doc, .docx, .dot, .eml, .es, .h, .hs, .htm, .html, .hwp, "
    ".hwpx, .ics, .ifb, .java, .js, .json, .keynote, .ksh, .ltx, .mail, .markdown, .md, .mht, .mhtml, .mjs, "
    ".nws, .odt, .pages, .patch, .pdf, .pl, .pm, .pot, .ppa, .pps, .ppt, .pptx, .pwz, .py, .rst, .rtf, .scala, "
    ".sh, .shtml, .srt, .sty, .svg, .svgz, .tex, .text, .txt, .vcf, .vtt, .wiz, .xla, .xlb, .xlc, .xlm, .xls, "
    ".xlsx, .xlt, .xlw, .xml, .yaml, .yml"
)
"""The extensions of files whose text can be read, as the API lists them."""
_NOT_READABLE = f"Invalid input: Expected context stuffing file type to be a supported format: {READABLE_FILES} but got"


@rule(
    bad_request(f"{_NOT_READABLE} {{suffix}}.", "input"),
    recorded("pydantic/pydantic-ai: an uploaded picture as an input_file", "2026-03-04"),
    when="input[]",
    mentions="input_file",
    rejects={".jpg": after(upload("purpose=user_data", name="a.jpg"), Case(_file_body("{0.id}")))},
    accepts=[
        after(upload("purpose=user_data", name="a.csv"), Case(_file_body("{0.id}"))),
        after(upload("purpose=user_data", name="a.jpg"), Case(_image_body("{0.id}"))),
    ],
    fix="Send a picture as `input_image`; other files only of the types that the message lists.",
)
def file_not_readable(request: Request, world: WorldView) -> Iterator[Json]:
    """An uploaded file used as an `input_file` must have a readable type, according to its extension."""
    for _, part in find_parts(request, "input_file"):
        file = world.uploads.file(part["file_id"]) if isinstance(part.get("file_id"), str) else None
        _, dot, ending = str(file.object["filename"]).rpartition(".") if file else ("", "", "")
        # The API's answer to a name without an extension is unknown: such files pass.
        if dot and f".{ending.lower()}" not in READABLE_FILES.split(", "):
            yield {"suffix": f".{ending.lower()}"}


@rule(
    bad_request(
        "The file type you uploaded is not supported. Please try again with a pdf", "input", "unsupported_file"
    ),
    recorded("pydantic/pydantic-ai: addresses of mp3 files", "2026-06"),
    when="input[]",
    mentions="file_url",
    rejects=[[{"role": "user", "content": [{"type": "input_file", "file_url": "https://example.org/a.mp3?x=1"}]}]],
    accepts=[[{"role": "user", "content": [{"type": "input_file", "file_url": "https://example.org/a.pdf"}]}]],
    fix="Audio and video are not accepted as files.",
)
def file_url_not_readable(request: Request) -> bool:
    """A file's URL must not lead to audio or video, judging by the extension: the mock fetches nothing."""
    return any(
        url.partition("?")[0].partition("#")[0].lower().endswith(_SOUND_AND_VIDEO)
        for _, url in find_part_texts(request, "file_url")
    )


_SOUND_AND_VIDEO = (".aac", ".flac", ".m4a", ".mov", ".mp3", ".mp4", ".ogg", ".wav", ".webm")


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
