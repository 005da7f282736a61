"""What can be copied of an exchange, as curl, pytest test, turn of a script or expected refusal; and the test of a case.

Tests are as a user would write them: the answers as a script, the requests sent by the `openai` client. A long body is
not repeated but represented by marks, which the page replaces: `⟦request⟧` by the JSON of the request, `⟦=input⟧` by its
member `input` in Python, `⟦=⟧` by all of it.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlencode

import orjson

from harness.contract.schema import read_generated, schemas_directory
from harness.core.errors import COMMAND
from harness.core.exchange import Exchange, Json, Request
from harness.core.json_values import as_object, map_strings, strings_in
from harness.core.text import encode_json
from harness.viewer.fork import Fork, change_requests
from harness.viewer.page_data import ShownCase, ShownExchange
from harness.viewer.pool import PoolReader
from harness.world.scripting.lines import (
    Code,
    Lines,
    indent,
    lines_of,
    python_call,
    python_imports,
    python_turn,
    python_value,
)

MARK = "⟦"
"""Begins what stands for a long value in a copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedRequest:
    """A request of a test and what it leads to.

    `turn` are the lines of the model's answer, empty if no model was asked; `refused` is the rule that the test expects
    to refuse it, `error` the exception that it expects of the client. The answer is named `name`, if that is given.
    """

    method: str
    path: str
    body: Any = None
    turn: Lines = ()
    refused: str = ""
    error: str = ""
    name: str = ""

    @property
    def is_create(self) -> bool:
        """Whether the client has a method for it: `responses.create`."""
        return self.method == "POST" and self.path == "/responses" and isinstance(self.body, dict)

    @property
    def is_stream(self) -> bool:
        """Whether its answer is a stream."""
        return self.is_create and self.body.get("stream") is True


def step_turn(method: str, path: str, request: Json, status: int, answer: Json, error: str) -> Lines:
    """Return the lines of the turn that answered a request; none if that asked no model.

    `error` is the message of an error that a script or an account has asked for.
    """
    if not path.endswith("/responses") or method not in ("POST", "WS"):
        return []
    if status >= 400:
        return [{"http_error": {"status": status, "message": error}}] if error else []
    # The warm-up of a WebSocket asks no model.
    is_warm_up = not answer.get("output") and request.get("generate") is False
    return [] if is_warm_up or answer.get("object") != "response" else lines_of(answer)


def error_of(status: int, events: Sequence[Json]) -> str:
    """Return the exception of the `openai` client for an answer, empty for none."""
    if status >= 400:
        return "APIStatusError"
    return "APIError" if any(event.get("type") == "error" for event in events) else ""


@dataclass(frozen=True, slots=True)
class WrittenPart:
    """A part of a test: its steps, turns that `wait` for further requests, and comments above and below its script.

    `written` are its turns in Python, if they are written already.
    """

    steps: Sequence[ScriptedRequest]
    waiting: Sequence[Lines] = ()
    heading: str = ""
    notes: Sequence[str] = ()
    written: Sequence[str] = ()

    @property
    def turns(self) -> list[Lines]:
        """The turns that the part scripts."""
        return [*(step.turn for step in self.steps if step.turn), *self.waiting]


def write_parts(name: str, parts: Sequence[WrittenPart], title: str = "", end: str = "") -> str:
    """Write a file with a test of these parts, whose last line is `end`."""
    turns = [turn for part in parts for turn in part.turns]
    body = [*(line for part in parts for line in _write_part(part, is_last=part is parts[-1])), *([end] if end else [])]
    needed = "\n".join(body)
    modules = [module for module, use in _MODULES.items() if use in needed]
    groups = [[module for module in modules if module == "import contextlib"]]
    groups += [[module for module in modules if module != "import contextlib"], [*python_imports(turns)]]
    imports = "\n\n".join("\n".join(group) for group in groups if group)
    head = f'"""{title}\n\n{_ABOUT}\n"""\n\n' if title else ""
    test = "\n".join([f"def test_{name}(mock, openai_client):", *map(indent, body)])
    return f"{head}{imports}{chr(10) * 3 if imports else ''}{test}\n"


