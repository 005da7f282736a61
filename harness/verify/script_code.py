"""A recorded script as a file: in Python, in YAML, or as the JSON that the control plane takes."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import orjson

from harness.cassettes.format.yaml_layout import dump_yaml
from harness.core.exchange import Json
from harness.ending import ENDINGS
from harness.items.kind import ITEMS
from harness.verify.recorded_script import Lines, RecordedScript

ScriptForm = Literal["python", "yaml", "json"]
SCRIPT_FORMS: tuple[str, ...] = get_args(ScriptForm)
_WIDTH = 100
"""The longest line of Python that is not broken."""


def write_script(script: RecordedScript, form: ScriptForm) -> str:
    """Write a recorded script in a form; what it leaves out is told in comments, which JSON has none of."""
    if form == "json":
        return orjson.dumps(script.document, option=orjson.OPT_INDENT_2).decode()
    if form == "yaml":
        return f"{_comments(script)}{dump_yaml(script.document)}".rstrip()
    return "\n".join(_python_lines(script))


def _comments(script: RecordedScript) -> str:
    again = ", ".join(dict.fromkeys(script.refusals))
    told = [
        f"what {script.name} recorded",
        *([f"refused again, where the requests are the same, by {again}"] if again else []),
        *(f"not played: {' '.join(why.split())}" for why in script.left_out),
    ]
    return "".join(f"# {text}\n" for text in told)


def _python_lines(script: RecordedScript) -> Iterator[str]:
    yield from _comments(script).splitlines()
    yield from _imports(script)
    yield from ("", "script = [", *(f"{_indent(_turn(turn))}," for turn in script.turns), "]")
    if script.routes:
        yield from ("", "", "def setup(mock):")
    for name, answers in script.routes.items():
        method, _, path = name.partition(" ")
        shown = [_routed(answer) for answer in answers]
        yield _indent(_call("mock.route", [_quote(method), _quote(path), _bracket("[", shown, "]")]))


def _imports(script: RecordedScript) -> Iterator[str]:
    """Import the builders that the turns use, from the module of each."""
    names = sorted({name for turn in script.turns for line in turn for name in _builder_of(line)})
    modules: Mapping[str, Callable[[str], bool]] = {
        "harness.ending": lambda name: name in ENDINGS,
        "harness.faults": lambda name: name not in ENDINGS and name not in ITEMS,
        "harness.items": lambda name: name in ITEMS,
    }
    if script.routes:
        yield "from harness.core.exchange import Answer"
    for module, has in modules.items():
        if found := [name for name in names if has(name)]:
            yield f"from {module} import {', '.join(found)}"


def _builder_of(line: Json | str) -> list[str]:
    return [name for name in line if len(line) == 1] if isinstance(line, dict) and "type" not in line else []


def _turn(turn: Lines) -> str:
    """Write a turn: its lines, inside the faults of its delivery."""
    faults = [line for line in turn if isinstance(line, dict) and _WRAPPERS.intersection(_builder_of(line))]
    lines = [_line(line) for line in turn if line not in faults]
    text = lines[0] if len(lines) == 1 else _bracket("[", lines, "]")
    for fault in faults:
        ((name, arguments),) = fault.items()
        text = _call(name, [text, *_keywords(arguments)])
    return text


def _line(line: Json | str) -> str:
    """Write an item, an ending or an error: as a call of its builder, or as the dict that it is."""
    if not isinstance(line, dict) or not _builder_of(line):
        return _value(line)
    ((name, arguments),) = line.items()
    if not isinstance(arguments, dict):
        return _call(name, [_value(arguments)])
    positional = _POSITIONAL.get(name, ())
    first = [_value(arguments[member]) for member in positional if member in arguments]
    rest = {member: value for member, value in arguments.items() if member not in positional}
    return _call(name, [*first, *_keywords(rest)])


_POSITIONAL = {
    "function_call": ("name", "arguments"),
    "http_error": ("status", "message"),
    "failed": ("code", "message"),
}
"""Arguments that are written without their names."""
_WRAPPERS = frozenset({"cut", "end_stream", "stream_error"})
"""Faults that are functions of a turn."""


def _routed(answer: Json) -> str:
    """Write an answer of a route: its body, with a status or headers an `Answer`."""
    body: Any = answer.get("json", answer.get("text", ""))
    shown = _value(base64.b64decode(answer["base64"]) if "base64" in answer else body)
    if "status" not in answer and "headers" not in answer:
        return shown
    return _call("Answer", [str(answer.get("status", 200)), shown, _value(answer.get("headers", {}))])


def _keywords(arguments: Mapping[str, Any]) -> list[str]:
    return [f"{name}={_value(value)}" for name, value in arguments.items()]


def _call(name: str, arguments: Sequence[str]) -> str:
    return _bracket(f"{name}(", arguments, ")")


def _bracket(opening: str, parts: Sequence[str], closing: str) -> str:
    """Write parts in brackets: on a line if they fit there, else each on one of its own."""
    line = f"{opening}{', '.join(parts)}{closing}"
    if (len(line) <= _WIDTH and "\n" not in line) or not parts:
        return line
    if len(parts) == 1 and "\n" in parts[0]:
        return line
    return "\n".join([opening, *(f"{_indent(part)}," for part in parts), closing])


def _value(value: Any) -> str:
    """Write a value of JSON as Python does."""
    if isinstance(value, dict):
        return _bracket("{", [f"{_quote(name)}: {_value(member)}" for name, member in value.items()], "}")
    if isinstance(value, list):
        return _bracket("[", [_value(element) for element in value], "]")
    return _quote(value) if isinstance(value, str) else repr(value)


def _quote(text: str) -> str:
    """Quote a text with double quotes, unless that takes more escapes."""
    single = repr(text)
    if not single.startswith("'") or '"' in text:
        return single
    return f'"{single[1:-1]}"' if "\\'" not in single else single


def _indent(text: str) -> str:
    """Indent code, but no line inside a text: none has any, as texts are quoted in a line."""
    return "\n".join(f"    {line}" for line in text.split("\n"))
