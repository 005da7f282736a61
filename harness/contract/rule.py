"""What a rule is: why the API refuses a request, how we know it, and what proves it.

A rule is a generator function that yields facts; `@rule` adds the API's words. A shape rule (`@shape`) is a rule about a
JSON Schema keyword: it has words but no function, the schema finds the breach. The function's name is the rule's id, its
docstring the documentation, its module the area. Source order is precedence: the API reports one error, the first.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, Required, TypedDict, Unpack

from harness.api.models import Models
from harness.api.resources.files import Uploads
from harness.core.account import Organization
from harness.core.errors import ApiError, RegistrationError
from harness.core.exchange import Json
from harness.core.registry import Registry

Level = Literal["recorded", "reported", "documented", "typed", "assumed"]
LEVELS: tuple[Level, ...] = ("recorded", "reported", "documented", "typed", "assumed")
CREATE_RESPONSE = "POST /responses"
UNREADABLE_BODY = "(unread)"
"""The `when` of rules about a body that is no JSON object."""
LIMITED_ACCOUNT = "(limited)"
"""The `when` of rules about an account that limits something."""
UNKNOWN_KEY = "(keyless)"
"""The `when` of rules about a key without a World."""
TRANSCRIPT_MEMBERS = ("input[]", "previous_response_id", "conversation")
"""The `when` of rules about items: one message alone, given as a string, breaks none of them."""


class StoreView(Protocol):
    """The tables of a World's store that rules read."""

    responses: Mapping[str, Any]
    pending: Mapping[str, Any]
    conversations: Mapping[str, Any]
    assistants: Mapping[str, Json]
    agents: Mapping[str, Sequence[Json]]
    threads: Mapping[str, Any]
    vector_stores: Mapping[str, Any]
    files: Mapping[str, Any]
    items: Mapping[str, Json]
    reasoning_of: Mapping[str, str]
    follower_of: Mapping[str, str]
    encrypted_contents: Container[str]


class WorldView(Protocol):
    """What a rule may read of a World: what its key has stored, its account, what is known of the models."""

    account: Organization
    models: Models
    store: StoreView
    uploads: Uploads


Facts = Mapping[str, Any]
RuleCheck = Callable[..., Iterable[Facts]]


@dataclass(frozen=True, slots=True)
class Source:
    """How we know a fact: `recorded > reported > documented > typed > assumed`; `date` is YYYY[-MM[-DD]]."""

    level: Level
    where: str
    date: str = ""


def reported(where: str, date: str = "") -> Source:
    """Quoted by somebody who hit it live; `where` is an address or names the public probe."""
    return Source("reported", where, date)


def recorded(where: str, date: str = "") -> Source:
    """Read from recorded traffic."""
    return Source("recorded", where, date)


def documented(where: str, date: str = "") -> Source:
    """Said by the provider's own documentation."""
    return Source("documented", where, date)


def assumed(why: str) -> Source:
    """Not known: the closest known form, counted as an assumption in every report."""
    return Source("assumed", why)


@dataclass(frozen=True, slots=True)
class Case:
    """An example: what was sent before, and the request itself as a patch over the minimal valid one.

    `body` is merged over `{"model": "gpt-4.1", "input": "hi"}`; a None deletes only where `absent` lists the key.
    `headers` replaces the headers, `raw` the whole body. `path` is for other operations than `POST /responses`.
    `before` are earlier cases; `{n.id}` in a string means the id of the n-th answer, and `{n.output.i.id}` goes deeper.
    `turns` is what the model says to the requests, in order; `given` is the organization at the last request, `skip` the
    seconds of the World that pass before it.
    """

    body: Any = None
    before: tuple[Case, ...] = ()
    turns: tuple[Any, ...] = ()
    absent: tuple[str, ...] = ()
    headers: Mapping[str, str] | None = None
    raw: bytes | None = None
    on: str | None = None
    given: Organization | None = None
    skip: int | None = None


def after(*steps: Json | Case, turns: Sequence[Any] = ()) -> Case:
    """A case whose last step is judged after the others were sent; `turns` are the model's words in order."""
    *earlier, last = (step if isinstance(step, Case) else Case(step) for step in steps)
    return replace(last, before=tuple(earlier), turns=tuple(turns))


@dataclass(frozen=True, slots=True)
class Rule:
    """One reason for a refusal: its words, its evidence, its examples and (unless the schema finds it) its check."""

    id: str
    area: str
    doc: str
    error: ApiError
    sources: tuple[Source, ...]
    rejects: Mapping[str, Case]
    accepts: tuple[Case, ...]
    on: tuple[str, ...] = (CREATE_RESPONSE,)
    check: RuleCheck | None = None
    needs: tuple[str, ...] = ()
    keyword: str | None = None
    fix: str = ""
    when: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    dialects: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    @property
    def level(self) -> Level:
        """The best evidence level among the sources."""
        return min((source.level for source in self.sources), key=LEVELS.index)

    def error_for(self, facts: Facts) -> ApiError:
        """The API's error for these facts."""
        return self.error.fill(facts)