def _write_part(part: WrittenPart, *, is_last: bool) -> Iterator[str]:
    yield from [f"# {part.heading}"] if part.heading else []
    written = part.written or [python_turn(turn) for turn in part.turns]
    yield from [python_call("mock.script", written)] if written else []
    yield from (f"# {note}" for note in part.notes)
    for index, step in enumerate(part.steps, 1):
        yield from _write_step(step, is_last=is_last and index == len(part.steps))


_MODULES = {"import contextlib": "contextlib.", "import openai": "(openai.", "import pytest": "pytest."}
"""The modules that a test may need, each with the text that uses it."""
_ABOUT = f"""Written by `{COMMAND} view --write-test`: it scripts the model's answers and sends the client's requests.
Call your client instead of `openai_client` to test that; the script stays."""


def _write_step(step: ScriptedRequest, *, is_last: bool) -> list[str]:
    call = _write_call(step)
    if step.is_stream:
        call = f"*_, {step.name} = {call}" if step.name else f"list({call})"
    elif step.name:
        call = f"{step.name} = {call}"
    if step.refused:
        head = f"with mock.refuses({python_value(step.refused)}), pytest.raises(openai.APIStatusError):"
    elif step.error:
        # After a request that fails the test, those that follow are sent, too.
        is_expected = bool(step.turn)
        if not is_expected and is_last:
            return [call]
        head = f"with {'pytest.raises' if is_expected else 'contextlib.suppress'}(openai.{step.error}):"
    else:
        return [call]
    return [head, indent(call)]


def _write_call(step: ScriptedRequest) -> str:
    """Write the call of the client: its method for responses, or the one for any path."""
    if step.is_create:
        members = {name: value for name, value in step.body.items() if name in _keywords()}
        others = {name: value for name, value in step.body.items() if name not in members}
        arguments = [f"{name}={python_value(value)}" for name, value in members.items()]
        arguments += [f"extra_body={python_value(others)}"] if others else []
        is_broken = any(isinstance(value, Code) and MARK in value for value in members.values())
        return python_call("openai_client.responses.create", arguments, is_broken)
    body = [] if step.body is None else [f"body={python_value(step.body)}"]
    path = step.path if isinstance(step.path, Code) else python_value(step.path)
    return python_call(f"openai_client.{step.method.lower()}", [path, "cast_to=object", *body])


@cache
def _keywords() -> frozenset[str]:
    """Return the members of a request that `responses.create` has as arguments, others are its `extra_body`."""
    return frozenset(read_generated(schemas_directory(), "CreateResponse")["properties"])


def write_test(case: ShownCase, fork: Fork | None = None) -> str:
    """Write the test of a case, or of a fork of it: kept requests first, then the rest of the script and the others."""
    pool = PoolReader(case.pool)
    ids: dict[str, tuple[str, str]] = {}
    used: set[str] = set()
    steps: dict[int, ScriptedRequest] = {}
    bodies = change_requests(case, fork) if fork else {}
    for shown in case.exchanges:
        if shown.routed or shown.method == "WS":
            continue
        step = _show_step(shown, pool, is_kept=fork is not None and shown.number <= fork.kept)
        body = _with_ids(bodies.get(shown.number, step.body), ids, used)
        steps[shown.number] = replace(step, body=body, path=_path_with_ids(step.path, ids, used))
        ids = {**_ids_of(as_object(pool.value(shown.answer)), step), **ids}
    steps = {number: step if step.name in used else replace(step, name="") for number, step in steps.items()}
    title = _one_line(case.row.name).replace("\\", "\\\\").replace('"""', "'''").rstrip('"') or "A case."
    notes = [f"not taken in the run: {_one_line(turn.text)}" for turn in case.waiting if not (turn.lines and fork)]
    if not fork:
        return write_parts(_name(case), [WrittenPart([*steps.values()], notes=notes)], title)
    waiting = [pool.value(turn.lines) for turn in case.waiting if turn.lines]
    kept = [step for number, step in steps.items() if number <= fork.kept]
    forked = [step for number, step in steps.items() if number > fork.kept]
    parts = [WrittenPart(kept), WrittenPart(forked, waiting, _one_line(str(fork)), notes)]
    return write_parts(_name(case), parts, f"{title}, forked after request {fork.kept}")


