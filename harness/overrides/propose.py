"""Proposes entries for disagreements, each limited to the members, values and models in its recordings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.api.models import MODELS
from harness.contract.check import Violation
from harness.contract.overrides import (
    ABSENT,
    WHOLE_PLACES,
    AddedRefusal,
    Condition,
    Evidence,
    Exemption,
    MemberCondition,
    body_about,
    is_place,
    kind_of,
    normalize_path,
    type_of,
    value_at,
    violation_path,
)
from harness.contract.rule import RULES, Rule
from harness.core.errors import ApiError
from harness.core.exchange import Json
from harness.core.json_values import as_string
from harness.overrides.observe import JudgedExchange, atoms_of, is_name
from harness.verify.judging.unverifiable import MODEL_AREAS
from harness.verify.judging.verdict import VerdictKind

MAX_EVIDENCE = 3
"""The maximum number of exchanges, from different files, that an entry names as evidence."""
MODEL_RULE_AREAS = (*MODEL_AREAS, "reasoning", "model", "limits")
"""Areas of rules that may hold for some models only."""
VALUE_KEYWORDS = ("enum", "const", "minimum", "maximum", "minLength", "maxLength", "maxItems", "minItems", "pattern")
"""Schema keywords that constrain the value of a member rather than its type."""
SHAPE_CODES = (
    *("unknown_parameter", "invalid_type", "missing_required_parameter", "invalid_value", "empty_string"),
    *("string_above_max_length", "integer_below_min_value", "integer_above_max_value", "array_above_max_length"),
)
"""Codes of errors about the form of a request, which is the same for all models."""
KIND_CODES = ("unknown_parameter", "unsupported_parameter", "invalid_type", "missing_required_parameter")
"""Codes of errors about a member or the type of its value, whatever its content."""
ACCIDENTAL = ("model", "stream", "store")
"""Members that do not decide whether a request is accepted; the model has a condition of its own."""
OWN_FACTS = (
    *("path", "param", "value", "values", "hint", "expected", "kind_of", "model", "limit", "name"),
    *("call_id", "id", "ids", "reasoning"),
)
"""Facts of violations that are specific to the request, or that the condition already contains."""
EFFORT = "reasoning.effort"
_QUOTED = re.compile(r"'([^']{1,60})'")
_SHAPING = ("tools", "tool_choice", "reasoning", "text", "previous_response_id", "conversation", "background", "stream")
"""Members whose absence may matter."""


@dataclass(frozen=True)
class Proposal:
    """An entry and the exchanges that it is based on. It `is_narrowed` if it replaces a more general one."""

    entry: Exemption | AddedRefusal
    made_from: tuple[JudgedExchange, ...]
    is_narrowed: bool = False

    @property
    def condition(self) -> Condition:
        """The condition of the entry."""
        return self.entry.condition

    def with_condition(self, condition: Condition) -> Proposal:
        """Return the proposal with another condition."""
        return replace(self, entry=replace(self.entry, condition=condition))


def evidence_of(made_from: Sequence[JudgedExchange]) -> tuple[Evidence, ...]:
    """List the exchanges that an entry names as evidence, from different files."""
    by_file = {judged.file: judged for judged in reversed(made_from)}
    return tuple(
        Evidence(exchange.file, exchange.number, exchange.date)
        for exchange in list(by_file.values())[::-1][:MAX_EVIDENCE]
    )


def place_of(judged: JudgedExchange) -> tuple[str, Any, Any]:
    """Return the place of a violation: the path, the object that has the member, and its value."""
    assert judged.violation is not None
    path = violation_path(judged.violation.facts, judged.violation.error.param)
    return path, *value_at(judged.request.body, path)


def exemption_key(judged: JudgedExchange) -> tuple[Any, ...] | None:
    """Return a key for what a wrong refusal is about; one entry covers equal keys. None if nothing can be learned."""
    if judged.violation is None or judged.violation.rule.id not in RULES:
        return None  # an added refusal that refuses too much is narrowed instead of exempted from
    path, holder, value = place_of(judged)
    rule, words = judged.violation.rule, _words_of(judged.violation.rule, judged.violation.facts)
    at = normalize_path(path)
    if at and not is_place(at):
        return None  # a name with a dot or a bracket cannot be written as a place
    shape: Any = "value" if _is_about_value(rule) else kind_of(value)
    if _is_about_items(at, value):
        shape = _types_of_subjects(judged)
    request = judged.request
    return ("taken", rule.id, request.operation, request.dialect, at, type_of(holder), shape, tuple(words.items()))


def _words_of(rule: Rule, facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the facts of a violation that are names, without places and what the condition already contains."""
    named = {name: str(fact) for name, fact in facts.items() if name not in OWN_FACTS and isinstance(fact, str)}
    return {} if rule.keyword else {name: word for name, word in named.items() if re.fullmatch(r"[a-z][a-z_ ]*", word)}