RULES: Registry[Rule] = Registry("rule")
"""Every rule by id; filled by importing `harness.contract.rules`, in order of precedence."""

CHECK_PARAMETERS = ("request", "world", "transcript")


class RuleDeclaration(TypedDict, total=False):
    """What every rule declares beside its function.

    `rejects` maps the exact words of the API to the request that earns them; what is in `accepts` no rule may refuse.
    `on` names operations (`POST /responses` by default, `*` for all), `fix` says what a client should do instead.
    `when` names members of the body, one of which a request must have to break the rule (`input[]`: an array as input);
    others are not asked. `since` and `until` are the days between which the API spoke so, where it has not always done.
    `dialects` are the ones that speak so (`openai`, `azure`, `foundry`); without it all do.
    """

    error: Required[ApiError]
    source: Required[Source | Sequence[Source]]
    rejects: Required[Mapping[str, Json | Case]]
    accepts: Sequence[Json | Case]
    on: str | Sequence[str]
    when: str | Sequence[str]
    fix: str
    since: str
    until: str
    dialects: str | Sequence[str]


def rule(**declaration: Unpack[RuleDeclaration]) -> Callable[[RuleCheck], RuleCheck]:
    """Register a generator `(request, world, transcript)`, any of them in this order, that yields facts of breaches."""

    def register(check: RuleCheck) -> RuleCheck:
        needs = tuple(inspect.signature(check).parameters)
        if not inspect.isgeneratorfunction(check) or needs != tuple(name for name in CHECK_PARAMETERS if name in needs):
            raise RegistrationError(
                f"rule {check.__name__}: write a generator taking some of {', '.join(CHECK_PARAMETERS)}, in this order"
            )
        _register(check.__name__, check.__module__, inspect.getdoc(check) or "", declaration, check=check, needs=needs)
        return check

    return register


def shape(id: str, doc: str, *, keyword: str = "x-rule", **declaration: Unpack[RuleDeclaration]) -> None:
    """Register the words for a breach of the schema.

    `keyword` makes it the rule for that JSON Schema keyword everywhere; without it, the schema names the rule (`x-rule`).
    """
    _register(id, sys._getframe(1).f_globals["__name__"], inspect.cleandoc(doc), declaration, keyword=keyword)


def retired(id: str, doc: str, **declaration: Unpack[RuleDeclaration]) -> None:
    """Register words that the API used `until` a day: nothing is refused so, but a recording of then is understood."""
    _register(id, sys._getframe(1).f_globals["__name__"], inspect.cleandoc(doc), declaration)


def _register(
    id: str,
    module: str,
    doc: str,
    declaration: RuleDeclaration,
    check: RuleCheck | None = None,
    needs: tuple[str, ...] = (),
    keyword: str | None = None,
) -> None:
    source = declaration["source"]
    declared = Rule(
        id=id,
        area=module.rpartition(".")[2],
        doc=doc,
        error=declaration["error"],
        sources=(source,) if isinstance(source, Source) else tuple(source),
        rejects={message: _as_case(case) for message, case in declaration["rejects"].items()},
        accepts=tuple(map(_as_case, declaration.get("accepts", ()))),
        on=_as_tuple(declaration.get("on", CREATE_RESPONSE)),
        when=_as_tuple(declaration.get("when", ())),
        check=check,
        needs=needs,
        keyword=keyword,
        fix=declaration.get("fix", ""),
        since=declaration.get("since", ""),
        until=declaration.get("until", ""),
        dialects=_as_tuple(declaration.get("dialects", ())),
    )
    if problem := _declaration_problem(declared):
        raise RegistrationError(f"rule {id} in {module} {problem}")
    RULES.add(id, declared, module)


def _declaration_problem(declared: Rule) -> str | None:
    if not declared.doc:
        return "has no docstring"
    if not declared.sources:
        return "has no source: add source=reported('https://…', '2026-01-31'), or assumed('why')"
    if not (declared.rejects or declared.until) and declared.level != "assumed":
        return "has no example: add rejects={'the exact words': {…}}"
    return None


def _as_tuple(named: str | Sequence[str]) -> tuple[str, ...]:
    return (named,) if isinstance(named, str) else tuple(named)


def _as_case(case: Json | Case) -> Case:
    return case if isinstance(case, Case) else Case(case)
