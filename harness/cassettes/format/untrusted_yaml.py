"""Parses untrusted YAML to JSON values and bytes: keys and dates are texts, unknown tags are ignored.

PyYAML composes the nodes but constructs no objects. Nesting and the size of expanded aliases are limited.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import yaml

from harness.core.bounded_file import SPLIT_ADVICE
from harness.core.errors import Malformed

MAX_NESTING = 400
"""The depth of nesting beyond which a YAML file is refused."""
TOO_DEEP = "exceeded maximum nesting depth"
"""What PyYAML says since 6.0.4 of a file that is nested even deeper."""

_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_CONSTANT_CASE = re.compile(r"[a-z]+|[A-Z][a-z]+|[A-Z]+|~?")
_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?[0-9]*\.[0-9]+(?:[eE][-+]?[0-9]{1,3})?|[-+]?[0-9]+\.")
_PLAIN = "plain"
_PLAIN_TAGS = frozenset((_PLAIN, *(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float"))))
_LIST_ENTRY = re.compile(r"^ *- ", re.M)
_INVALID_ALIAS = "an alias of nothing, or of what it stands in"


class _InvalidYaml(Exception):
    """An invalid YAML text; `line` is counted from 0."""

    def __init__(self, line: int, problem: str, *, show_line: bool = True) -> None:
        super().__init__(f"line {line + 1}: {problem}" if show_line else problem)
        self.line = line


def parse_yaml_documents(text: str, max_nodes: int | None = None) -> Iterator[Any]:
    """Every document of a YAML text as plain data; a text with more than `max_nodes` values is invalid.

    An invalid document is cut before the invalid entry of its list; then Malformed is raised.
    """
    valid = 0
    try:
        for document in _parse_documents(text, max_nodes):
            yield document
            valid += 1
    except _InvalidYaml as problem:
        with suppress(_InvalidYaml):
            yield from islice(_parse_documents(_complete_part(text, problem.line), max_nodes), valid, None)
        raise Malformed(str(problem)) from problem


def _complete_part(text: str, line: int) -> str:
    """Cut the text before the list entry that contains this line."""
    lines, first = text.splitlines(keepends=True)[: line + 1], _LIST_ENTRY.search(text)
    while first and lines and not lines.pop().startswith(first[0]):
        pass
    return "".join(lines)


def _parse_documents(text: str, max_nodes: int | None) -> Iterator[Any]:
    loader = _RecordingLoader(text)
    loader.nodes_left = max_nodes or len(text) + 1
    try:
        while loader.check_node():
            yield _Converter(len(text) + 100).convert(loader.get_node())
    except yaml.YAMLError as problem:
        mark, reason = getattr(problem, "problem_mark", None), getattr(problem, "problem", None)
        if mark and reason == "found undefined alias":
            raise _InvalidYaml(mark.line, _INVALID_ALIAS) from problem
        if reason == TOO_DEEP:
            raise _InvalidYaml(mark.line if mark else 0, f"nested more than {MAX_NESTING} levels deep") from problem
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        reason = reason or getattr(problem, "reason", None) or "it cannot be read"
        raise _InvalidYaml(mark.line if mark else 0, f"{place}no YAML ({reason})", show_line=False) from problem


class _RecordingLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's composer, which calls these methods for every node, with limits of nesting and number."""

    nodes_left = 0
    _depth = 0

    def descend_resolver(self, parent: yaml.Node | None, _: Any) -> None:
        """Count one node, and one level more."""
        self._depth += 1
        self.nodes_left -= 1
        if self.nodes_left < 0:
            raise Malformed(f"it has too many values; {SPLIT_ADVICE}")
        if parent and self._depth > MAX_NESTING + 1:
            raise _InvalidYaml(parent.start_mark.line, f"nested more than {MAX_NESTING} levels deep")

    def ascend_resolver(self) -> None:
        """Count one level less."""
        self._depth -= 1

    def resolve(self, kind: type[yaml.Node], _: Any, implicit: Any) -> str:
        """Resolve the tag of a node that has none of its own."""
        return _PLAIN if kind is yaml.ScalarNode and implicit[0] else ""


class _Converter:
    """Converts the nodes of one document to plain data; `max_size` bounds their number, which aliases multiply."""

    def __init__(self, max_size: int) -> None:
        self._size_left = max_size
        self._open = set[yaml.Node]()

    def convert(self, node: yaml.Node) -> Any:
        """Convert a node to data; one call per level, so that a deep document stays below Python's limit of recursion."""
        self._size_left -= 1
        if isinstance(node, yaml.ScalarNode):
            return _scalar_value(node)
        if node in self._open or self._size_left < 0:
            raise _InvalidYaml(node.start_mark.line, _INVALID_ALIAS if node in self._open else "its aliases multiply")
        self._open.add(node)
        content: Any = {} if isinstance(node, yaml.MappingNode) else []
        for entry in node.value:
            if not isinstance(entry, tuple):
                content.append(self.convert(entry))
            elif isinstance(entry[0], yaml.ScalarNode):
                _set_member(content, entry[0].value, self.convert(entry[1]))
            else:
                raise _InvalidYaml(entry[0].start_mark.line, "a mapping has a key that is no text", show_line=False)
        self._open.remove(node)
        return _unwrap_tagged(node.tag, content)


def _set_member(mapping: dict[str, Any], name: str, value: Any) -> None:
    if name == "<<" and isinstance(value, dict):
        mapping.update({**value, **mapping})
    else:
        mapping[name] = value


def _scalar_value(node: yaml.ScalarNode) -> Any:
    if node.tag in _PLAIN_TAGS:
        return _resolve_plain(node.value)
    try:
        return base64.b64decode(node.value) if node.tag.endswith("binary") else node.value
    except ValueError as problem:
        raise _InvalidYaml(node.start_mark.line, "a binary value that is no base64") from problem


def _resolve_plain(text: str) -> Any:
    """Resolve a plain scalar as in JSON: what only YAML 1.1 takes for numbers, dates and booleans stays a text."""
    if text[:1] not in "-+.0123456789nNtTfF~":
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return _CONSTANTS.get(text.lower(), text) if _CONSTANT_CASE.fullmatch(text) else text


def _unwrap_tagged(tag: str, value: Any) -> Any:
    """Unwrap objects that older recorders wrote with Python's own tags: a buffer, an iterator of pieces."""
    if tag.endswith("BytesIO") and isinstance(value, dict):
        return next(iter(value.get("state") or [b""]))
    if tag.endswith("builtins.iter"):
        pieces = value.get("args") if isinstance(value, dict) else value
        return pieces[0] if pieces else []
    return value