def _is_about_value(rule: Rule) -> bool:
    return rule.keyword in VALUE_KEYWORDS or (rule.check is not None and rule.area != "pairing")


def propose_exemption(group: Sequence[JudgedExchange]) -> Proposal:
    """Propose an exemption for requests that the API accepted, but the mock refuses by one rule at one place."""
    first = group[0]
    assert first.violation is not None
    rule = first.violation.rule
    path, holder, value = place_of(first)
    if _is_about_items(normalize_path(path), value):
        members = (*_subject_members(group),) or (*_whole_shape(group),)
    else:
        members = (
            _condition_at(path, type_of(holder), [place_of(judged)[2] for judged in group], _is_about_value(rule)),
        )
    models = models_of(group) if is_about_model(first.violation) else ()
    condition = Condition(first.request.operation, first.request.dialect, models, members)
    words = _words_of(rule, first.violation.facts)
    entry = Exemption(rule.id, normalize_path(path), condition, words, evidence_of(group))
    return Proposal(entry, tuple(group))


def is_about_model(violation: Violation) -> bool:
    """Return whether a violation may concern some models only."""
    rule = violation.rule
    if rule.area in ("tools", "text"):
        return "model" in rule.error.message or "model" in violation.facts
    return rule.area in MODEL_RULE_AREAS


def _is_about_items(at: str, value: Any) -> bool:
    """Return whether a violation is about items anywhere in the request or about all of it, and not about a member."""
    return at in WHOLE_PLACES and not (at and kind_of(value) in ("absent", "null", "text"))


def _subjects_of(judged: JudgedExchange) -> list[Json]:
    """Return the input items that the violation names by id."""
    assert judged.violation is not None
    body = body_about(judged.request.body, judged.violation.facts)
    return body["input"] if body is not judged.request.body else []


def _types_of_subjects(judged: JudgedExchange) -> tuple[str, ...]:
    return tuple(sorted({str(item.get("type") or "") for item in _subjects_of(judged)}))


def _subject_members(group: Sequence[JudgedExchange]) -> Iterator[MemberCondition]:
    """Yield conditions on all named items: their types, and their `execution`."""
    for kind in _types_of_subjects(group[0]):
        if kind:
            yield MemberCondition("input[].type", (kind,))
        executors = {
            item.get("execution") for judged in group for item in _subjects_of(judged) if item.get("type") == kind
        }
        if kind and len(executors) == 1 and isinstance(executor := executors.pop(), str):
            yield MemberCondition("input[].execution", (executor,), of=kind)


def _condition_at(path: str, of: str, values: Sequence[Any], exact: bool) -> MemberCondition:
    """Build a condition on a place: its values individually if short and decisive, others by type."""
    listed = [value for value in values if value is None or isinstance(value, bool)]
    if exact:
        listed += [value for value in values if is_name(value) or isinstance(value, int | float)]
    others = (value for value in values if value is ABSENT or not any(value is short for short in listed))
    unique = {(type(value), value): value for value in listed}.values()
    return MemberCondition(normalize_path(path), tuple(unique), tuple(dict.fromkeys(map(kind_of, others))), of)


def models_of(group: Iterable[JudgedExchange]) -> tuple[str, ...]:
    """List the model families of these exchanges, sorted."""
    return tuple(sorted({judged.family for judged in group if judged.family}))


def refusal_key(judged: JudgedExchange) -> tuple[Any, ...] | None:
    """Return a key for what a recorded refusal is about, as `exemption_key` does."""
    error, request = judged.error, judged.request
    if not isinstance(error.get("message"), str) or not isinstance(request.body, dict):
        return None
    instead = judged.violation.rule.id if judged.violation else ""
    template, place = _template_of(judged), refused_place(judged)
    if place and kind_of(place[2]) in ("list", "object", "text") and not is_name(place[2]) and not is_about_kind(error):
        return None  # its content is the reason, which a condition cannot express
    return (
        *("refused", request.operation, request.dialect, instead, tuple(template.items())),
        *(normalize_path(place[0]) if place else "", type_of(place[1]) if place else ""),
    )


def is_about_kind(error: Mapping[str, Any]) -> bool:
    """Return whether a recorded error is about a member or the type of its value, whatever its content."""
    return error.get("code") in KIND_CODES or bool(re.match("(Unknown|Unsupported) parameter", str(error["message"])))


def refused_place(judged: JudgedExchange) -> tuple[str, Any, Any] | None:
    """Return the place that the recorded error names, if a member there decides: not the model or the whole input."""
    param = judged.error.get("param")
    if not isinstance(param, str) or param in ("", "model", "input"):
        return None
    holder, value = value_at(judged.request.body, param)
    return (param, holder, value) if isinstance(holder, dict) and is_place(normalize_path(param)) else None


