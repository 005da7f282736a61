"""Overrides from a user's recordings: exemptions, refusals and members that overrule the mock's rules and schemas.

They are optional for a World. `harness.overrides` derives, reads and writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.api.models import Models
from harness.contract.rule import CREATE_RESPONSE, Rule, recorded
from harness.core.cached import cached_property
from harness.core.errors import COMMAND, ApiError
from harness.core.exchange import EMPTY_MAPPING, Json, Request
from harness.core.json_values import as_object, as_string, objects_in, omit

ABSENT: Any = object()
"""The value of a missing member."""
KINDS = ("absent", "null", "boolean", "number", "text", "list", "object")
_KIND_OF_TYPE = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "text", list: "list"}
_STEP = re.compile(r"([^.\[\]]+)|\[(\d*)\]")
_PLACE = re.compile(r"[^.\[\]]+(\[\])*(\.[^.\[\]]+(\[\])*)*")
_INDEX = re.compile(r"\[\d+\]")


def normalize_path(path: str) -> str:
    """Replace the indexes of a path: `input[3].status` becomes `input[].status`."""
    return _INDEX.sub("[]", path)


def type_of(holder: Any) -> str:
    """Return the type of an item, part or tool; a message may lack one."""
    if not isinstance(holder, dict):
        return ""
    kind = holder.get("type")
    return kind if isinstance(kind, str) else "message" if "role" in holder else ""


def kind_of(value: Any) -> str:
    """Classify a value as one of KINDS."""
    return "absent" if value is ABSENT else _KIND_OF_TYPE.get(type(value), "object")


def is_place(text: str) -> bool:
    """Return whether a string is a place: names separated by dots, with `[]` for all elements of a list."""
    return bool(_PLACE.fullmatch(text))


def split_path(path: str) -> list[str | int]:
    """Split `tools[0].name` into `["tools", 0, "name"]`; a missing index is -1."""
    return [name or (int(index) if index else -1) for name, index in _STEP.findall(path)]


def value_at(body: Any, path: str) -> tuple[Any, Any]:
    """Look up the member at a path; returns the object that holds it, and its value or ABSENT."""
    holder, value = None, body
    for step in split_path(path):
        holder = value
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and 0 <= step < len(value) else ABSENT
            # A condition on a list's item applies to the members of that item.
            holder = value if isinstance(value, dict) else holder
        else:
            value = value.get(step, ABSENT) if isinstance(value, dict) else ABSENT
    return holder, value


def walk_places(body: Any, at: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path, the containing object and the value (or ABSENT) of every member at a place: `input[].status`."""
    return _walk("", None, body, split_path(at))


def _walk(path: str, holder: Any, value: Any, steps: Sequence[str | int]) -> Iterator[tuple[str, Any, Any]]:
    if not steps:
        yield path, holder, value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        for index, part in enumerate(value if isinstance(value, list) else ()):
            yield from _walk(f"{path}[{index}]", part, part, rest)
    elif isinstance(value, dict) and step in value:
        yield from _walk(f"{path}.{step}" if path else step, value, value[step], rest)
    # A missing member is a place; a missing list contains no places.
    elif not any(isinstance(part, int) for part in rest):
        yield f"{path}.{step}" if path else step, as_object(value), ABSENT


def repair_body(body: Any, path: str, filler: Any) -> Any:
    """Copy a body without the member at a path; if the member is missing, set it to `filler`.

    The parts of an exempted body that violate the schema would surprise the rules and endpoints that follow.
    """
    return _repair(body, split_path(path), filler)


def _repair(value: Any, steps: Sequence[str | int], filler: Any) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, int):
        if not isinstance(value, list) or not 0 <= step < len(value):
            return value
        return [*value[:step], *([_repair(value[step], rest, filler)] if rest else []), *value[step + 1 :]]
    if not isinstance(value, dict):
        return value
    if rest:
        return {**value, step: _repair(value[step], rest, filler)} if step in value else value
    if step in value:
        return omit(value, step)
    return {**value, step: filler}


AREA = "yours"
"""The area of the rules derived from recordings."""
WHOLE_PLACES = ("", "input")
"""The places of violations about the whole request, or about items somewhere in it."""
SUBJECT_FACTS = ("call_id", "id", "ids")
SUBJECT_MEMBERS = ("call_id", "id", "approval_request_id")
"""The members of items to which such a fact may refer."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The recorded exchange behind an entry: file, number in it (from 1), day (YYYY-MM-DD, empty if unknown)."""

    file: str
    exchange: int
    date: str = ""


