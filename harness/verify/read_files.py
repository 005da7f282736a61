"""Reads recordings of any recorder (cassettes, HAR, JSON lines of exchanges) as `Recorded`.

The content of a file decides its format, the name is only a hint. No file is executed, and no message quotes its
content.
"""

import gzip
import re
import shlex
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from harness.cassettes.files import printable_path, recording_suffix
from harness.cassettes.format.har_and_vcr import parse_interaction, parse_interactions, provider_from_header
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.recorded import Recorded, parse_recorded
from harness.cassettes.format.serializer import parse_websockets, refuse_newer_format
from harness.cassettes.format.untrusted import (
    BYTE_ORDER_MARKS,
    NotARecording,
    UnreadableRecording,
    decode_text,
    parse_json,
    parse_yaml_documents,
)
from harness.core.bounded_input import BoundedFile, max_yaml_nodes, open_bounded, refuse_many_values, size_limit
from harness.core.errors import COMMAND, Malformed
from harness.verify.judging.websockets import to_http_interactions

MAX_PROBLEMS = 1000
"""The number of invalid exchanges after which the rest of a file is not read."""
MAX_BLANK_LINES = 1000
"""How many lines to search for two that are not blank, which distinguish JSON lines from a single document."""
_RECORDING_MARKERS = re.compile(
    r"""(?:^|[\s{,])["']?(?:(?:http_?)?interactions|url_path|RequestUri)["']?\s*:|"(?:entries|request)"\s*:""", re.M
)

_JSON_START = re.compile(rb"\s*[{\[]")
_FOREIGN = {
    re.compile(rb"\s*[0-9]{1,12}:[0-9]{1,3}:[a-z_]+;"): (
        "it holds flows of mitmproxy, which `mitmdump -nr FILE --set hardump=out.har` writes as a HAR file"
    ),
    re.compile(rb"PK\x03\x04"): "it is an archive; if Fiddler wrote it, export the sessions there as HTTPArchive (HAR)",
    re.compile(rb"\xd4\xc3\xb2\xa1|\xa1\xb2\xc3\xd4|\x0a\x0d\x0d\x0a"): (
        f"it holds packets of a network, which TLS hides; `{COMMAND} record -- COMMAND` records the exchanges"
    ),
}
"""Files of other programs that are not recordings: how they begin, and how to get a recording instead."""


def read_recording(path: Path) -> Iterator[Recorded]:
    """Read the exchanges of one file, in order; JSON lines are read one by one, any other file as a whole.

    NotARecording if it has none. UnreadableRecording, after the readable exchanges, if a part of it is invalid.
    """
    return (recorded for _, recorded in read_numbered(path))


def read_numbered(path: Path) -> Iterator[tuple[int, Recorded]]:
    """Read as `read_recording` does, with the number of each exchange's record, from 1; a WebSocket is one record."""
    name = printable_path(path)
    with _name_file_in_errors(name), open_bounded(path) as content:
        problem, more = None, 0
        for number, entry in enumerate(_read_entries(content, path.name), 1):
            if isinstance(entry, Malformed):
                problem, more = problem or entry, more + bool(problem)
                if more == MAX_PROBLEMS:
                    break
            elif isinstance(entry, Interaction):
                yield number, parse_recorded(entry, name, number)
            else:
                for part, exchange in enumerate(entry, 1):
                    notes = {**exchange.notes, "id": f"{name}#{number}.{part}"}
                    yield number, parse_recorded(replace(exchange, notes=notes), name, number)
        if problem:
            many = f"at least {more}" if more == MAX_PROBLEMS else str(more)
            raise Malformed(f"{problem} (and {many} more like it)" if more else str(problem))


