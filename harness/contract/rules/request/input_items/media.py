"""Files and images in the request: each must have one source; the data of a file needs a type and a prefix."""

import re
from collections.abc import Iterator

from harness.api.http.dialects import AZURE_DIALECTS
from harness.contract.phrasing import exclusive_parameters, missing_exclusive_parameters, missing_parameter
from harness.contract.rule import Case, RuleScope, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import CALL, CREATE_CONVERSATION, OUTPUT
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.items.transcript import input_items

SCOPE = RuleScope(when="input[]")

CHECKED_CHARACTERS = 64
"""How many characters of base64 are checked for their alphabet; images are then decoded, files are not."""


def body_with_part(part: Json) -> Json:
    """Make an example body: a message with a text and this part."""
    return {"input": [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, part]}]}


def file_body(data: str) -> Json:
    """Make an example body with a file, given its data."""
    return body_with_part({"type": "input_file", "filename": "sound.mp3", "file_data": data})


def image_body(url: str) -> Json:
    """Make an example body with an image, given its URL or data URL."""
    return body_with_part({"type": "input_image", "image_url": url})


def _walk_parts(request: Request) -> Iterator[tuple[str, Json]]:
    """Yield the parts of messages and tool outputs with their places, including screenshots."""
    for index, item in enumerate(input_items(request.body)):
        for holder in ("content", "output"):
            held = item.get(holder)
            if isinstance(held, dict):
                yield f"input[{index}].{holder}", held
            for number, part in enumerate(held if isinstance(held, list) else ()):
                if isinstance(part, dict):
                    yield f"input[{index}].{holder}[{number}]", part


def find_part_texts(request: Request, member: str) -> Iterator[tuple[str, str]]:
    """Yield the strings in a member of the parts of `input`, with their places; a screenshot counts as a part."""
    for path, part in _walk_parts(request):
        if isinstance(text := part.get(member), str):
            yield f"{path}.{member}", text


def find_data_urls(request: Request, member: str) -> Iterator[tuple[str, str]]:
    """Return the data URLs in a member of the parts of `input`, with their places."""
    return ((path, text) for path, text in find_part_texts(request, member) if text.startswith("data:"))


def find_parts(request: Request, type: str) -> Iterator[tuple[str, Json]]:
    """Return the parts of this type in messages and tool outputs, with their places."""
    return ((path, part) for path, part in _walk_parts(request) if part.get("type") == type)


def mime_type(url: str) -> str:
    """Return the type that a data URL declares; empty if it declares none."""
    return url[len("data:") :].partition(",")[0].partition(";")[0].strip()


_IMAGE_SOURCES = ("file_id", "image_url")
_PDF = "data:application/pdf;base64,JVBERi0xLjQ="
_BARE_IMAGE: Json = {"type": "input_image", "detail": "auto"}
_EXPECTED_FILE = (
    "Invalid file data: '{path}'. Expected a base64-encoded data URL with a valid file MIME type (e.g. "
    "'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got"
)
_SUPPORTED_FILES = (
    "Please see https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file types."
)


@rule(
    missing_exclusive_parameters("'file_id' or 'image_url'"),
    reported("public log of a client of `POST /conversations/{id}/items`", "2026-06-21"),
    reported("https://github.com/Menci/Floway, which repeats the API's error, the code included", "2026"),
    mentions="input_image",
    rejects={
        "input[0].content[1]": body_with_part(_BARE_IMAGE),
        "input[1].output[0]": [CALL, {**OUTPUT, "output": [_BARE_IMAGE]}],
        "items[0].content[0]": after(
            CREATE_CONVERSATION,
            Case(
                {"items": [{"type": "message", "role": "user", "content": [_BARE_IMAGE]}]},
                on="POST /conversations/{0.id}/items",
            ),
        ),
    },
    accepts=[
        body_with_part({**_BARE_IMAGE, "image_url": "https://example.org/cat.png", "file_id": None}),
        body_with_part({**_BARE_IMAGE, "file_id": "file_1"}),
    ],
    fix="Give the picture: `image_url`, an address or a data URL, or the `file_id` of an upload.",
)
def image_without_source(request: Request) -> Iterator[Json]:
    """Images need a URL or an uploaded file; null is neither."""
    for path, part in find_parts(request, "input_image"):
        if all(part.get(name) is None for name in _IMAGE_SOURCES):
            yield {"path": path}


