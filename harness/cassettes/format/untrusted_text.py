"""From the bytes of a file to plain data: JSON, and YAML of any dialect, neither of them trusted.

YAML is built from the parser's events, not by PyYAML's own composer: that one ends the process on deep nesting, makes
dates of texts and runs what a tag names. Here every key is a text, an unknown tag is ignored, and the data is no larger
and no deeper than a recording can be.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

import orjson
import yaml

from harness.core.errors import HarnessError

MAX_NESTING = 400
"""Nesting beyond which a YAML file is refused."""

_YAML_LOADER: Any = getattr(yaml, "CLoader", yaml.SafeLoader)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_YAML_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_CONSTANT_CASE = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+|~?")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]{1,3})?|[-+]?[0-9]+\.")


class UnreadableRecording(HarnessError):
    """A recording that cannot be read, or breaks off; the text names the file, the place and the way out."""


class NotARecording(UnreadableRecording):
    """A file that holds no recorded exchanges at all."""


class Malformed(Exception):
    """Where (`line 3`, `interactions[2]`) and how content breaks off or is not what it should be; never quotes it."""


def decode_text(raw: bytes) -> str:
    """The text of a file in UTF-8, or in UTF-16 with a mark; anything else is Malformed."""
    encoding = next((name for mark, name in _BOMS if raw.startswith(mark)), "utf-8")
    try:
        return raw.decode(encoding)
    except UnicodeDecodeError as problem:
        raise Malformed(f"byte {problem.start}: not {encoding.removesuffix('-sig').upper()}") from problem


def parse_json(raw: bytes) -> Any:
    """The JSON value of some bytes; Malformed for anything else, NaN included.

    A lone surrogate, which programs write when they cut a text, is read as a question mark.
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


def parse_yaml_documents(text: str) -> Iterator[Any]:
    """Every document of a YAML text as plain data: JSON values, and bytes for binary ones.

    Of a document that breaks off what is whole comes first, then Malformed.
    """
    reading = _YamlDocument(len(text))
    try:
        for event in yaml.parse(text, _YAML_LOADER):
            if isinstance(event, yaml.DocumentEndEvent):
                yield reading.root
                reading = _YamlDocument(len(text))
            elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
                reading.add_event(event)
    except (yaml.YAMLError, Malformed) as problem:
        if (rest := reading.complete_part()) is not None:
            yield rest
        raise (problem if isinstance(problem, Malformed) else Malformed(_describe_yaml_error(problem))) from problem


def _describe_yaml_error(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return f"{where}no YAML ({getattr(problem, 'problem', None) or getattr(problem, 'reason', 'it cannot be read')})"


class _OpenCollection:
    """A collection whose end was not reached yet."""

    __slots__ = ("anchor", "before", "key", "tag", "value")

    def __init__(self, event: Any, before: int) -> None:
        self.value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self.key: str | None = None
        self.anchor, self.tag, self.before = event.anchor, event.tag or "", before


class _YamlDocument:
    """One YAML document while it is read; `most` bounds its nodes, which only aliases of aliases can exceed."""

    def __init__(self, most: int) -> None:
        self.root: Any = None
        self._max_size, self._size = most + 100, 0
        self._open: list[_OpenCollection] = []
        self._anchors: dict[str, tuple[Any, int]] = {}

    def add_event(self, event: Any) -> None:
        """Add what one event of the parser says."""
        self._size += 1
        if isinstance(event, yaml.ScalarEvent):
            self._add_value(self._remember_anchor(event.anchor, self._scalar_value(event), 1))
        elif isinstance(event, yaml.AliasEvent):
            self._add_value(self._alias_value(event))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close_collection()
        else:
            self._open.append(_OpenCollection(event, self._size))
            if len(self._open) > MAX_NESTING:
                raise Malformed(f"line {event.start_mark.line + 1}: nested more than {MAX_NESTING} levels deep")

    def complete_part(self) -> Any:
        """The document without what was open when it broke off, but for the list of its entries."""
        del self._open[1 + sum(isinstance(second.value, list) for second in self._open[1:2]) :]
        while self._open:
            self._close_collection()
        return self.root

    def _scalar_value(self, event: Any) -> Any:
        top = self._open[-1] if self._open else None
        if top and isinstance(top.value, dict) and top.key is None:
            return event.value
        tag = event.tag or ""
        if tag.endswith("binary"):
            return _decode_binary(event)
        plain = (
            event.implicit[0]
            if not tag or tag == "!"
            else tag.startswith("tag:yaml.org,2002:") and tag[18:] in _CORE_TAGS
        )
        return _resolve_scalar(event.value) if plain else event.value

    def _alias_value(self, event: Any) -> Any:
        value, size = self._anchors.get(event.anchor, (None, 0))
        self._size += size
        if not size or self._size > self._max_size:
            why = "its aliases multiply" if size else "an alias of nothing, or of what it stands in"
            raise Malformed(f"line {event.start_mark.line + 1}: {why}")
        return value

    def _remember_anchor(self, anchor: str | None, value: Any, size: int) -> Any:
        if anchor is not None:
            self._anchors[anchor] = (value, size)
        return value

    def _close_collection(self) -> None:
        closed = self._open.pop()
        value = _unwrap_tagged(closed.tag, closed.value)
        self._add_value(self._remember_anchor(closed.anchor, value, self._size - closed.before + 1))

    def _add_value(self, value: Any) -> None:
        top = self._open[-1] if self._open else None
        if top is None:
            self.root = value
        elif isinstance(top.value, list):
            top.value.append(value)
        elif top.key is None:
            top.key = _require_text_key(value)
        else:
            _set_member(top.value, top.key, value)
            top.key = None


_CORE_TAGS = ("null", "bool", "int", "float")


def _require_text_key(value: Any) -> str:
    if not isinstance(value, str):
        raise Malformed("a mapping has a key that is no text")
    return value


def _set_member(mapping: dict[str, Any], key: str, value: Any) -> None:
    if key == "<<" and isinstance(value, dict):
        mapping.update({**value, **mapping})
    else:
        mapping[key] = value


def _resolve_scalar(text: str) -> Any:
    """A plain scalar as JSON has it. What YAML 1.1 alone takes for a number, a date or a boolean stays a text."""
    if text[:1] not in "-+.0123456789nNtTfF~":
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return _YAML_CONSTANTS.get(text.lower(), text) if _CONSTANT_CASE.fullmatch(text) else text


def _decode_binary(event: Any) -> Any:
    try:
        return base64.b64decode(event.value)
    except (binascii.Error, ValueError) as problem:
        raise Malformed(f"line {event.start_mark.line + 1}: a binary value that is no base64") from problem


def _unwrap_tagged(tag: str, value: Any) -> Any:
    """What the objects were that older recorders wrote with Python's own tags: a buffer, an iterator of pieces."""
    if tag.endswith("BytesIO") and isinstance(value, dict):
        return next(iter(value.get("state") or [b""]))
    if tag.endswith("builtins.iter"):
        args = value.get("args") if isinstance(value, dict) else value
        return args[0] if args else []
    return value