def _show_step(shown: ShownExchange, pool: PoolReader, *, is_kept: bool) -> ScriptedRequest:
    """Convert an exchange to a step; the refusal of one that is kept is expected, whatever the test did."""
    request, answer = pool.value(shown.request), as_object(pool.value(shown.answer))
    query = urlencode(as_object(pool.value(shown.query)), doseq=True)
    error = shown.error if shown.asked and not shown.rule else ""
    events = [as_object(pool.value(event.event)) for event in shown.events or ()]
    return ScriptedRequest(
        method=shown.method,
        path=shown.path + (f"?{query}" if query else ""),
        body=request,
        turn=step_turn(shown.method, shown.path, as_object(request), shown.status, answer, error),
        refused=shown.rule if shown.asked or is_kept else "",
        error=error_of(shown.status, events),
        name=f"answer_{shown.number}",
    )


Ids = Mapping[str, tuple[str, str]]
"""Ids in earlier answers: the name of the answer, and the code that reads the id of this run."""


def _ids_of(answer: Json, step: ScriptedRequest) -> dict[str, tuple[str, str]]:
    """Return the ids in an answer; those of calls stay, as the script has them."""
    name = step.name
    if not step.is_create:
        return {id: (name, f"{name}{path}") for id, path in _walk_ids(answer)}
    root = f"{name}.response" if step.is_stream else name
    found = {answer.get("id"): f"{root}.id", as_object(answer.get("conversation")).get("id"): f"{root}.conversation.id"}
    found |= {
        item.get("id"): f"{root}.output[{index}].id"
        for index, item in enumerate(answer.get("output") or [])
        if isinstance(item, dict)
    }
    return {id: (name, code) for id, code in found.items() if isinstance(id, str)}


