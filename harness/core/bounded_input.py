"""Opens the files of users (recordings, reports, scripts) within size limits, and nothing that is no file.

The limits keep compressed and sparse files from filling the memory.

`HARNESS_MAX_RECORDING` is the number of MiB read at once, 64 by default; the other limits scale with it.
"""

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL
from pathlib import Path
from typing import IO

import yaml

from harness.core.errors import ConfigError, Malformed
from harness.core.text import show

LIMIT_VARIABLE = "HARNESS_MAX_RECORDING"
"""The environment variable that raises the limit."""
DEFAULT_LIMIT = 64
"""The default limit: MiB per document, or per line of a JSON lines file."""
RAISE_ADVICE = f"set {LIMIT_VARIABLE} in the environment to more MiB than {DEFAULT_LIMIT}"
"""Advice for a file beyond the limit."""
SPLIT_ADVICE = f"split it into JSON lines, or {RAISE_ADVICE}"
"""Advice for a recording beyond the limit."""
MAX_EXPANSION = 100
"""The largest expansion ratio of a compressed file larger than an eighth of the limit; text expands 5 to 30 times."""

_OTHERS = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def size_limit() -> int:
    """Return the maximum size of a document or line in bytes; ConfigError if the variable is no number of MiB."""
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_LIMIT)
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 1 << 20):
        raise ConfigError(f"{LIMIT_VARIABLE}={text}: pass a number of MiB, such as {2 * DEFAULT_LIMIT}.")
    return int(text) << 20


def max_yaml_nodes() -> int:
    """Return how many values a YAML file may have; each takes up to 500 bytes of memory, however short its text."""
    return size_limit() // 64


