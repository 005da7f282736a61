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
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar

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
from harness.core.dates import is_day
from harness.core.errors import COMMAND, ApiError, ConfigError, ScriptError
from harness.core.exchange import Json
from harness.core.json_values import without_nulls
from harness.core.registry import suggest_name
from harness.core.text import show
from harness.world.scripting.document import find_line, load_yaml, locate_errors
from harness.world.scripting.validation import (
    OBJECT,
    TEXT,
    TEXT_LIST,
    InvalidData,
    ValueForm,
    check_forms,
    check_named_members,
    errors_at,
)

FORMAT = 1
_FIELD = re.compile(r"\{(\w*)\}")
_FACTS = ("model", "path", "value")


def _is_number(value: Any, least: int, most: float = float("inf")) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


_LIST = ValueForm("a list", lambda value: isinstance(value, list))
_PLACE = ValueForm("a place without numbers, `tools[].name`", lambda value: TEXT.is_valid(value) and is_place(value))
_SCALARS = ValueForm(
    "a list of texts, numbers, booleans and nulls",
    lambda value: isinstance(value, list) and not any(isinstance(part, dict | list) for part in value),
)
_DAY = ValueForm("a day, such as 2026-03-15", lambda value: value == "" or (TEXT.is_valid(value) and is_day(value)))
_CONDITION = {"operation": TEXT, "dialect": TEXT, "models": TEXT_LIST, "when": _LIST}
_EXEMPTION = {"rule": TEXT, "at": _PLACE, "words": OBJECT, **_CONDITION, "seen": _LIST}
_REFUSAL = {"error": OBJECT, "instead": TEXT, **_CONDITION, "seen": _LIST}
_ERROR = {
    "status": ValueForm("a status from 400 to 499", lambda value: _is_number(value, 400, 499)),
    **dict.fromkeys(("message", "type", "param", "code"), TEXT),
}
_MEMBER = {"in": TEXT, "at": _PLACE, "seen": _LIST}
_WHEN = {"at": _PLACE, "value": _SCALARS, "is": TEXT_LIST, "of": TEXT}
_SEEN = {"file": TEXT, "exchange": ValueForm("a number from 1", lambda value: _is_number(value, 1)), "date": _DAY}
_FILE = {
    "format": ValueForm(f"{FORMAT}", lambda value: _is_number(value, 1)),
    **dict.fromkeys(("exemptions", "refusals", "members"), _LIST),
}
_Read = TypeVar("_Read")


def answer_roots() -> tuple[str, ...]:
    """Return the names of the schemas to which a member of an answer may belong."""
    own = {operation.answer_schema for operation in OPERATIONS.values() if operation.answer_schema}
    return (*sorted(own), "Error", RESPONSE_EVENT_SCHEMA)


def parse_overrides(text: str, file: str = "contract.yaml", today: str = "") -> Overrides:
    """Parse overrides; ConfigError for a mistake, with the line and the nearest name.

    Nothing in them may have been recorded after `today` (YYYY-MM-DD); empty for no limit.
    """
    try:
        node, value = load_yaml(file, text, f"`format: {FORMAT}`")
        with locate_errors(file, node):
            own = _read_members(value, _FILE, "format")
            if own["format"] > FORMAT:
                with errors_at("format"):
                    raise InvalidData(
                        f"format {own['format']} is of a newer release; this one reads format {FORMAT}. "
                        "Update responses-harness."
                    )
            read = Overrides(
                _read_list(own, "exemptions", _read_exemption),
                _read_list(own, "refusals", _read_refusal),
                _read_list(own, "members", _read_member),
                file,
            )
    except ScriptError as problem:
        raise ConfigError(str(problem)) from None
    overrides = with_entries(read, (replace(entry, line=find_line(node, path)) for path, entry in _list_entries(read)))
    for entry, mistake in _find_mistakes(overrides, today):
        raise ConfigError(f"{file}:{entry.line}: {mistake}")
    return overrides


def _list_entries(overrides: Overrides) -> Iterator[tuple[tuple[str, int], Entry]]:
    """Yield each entry with its path in the file."""
    for name in ("exemptions", "refusals", "members"):
        yield from (((name, place), entry) for place, entry in enumerate(getattr(overrides, name)))


def _read_members(value: Any, forms: Mapping[str, ValueForm], *required: str) -> Json:
    """Return the members of an object except those that are null."""
    own = without_nulls(value) if isinstance(value, dict) else value
    own = check_forms(own, "member", forms)
    for name in required:
        if name not in own:
            raise InvalidData(f"{name} is missing. Add it.")
    return own


def _read_list(own: Json, name: str, read: Callable[[Any], _Read]) -> tuple[_Read, ...]:
    elements = []
    for place, element in enumerate(own.get(name, ())):
        with errors_at(name, place):
            elements.append(read(element))
    return tuple(elements)


def _read_name(own: Json, member: str, known: Collection[str], default: str = "", what: str = "") -> str:
    name: str = own.get(member, default)
    if member in own:
        with errors_at(member):
            _check_name(what or member, name, known)
    return name