@dataclass(frozen=True, slots=True)
class MemberCondition:
    """A member of a body: its place (`input[].status`), and the values or kinds (KINDS) that it may have.

    `of` is the type of the object that holds it, such as `function_call`; empty for any.
    """

    at: str
    values: tuple[Any, ...] = ()
    kinds: tuple[str, ...] = ()
    of: str = ""

    def is_met(self, holder: Any, value: Any) -> bool:
        """Return whether a value, in the object that holds it, meets this condition."""
        if self.of and type_of(holder) != self.of:
            return False
        if not self.values and not self.kinds:
            return value is not ABSENT
        # In Python True equals 1, but not in JSON.
        same = any(value == wanted and type(value) is type(wanted) for wanted in self.values)
        return same or kind_of(value) in self.kinds

    def covers(self, other: MemberCondition) -> bool:
        """Return whether every member that meets the other condition, at the same place, meets this one."""
        if self.of and self.of != other.of:
            return False
        if not self.values and not self.kinds:
            return "absent" not in other.kinds
        values = {(type(value), value) for value in self.values}
        values_too = all((type(value), value) in values or kind_of(value) in self.kinds for value in other.values)
        return bool(other.values or other.kinds) and values_too and set(other.kinds) <= set(self.kinds)


@dataclass(frozen=True, slots=True)
class Condition:
    """The requests that an entry applies to; `models` are families, or names without one. All parts must hold."""

    on: str = CREATE_RESPONSE
    dialect: str = "openai"
    models: tuple[str, ...] = ()
    members: tuple[MemberCondition, ...] = ()

    def holds(self, request: Request, models: Models, facts: Mapping[str, Any] = EMPTY_MAPPING) -> bool:
        """Return whether a request meets this condition.

        With the `facts` of a violation, only the input items that it names count.
        """
        if request.operation != self.on or request.dialect != self.dialect:
            return False
        if self.models and family_of(request, models) not in self.models:
            return False
        body = body_about(request.body, facts)
        return all(
            any(member.is_met(holder, value) for _, holder, value in walk_places(body, member.at))
            for member in self.members
        )

    def covers(self, other: Condition) -> bool:
        """Return whether this condition holds wherever `other` does; False if `other` names no place."""
        if (self.on, self.dialect) != (other.on, other.dialect):
            return False
        if self.models and not (other.models and set(other.models) <= set(self.models)):
            return False
        theirs = {member.at: member for member in other.members}
        return all(member.at in theirs and member.covers(theirs[member.at]) for member in self.members)


@dataclass(frozen=True, slots=True)
class Exemption:
    """A refusal of the mock that the API does not make: by this rule, at this place (`input[].status`, empty for none).

    `words` are facts of the violation that must be equal. If the violation names a call or an item, conditions on
    `input[]` apply to the items with its id.
    """

    rule: str
    at: str
    condition: Condition
    words: Mapping[str, str] = field(default_factory=dict)
    seen: tuple[Evidence, ...] = ()
    line: int = 0

    def covers(self, rule: str, facts: Mapping[str, Any], param: str | None, request: Request, models: Models) -> bool:
        """Return whether this exemption permits a violation of a request."""
        path = violation_path(facts, param)
        if rule != self.rule or normalize_path(path) != self.at:
            return False
        if any(str(facts.get(name)) != word for name, word in self.words.items()):
            return False
        here = value_at(request.body, path)
        own = [member for member in self.condition.members if member.at == self.at]
        # A violation at `input` concerns some items only; conditions apply to these.
        about = facts if self.at in WHOLE_PLACES else EMPTY_MAPPING
        return all(member.is_met(*here) for member in own) and self.condition.holds(request, models, about)


@dataclass(frozen=True, slots=True)
class AddedRefusal:
    """A refusal of the API that the mock does not make, with its recorded error.

    The strings of `error` may contain `{model}`, `{path}` and `{value}`: the model of the request, and the place and
    value of the first member of the condition. With `instead`, it replaces a refusal by that rule.
    """

    error: ApiError
    condition: Condition
    instead: str = ""
    seen: tuple[Evidence, ...] = ()
    line: int = 0

    def find_facts(self, request: Request, models: Models) -> Json | None:
        """Return the facts of the error for a request; None if this entry does not refuse it."""
        if not self.condition.holds(request, models):
            return None
        body = as_object(request.body)
        facts: Json = {"model": body.get("model", ""), "path": "", "value": ""}
        for member in self.condition.members[:1]:
            for path, holder, value in walk_places(body, member.at):
                if member.is_met(holder, value):
                    return {**facts, "path": path, "value": "" if value is ABSENT else value}
        return facts

    def is_contradicted_by(self, taken: Exemption) -> bool:
        """Return whether an exemption states that the API accepted all requests that this entry refuses."""
        if taken.rule != self.instead or taken.words or not taken.condition.covers(self.condition):
            return False
        return not taken.at or any(member.at == taken.at for member in self.condition.members)