@rule(
    exclusive_parameters("{names}"),
    reported("https://github.com/0xPlaygrounds/rig/issues/1429: of a file's address with a name", "2026-02-24"),
    reported("https://github.com/langchain-ai/langchainjs/issues/9878: the same", "2026-01-27"),
    reported("public probe: the same of `file_id` with a name, in a tool output", "2026"),
    reported("https://github.com/Menci/Floway, which repeats the API's error: of pictures", "2026"),
    mentions=["input_image", "input_file"],
    rejects={
        ("input[0].content[1]", "'file_id' or 'image_url'"): body_with_part(
            {"type": "input_image", "image_url": "https://example.org/cat.png", "file_id": "file_1"}
        ),
        ("input[0].content[1]", "'file_id' or 'filename'"): body_with_part(
            {"type": "input_file", "file_url": "https://example.org/a.pdf", "filename": "a.pdf"}
        ),
    },
    accepts=[
        body_with_part({"type": "input_file", "file_id": "file_1", "filename": None}),
        body_with_part({"type": "input_file", "file_url": "https://example.org/a.pdf"}),
        file_body("data:application/pdf;base64,JVBERi0xLjQ="),
    ],
    fix="Send one of them: a `filename` goes with `file_data` alone.",
)
def part_with_two_sources(request: Request) -> Iterator[Json]:
    """An image has one source; a name only goes with a file's data. The error names `file_id` for `file_url`, too."""
    for path, part in find_parts(request, "input_image"):
        if all(part.get(name) is not None for name in _IMAGE_SOURCES):
            yield {"path": path, "names": "'file_id' or 'image_url'"}
    for path, part in find_parts(request, "input_file"):
        if part.get("filename") is not None and (part.get("file_id") or part.get("file_url")) is not None:
            yield {"path": path, "names": "'file_id' or 'filename'"}


@rule(
    bad_request(f"{_EXPECTED_FILE} unsupported MIME type '{{mime}}'. {_SUPPORTED_FILES}", "{path}", "invalid_value"),
    recorded("maruel/genai"),
    mentions="file_data",
    rejects={("input[0].content[1].file_data", "audio/mpeg"): file_body("data:audio/mpeg;base64,SUQzBAAAAAAAI1RTU0U=")},
    accepts=[file_body("data:application/pdf;base64,JVBERi0xLjQ="), file_body("data:text/plain;base64,SGVsbG8=")],
    fix="Send documents as `input_file`; audio and video are not accepted there.",
)
def file_mime_type(request: Request) -> Iterator[Json]:
    """A file given as a data URL must not be audio or video; which other types are refused is unknown."""
    for path, url in find_data_urls(request, "file_data"):
        if mime_type(url).startswith(("audio/", "video/")):
            yield {"path": path, "mime": mime_type(url)}


def _file_output(data: str) -> list[Json]:
    return [CALL, {**OUTPUT, "output": [{"type": "input_file", "filename": "a.pdf", "file_data": data}]}]


@rule(
    bad_request("Invalid '{path}'.", "{path}", "invalid_value"),
    reported("https://github.com/strands-agents/harness-sdk/issues/3576", "2026"),
    assumed("the code, which is that of the other words; that a Foundry project has the same error"),
    mentions="file_data",
    dialects=AZURE_DIALECTS,
    rejects={
        "input[1].output[0].file_data": Case(
            {"model": "gpt-4.1", "input": _file_output("JVBERi0xLjQ=")}, on="POST !/openai/v1/responses"
        )
    },
    fix="Write `data:application/pdf;base64,` before the base64.",
)
def output_file_data_prefix(request: Request) -> Iterator[Json]:
    """Azure has its own message for a file in a tool's output whose data is plain base64."""
    for path, text in find_part_texts(request, "file_data"):
        if "].output[" in path and not text.startswith("data:"):
            yield {"path": path}