def _check_name(what: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise InvalidData(f"no {what} {show(name)}. {suggest_name(name, known)}")


def _read_exemption(value: Any) -> Exemption:
    own = _read_members(value, _EXEMPTION, "rule")
    with errors_at("words"):
        words = {
            name: TEXT.check(name, word) for name, word in check_named_members(own.get("words", {}), "words").items()
        }
    rule, seen = _read_name(own, "rule", RULES), _read_list(own, "seen", _read_evidence)
    return Exemption(rule, own.get("at", ""), _read_condition(own), words, seen)


def _read_refusal(value: Any) -> AddedRefusal:
    own = _read_members(value, _REFUSAL, "error")
    with errors_at("error"):
        error = {"type": "invalid_request_error", **_read_members(own["error"], _ERROR, "status", "message")}
        for name in error.keys() - {"status", "type"}:
            with errors_at(name):
                _check_template(error[name])
    condition = _read_condition(own)
    if not condition.members and not condition.models:
        raise InvalidData("a refusal needs `when` or `models`: it would refuse every request.")
    instead, seen = _read_name(own, "instead", RULES), _read_list(own, "seen", _read_evidence)
    return AddedRefusal(ApiError(**error), condition, instead, seen)


def _check_template(text: str) -> None:
    plain = text.replace("{{", "").replace("}}", "")
    for name in _FIELD.findall(plain):
        if name not in _FACTS:
            raise InvalidData(f"{{{name}}} is not a fact. {suggest_name(name, _FACTS)} A brace itself is {{{{ or }}}}.")
    if "{" in _FIELD.sub("", plain) or "}" in _FIELD.sub("", plain):
        raise InvalidData("a brace stands alone; write {{ or }}.")


def _read_member(value: Any) -> AddedMember:
    own = _read_members(value, _MEMBER, "in", "at")
    return AddedMember(
        _read_name(own, "in", answer_roots(), what="schema"), own["at"], _read_list(own, "seen", _read_evidence)
    )


def _read_condition(own: Json) -> Condition:
    return Condition(
        _read_name(own, "operation", OPERATIONS, CREATE_RESPONSE),
        _read_name(own, "dialect", PROVIDERS, "openai"),
        tuple(own.get("models", ())),
        _read_list(own, "when", _read_member_condition),
    )


def _read_member_condition(value: Any) -> MemberCondition:
    own = _read_members(value, _WHEN, "at")
    kinds = tuple(own.get("is", ()))
    for place, kind in enumerate(kinds):
        with errors_at("is", place):
            _check_name("kind", kind, KINDS)
    return MemberCondition(own["at"], tuple(own.get("value", ())), kinds, own.get("of", ""))


def _read_evidence(value: Any) -> Evidence:
    return Evidence(**_read_members(value, _SEEN, "file", "exchange"))


def _find_mistakes(overrides: Overrides, today: str) -> Iterator[tuple[Entry, str]]:
    """Yield entries that were recorded after today, or state that all requests of another are judged otherwise."""
    first: dict[str, Entry] = {}
    for entry in overrides.entries:
        for exchange in entry.seen:
            if today and exchange.date > today:
                why = f"date {exchange.date!r} lies in the future: today is {today}"
                yield entry, f"{why}. Pass the day of the recording, or none."
        known = first.setdefault(identify_entry(entry), entry)
        if known is not entry and not isinstance(entry, AddedRefusal):
            yield entry, f"it says the same as line {known.line}; {_DELETE}"
    for number, later in enumerate(overrides.refusals):
        for earlier in overrides.refusals[:number]:
            # The earlier one takes precedence, so the later one could never apply.
            if later.instead == earlier.instead and earlier.condition.covers(later.condition):
                what = "twice the same" if later.error == earlier.error else "another error for the same requests"
                yield later, f"it says {what} as line {earlier.line}; {_DELETE}"
        for taken in overrides.exemptions:
            if later.is_contradicted_by(taken):
                yield later, f"the API refused these requests, but line {taken.line} says that it took them; {_DELETE}"


_DELETE = "delete one of them."


def identify_entry(entry: Entry) -> str:
    """Return a key of what an entry says, whatever it is based on."""
    return repr(replace(entry, seen=(), line=0))


def with_entries(overrides: Overrides, entries: Iterable[Entry]) -> Overrides:
    """Return overrides with other entries; the entries of each kind keep their order."""
    listed = list(entries)
    return replace(
        overrides,
        exemptions=tuple(entry for entry in listed if isinstance(entry, Exemption)),
        refusals=tuple(entry for entry in listed if isinstance(entry, AddedRefusal)),
        members=tuple(entry for entry in listed if isinstance(entry, AddedMember)),
    )


HEADER = f"""\
# What the API did in your recordings, and this release of responses-harness did not know: `{COMMAND} learn` wrote it.
# Read it, change it, delete what you do not want: docs/learn.md says what each line means.
"""


_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


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
    return HEADER + yaml.dump(document, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=120)


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
