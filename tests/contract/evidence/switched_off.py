"""What recordings hang on: rules, entries of the table of models and values of the schemas, each switched off in turn.

A recording hangs on an entry if it is judged otherwise without it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.api.http.dialects import OPENAI
from harness.api.model_facts import FACTS, read_table
from harness.api.models import MODELS, Model, Models, _build_family
from harness.cassettes.format.recorded import Recorded
from harness.contract import check as checking
from harness.contract import schema as schemas
from harness.contract.call import WorldCall, drop_nulls
from harness.contract.compile_schema import compile_schema
from harness.contract.rule import CREATE_RESPONSE, RULES
from harness.contract.rule_plan import forget_plans
from harness.core.dates import start_of_epoch
from harness.core.exchange import Json, Request
from harness.verify.compare import differing_error_members
from harness.verify.judge_files import JudgeOptions, verify_recordings
from harness.verify.judging.judge import answer_object, recorded_error
from harness.verify.judging.verdict import AGREEMENTS, Verdict, VerdictKind
from harness.world.world import World
from tools.model_facts_met import asked_facts, day_of_answer, shown_facts

OFF = "(off)"
"""What stands in place of a value that is switched off."""
READ_THE_TABLE = (
    *("model_gone", "model_not_served", "deep_research_tools", "research_tools_only", "logprobs_unsupported"),
    *("sampling_unsupported", "effort_unsupported", "effort_without_reasoning", "mode_unsupported"),
    *("context_unsupported", "summary_unsupported", "summary_value_unsupported", "encrypted_content_unsupported"),
    *("verbosity_unsupported", "retention_unsupported", "schema_unsupported", "images_unsupported"),
    *("hosted_tool_unsupported", "tool_unsupported", "search_filters_unsupported"),
)
"""Rules that decide by what the table says of a model."""
MOST_REFUSALS = 10
"""Refusals of one rule that are judged without it."""
MOST_BODIES = 3
"""Requests that are kept for each value of the schemas, the shortest ones."""
ABOUT_MODELS = ("model", "research", "sampling", "effort", "capability", "hosted", "tools", "text")
"""Areas of rules that read the table of models."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,60}")

Entry = tuple[str, str]
"""An entry of the table of models: the family, and the fact (`tool.shell`) or one of its values (`efforts=low`)."""


@contextmanager
def without_rule(id: str) -> Iterator[None]:
    """Provide the contract without one rule."""
    everything = dict(RULES)
    del RULES[id]
    forget()
    try:
        yield
    finally:
        RULES.clear()
        RULES.update(everything)  # in the order of precedence
        forget()


def forget() -> None:
    forget_plans()
    checking.rules_by_keyword.cache_clear()


@cache
def entries_of(family: str) -> Mapping[Entry, Model]:
    """Every entry of a family, with the family as it is without it."""
    facts = read_table()["families"][family]
    return {(family, label): _build_family(family, changed) for label, changed in _switch_off(facts)}


def _switch_off(facts: Mapping[str, list[Any]]) -> Iterator[tuple[str, Mapping[str, list[Any]]]]:
    for name, (value, *sources) in facts.items():
        yield (
            name,
            {**facts, name: [False, *sources]}
            if value is True
            else {key: fact for key, fact in facts.items() if key != name},
        )
        for entry in value if isinstance(value, list) else ():
            yield f"{name}={entry}", {**facts, name: [[OFF if part == entry else part for part in value], *sources]}


@cache
def table_without(family: str, label: str) -> Models:
    return MODELS.with_family(entries_of(family)[family, label])


@dataclass
class Hanging:
    """What was found: by rule the recorded refusals that are made without it, too, and how many were tried.

    `decisive` are entries of the table of models without which a recording is judged otherwise, `used` those whose value
    a request that the API took has. `free` are the refusals about a model that hang on no entry. `bodies` are requests
    that the API took, by a place in them and the text there.
    """

    tried: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    covered: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    decisive: set[Entry] = field(default_factory=set)
    used: set[Entry] = field(default_factory=set)
    free: dict[str, str] = field(default_factory=dict)
    bodies: dict[tuple[str, str], list[tuple[int, str, Json]]] = field(default_factory=lambda: defaultdict(list))