@rule(
    bad_request(f"{_EXPECTED_FILE} a value without the 'data:' prefix.", "{path}", "invalid_value"),
    reported("public reports of two origins, with the words for pictures and PDFs", "2026"),
    reported("public probe, project smg: an empty text; that it has the same words is assumed", "2026-08-21"),
    mentions="file_data",
    rejects={
        "input[0].content[1].file_data": file_body("JVBERi0xLjQ="),
        "input[1].output[0].file_data": _file_output(""),
    },
    accepts=[file_body("data:application/pdf;base64,JVBERi0xLjQ=")],
    fix="Write `data:application/pdf;base64,` before the base64.",
)
def file_data_prefix(request: Request) -> Iterator[Json]:
    """A file's data must be a data URL; plain base64 is not accepted."""
    yield from ({"path": path} for path, text in find_part_texts(request, "file_data") if not text.startswith("data:"))


@rule(
    bad_request(f"{_EXPECTED_FILE} an invalid base64-encoded value. {_SUPPORTED_FILES}", "{path}", "invalid_value"),
    reported("https://github.com/vercel/ai/issues/7776: an address in place of the base64, gpt-4o", "2025-08-05"),
    assumed("the param and the code: those of a file without a prefix"),
    mentions="file_data",
    rejects={"input[0].content[1].file_data": file_body("data:application/pdf;base64,https://example.org/a.pdf")},
    accepts=[
        file_body("data:application/pdf;base64,JVBERi0xLjQ="),
        file_body("data:application/pdf;base64,JVBE\r\nRi0x LjQ"),
        file_body("data:application/pdf;base64,JVBE_i0-"),
        file_body("data:text/plain,hello!"),
    ],
    fix="Encode the bytes of the file; an address goes into `file_url`.",
)
def file_data_base64(request: Request) -> Iterator[Json]:
    """The data of a base64 data URL must be base64; line breaks, spaces and the URL-safe letters are accepted."""
    for path, url in find_data_urls(request, "file_data"):
        head, _, data = url.partition(",")
        if head.endswith(";base64") and _NO_BASE64.search(data, 0, CHECKED_CHARACTERS):
            yield {"path": path}


_NO_BASE64 = re.compile(r"[^A-Za-z0-9+/=_\-\s]")


@rule(
    missing_parameter("{path}[{number}]"),
    reported("a public issue of laravel/ai: a PDF, refused until it was named", "2026-03-27"),
    reported("a public issue of openai/openai-agents-js: a data URL alone", "2025-07-15"),
    assumed("the code, that of other missing members; that it holds in tool outputs, too"),
    mentions="file_data",
    rejects={
        ("input[0].content", "1"): body_with_part({"type": "input_file", "file_data": _PDF}),
        ("input[1].output", "0"): [CALL, {**OUTPUT, "output": [{"type": "input_file", "file_data": _PDF}]}],
    },
    accepts=[body_with_part({"type": "input_file", "file_data": _PDF, "filename": "a.pdf"})],
    fix="Name the file: `filename`, with the extension of its type.",
)
def file_without_name(request: Request) -> Iterator[Json]:
    """A file's data needs a `filename` beside it; the error names only the part."""
    # Recorded by pydantic/pydantic-ai: of a sound without a name the type is refused, so this is looked at later.
    for path, part in find_parts(request, "input_file"):
        if part.get("file_data") is not None and part.get("filename") is None:
            holder, _, number = path.removesuffix("]").rpartition("[")
            yield {"path": holder, "number": number}


@rule(
    bad_request(
        "The file type you uploaded is not supported. Please try again with a pdf", "{param}", "unsupported_file"
    ),
    recorded("maruel/genai: a text file; accepted in a recording of 2025-06-16", "2025-05"),
    reported("an issue of openai/openai-node", "2025-06-27"),
    keyword=None,
    when=(),
    rejects={},
    until="2025-07",
    fix="Nothing is wrong any more: record the exchange again.",
)
def file_needs_pdf() -> None:
    """A file had to be a PDF; texts and office documents have been accepted since."""