def _template_of(judged: JudgedExchange) -> Json:
    """Make a template of the recorded error: `{model}`, `{path}` and `{value}` replace what this request sent."""
    model, place = judged.request.body.get("model"), refused_place(judged)
    facts = {"model": as_string(model)}
    if place:
        facts |= {"path": place[0], "value": as_string(place[2])}

    def fill(text: Any, quoted: bool) -> Any:
        if not isinstance(text, str):
            return text
        text = text.replace("{", "{{").replace("}", "}}")
        # The longest first, because the name of a model may be part of a path or a value.
        for name, fact in sorted(facts.items(), key=lambda item: -len(item[1])):
            if fact and (name == "model" or (quoted and name == "path" and ("[" in fact or "." in fact))):
                text = re.sub(rf"(?<![\w.-]){re.escape(fact)}(?![\w-]|\.\w)", f"{{{name}}}", text)
            elif fact and quoted:
                text = text.replace(f"'{fact}'", f"'{{{name}}}'", 1)
        return text

    error = judged.error
    param = "{path}" if place and "[" in place[0] else error.get("param")
    return {
        "status": error["status"],
        "message": fill(error["message"], True),
        "type": error.get("type") or "invalid_request_error",
        "param": param,
        "code": error.get("code"),
    }


def propose_refusal(group: Sequence[JudgedExchange]) -> Proposal:
    """Propose a refusal for requests that the API refused with the same message at one place."""
    first = group[0]
    template = _template_of(first)
    error = ApiError(template["status"], template["message"], template["param"], template["code"], template["type"])
    is_of_shape = error.code in SHAPE_CODES and "{model}" not in error.message
    condition = Condition(
        first.request.operation,
        first.request.dialect,
        () if is_of_shape and len(models_of(group)) > 1 else models_of(group),
        (*_refused_members(group), *(() if is_of_shape else _effort_members(group))),
    )
    instead = first.violation.rule.id if first.violation else ""
    return Proposal(AddedRefusal(error, condition, instead, evidence_of(group)), tuple(group))


def _refused_members(group: Sequence[JudgedExchange]) -> tuple[MemberCondition, ...]:
    places = [refused_place(judged) for judged in group]
    members: list[MemberCondition] = []
    if places[0] is not None:
        values = [place[2] for place in places if place]
        members.append(_condition_at(places[0][0], type_of(places[0][1]), values, exact=True))
    members += _named_members(group, {member.at for member in members})
    if not members and group[0].error.get("param") != "model":
        members += _whole_shape(group)
    return tuple(members)


def may_reason(family: str) -> bool:
    """Return whether a model family may reason, because it does or is unknown."""
    found = MODELS.find(family)
    return found is None or found.reasons is not False


def _effort_members(group: Sequence[JudgedExchange]) -> Iterator[MemberCondition]:
    """Yield a condition on the recorded efforts, since the abilities of a model may depend on its effort."""
    if any(may_reason(judged.family) for judged in group) and "reasoning" not in str(group[0].error.get("param")):
        efforts = [value_at(judged.request.body, EFFORT)[1] for judged in group]
        yield _condition_at(EFFORT, "", efforts, exact=True)


def _named_members(group: Sequence[JudgedExchange], known: set[str]) -> list[MemberCondition]:
    """Build conditions on values that the message quotes and all requests have."""
    quoted, known = set(_QUOTED.findall(str(group[0].error["message"]))), known | {"model"}
    shared = dict(atom for atom in shared_atoms(group) if isinstance(atom[1], str) and atom[1] in quoted)
    return [MemberCondition(place, (value,)) for place, value in shared.items() if place not in known]


def body_of(judged: JudgedExchange) -> Any:
    """Return the body that conditions apply to: for a violation about certain items, without the other items."""
    violation = judged.violation if judged.verdict is VerdictKind.REQUEST_REFUSED else None
    about_items = violation and violation_path(violation.facts, violation.error.param) in WHOLE_PLACES
    return body_about(judged.request.body, violation.facts) if violation and about_items else judged.request.body


def shared_atoms(group: Sequence[JudgedExchange]) -> list[tuple[str, Any]]:
    """List the places and short values that all these requests have in common."""
    first, *others = (atoms_of(body_of(judged)) for judged in group)
    return [atom for atom in first if is_place(atom[0]) and all(atom in atoms for atoms in others)]


def _whole_shape(group: Sequence[JudgedExchange]) -> list[MemberCondition]:
    """Build conditions on values in all requests and members missing from all, for errors that name no member."""
    shared = [
        (place, value)
        for place, value in shared_atoms(group)
        if place not in ACCIDENTAL and value not in ("list", "text") and not place.startswith("metadata")
    ]
    absent = [name for name in _SHAPING if all(name not in judged.request.body for judged in group)]
    return [
        *(MemberCondition(place, (value,)) for place, value in shared[:12]),
        *(MemberCondition(name, kinds=("absent",)) for name in absent),
    ]
