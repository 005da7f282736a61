"""Script files in YAML: `harness.world.scripting.document` in a file, with a line number for every mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.core.bounded_input import MAX_NESTING, find_excess
from harness.core.errors import Place, ScriptError
from harness.core.text import show
from harness.world.mock import Mock
from harness.world.route import Turn
from harness.world.scripting.document import ScriptDocument, parse_document
from harness.world.scripting.validation import InvalidData, PathStep

TIMESTAMP_TAG = "tag:yaml.org,2002:timestamp"
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _ScriptLoader(_Loader):  # type: ignore[misc]
    """Loads YAML with JSON's types only: a date stays a string."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [pair for pair in pairs if pair[0] != TIMESTAMP_TAG]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


@dataclass(frozen=True, slots=True)
class YamlScript:
    """A parsed YAML file; `node` provides the line numbers."""

    path: Path
    node: yaml.Node
    document: ScriptDocument

    def apply(self, mock: Mock) -> None:
        """Apply the script to a mock."""
        with _locate_errors(self.path, self.node):
            self.document.apply(mock, lambda at: Place(str(self.path), _find_line(self.node, at)))


def parse_yaml_script(path: Path, text: str) -> YamlScript:
    """Parse the text of a file; ScriptError with the line if something is unusable."""
    node, value = _load(path, text)
    with _locate_errors(path, node):
        return YamlScript(path, node, parse_document(value))


def parse_yaml_turns(text: str) -> Sequence[Turn]:
    """Parse a list of turns, or one turn that is not a list, as if below `script:`.

    ScriptError with the line if something is unusable.
    """
    path = Path("turns")
    node, value = _load(path, text)
    with _locate_errors(path, node, below=1):
        return parse_document({"script": value if isinstance(value, list) else [value]}).routes[0].turns


def _load(path: Path, text: str) -> tuple[yaml.Node, Any]:
    try:
        loader = _ScriptLoader(text)
        if (node := loader.get_single_node()) is None:
            raise ScriptError(f"{path}:1: the file is empty. Begin with `script:` and a list of items.")
        if excess := find_excess(node):
            line, problem = excess
            raise ScriptError(f"{path}:{line}: {problem}.")
        # YAML would silently take the last of two equal keys.
        for key in _duplicate_keys(node, set()):
            raise ScriptError(f"{path}:{key.start_mark.line + 1}: key {show(key.value)} is set twice. Remove one.")
        return node, loader.construct_object(node, deep=True)
    except yaml.MarkedYAMLError as problem:
        line = problem.problem_mark.line + 1 if problem.problem_mark else 1
        raise ScriptError(f"{path}:{line}: {problem.problem}.") from problem
    except RecursionError:
        raise ScriptError(f"{path}:1: nested more than {MAX_NESTING} levels deep.") from None
    except (yaml.YAMLError, ValueError) as problem:
        raise ScriptError(f"{path}:1: {str(problem).splitlines()[0]}.") from problem


@contextmanager
def _locate_errors(path: Path, node: yaml.Node, below: int = 0) -> Iterator[None]:
    """Convert a mistake at a location in the document to an error with the line of the file.

    The file's content is nested `below` that many steps in the document.
    """
    try:
        yield
    except InvalidData as problem:
        raise ScriptError(f"{path}:{_find_line(node, problem.path[below:])}: {problem}") from problem


def _duplicate_keys(node: yaml.Node, seen: set[int]) -> Iterator[yaml.Node]:
    """Yield the later of two equal keys, in mappings at any depth."""
    if id(node) in seen or isinstance(node, yaml.ScalarNode):
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        known = set[tuple[str, str]]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in known:
                    yield key
                known.add((key.tag, key.value))
    for child in node.value:
        for part in child if isinstance(child, tuple) else (child,):
            yield from _duplicate_keys(part, seen)


def _find_line(node: yaml.Node, at: Sequence[PathStep]) -> int:
    """Return the line of a location; for a member the line of its name.

    If the document is not that deep, it is the line of the deepest step that exists.
    """
    line = node.start_mark.line + 1
    for step in at:
        mark, found = _find_child(node, step)
        if found is None:
            break
        line, node = mark.start_mark.line + 1, found
    return line


def _find_child(node: yaml.Node, step: PathStep) -> tuple[yaml.Node, yaml.Node | None]:
    """Return the node that marks the line of a step (the name of a member, or the entry itself), and the child."""
    if isinstance(node, yaml.MappingNode):
        named = (pair for pair in reversed(node.value) if pair[0].value == str(step))
        key, value = next(named, (node, None))
        return key, value
    inside = node.value[step] if isinstance(node, yaml.SequenceNode) and isinstance(step, int) else None
    return inside or node, inside
