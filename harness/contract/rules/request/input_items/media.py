"""Files and images inside the request: images are decoded, of files the type is checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from harness.api.images import MAX_DECODED_IMAGES, is_valid_image
from harness.contract.rule import LIMITED_ACCOUNT, Case, WorldView, after, recorded, reported, retired, rule
from harness.core.account import Organization
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request
from harness.items.history.transcript import input_items
from harness.items.image import ONE_PIXEL_PNG

CHECKED_CHARACTERS = 64
"""Characters of base64 of which the alphabet is checked before a picture is decoded."""
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


def _body_with_part(part: Json) -> Json:
    return {"input": [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, part]}]}


def _file_body(data: str) -> Json:
    return _body_with_part({"type": "input_file", "filename": "sound.mp3", "file_data": data})


def _image(url: str) -> Json:
    return _body_with_part({"type": "input_image", "image_url": url})


def find_part_texts(request: Request, member: str) -> Iterator[tuple[str, str]]:
    """The strings in a member of the parts of `input`, each with its place; a screenshot counts as a part."""
    if request.raw and member.encode() not in request.raw:
        return  # most histories have none, and they can be long
    for index, item in enumerate(input_items(request.body)):
        for holder in ("content", "output"):
            held = item.get(holder)
            if isinstance(held, dict) and isinstance(text := held.get(member), str):
                yield f"input[{index}].{holder}.{member}", text
            for number, part in enumerate(held if isinstance(held, list) else ()):
                if isinstance(part, dict) and isinstance(text := part.get(member), str):
                    yield f"input[{index}].{holder}[{number}].{member}", text


def _find_data_urls(request: Request, member: str) -> Iterator[tuple[str, str]]:
    """The data URLs among them."""
    return ((path, text) for path, text in find_part_texts(request, member) if text.startswith("data:"))


def _find_parts(request: Request, type: str) -> Iterator[tuple[str, Json]]:
    """The parts of this type of messages and tool outputs, each with its place."""
    if request.raw and type.encode() not in request.raw:
        return
    for index, item in enumerate(input_items(request.body)):
        for holder in ("content", "output"):
            for number, part in enumerate(held if isinstance(held := item.get(holder), list) else ()):
                if isinstance(part, dict) and part.get("type") == type:
                    yield f"input[{index}].{holder}[{number}]", part


_IMAGE_SOURCES = ("file_id", "image_url")
_BARE_IMAGE: Json = {"type": "input_image", "detail": "auto"}
_CALL: Json = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}


@rule(
    when="input[]",
    error=ApiError(
        400,
        "Missing mutually exclusive parameters: '{path}'. Ensure you are providing exactly one of: 'file_id' or "
        "'image_url'.",
        "{path}",
        "missing_mutually_exclusive_parameters",
    ),
    source=[
        reported("public log of a client of `POST /conversations/{id}/items`", "2026-06-21"),
        reported("https://github.com/Menci/Floway, which repeats the API's error, the code included", "2026"),
    ],
    rejects={
        "Missing mutually exclusive parameters: 'input[0].content[1]'. Ensure you are providing exactly one of: 'file_id' "
        "or 'image_url'.": _body_with_part(_BARE_IMAGE),
        "Missing mutually exclusive parameters: 'input[1].output[0]'. Ensure you are providing exactly one of: 'file_id' "
        "or 'image_url'.": {
            "input": [_CALL, {"type": "function_call_output", "call_id": "call_1", "output": [_BARE_IMAGE]}]
        },
        "Missing mutually exclusive parameters: 'items[0].content[0]'. Ensure you are providing exactly one of: 'file_id' "
        "or 'image_url'.": after(
            Case({}, on="POST /conversations"),
            Case(
                {"items": [{"type": "message", "role": "user", "content": [_BARE_IMAGE]}]},
                on="POST /conversations/{0.id}/items",
            ),
        ),
    },
    accepts=[
        _body_with_part({**_BARE_IMAGE, "image_url": "https://example.org/cat.png", "file_id": None}),
        _body_with_part({**_BARE_IMAGE, "file_id": "file_1"}),
    ],
    fix="Give the picture: `image_url`, an address or a data URL, or the `file_id` of an upload.",
)
def image_without_source(request: Request) -> Iterator[Json]:
    """A picture is an address or an uploaded file; null is none."""
    for path, part in _find_parts(request, "input_image"):
        if all(part.get(name) is None for name in _IMAGE_SOURCES):
            yield {"path": path}


@rule(
    when="input[]",
    error=ApiError(
        400,
        "Mutually exclusive parameters: '{path}'. Ensure you are only providing one of: {names}.",
        "{path}",
        "mutually_exclusive_parameters",
    ),
    source=[
        reported("https://github.com/0xPlaygrounds/rig/issues/1429: of a file's address with a name", "2026-02-24"),
        reported("https://github.com/langchain-ai/langchainjs/issues/9878: the same", "2026-01-27"),
        reported("public probe: the same of `file_id` with a name, in a tool output", "2026"),
        reported("https://github.com/Menci/Floway, which repeats the API's error: of pictures", "2026"),
    ],
    rejects={
        "Mutually exclusive parameters: 'input[0].content[1]'. Ensure you are only providing one of: 'file_id' or "
        "'image_url'.": _body_with_part(
            {"type": "input_image", "image_url": "https://example.org/cat.png", "file_id": "file_1"}
        ),
        "Mutually exclusive parameters: 'input[0].content[1]'. Ensure you are only providing one of: 'file_id' or "
        "'filename'.": _body_with_part(
            {"type": "input_file", "file_url": "https://example.org/a.pdf", "filename": "a.pdf"}
        ),
    },
    accepts=[
        _body_with_part({"type": "input_file", "file_id": "file_1", "filename": None}),
        _body_with_part({"type": "input_file", "file_url": "https://example.org/a.pdf"}),
        _file_body("data:application/pdf;base64,JVBERi0xLjQ="),
    ],
    fix="Send one of them: a `filename` goes with `file_data` alone.",
)
def part_with_two_sources(request: Request) -> Iterator[Json]:
    """A picture has one source, a name goes only with the data of a file; the error names `file_id` for `file_url`, too."""
    for path, part in _find_parts(request, "input_image"):
        if all(part.get(name) is not None for name in _IMAGE_SOURCES):
            yield {"path": path, "names": "'file_id' or 'image_url'"}
    for path, part in _find_parts(request, "input_file"):
        if part.get("filename") is not None and (part.get("file_id") or part.get("file_url")) is not None:
            yield {"path": path, "names": "'file_id' or 'filename'"}


def _mime_type(url: str) -> str:
    return url[len("data:") :].partition(",")[0].partition(";")[0].strip()


@rule(
    when="input[]",
    error=ApiError(
        400,
        "Invalid file data: '{path}'. Expected a base64-encoded data URL with a valid file MIME type (e.g. "
        "'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got unsupported MIME type '{mime}'. Please see "
        "https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file types.",
        "{path}",
        "invalid_value",
    ),
    source=recorded("maruel/genai"),
    rejects={
        "Invalid file data: 'input[0].content[1].file_data'. Expected a base64-encoded data URL with a valid file MIME "
        "type (e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got unsupported MIME type 'audio/mpeg'. Please "
        "see https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file "
        "types.": _file_body("data:audio/mpeg;base64,SUQzBAAAAAAAI1RTU0U=")
    },
    accepts=[_file_body("data:application/pdf;base64,JVBERi0xLjQ="), _file_body("data:text/plain;base64,SGVsbG8=")],
    fix="Send documents as `input_file`; sound and video are not taken there.",
)
def file_mime_type(request: Request) -> Iterator[Json]:
    """A file that comes as a data URL must not be sound or video; which other types are refused is not known."""
    for path, url in _find_data_urls(request, "file_data"):
        if _mime_type(url).startswith(("audio/", "video/")):
            yield {"path": path, "mime": _mime_type(url)}


@rule(
    when="input[]",
    error=ApiError(
        400,
        "Invalid file data: '{path}'. Expected a base64-encoded data URL with a valid file MIME type (e.g. "
        "'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got a value without the 'data:' prefix.",
        "{path}",
        "invalid_value",
    ),
    source=[
        reported("issue 3576 of strands-agents/harness-sdk, which met the refusal on Azure", "2026"),
        reported("public reports of two more origins, with the words for pictures and PDFs", "2026"),
        reported("public probe, project smg: an empty text; that it has the same words is assumed", "2026-08-21"),
    ],
    rejects={
        "Invalid file data: 'input[0].content[1].file_data'. Expected a base64-encoded data URL with a valid file MIME type "
        "(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got a value without the 'data:' prefix.": _file_body(
            "JVBERi0xLjQ="
        ),
        "Invalid file data: 'input[1].output[0].file_data'. Expected a base64-encoded data URL with a valid file MIME type "
        "(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got a value without the 'data:' prefix.": {
            "input": [
                {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
                {
                    "type": "function_call_output",
                    "call_id": "call_1",
                    "output": [{"type": "input_file", "filename": "a.pdf", "file_data": ""}],
                },
            ]
        },
    },
    accepts=[_file_body("data:application/pdf;base64,JVBERi0xLjQ=")],
    fix="Write `data:application/pdf;base64,` before the base64.",
)
def file_data_prefix(request: Request) -> Iterator[Json]:
    """The data of a file is a data URL; base64 alone is not taken."""
    yield from ({"path": path} for path, text in find_part_texts(request, "file_data") if not text.startswith("data:"))


_EXPECTED_IMAGE = (
    "Expected a base64-encoded data URL with an image MIME type (e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), "
    "but got"
)
PNG = f"data:image/png;base64,{ONE_PIXEL_PNG}"
GIF = "data:image/gif;base64,R0lGODdhAQABAIEAAAAAAAAAAAAAAAAAACwAAAAAAQABAAAIBAABBAQAOw=="
BROKEN_PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)


retired(
    "file_needs_pdf",
    "A file had to be a PDF; texts and office documents are taken since.",
    error=ApiError(
        400, "The file type you uploaded is not supported. Please try again with a pdf", "{param}", "unsupported_file"
    ),
    source=[
        recorded("maruel/genai: a text file; taken in a recording of 2025-06-16", "2025-05"),
        reported("an issue of openai/openai-node", "2025-06-27"),
    ],
    rejects={},
    until="2025-07",
    fix="Nothing is wrong any more: record the exchange again.",
)


@rule(
    when="input[]",
    error=ApiError(400, f"Invalid '{{path}}'. {_EXPECTED_IMAGE} {{what}}.", "{path}", "invalid_value"),
    source=reported("public reports of four origins", "2026"),
    rejects={
        f"Invalid 'input[0].content[1].image_url'. {_EXPECTED_IMAGE} an invalid base64-encoded value.": _image(
            "data:image/png;base64,@@"
        ),
        f"Invalid 'input[0].content[1].image_url'. {_EXPECTED_IMAGE} empty base64-encoded bytes.": _image(
            "data:image/png;base64,"
        ),
        f"Invalid 'input[0].content[1].image_url'. {_EXPECTED_IMAGE} unsupported MIME type 'text/plain'.": _image(
            "data:text/plain;base64,SGVsbG8="
        ),
        f"Invalid 'input[0].content[1].image_url'. {_EXPECTED_IMAGE} a value without the ';base64' separator.": _image(
            "data:image/png,iVBORw0KGgo="
        ),
    },
    accepts=[_image(PNG), _image(PNG[:40] + "\n" + PNG[40:]), _image("https://example.org/cat.png")],
    fix="Encode the picture as `data:image/png;base64,…`, or give an address.",
)
def image_data_url(request: Request) -> Iterator[Json]:
    """A picture that comes as a data URL must be declared as a picture, in base64, and not be empty."""
    for path, url in _find_data_urls(request, "image_url"):
        head, _, data = url.partition(",")
        if not _mime_type(url).startswith("image/"):
            yield {"path": path, "what": f"unsupported MIME type '{_mime_type(url)}'"}
        elif not head.endswith(";base64"):
            yield {"path": path, "what": "a value without the ';base64' separator"}
        elif not data:
            yield {"path": path, "what": "empty base64-encoded bytes"}
        elif not _BASE64.fullmatch(_join_lines(data)[:CHECKED_CHARACTERS]):
            yield {"path": path, "what": "an invalid base64-encoded value"}


@rule(
    when="input[]",
    error=ApiError(
        400,
        "The image data you provided does not represent a valid image. Please check your input and try again with one of "
        "the supported image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'].",
        "input",
        "invalid_image",
    ),
    source=[
        reported("public reports of three origins", "2026"),
        reported("public probe, project smg: a PNG whose data chunk is broken", "2026-10-09"),
    ],
    rejects=[_image(BROKEN_PNG)],
    accepts=[_image(PNG), _image(GIF)],
    fix="Send the bytes of a JPEG, PNG, GIF or WebP file.",
)
def image_not_valid(request: Request) -> Iterator[Json]:
    """A picture's data must decode as a JPEG, PNG, GIF or WebP file; of very large ones only the head is read."""
    for _, url in islice(_find_data_urls(request, "image_url"), MAX_DECODED_IMAGES):
        if not is_valid_image(url.partition(",")[2]):
            yield {}