@contextmanager
def _name_file_in_errors(name: str) -> Iterator[None]:
    """Turn errors about a file into an UnreadableRecording or a NotARecording that names it."""
    try:
        yield
    except Malformed as problem:
        raise UnreadableRecording(f"{name}: {problem}. Record it again, or fix that place.") from problem
    except _NotRecording as problem:
        reason = str(problem).replace("FILE", shlex.quote(name))
        raise NotARecording(f"{name}: {reason}. Pass a cassette, a HAR file or JSON lines of exchanges.") from problem
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise UnreadableRecording(
            f"{name}: the compressed data is truncated or damaged. Fetch the file again."
        ) from problem
    except OSError as problem:
        raise UnreadableRecording(
            f"{name}: cannot be read: {problem.strerror}. Pass the path of a recording."
        ) from problem


_EntryOrProblem = Interaction | Sequence[Interaction] | Malformed
"""An exchange, the exchanges of a WebSocket, or the reason why one of them is invalid."""


class _NotRecording(Exception):
    """The reason why a file is not a recording."""


def _read_entries(content: BoundedFile, name: str) -> Iterator[_EntryOrProblem]:
    """Read the entries of a file in order, as JSON lines or as documents."""
    suffix, head, full = recording_suffix(name), list[bytes](), list[bytes]()
    lines = iter(content.read_line, b"")
    size = 0
    while len(full) < 2 and len(head) < MAX_BLANK_LINES and size <= content.limit and (line := next(lines, b"")):
        head.append(line)
        size += len(line)
        full += [line] if line.strip() else []
    first, second = (*full, b"", b"")[:2]
    in_lines = suffix in (".jsonl", ".ndjson") and len(first.strip()) > 1
    if in_lines or (second.lstrip().startswith(b"{") and _is_json_object(first)):
        return _read_lines(chain(head, lines))
    return _read_documents(content.read_rest(b"".join(head)), suffix)


def _is_json_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line.removeprefix(b"\xef\xbb\xbf")), dict)
    except Malformed:
        return False


def _read_lines(lines: Iterable[bytes]) -> Iterator[_EntryOrProblem]:
    known, limit = False, size_limit()
    for number, line in enumerate(lines, 1):
        text = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).strip()
        if not text:
            continue
        try:
            refuse_many_values(text, limit)
            yield parse_interaction(parse_json(text))
        except Malformed as problem:
            # A damaged line counts only in what is certainly a recording.
            if not known and not _RECORDING_MARKERS.search(text.decode("latin-1")):
                raise _NotRecording("its lines are no recorded exchanges") from problem
            yield Malformed(f"line {number}: {problem}")
        known = True


def _read_documents(raw: bytes, suffix: str) -> Iterator[_EntryOrProblem]:
    if not raw.strip():
        raise _NotRecording("it is empty")
    if foreign := next((advice for head, advice in _FOREIGN.items() if head.match(raw)), ""):
        raise _NotRecording(foreign)
    known = False
    try:
        for document in _parse_documents(raw, suffix):
            if found := parse_interactions(document):
                known, raw = True, b""  # a large file is in memory only once
                refuse_newer_format(document)
                yield from found
                yield from _socket_entries(document)
    except Malformed as problem:
        if not known and not _RECORDING_MARKERS.search(raw.decode("latin-1")):
            raise _NotRecording("it is not a recording, nor JSON or YAML") from problem
        raise
    if not known:
        raise _NotRecording("it has no recorded exchanges")


def _socket_entries(document: Any) -> Iterator[Sequence[Interaction]]:
    """Yield the exchanges of each WebSocket in one of the harness's own cassettes."""
    for interaction in parse_websockets(document):
        yield [
            replace(exchange, notes={**provider_from_header(document), **exchange.notes})
            for exchange in to_http_interactions(interaction)
        ]


def _parse_documents(raw: bytes, suffix: str) -> Iterator[Any]:
    if raw.startswith(BYTE_ORDER_MARKS):
        raw = decode_text(raw).encode()
    if _JSON_START.match(raw):
        try:
            refuse_many_values(raw, size_limit())
            return iter([parse_json(raw)])
        except Malformed:
            decode_text(raw)  # what is no text has no place in JSON
            if suffix not in (".yaml", ".yml"):  # YAML may begin with a brace, too
                raise
    return parse_yaml_documents(decode_text(raw), max_nodes=max_yaml_nodes())
