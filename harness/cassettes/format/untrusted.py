"""Decodes untrusted bytes: text, JSON, and YAML, whose keys and dates are strings and whose unknown tags are ignored.

PyYAML only parses events and constructs no objects. Nesting and the size of expanded aliases are limited.
"""

import base64
import codecs
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import orjson
import yaml

from harness.api.http.bodies import MAX_BODY_DEPTH, load_json
from harness.core.bounded_input import SPLIT_ADVICE, TOO_LARGE, is_too_large, text_size
from harness.core.errors import HarnessError, Malformed

_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
BYTE_ORDER_MARKS = tuple(mark for mark, _ in _BOMS)


class UnreadableRecording(HarnessError):
    """Raised for a recording that is invalid or incomplete; the text names the file, the place and what to do."""

    section = "recordings"


class NotARecording(UnreadableRecording):
    """Raised for a file without any recorded exchanges."""


def decode_text(raw: bytes) -> str:
    """Decode bytes in UTF-8, or in UTF-16 with a byte order mark; Malformed for anything else."""
    encoding = next((name for mark, name in _BOMS if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        raise Malformed(f"byte {problem.start}: not {encoding.removesuffix('-sig').upper()}") from problem


def parse_json(raw: bytes) -> Any:
    """Parse bytes as JSON; Malformed for anything else, including NaN.

    An unpaired surrogate, which programs write when they cut a string, becomes a question mark.
    """
    try:
        return load_json(raw)
    except orjson.JSONDecodeError as problem:
        if b"\\u" not in raw:
            raise Malformed(
                f"line {problem.lineno}, column {problem.colno}: not JSON ({_json_error_reason(problem)})"
            ) from problem
    except ValueError as problem:
        raise Malformed(f"no JSON ({problem})") from problem
    try:
        return load_json(json.dumps(json.loads(raw), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as problem:
        raise Malformed(f"no JSON ({_json_error_reason(problem)})") from problem


def _json_error_reason(problem: Exception) -> str:
    return str(problem).partition(":")[0] if isinstance(problem, ValueError) else "nested too deeply"


MAX_NESTING = MAX_BODY_DEPTH + 30
"""The nesting depth beyond which a YAML file is refused."""
MOST_CUTS = 3
"""How often a text is cut before an invalid entry: an unterminated entry is only noticed in the next one."""
TOO_DEEP = "exceeded maximum nesting depth"
"""What PyYAML since 6.0.4 reports for a file that is nested even deeper."""

_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_CONSTANT_CASE = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+|~?")
_CONSTANT_STARTS = frozenset(("", *"-+.0123456789nNtTfF~"))
"""First characters of plain scalars that may be something other than text."""
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]{1,3})?|[-+]?[0-9]+\.")
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))
_LIST_ENTRY = re.compile(r"^ *- ", re.M)
_NESTED = f"nested more than {MAX_NESTING} levels deep"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _InvalidYaml(Exception):
    """Raised for invalid YAML; `line` counts from 0."""

    def __init__(self, mark: Any, problem: str, *, show_line: bool = True) -> None:
        self.line: int = mark.line if mark else 0
        super().__init__(f"line {self.line + 1}: {problem}" if show_line else problem)


def parse_yaml_documents(text: str, max_nodes: int | None = None) -> Iterator[Any]:
    """Yield every document of a YAML text as plain data; a text with more than `max_nodes` values is invalid.

    An invalid document is yielded up to the invalid entry of its list; then Malformed is raised.
    """
    valid, problems = 0, list[_InvalidYaml]()
    while len(problems) < MOST_CUTS:
        try:
            for document in islice(_parse_documents(text, max_nodes), valid, None):
                yield document
                valid += 1
            break
        except _InvalidYaml as problem:
            problems.append(problem)
            text = _complete_part(text, problem.line)
    if problems:
        raise Malformed(str(problems[0])) from problems[0]


def _complete_part(text: str, line: int) -> str:
    """Cut the text before the list entry that contains this line."""
    lines, first = text.splitlines(keepends=True)[: line + 1], _LIST_ENTRY.search(text)
    while first and lines and not lines.pop().startswith(first[0]):
        pass
    return "".join(lines)


def _parse_documents(text: str, max_nodes: int | None) -> Iterator[Any]:
    try:
        yield from _EventReader(text, max_nodes or len(text) + 1).read_documents()
    except yaml.YAMLError as problem:
        mark, reason = getattr(problem, "problem_mark", None), getattr(problem, "problem", None)
        if reason == TOO_DEEP:
            raise _InvalidYaml(mark, _NESTED) from problem
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        reason = reason or getattr(problem, "reason", None) or "it cannot be read"
        raise _InvalidYaml(mark, f"{place}not YAML ({reason})", show_line=False) from problem