class HangingObserver:
    """Switches off what an exchange may hang on when it was judged as recorded."""

    def __init__(self) -> None:
        self.found = Hanging()
        self._one: Recorded
        self._world: World

    def begin_exchange(self, number: int, one: Recorded, world: World) -> None:
        self._one, self._world = one, world

    def note_verdict(self, verdict: Verdict) -> None:
        request = verdict.request
        if verdict.kind not in AGREEMENTS or request is None:
            return
        if verdict.kind is VerdictKind.REFUSAL_SAME:
            self._judge_refusal(request)
        elif request.operation == CREATE_RESPONSE and request.dialect == OPENAI and isinstance(request.body, dict):
            self._judge_taken(request)
            self._keep(request.body)

    def close(self) -> None:
        pass

    def _is_as_recorded(self, request: Request) -> str:
        """Return the rule by which a recorded refusal is made in its words; empty if it is not."""
        try:
            violation = checking.check(WorldCall(request, self._world)).violation
        except (KeyError, TypeError, AttributeError):
            return ""  # a later rule relies on the one that is switched off
        if violation is None:
            return ""
        recorded = {"status": self._one.status, **recorded_error(self._one)}
        own = {"status": violation.error.status, **violation.error.members()}
        return "" if set(differing_error_members(recorded, own)) - {"list"} else violation.rule.id

    def _judge_refusal(self, request: Request) -> None:
        rule = self._is_as_recorded(request)
        if self.found.tried[rule] < MOST_REFUSALS and "message" in recorded_error(self._one):
            self.found.tried[rule] += 1
            with without_rule(rule):
                if other := self._is_as_recorded(request):
                    self.found.covered[rule][self._one.id] = other
        family = self._family(request)
        if family and RULES[rule].area in ABOUT_MODELS:
            decisive = {entry for entry in entries_of(family) if not self._with(entry, self._is_as_recorded, request)}
            self.found.decisive |= decisive
            if not decisive:
                self.found.free[self._one.id] = rule

    def _judge_taken(self, request: Request) -> None:
        if not (family := self._family(request)):
            return
        asked = {"reasons", *asked_facts(request.body)}
        used = set(used_values(request.body))
        self.found.used |= {entry for entry in entries_of(family) if entry[1] in used}
        for entry in entries_of(family).keys() - self.found.decisive:
            if entry[1].partition("=")[0] in asked and self._with(entry, self._refuses, request):
                self.found.decisive.add(entry)
        if isinstance(answer := answer_object(self._one), dict):
            name, day = request.body["model"], day_of_answer(self._one, answer)
            shown = {fact for fact, right in shown_facts(request.body, answer, MODELS.defaults(name), day) if right}
            for entry in entries_of(family).keys() - self.found.decisive:
                if entry[1] in shown:
                    others = dict(shown_facts(request.body, answer, table_without(*entry).defaults(name), day))
                    self.found.decisive |= set() if others[entry[1]] else {entry}

    def _refuses(self, request: Request) -> bool:
        return checking.check(WorldCall(request, self._world)).violation is not None

    def _with(self, entry: Entry, judge: Any, request: Request) -> Any:
        own, self._world.models = self._world.models, table_without(*entry)
        try:
            return judge(request)
        finally:
            self._world.models = own

    @staticmethod
    def _family(request: Request) -> str:
        name = request.body.get("model") if isinstance(request.body, dict) else None
        found = MODELS.find(name) if isinstance(name, str) else None
        return found.name if found and not found.name_only else ""

    def _keep(self, body: Json) -> None:
        for place in set(texts_of(body)):
            kept = self.found.bodies[place]
            size = len(str(body))
            if len(kept) < MOST_BODIES or size < kept[-1][0]:
                kept.append((size, self._world.as_of, body))
                kept.sort(key=lambda each: each[0])
                del kept[MOST_BODIES:]


def used_values(body: Json) -> Iterator[str]:
    """Yield the values of a request that a list of the table has to hold, as `efforts=low`.

    Of `prompt_cache_retention` no refusal but that of `in_memory` is known.
    """
    options, text = body.get("reasoning") or {}, body.get("text") or {}
    for holder, member, fact in (
        (options, "effort", "efforts"),
        (options, "mode", "modes"),
        (options, "context", "contexts"),
        (options, "summary", "summaries"),
        (text, "verbosity", "verbosities"),
    ):
        if isinstance(holder, dict) and isinstance(holder.get(member), str):
            yield f"{fact}={holder[member]}"


def texts_of(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Every text that may be a name in a JSON value, with its place: `tools[].type`."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from texts_of(member, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        for part in value:
            yield from texts_of(part, f"{place}[]")
    elif isinstance(value, str) and _NAME.fullmatch(value):
        yield place, value


def refuses_without(value: str, bodies: Iterable[tuple[int, str, Json]]) -> bool:
    """Return whether the schema of requests refuses all of these, which it takes, when no place of it has this value."""
    changes = schemas.changes_of("CreateResponse")
    return all(
        not _validator_without(value, start_of_epoch(day, changes)).is_valid(drop_nulls(body, "CreateResponse"))
        for _, day, body in bodies
    )


@cache
def _validator_without(value: str, epoch: str) -> Any:
    return compile_schema(_without_value(schemas.load("CreateResponse", epoch), value))


def _without_value(schema: Any, value: str) -> Any:
    if isinstance(schema, list):
        return [_without_value(element, value) for element in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {name: _without_value(member, value) for name, member in schema.items()}
    if schema.get("const") == value:
        changed["const"] = OFF
    if isinstance(schema.get("enum"), list):
        changed["enum"] = [OFF if word == value else word for word in schema["enum"]]
    return changed


@cache
def find_hanging(paths: tuple[Path, ...]) -> Hanging:
    """Return what the recordings at these paths hang on."""
    observer = HangingObserver()
    with TemporaryDirectory() as folder:
        verify_recordings(paths, Path(folder), 1, JudgeOptions(make_observer=lambda recording, seen: observer))
    return observer.found


def all_entries() -> set[Entry]:
    """Every entry of the table of models."""
    known = (family.name for family in MODELS.values() if not family.name_only)
    return {entry for name in known for entry in entries_of(name) if entry[1].partition("=")[0] in FACTS}
