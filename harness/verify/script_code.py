"""Writes the script of a recording or of fixtures as Python, as YAML, or as the JSON that the control plane accepts."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import orjson

from harness.cassettes.format.layout import dump_yaml
from harness.core.exchange import Json
from harness.ending import ENDINGS, RESPONSE_LINES
from harness.items.kind import ITEMS
from harness.verify.aimock.script import EVERY_REQUEST, ImportedRoute, ImportedScript
from harness.verify.recorded_script import Lines, RecordedScript

ScriptForm = Literal["python", "yaml", "json"]
SCRIPT_FORMS: tuple[str, ...] = get_args(ScriptForm)
_WIDTH = 100
"""The maximum length of a line of Python before it is broken."""


def write_script(script: RecordedScript, form: ScriptForm) -> str:
    """Render a recorded script; comments, except in JSON, list what it leaves out."""
    return _write(script.document, _comments(script), form, _python_lines(script))


def write_imported(script: ImportedScript, form: ScriptForm) -> str:
    """Render converted fixtures; in Python as a `setup(mock)`, whose lines also work inside a test."""
    told = [*(f"not converted: {why}" for why in script.left_out), *(f"not played: {why}" for why in script.dropped)]
    return _write(script.document, _as_comments(told), form, _python_routes(script.routes))


def _write(document: Json, comments: str, form: ScriptForm, code: Iterable[str]) -> str:
    if form == "json":
        return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
    body = dump_yaml(document) if form == "yaml" else "\n".join(code)
    return f"{comments}{body}".rstrip()


def _comments(script: RecordedScript) -> str:
    again = ", ".join(dict.fromkeys(script.refusals))
    told = [
        f"what {script.name} recorded",
        *([f"refused again, where the requests are the same, by {again}"] if again else []),
        *(f"not played: {why}" for why in script.left_out),
    ]
    return _as_comments(told)


def _as_comments(texts: Iterable[str]) -> str:
    return "".join(f"# {' '.join(text.split())}\n" for text in texts)


def _python_lines(script: RecordedScript) -> Iterator[str]:
    if script.routes:
        yield "from harness.core.exchange import Answer"
    yield from _imports(script.turns)
    yield from ("", "script = [", *(f"{_indent(_turn(turn))}," for turn in script.turns), "]")
    if script.routes:
        yield from ("", "", "def setup(mock):")
    for name, answers in script.routes.items():
        method, _, path = name.partition(" ")
        shown = [_routed(answer) for answer in answers]
        yield _indent(_call("mock.route", [_quote(method), _quote(path), _bracket("[", shown, "]")]))


def _python_routes(routes: Sequence[ImportedRoute]) -> Iterator[str]:
    conditions = [wanted for route in routes for wanted in route.conditions.values()]
    if any(isinstance(wanted, dict) for wanted in conditions):
        yield from ("import re", "")
    yield from _imports([turn for route in routes for turn in route.turns])
    yield from ("", "", "def setup(mock):")
    for number, route in enumerate(routes, 1):
        known = route.conditions or ({} if number == len(routes) else EVERY_REQUEST)
        found = [f"{name}={_condition(wanted)}" for name, wanted in known.items()]
        target = f"{_call('mock.when', found)}.script" if found else "mock.script"
        turns = [_turn(turn) for turn in route.turns]
        yield _indent(_call(target, [*turns, *(["repeat=True"] if route.repeat else [])]))


def _condition(wanted: Any) -> str:
    if not isinstance(wanted, dict):
        return _value(wanted)
    pattern = wanted["pattern"]
    is_raw = not set('"\r\n').intersection(pattern) and not pattern.endswith("\\")
    return f're.compile(r"{pattern}")' if is_raw else f"re.compile({_quote(pattern)})"


def _imports(turns: Sequence[Lines]) -> Iterator[str]:
    """Yield the imports of the builders that the turns use."""
    names = sorted({name for turn in turns for line in turn for name in _builder_of(line)})
    modules: Mapping[str, Callable[[str], bool]] = {
        "harness.ending": lambda name: name in ENDINGS or name in RESPONSE_LINES,
        "harness.faults": lambda name: name not in ENDINGS and name not in RESPONSE_LINES and name not in ITEMS,
        "harness.items": lambda name: name in ITEMS,
    }
    for module, has in modules.items():
        if found := [name for name in names if has(name)]:
            yield f"from {module} import {', '.join(found)}"


def _builder_of(line: Json | str) -> list[str]:
    return [name for name in line if len(line) == 1] if isinstance(line, dict) and "type" not in line else []


def _turn(turn: Lines) -> str:
    """Render a turn: its lines, wrapped in the faults of its delivery."""
    faults = [line for line in turn if isinstance(line, dict) and _WRAPPERS.intersection(_builder_of(line))]
    lines = [_line(line) for line in turn if line not in faults]
    text = lines[0] if len(lines) == 1 else _bracket("[", lines, "]")
    for fault in faults:
        ((name, arguments),) = fault.items()
        text = _call(name, [text, *_keywords(arguments)])
    return text


def _line(line: Json | str) -> str:
    """Render an item, an ending or an error as a call of its builder, or as a dict."""
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
"""Arguments that are passed by position."""
_WRAPPERS = frozenset({"cut", "delay", "end_stream", "pace", "pause", "response", "stream_error", "usage"})
"""Faults and response members that are functions wrapping a turn."""


def _routed(answer: Json) -> str:
    """Render an answer of a route as its body, or as an `Answer` if it has a status or headers."""
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
    """Render parts in brackets: on a single line if they fit, else each on a line of its own."""
    line = f"{opening}{', '.join(parts)}{closing}"
    if (len(line) <= _WIDTH and "\n" not in line) or not parts:
        return line
    if len(parts) == 1 and "\n" in parts[0]:
        return line
    return "\n".join([opening, *(f"{_indent(part)}," for part in parts), closing])


def _value(value: Any) -> str:
    """Render a JSON value as Python code."""
    if isinstance(value, dict):
        return _bracket("{", [f"{_quote(name)}: {_value(member)}" for name, member in value.items()], "}")
    if isinstance(value, list):
        return _bracket("[", [_value(element) for element in value], "]")
    return _quote(value) if isinstance(value, str) else repr(value)


def _quote(text: str) -> str:
    """Quote a string with double quotes, unless that needs more escapes."""
    single = repr(text)
    if not single.startswith("'") or '"' in text:
        return single
    return f'"{single[1:-1]}"' if "\\'" not in single else single


def _indent(text: str) -> str:
    """Indent every line of code."""
    # Strings are quoted in one line, so no line is part of a string.
    return "\n".join(f"    {line}" for line in text.split("\n"))