def _walk_ids(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for member, inner in value.items():
            if member.endswith("id") and member != "call_id" and isinstance(inner, str):
                yield inner, f"{path}[{python_value(member)}]"
            yield from _walk_ids(inner, f"{path}[{python_value(member)}]")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _walk_ids(inner, f"{path}[{index}]")


def _with_ids(value: Any, ids: Ids, used: set[str]) -> Any:
    """Replace recorded ids by code that reads those of this run, and note the answers to read."""
    used.update(ids[text][0] for text in strings_in(value) if text in ids)
    return map_strings(value, lambda text: Code(ids[text][1]) if text in ids else text)


def _path_with_ids(path: str, ids: Ids, used: set[str]) -> str:
    parts = [_with_ids(part, ids, used) for part in re.split(r"([/?&=])", path)]
    text = "".join(f"{{{part}}}" if isinstance(part, Code) else part for part in parts)
    return path if text == path else Code(f'f"{text.replace(chr(34), chr(39))}"')


def _name(case: ShownCase) -> str:
    name = re.sub(r"\W+", "_", case.row.name.rpartition("::")[2]).strip("_").lower()
    return name.removeprefix("test_") or "again"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def unwritable(case: ShownCase) -> Sequence[str]:
    """List what the test of a case lacks."""
    found = []
    if any(shown.method == "WS" for shown in case.exchanges):
        found.append("requests over a WebSocket")
    if any(shown.routed for shown in case.exchanges):
        found.append("answers of mock.route")
    if any(shown.edge.cut for shown in case.exchanges):
        found.append("streams that were cut, which are whole in it")
    return found


REQUEST_MARK = "⟦request⟧"
"""Stands for the JSON of the request, which cannot end a here-document."""

MAX_WRITTEN = 60
"""Characters of JSON of a member of a request that is written out, and not marked."""


def copies_of(exchange: Exchange, rule: str, error: str) -> dict[str, str]:
    """Return everything that can be copied of an exchange, by name."""
    request, answer, status = exchange.request, exchange.answer, exchange.status
    asked_error = error if answer.expected and not rule else ""
    body = as_object(answer.body)
    turn = step_turn(request.method, request.path, as_object(request.body), status, body, asked_error)
    is_writable = request.method != "WS" and isinstance(request.body, dict | list | None)
    note = f"  # {' '.join(error.split())}" if error else ""
    is_refused = bool(rule) and status >= 400
    written = python_turn(turn) if turn else ""
    copies = {
        "curl": _curl(request) if is_writable else "",
        "pytest": _test(exchange, turn, rule, written) if is_writable else "",
        "turn_yaml": _yaml_turn(turn) if turn else "",
        "turn_python": f"mock.script({written})" if turn else "",
        "refusal": f"with mock.refuses({python_value(rule)}) as refused:{note}\n    ..." if is_refused else "",
    }
    return {name: text for name, text in copies.items() if text}


def _curl(request: Request) -> str:
    query = f"?{urlencode(dict(request.query), doseq=True)}" if request.query else ""
    is_stream = as_object(request.body).get("stream") is True
    address, has_body = request.path + query, request.body is not None
    return _write_curl(request.method, address, "api-key" in request.headers, is_stream, has_body)


@lru_cache(maxsize=256)  # most exchanges of a journal have the same
def _write_curl(method: str, address: str, is_azure: bool, is_stream: bool, has_body: bool) -> str:
    key = '"api-key: $AZURE_OPENAI_API_KEY"' if is_azure else '"Authorization: Bearer $OPENAI_API_KEY"'
    program = "curl -sSN" if is_stream else "curl -sS"
    lines = [f'{program} -X {method} "$OPENAI_BASE_URL"{shlex.quote(address)}', f"-H {key}"]
    if has_body:
        lines += ["-H 'Content-Type: application/json'", f"--data-binary @- <<'JSON'\n{REQUEST_MARK}\nJSON"]
    return " \\\n  ".join(lines)


def _test(exchange: Exchange, turn: Lines, rule: str, written: str) -> str:
    """Write a test that scripts the answer, `written` in Python, and sends the request."""
    request, status = exchange.request, exchange.status
    members = {name: _mark_long(name, value) for name, value in as_object(request.body).items()}
    is_named = all(map(str.isidentifier, members))
    step = ScriptedRequest(
        method=request.method,
        path=request.path + (f"?{urlencode(dict(request.query), doseq=True)}" if request.query else ""),
        body=None if request.body is None else members if members and is_named else Code("⟦=⟧"),
        turn=turn,
        refused=rule if status >= 400 else "",
        error=error_of(status, exchange.answer.events or ()),
    )
    said = [line["message"] for line in turn if isinstance(line, dict) and "message" in line]
    if step.is_create and not step.is_stream and len(said) == len(turn) == 1:
        step = replace(step, name="response")
    end = f"assert response.output_text == {python_value(said[0])}" if step.name else ""
    part = WrittenPart([step], written=[written] if turn else ())
    return write_parts(f"request_{exchange.number}", [part], end=end)


def _mark_long(name: str, value: Any) -> Any:
    """Return a mark for a long member of a request; a short one is written out."""
    return Code(f"⟦={name}⟧") if _is_long(value) else value


def _is_long(value: Any) -> bool:
    if isinstance(value, dict | list):
        with suppress(orjson.JSONEncodeError):  # faster, and never longer
            if len(orjson.dumps(value).decode()) > MAX_WRITTEN:
                return True
    elif isinstance(value, str) and len(value) > MAX_WRITTEN:
        return True
    return len(encode_json(value)) > MAX_WRITTEN


def _yaml_turn(turn: Lines) -> str:
    """Write a turn as a line of a YAML script; JSON is a subset of YAML."""
    lines = [*map(_yaml_line, turn)]
    return f"- {lines[0]}" if len(lines) == 1 else "- - " + "\n  - ".join(lines)


def _yaml_line(line: Json | str) -> str:
    if not isinstance(line, dict) or len(line) != 1:
        return encode_json(line)
    ((name, arguments),) = line.items()
    return f"{name}: {encode_json(arguments)}" if arguments else f"{name}:"
