"""`contract.yaml`: how a user's recordings contradict the mock, as text that people read and review.

    format: 1
    exemptions:                                # the API accepted it, the mock refuses it
    - rule: invalid_type                       # the rule that does not hold …
      at: input[].status                       # … at this place (none: of the whole request)
      words: {kind: tool search call}          # … with these facts in its message
      operation: POST /responses               # the default
      when: [{at: input[].status, value: [null], of: function_call}]
      seen: [{file: tests/cassettes/a.yaml, exchange: 2, date: 2025-10-02}]
    refusals:                                  # the API refused it, the mock accepts it
    - error: {status: 400, message: "… '{value}' …", type: invalid_request_error, param: reasoning.context, code: …}
      instead: invalid_value                   # the rule by which the mock refused it, with another error
      models: [o3]
      when: [{at: reasoning.context, value: [all_turns]}]
    members:                                   # an answer had it, no schema knows it
    - {in: Response, at: output[].caller}

A condition (`when`) has a place, values and kinds of the member (`is`: absent, null, boolean, number, text, list,
object), and the type of the object that holds it (`of`). `dialect` is openai unless it is set to azure or foundry.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from typing import Any, NamedTuple

import yaml

from harness.api.http.dialects import PROVIDERS
from harness.api.operations import OPERATIONS
from harness.contract.overrides import (
    KINDS,
    AddedMember,
    AddedRefusal,
    Condition,
    Entry,
    Evidence,
    Exemption,
    MemberCondition,
    Overrides,
    is_place,
)
from harness.contract.rule import CREATE_RESPONSE, RULES
from harness.contract.schema import RESPONSE_EVENT_SCHEMA
from harness.core.bounded_input import find_excess
from harness.core.dates import is_day
from harness.core.errors import COMMAND, ApiError, ConfigError
from harness.core.exchange import Json
from harness.core.json_values import as_object
from harness.core.text import show

FORMAT = 1
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FIELD = re.compile(r"\{(\w*)\}")
_FACTS = ("model", "path", "value")
_CONDITION_KEYS = ("operation", "dialect", "models", "when")


class Lined(NamedTuple):
    """A value in a YAML file with its line, from 1 (a member's is its key's); members and elements are `Lined`, too."""

    value: Any
    line: int


class _Twice(Exception):
    """A duplicate key in a mapping: its line and the key."""


class _Reader:
    """Reads the values of one file; a mistake is a ConfigError with file and line. `today` is a day, or empty."""

    def __init__(self, file: str, today: str) -> None:
        self.file, self.today = file, today

    def fail(self, line: int, problem: str) -> ConfigError:
        return ConfigError(f"{self.file}:{line}: {problem}")

    def members(self, node: Lined, what: str, known: Sequence[str], required: Sequence[str] = ()) -> dict[str, Lined]:
        if not isinstance(node.value, dict):
            raise self.fail(node.line, f"{what} is a mapping, got {_show(node.value)}.")
        for name, member in node.value.items():
            if name not in known:
                raise self.fail(member.line, f"{what} has no `{name}`. {_nearest(name, known)}")
        if missing := [name for name in required if name not in node.value]:
            raise self.fail(node.line, f"{what} needs `{missing[0]}`.")
        return node.value

    def items(self, node: Lined | None, what: str) -> list[Lined]:
        if node is None or node.value is None:
            return []
        if not isinstance(node.value, list):
            raise self.fail(node.line, f"{what} is a list, got {_show(node.value)}.")
        return node.value

    def text(self, node: Lined | None, what: str, default: str = "") -> str:
        if node is None:
            return default
        if not isinstance(node.value, str):
            raise self.fail(node.line, f"{what} is a text, got {_show(node.value)}.")
        return node.value

    def one_of(self, node: Lined | None, what: str, known: Iterable[str], default: str = "") -> str:
        value, names = self.text(node, what, default), list(known)
        if node is not None and value not in names:
            raise self.fail(node.line, f"{what} {show(value)} is not known. {_nearest(value, names)}")
        return value

    def place(self, node: Lined) -> str:
        place = self.text(node, "`at`")
        if not is_place(place):
            raise self.fail(node.line, f"{show(place)} is not a place; write `tools[].name`, without numbers.")
        return place


def answer_roots() -> tuple[str, ...]:
    """Return the names of the schemas to which a member of an answer may belong."""
    own = {operation.answer_schema for operation in OPERATIONS.values() if operation.answer_schema}
    return (*sorted(own), "Error", RESPONSE_EVENT_SCHEMA)


def parse_overrides(text: str, file: str = "contract.yaml", today: str = "") -> Overrides:
    """Parse overrides; ConfigError for a mistake, with the line and the nearest name.

    Nothing in them may have been recorded after `today` (YYYY-MM-DD); empty for no limit.
    """
    read = _Reader(file, today)
    top = read.members(_compose(text, file), "a contract", ("format", "exemptions", "refusals", "members"), ("format",))
    version = top["format"].value
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise read.fail(top["format"].line, f"`format` is {FORMAT}, got {_show(version)}.")
    if version > FORMAT:
        raise read.fail(
            top["format"].line,
            f"format {version} is of a newer release; this one reads format {FORMAT}. Update responses-harness.",
        )
    exemptions = tuple(_read_exemption(read, node) for node in read.items(top.get("exemptions"), "`exemptions`"))
    refusals = tuple(_read_refusal(read, node) for node in read.items(top.get("refusals"), "`refusals`"))
    members = tuple(_read_member(read, node) for node in read.items(top.get("members"), "`members`"))
    _refuse_contradictions(read, exemptions, refusals, members)
    return Overrides(exemptions, refusals, members, file)


def _read_exemption(read: _Reader, node: Lined) -> Exemption:
    own = read.members(node, "an exemption", (*_CONDITION_KEYS, "rule", "at", "words", "seen"), ("rule",))
    words = read.members(own["words"], "`words`", [*as_object(own["words"].value)]) if "words" in own else {}
    return Exemption(
        read.one_of(own["rule"], "the rule", RULES),
        read.place(own["at"]) if "at" in own else "",
        _read_condition(read, own),
        {name: read.text(word, f"`words.{name}`") for name, word in words.items()},
        _read_seen(read, own.get("seen")),
        node.line,
    )


def _read_refusal(read: _Reader, node: Lined) -> AddedRefusal:
    own = read.members(node, "a refusal", (*_CONDITION_KEYS, "error", "instead", "seen"), ("error",))
    error = read.members(own["error"], "`error`", ("status", "message", "type", "param", "code"), ("status", "message"))
    status = error["status"].value
    if not isinstance(status, int) or not 400 <= status < 500:
        raise read.fail(error["status"].line, f"`status` is one from 400 to 499, got {_show(status)}.")
    condition = _read_condition(read, own)
    if not condition.members and not condition.models:
        raise read.fail(node.line, "a refusal needs `when` or `models`: it would refuse every request.")
    optional: dict[str, str] = {
        name: read.text(error[name], f"`error.{name}`")
        for name in ("param", "code")
        if name in error and error[name].value is not None
    }
    kind = read.text(error.get("type"), "`error.type`", "invalid_request_error")
    message = read.text(error["message"], "`error.message`")
    texts: dict[str, str] = {"message": message, **optional}
    for name, text in texts.items():
        _check_template(read, error[name].line, text)
    return AddedRefusal(
        ApiError(status, message, optional.get("param"), optional.get("code"), kind),
        condition,
        read.one_of(own.get("instead"), "the rule", RULES),
        _read_seen(read, own.get("seen")),
        node.line,
    )


def _check_template(read: _Reader, line: int, text: str) -> None:
    plain = text.replace("{{", "").replace("}}", "")
    for name in _FIELD.findall(plain):
        if name not in _FACTS:
            raise read.fail(line, f"{{{name}}} is not a fact. {_nearest(name, _FACTS)} A brace itself is {{{{ or }}}}.")
    if "{" in _FIELD.sub("", plain) or "}" in _FIELD.sub("", plain):
        raise read.fail(line, "a brace stands alone; write {{ or }}.")


def _read_member(read: _Reader, node: Lined) -> AddedMember:
    own = read.members(node, "a member", ("in", "at", "seen"), ("in", "at"))
    root = read.one_of(own["in"], "the schema", answer_roots())
    return AddedMember(root, read.place(own["at"]), _read_seen(read, own.get("seen")), node.line)


def _read_condition(read: _Reader, own: Mapping[str, Lined]) -> Condition:
    models = tuple(read.text(model, "a model") for model in read.items(own.get("models"), "`models`"))
    members = tuple(_read_member_condition(read, member) for member in read.items(own.get("when"), "`when`"))
    on = read.one_of(own.get("operation"), "the operation", OPERATIONS, CREATE_RESPONSE)
    return Condition(on, read.one_of(own.get("dialect"), "the dialect", PROVIDERS, "openai"), models, members)


def _read_member_condition(read: _Reader, node: Lined) -> MemberCondition:
    own = read.members(node, "a condition", ("at", "value", "is", "of"), ("at",))
    values = tuple(listed.value for listed in read.items(own.get("value"), "`value`"))
    if odd := [value for value in values if isinstance(value, dict | list)]:
        raise read.fail(own["value"].line, f"`value` lists texts, numbers, booleans and nulls, got {_show(odd[0])}.")
    kinds = tuple(read.one_of(kind, "the kind", KINDS) for kind in read.items(own.get("is"), "`is`"))
    return MemberCondition(read.place(own["at"]), values, kinds, read.text(own.get("of"), "`of`"))


def _read_seen(read: _Reader, node: Lined | None) -> tuple[Evidence, ...]:
    found = []
    for exchange in read.items(node, "`seen`"):
        own = read.members(exchange, "an exchange", ("file", "exchange", "date"), ("file", "exchange"))
        number = own["exchange"].value
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise read.fail(own["exchange"].line, f"`exchange` is a number from 1, got {_show(number)}.")
        date = read.text(own.get("date"), "`date`")
        if date and not is_day(date):
            raise read.fail(own["date"].line, f"`date` is a day, such as 2026-03-15, got {show(date)}.")
        if read.today and date > read.today:
            problem = (
                f"`date` {date!r} lies in the future: today is {read.today}. Pass the day of the recording, or none."
            )
            raise read.fail(own["date"].line, problem)
        found.append(Evidence(read.text(own["file"], "`file`"), number, date))
    return tuple(found)


def _refuse_contradictions(
    read: _Reader, exemptions: Sequence[Exemption], refusals: Sequence[AddedRefusal], members: Sequence[AddedMember]
) -> None:
    """Raise ConfigError if one entry states that all requests of another are accepted or refused otherwise."""
    for number, later in enumerate(refusals):
        for earlier in refusals[:number]:
            # The earlier one takes precedence, so the later one could never apply.
            if later.instead == earlier.instead and earlier.condition.covers(later.condition):
                what = "twice the same" if later.error == earlier.error else "another error for the same requests"
                raise read.fail(later.line, f"it says {what} as line {earlier.line}; delete one of them.")
        for taken in exemptions:
            if later.is_contradicted_by(taken):
                raise read.fail(
                    later.line,
                    f"the API refused these requests, but line {taken.line} says that it took them; delete one of them.",
                )
    for number, exemption in enumerate(exemptions):
        for before in exemptions[:number]:
            same = (exemption.rule, exemption.at, exemption.words) == (before.rule, before.at, before.words)
            if same and exemption.condition == before.condition:
                raise read.fail(exemption.line, f"it says the same as line {before.line}; delete one of them.")
    for number, member in enumerate(members):
        for first in members[:number]:
            if (member.root, member.at) == (first.root, first.at):
                raise read.fail(member.line, f"it says the same as line {first.line}; delete one of them.")


def _compose(text: str, file: str) -> Lined:
    try:
        node = yaml.compose(text, _LOADER)
        if node is None:
            return Lined({}, 1)
        if excess := find_excess(node):
            line, what = excess
            raise ConfigError(f"{file}:{line}: not a contract: {what}.")
        return _convert(node, _LOADER(""))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be read"
        if problem == "exceeded maximum nesting depth":  # PyYAML since 6.0.4; before that, Python's recursion limit
            raise ConfigError(f"{file}:1: not a contract: it cannot be read.") from None
        raise ConfigError(f"{file}:{mark.line + 1 if mark else 1}: not YAML: {problem}.") from None
    except _Twice as twice:
        line, name = twice.args
        raise ConfigError(f"{file}:{line}: `{name}` is a duplicate key; delete one of them.") from None
    except (RecursionError, ValueError):
        raise ConfigError(f"{file}:1: not a contract: it cannot be read.") from None


def _convert(node: yaml.Node, loader: Any) -> Lined:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        members: dict[str, Lined] = {}
        for key, value in node.value:
            name, at = _key_text(key), key.start_mark.line + 1
            if name in members:
                raise _Twice(at, name)
            members[name] = _convert(value, loader)._replace(line=at)
        return Lined(members, line)
    if isinstance(node, yaml.SequenceNode):
        return Lined([_convert(child, loader) for child in node.value], line)
    # Keep a day as written; YAML would make it a date.
    value = node.value if node.tag.endswith(":timestamp") else loader.construct_object(node)
    return Lined(value, line)


def _key_text(key: yaml.Node) -> str:
    if isinstance(key, yaml.ScalarNode):
        return str(key.value)
    return " ".join(yaml.serialize(key, Dumper=yaml.SafeDumper).split())


def _show(value: Any) -> str:
    return {dict: "a mapping", list: "a list", type(None): "nothing"}.get(type(value)) or show(value)


def _nearest(name: object, known: Iterable[str]) -> str:
    names = list(known)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5)
    return f"Did you mean {near[0]!r}?" if near else f"It is one of {', '.join(names)}." if len(names) < 12 else ""


HEADER = f"""\
# What the API did in your recordings, and this release of responses-harness did not know: `{COMMAND} learn` wrote it.
# Read it, change it, delete what you do not want: docs/learn.md says what each line means.
"""


class _ContractDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    def ignore_aliases(self, _: Any) -> bool:
        return True  # a repeated value is written out each time


def render_overrides(overrides: Overrides) -> str:
    """Render overrides as YAML, with a comment at the top."""
    document = _drop_empty(
        {
            "format": FORMAT,
            "exemptions": [*map(_entry_json, overrides.exemptions)],
            "refusals": [*map(_entry_json, overrides.refusals)],
            "members": [*map(_entry_json, overrides.members)],
        }
    )
    return HEADER + yaml.dump(document, Dumper=_ContractDumper, sort_keys=False, allow_unicode=True, width=120)


def _entry_json(entry: Entry) -> Json:
    if isinstance(entry, AddedMember):
        about: Json = {"in": entry.root, "at": entry.at}
    elif isinstance(entry, Exemption):
        about = {"rule": entry.rule, "at": entry.at, "words": dict(entry.words), **_condition_json(entry.condition)}
    else:
        error = {"status": entry.error.status, **entry.error.members()}
        about = {"error": error, "instead": entry.instead, **_condition_json(entry.condition)}
    return _drop_empty({**about, "seen": [_drop_empty(asdict(exchange)) for exchange in entry.seen]})


def _condition_json(condition: Condition) -> Json:
    when = [
        _drop_empty({"at": member.at, "value": list(member.values), "is": list(member.kinds), "of": member.of})
        for member in condition.members
    ]
    dialect = condition.dialect if condition.dialect != "openai" else ""
    operation = condition.on if condition.on != CREATE_RESPONSE else ""
    return {"operation": operation, "dialect": dialect, "models": list(condition.models), "when": when}


def _drop_empty(entry: Json) -> Json:
    return {name: value for name, value in entry.items() if value not in ("", [], {})}