def _join_lines(data: str) -> str:
    """The beginning of base64 that may be broken into lines, as MIME does: recorded in 2025-08."""
    return re.sub(r"[\r\n]", "", data[: 2 * CHECKED_CHARACTERS])


@rule(
    when="input[]",
    error=ApiError(
        400,
        "Invalid '{path}'. Expected a valid URL, but got a value with an invalid format.",
        "{path}",
        "invalid_value",
    ),
    source=reported("public reports of eight origins, one with the whole error", "2026"),
    rejects={
        "Invalid 'input[0].content[1].image_url'. Expected a valid URL, but got a value with an invalid format.": _image(
            "file:///tmp/cat.png"
        ),
        "Invalid 'input[0].content[1].file_url'. Expected a valid URL, but got a value with an invalid format.": (
            _body_with_part({"type": "input_file", "file_url": "data:application/pdf;base64,JVBERi0xLjQ="})
        ),
        "Invalid 'input[0].output.image_url'. Expected a valid URL, but got a value with an invalid format.": {
            "input": [
                {
                    "type": "computer_call_output",
                    "call_id": "call_1",
                    "output": {"type": "computer_screenshot", "image_url": ""},
                }
            ]
        },
    },
    accepts=[_image("http://example.org/cat")],
    fix="Give an `http` or `https` address, or the picture itself as `data:image/png;base64,…`; a file as `file_data`.",
)
def image_url_format(request: Request) -> Iterator[Json]:
    """A picture's address begins with `http` or `https`, or is a data URL; that of a file is no data URL.

    That a file's address has the words of a picture's is assumed; the refusal itself is reported of Azure (2026).
    """
    yield from ({"path": path} for path, url in find_part_texts(request, "image_url") if not _URL_START.match(url))
    yield from ({"path": path} for path, url in find_part_texts(request, "file_url") if url.startswith("data:"))