@dataclass(slots=True)
class _Collection:
    """A mapping or sequence as far as it was read: scalars as events, the rest as data, and the number of values.

    In a mapping, names and values alternate. A document is a sequence of one element, without a start.
    """

    start: Any = None
    parts: list[Any] = field(default_factory=list)
    size: int = 1


class _EventReader:
    """Builds plain data from the events of a text.

    a start   -> its collection is opened and becomes the innermost one
    a scalar  -> becomes part of the innermost collection
    an alias  -> what has its anchor becomes part of it, too, unless aliases of aliases multiply
    an end    -> the innermost collection becomes data, and part of the one around it
    """

    def __init__(self, text: str, max_nodes: int) -> None:
        self._next_event = _Loader(text).get_event
        self._nodes_left = max_nodes

    def read_documents(self) -> Iterator[Any]:
        while event := self._next_event():
            if isinstance(event, yaml.DocumentStartEvent):
                yield self._read_document()

    def _read_document(self) -> Any:
        opened = [_Collection()]
        anchored: dict[str, tuple[Any, int]] = {}
        written = expanded = 0
        while not isinstance(event := self._next_event(), yaml.DocumentEndEvent):
            if isinstance(event, yaml.AliasEvent):
                if event.anchor not in anchored:
                    raise _InvalidYaml(event.start_mark, "an alias of nothing, or of what it stands in")
                value, size = anchored[event.anchor]
                # Aliases of aliases double with each line, so they count by the size of what they stand for.
                anchor, expanded = None, expanded + size
                if is_too_large(expanded, written):
                    raise _InvalidYaml(event.start_mark, TOO_LARGE)
            elif isinstance(event, yaml.CollectionEndEvent):
                ended = opened.pop()
                value, size, anchor = _to_data(ended), ended.size, ended.start.anchor
            else:
                self._nodes_left -= 1
                if self._nodes_left < 0:
                    raise Malformed(f"it has too many values; {SPLIT_ADVICE}")
                size = text_size(event.value) if isinstance(event, yaml.ScalarEvent) else 1
                written, expanded = written + size, expanded + size
                if isinstance(event, yaml.CollectionStartEvent):
                    if len(opened) > MAX_NESTING:
                        raise _InvalidYaml(event.start_mark, _NESTED)
                    opened.append(_Collection(event))
                    continue
                value, anchor = event, event.anchor
            if anchor:
                anchored[anchor] = value, size
            opened[-1].parts.append(value)
            opened[-1].size += size
        return _to_data(opened[0])[0]


def _to_data(ended: _Collection) -> Any:
    is_mapping = isinstance(ended.start, yaml.MappingStartEvent)
    parts = ended.parts[1::2] if is_mapping else ended.parts
    values = [_scalar_value(part) if isinstance(part, yaml.ScalarEvent) else part for part in parts]
    content = _to_mapping(ended, values) if is_mapping else values
    return _unwrap_tagged(ended.start.tag, content) if ended.start and ended.start.tag else content


def _to_mapping(ended: _Collection, values: Sequence[Any]) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for name, value in zip(ended.parts[::2], values, strict=True):
        if not isinstance(name, yaml.ScalarEvent):
            raise _InvalidYaml(ended.start.start_mark, "a mapping has a key that is not a string", show_line=False)
        if name.value == "<<" and isinstance(value, dict):
            mapping.update({**value, **mapping})
        else:
            mapping[name.value] = value
    return mapping


def _scalar_value(event: yaml.ScalarEvent) -> Any:
    text = event.value
    # Only an unquoted scalar may be a number, a constant or null.
    if event.implicit[0] if event.tag in (None, "!") else event.tag in _PLAIN_TAGS:
        return _resolve_plain(text) if text[:1] in _CONSTANT_STARTS else text
    try:
        return base64.b64decode(text) if event.tag and event.tag.endswith("binary") else text
    except ValueError as problem:
        raise _InvalidYaml(event.start_mark, "a binary value that is not base64") from problem


def _resolve_plain(text: str) -> Any:
    """Resolve a plain scalar as JSON would: numbers, dates and booleans of YAML 1.1 alone remain strings."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return _CONSTANTS.get(text.lower(), text) if _CONSTANT_CASE.fullmatch(text) else text


def _unwrap_tagged(tag: str, value: Any) -> Any:
    """Unwrap objects that older recorders wrote with Python-specific tags: a buffer, an iterator of pieces."""
    if tag.endswith("BytesIO") and isinstance(value, dict):
        return next(iter(value.get("state") or [b""]))
    if tag.endswith("builtins.iter"):
        pieces = value.get("args") if isinstance(value, dict) else value
        return pieces[0] if pieces else []
    return value