@dataclass(frozen=True, slots=True)
class AddedMember:
    """A member of answers that no schema knows: the schema of the answer or event (`root`) and the place in it."""

    root: str
    at: str
    seen: tuple[Evidence, ...] = ()
    line: int = 0


Entry = Exemption | AddedRefusal | AddedMember


@dataclass(frozen=True)
class Overrides:
    """All entries of a file."""

    exemptions: tuple[Exemption, ...] = ()
    refusals: tuple[AddedRefusal, ...] = ()
    members: tuple[AddedMember, ...] = ()
    file: str = ""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, in the order of the file."""
        return (*self.exemptions, *self.refusals, *self.members)

    @cached_property
    def rules(self) -> Mapping[str, Rule]:
        """The refusals as rules by id, in the order of the file; duplicate ids are numbered."""
        found: dict[str, Rule] = {}
        for entry in self.refusals:
            rule, number = _rule_of(entry, self.file), 2
            base = rule.id
            while rule.id in found:
                rule, number = replace(rule, id=f"{base}_{number}"), number + 1
            found[rule.id] = rule
        return found

    def find_exemption(
        self, rule: str, facts: Mapping[str, Any], param: str | None, request: Request, models: Models
    ) -> Exemption | None:
        """Return the exemption for a violation, or None."""
        return next((entry for entry in self.exemptions if entry.covers(rule, facts, param, request, models)), None)

    def find_refusal(self, request: Request, models: Models, instead: str) -> tuple[AddedRefusal, Rule, Json] | None:
        """Return the refusal of a request that the mock accepts, or refuses by `instead`, with its rule and facts."""
        for entry, rule in zip(self.refusals, self.rules.values(), strict=True):
            if entry.instead == instead and (facts := entry.find_facts(request, models)) is not None:
                return entry, rule, facts
        return None

    def find_member(self, root: str, at: str) -> AddedMember | None:
        """Return the entry for a member that no schema knows, or None."""
        place = normalize_path(at)
        return next((entry for entry in self.members if (entry.root, entry.at) == (root, place)), None)


def _rule_of(entry: AddedRefusal, file: str) -> Rule:
    """Make a rule from a refusal, in the area `yours`; its source names the recording and the line of the file."""
    about = entry.error.param or entry.error.code or "request"
    name = re.sub(r"\W+", "_", f"{AREA} {entry.error.status} {about}".replace("{", "").replace("}", "")).strip("_")
    here = f"{file or 'contract.yaml'}{f':{entry.line}' if entry.line else ''}"
    sources = tuple(recorded(f"{exchange.file}#{exchange.exchange} ({here})", exchange.date) for exchange in entry.seen)
    return Rule(
        id=name.lower(),
        area=AREA,
        doc=f"Your recordings say so ({here}).",
        error=entry.error,
        sources=sources or (recorded(here),),
        rejects={},
        accepts=(),
        on=(entry.condition.on,),
        dialects=(entry.condition.dialect,),
        fix=f"Send what the API takes. If it takes this now, delete {here}, or record it again and run `{COMMAND} learn`.",
    )


def family_of(request: Request, models: Models) -> str:
    """Return the family of a request's model; a name without a family stands for itself."""
    name = as_string(as_object(request.body).get("model"))
    family = models.find(name)
    return family.name if family else name


def body_about(body: Any, facts: Mapping[str, Any]) -> Any:
    """Reduce a body to the input items that a violation names by `call_id` or `id`; if it names none, return it all."""
    # A list, as the id of an exempted item may be anything.
    named = [name for fact in SUBJECT_FACTS for name in str(facts.get(fact) or "").split(", ") if name]
    if not named or not isinstance(body, dict) or not isinstance(body.get("input"), list):
        return body
    items = objects_in(body["input"])
    return {**body, "input": [item for item in items if any(item.get(name) in named for name in SUBJECT_MEMBERS)]}


def violation_path(facts: Mapping[str, Any], param: str | None) -> str:
    """Return the place of a violation; empty if it names none."""
    return str(facts.get("path") or param or "")