_URL_START = re.compile(r"https?://|data:", re.IGNORECASE)


@rule(
    when=LIMITED_ACCOUNT,
    error=ApiError(400, "Error while downloading {url}. Upstream status code: 404.", "url", "invalid_value"),
    source=reported("public report, of a file and of an address", "2026"),
    rejects={
        "Error while downloading https://example.org/cat.png. Upstream status code: 404.": Case(
            _image("https://example.org/cat.png"),
            account=Organization(unreachable=frozenset(["https://example.org/cat.png"])),
        ),
        "Error while downloading https://example.org/a.pdf. Upstream status code: 404.": Case(
            _body_with_part({"type": "input_file", "file_url": "https://example.org/a.pdf"}),
            account=Organization(unreachable=frozenset(["https://example.org/a.pdf"])),
        ),
    },
    accepts=[
        Case(
            _image("https://example.org/dog.png"),
            account=Organization(unreachable=frozenset(["https://example.org/cat.png"])),
        )
    ],
    fix="Scripted: `mock.organization(unreachable=…)`. The real API must be able to fetch the address itself.",
)
def download_failed(request: Request, world: WorldView) -> Iterator[Json]:
    """The API fetches pictures and files itself; the mock fetches nothing, and fails where it is told to."""
    for member in ("image_url", "file_url"):
        yield from ({"url": url} for _, url in find_part_texts(request, member) if url in world.account.unreachable)
