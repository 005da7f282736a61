"""Files in paths, input and tools: they must belong to this key, and still exist."""

from collections.abc import Iterator

from harness.contract.rule import Case, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import ANY_UPLOAD, upload
from harness.contract.rules.request.input_items.media import find_part_texts, find_parts
from harness.core.account import Organization
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

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
