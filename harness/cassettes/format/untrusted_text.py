"""Decodes untrusted bytes to text and JSON; the errors of recordings."""

from __future__ import annotations

import codecs
import json
from typing import Any

import orjson

from harness.core.errors import HarnessError, Malformed

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class UnreadableRecording(HarnessError):
    """A recording that is invalid or incomplete; the text names the file, the place and what to do."""

    section = "recordings"


class NotARecording(UnreadableRecording):
    """A file that holds no recorded exchanges at all."""


def decode_text(raw: bytes) -> str:
    """Decode bytes in UTF-8, or in UTF-16 with a byte order mark; Malformed for anything else."""
    encoding = next((name for mark, name in _BOMS if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        raise Malformed(f"byte {problem.start}: not {encoding.removesuffix('-sig').upper()}") from problem


def parse_json(raw: bytes) -> Any:
    """Parse bytes as JSON; Malformed for anything else, NaN included.

    Half a pair of surrogates, which programs write when they cut a text, becomes a question mark.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as problem:
        if b"\\u" not in raw:
            raise Malformed(
                f"line {problem.lineno}, column {problem.colno}: no JSON ({_json_error_reason(problem)})"
            ) from problem
    try:
        return orjson.loads(json.dumps(json.loads(raw), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as problem:
        raise Malformed(f"no JSON ({_json_error_reason(problem)})") from problem


def _json_error_reason(problem: Exception) -> str:
    return str(problem).partition(":")[0] if isinstance(problem, ValueError) else "nested too deeply"
