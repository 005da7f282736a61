"""Files and images that come inside the request."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import ApiError
from harness.exchange import Json, Request
from harness.rule import recorded, rule
from harness.transcript import input_items


def _file(data: str) -> Json:
    part = {"type": "input_file", "filename": "sound.mp3", "file_data": data}
    return {"input": [{"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, part]}]}


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
        "types.": _file("data:audio/mpeg;base64,SUQzBAAAAAAAI1RTU0U="),
    },
    accepts=[_file("data:application/pdf;base64,JVBERi0xLjQ="), _file("data:text/plain;base64,SGVsbG8=")],
    fix="Send documents as `input_file`; sound and video are not taken there.",
)
def file_mime_type(request: Request) -> Iterator[Json]:
    """A file that comes as a data URL must not be sound or video; which other types are refused is not known."""
    for index, item in enumerate(input_items(request.body)):
        for member in ("content", "output"):
            parts = item.get(member)
            for number, part in enumerate(parts if isinstance(parts, list) else ()):
                mime = _mime(part.get("file_data")) if isinstance(part, dict) else ""
                if mime.startswith(("audio/", "video/")):
                    yield {"path": f"input[{index}].{member}[{number}].file_data", "mime": mime}


def _mime(url: object) -> str:
    """The MIME type of a data URL, empty for anything else."""
    if not isinstance(url, str) or not url.startswith("data:"):
        return ""
    return url[5 : url.find(",", 5)].partition(";")[0].strip()