class BoundedFile:
    """The content of a file, decompressed if need be; beyond a limit, reading raises Malformed with advice."""

    def __init__(self, plain: IO[bytes], advice: str = SPLIT_ADVICE) -> None:
        self.limit = size_limit()
        self._advice = advice
        self._plain = plain
        self._size = os.fstat(plain.fileno()).st_size
        self._packed = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        self._stream: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=plain) if self._packed else plain
        self._seen = 0

    def read_line(self) -> bytes:
        """Read the next line; empty at the end of the file."""
        line = self._note(self._stream.readline(self.limit + 1))
        if len(line) > self.limit:
            raise self._too_large("it has a line of")
        return line

    def read_rest(self, head: bytes) -> bytes:
        """Read the rest of the content and return it after `head`, which was read before."""
        # A decompressed size is unknown until it is read: stop at the limit instead of reading everything.
        pieces, length = [head], len(head)
        while length <= self.limit and (piece := self._note(self._stream.read(1 << 20))):
            pieces.append(piece)
            length += len(piece)
        if length > self.limit:
            raise self._too_large("decompressed it has" if self._packed else "it has")
        return b"".join(pieces)

    def _note(self, data: bytes) -> bytes:
        """Return `data`; Malformed if the file has expanded too far for its compressed size."""
        self._seen += len(data)
        if self._packed and self._seen > max(self.limit // 8, MAX_EXPANSION * self._size):
            raise Malformed(
                f"decompressed it is more than {MAX_EXPANSION} times as large, as no recording is; "
                f"set {LIMIT_VARIABLE} in the environment to {16 * self._seen >> 20} or more to read it"
            )
        return data

    def _too_large(self, what: str) -> Malformed:
        return Malformed(f"{what} more than {self.limit >> 20} MiB; {self._advice}")


def refuse_other(path: Path) -> None:
    """Raise OSError for a path at which there is neither a file nor a folder."""
    if kind := _OTHERS.get(stat.S_IFMT(path.stat().st_mode)):
        raise OSError(EINVAL, f"it is {kind}, not a file")


@contextmanager
def open_bounded(path: Path, advice: str = SPLIT_ADVICE) -> Iterator[BoundedFile]:
    """Open a file for bounded reading; OSError if it cannot be opened, or is not a file: reading a pipe would block."""
    refuse_other(path)
    with path.open("rb") as plain:
        yield BoundedFile(plain, advice)


@contextmanager
def explain_read_errors(name: str, fix: str = "") -> Iterator[None]:
    """Raise ConfigError, saying why a file cannot be read, for what reading or decoding it raises in the block."""
    try:
        yield
    except (OSError, UnicodeDecodeError, Malformed) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise ConfigError(f"{name}: cannot be read: {why}. {fix}".rstrip()) from problem


def read_bounded(path: Path, advice: str = SPLIT_ADVICE) -> bytes:
    """Read the whole content of a file; Malformed with advice if it is too large, OSError if it cannot be read."""
    with open_bounded(path, advice) as content:
        try:
            return content.read_rest(b"")
        except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
            raise Malformed("the compressed data breaks off or is damaged") from problem


def refuse_many_values(raw: bytes, limit: int, advice: str = SPLIT_ADVICE) -> None:
    """Raise Malformed for JSON with so many objects and lists that they take far more memory than their text."""
    if raw.count(b"{") + raw.count(b"[") > (most := limit // 32):
        raise Malformed(f"it has more than {most} objects and lists; {advice}")


MAX_EXPANDED = 100_000
"""How many values a document may expand to, unless that is at most twice as many as it has without its aliases."""
_TEXT_UNIT = 100
"""How many characters of a text count as one more value: 10 MB of text are as much as the values above."""
TOO_LARGE = f"its aliases expand to more than {MAX_EXPANDED:,} values or 10 MB; write them out, or use fewer"
MAX_NESTING = 100
"""How deep a document may nest."""
MAX_INTEGER_LENGTH = 400
"""How many characters an integer may have."""

_CONSTRUCTOR = yaml.constructor.SafeConstructor()
_SCALARS = {
    f"tag:yaml.org,2002:{name}": _CONSTRUCTOR.yaml_constructors[f"tag:yaml.org,2002:{name}"]
    for name in ("bool", "int", "float")
}
"""What makes a value of a text, by a tag: the text need not be one."""


def text_size(text: str) -> int:
    """Return as how many values a text counts."""
    return 1 + len(text) // _TEXT_UNIT


def is_too_large(expanded: int, written: int) -> bool:
    """Return whether a document of so many written values may not expand to so many."""
    return expanded > max(MAX_EXPANDED, 2 * written)


def find_excess(root: yaml.Node) -> tuple[int, str] | None:
    """Return the line and the description of what is too large or too deep in a document; None if nothing is."""
    measured: dict[int, tuple[int, int]] = {}  # size and depth, by the id of a node
    open_nodes: set[int] = set()
    written = 0
    pending = [(root, False)]
    while pending:
        node, is_left = pending.pop()
        line = node.start_mark.line + 1
        if not is_left and id(node) in measured:
            continue
        if isinstance(node, yaml.ScalarNode):
            measured[id(node)] = size, _ = text_size(node.value), 1
            written += size
            if node.tag.endswith(":int") and len(node.value) > MAX_INTEGER_LENGTH:
                return line, f"an integer of {len(node.value):,} characters; write a string"
            try:
                _SCALARS.get(node.tag, yaml.SafeLoader.construct_scalar)(_CONSTRUCTOR, node)
            except (ValueError, LookupError):
                return line, f"{show(node.value)} is not a value of the type {node.tag.rpartition(':')[2]}"
            continue
        children = [part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,))]
        if is_left:
            open_nodes.discard(id(node))
            sizes, depths = zip((0, 0), *(measured[id(child)] for child in children), strict=True)
            measured[id(node)] = size, depth = 1 + sum(sizes), 1 + max(depths)
            if depth > MAX_NESTING:
                return line, f"nested more than {MAX_NESTING} levels deep"
            written += 1
            if is_too_large(size, written):
                return line, TOO_LARGE
        elif id(node) in open_nodes:
            return line, "an alias stands for what contains it"
        else:
            open_nodes.add(id(node))
            pending += [(node, True), *((child, False) for child in reversed(children))]
    return None
