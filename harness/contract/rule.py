"""Rules: why the API refuses a request, with the evidence and the examples.

A rule is a function that says whether a request violates it, or, for an error with placeholders, yields what fills them;
`@rule` adds the API's error. What belongs to a JSON Schema keyword has a function without a body, as the schema finds the
violation. The function's name is the rule's id, its docstring the documentation, its module the area unless the SCOPE
before it names another. Source order is precedence: the API reports the first error.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence, Set
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from string import Formatter
from typing import Any, Literal, Protocol, Required, TypedDict, TypeVar, Unpack

from harness.api.models import Models
from harness.api.operations import OPERATIONS
from harness.api.resources.containers import Containers
from harness.api.resources.files import Uploads
from harness.core.account import Organization
from harness.core.dates import CONTRACT_DATE, is_valid_on, last_day
from harness.core.errors import ApiError, RegistrationError
from harness.core.exchange import Json
from harness.core.registry import Registry, Tables
from harness.items.transcript import ItemChain

Level = Literal["recorded", "reported", "documented", "typed", "assumed"]
LEVELS: tuple[Level, ...] = ("recorded", "reported", "documented", "typed", "assumed")
CREATE_RESPONSE = "POST /responses"
INPUT_LIST, PATH_ID, UNREADABLE_BODY, LIMITED_ACCOUNT = "input[]", "(path)", "(unread)", "(limited)"
UNKNOWN_KEY = "(keyless)"
"""The `when` of rules about a list as input, an id in the path, a body that is no object, an account with limits, a key
without a World."""
WHEN_READS: Mapping[str, str] = {
    INPUT_LIST: "input",
    PATH_ID: "request.params",
    UNREADABLE_BODY: "request.fault",
    LIMITED_ACCOUNT: "world.account",
    UNKNOWN_KEY: "request.headers.authorization",
}
"""What a rule with such a `when` reads; any other `when` is a member of the body."""
TRANSCRIPT_MEMBERS = (INPUT_LIST, "previous_response_id", "conversation")
"""The `when` of rules about items, none of which a string as input violates."""


class StoreView(Tables, Protocol):
    """The tables of a World's store that rules read."""

    responses: MutableMapping[str, Any]
    pending: MutableMapping[str, Any]
    conversations: MutableMapping[str, Any]
    assistants: MutableMapping[str, Json]
    threads: MutableMapping[str, Any]
    vector_stores: MutableMapping[str, Any]
    parted_uploads: MutableMapping[str, Any]
    containers: MutableMapping[str, Any]
    files: MutableMapping[str, Any]
    items: MutableMapping[str, Json]
    reasoning_of: MutableMapping[str, str]
    follower_of: MutableMapping[str, Sequence[str]]
    encrypted_contents: MutableMapping[str, str]

    def chain(self, previous: object, conversation: str | None) -> ItemChain:
        """Return the items of a response or a conversation; empty for unknown ones."""


class WorldView(Protocol):
    """The part of a World that rules may read."""

    @property
    def account(self) -> Organization:
        """The account behind the key."""

    @property
    def as_of(self) -> str:
        """The day, YYYY-MM-DD."""

    @property
    def now(self) -> int:
        """The time in unix seconds."""

    @property
    def models(self) -> Models:
        """The known models."""

    @property
    def store(self) -> StoreView:
        """The stored objects."""

    @property
    def uploads(self) -> Uploads:
        """The files and vector stores."""

    @property
    def containers(self) -> Containers:
        """The containers."""

    @property
    def webhooks(self) -> Any:
        """The webhooks, once there are any."""


Facts = Mapping[str, Any]
RuleCheck = Callable[..., bool | Iterable[Facts]]
"""Finds violations: the facts of each, which fill the placeholders of the error."""
RuleFunction = TypeVar("RuleFunction", bound=Callable[..., Iterable[Facts] | bool | None])


@dataclass(frozen=True, slots=True)
class Source:
    """The evidence for a fact: `recorded > reported > documented > typed > assumed`; `date` is YYYY[-MM[-DD]]."""

    level: Level
    where: str
    date: str = ""


def reported(where: str, date: str = "") -> Source:
    """Cite an error of the live API quoted in public; `where` is an address or the name of the public probe."""
    return Source("reported", where, date)


def recorded(where: str, date: str = "") -> Source:
    """Cite recorded traffic."""
    return Source("recorded", where, date)


def documented(where: str, date: str = "") -> Source:
    """Cite the provider's own documentation."""
    return Source("documented", where, date)


def assumed(why: str) -> Source:
    """State that there is no evidence: the closest known form, counted as an assumption in every report."""
    return Source("assumed", why)


@dataclass(frozen=True, slots=True)
class Case:
    """An example: earlier requests, and the request itself as a patch over the minimal valid one.

    `body` is merged over `{"model": "gpt-4.1", "input": "hi"}`; `absent` lists the members to delete. `headers`
    replaces the headers, `raw` the complete body. `on` is the operation if it is not `POST /responses`. `before` holds
    earlier cases; `{n.id}` in a string is the id of the n-th answer, `{n.output.i.id}` a path in it. `turns` holds the
    model's answers to the requests, in order; `account` is that of the last request, `skip` how many seconds of the
    World's time pass before it, `as_of` the World's day if the rule is no longer valid. `sent` holds the items that a
    chat UI had sent the client by then.
    """

    body: Any = None
    before: tuple[Case, ...] = ()
    turns: tuple[Any, ...] = ()
    absent: tuple[str, ...] = ()
    headers: Mapping[str, str] | None = None
    raw: bytes | None = None
    on: str | None = None
    account: Organization | None = None
    skip: int | None = None
    as_of: str = ""
    sent: tuple[Json, ...] = ()


Example = Json | Sequence[Json] | Case | str
"""A request as rules write it: a case, its body, the items of its `input`, or the operation of one without a body."""


def after(*steps: Example, turns: Sequence[Any] = (), sent: Sequence[Json] = ()) -> Case:
    """Make a case whose last step is checked after the others were sent; `turns` are the model's answers in order."""
    *earlier, last = map(_as_case, steps)
    return replace(last, before=tuple(earlier), turns=tuple(turns), sent=tuple(sent))


def _as_case(example: Example) -> Case:
    if isinstance(example, Case | str):
        return example if isinstance(example, Case) else Case(on=example)
    return Case(example if isinstance(example, dict) else {"input": example})


@dataclass(frozen=True, slots=True)
class Rule:
    """A reason for a refusal: the error, the evidence, examples and (unless the schema finds it) the check."""

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
    mentions: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    reads: frozenset[str] | None = None
    since: str = ""
    until: str = ""
    dialects: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.splitlines()[0]

    def may_apply(self, found: Set[bytes | str]) -> bool:
        """Return whether a request with these words (as bytes) and types of items may violate the rule."""
        words = [word.encode() for word in self.mentions]
        return (not words or not found.isdisjoint(words)) and (not self.items or not found.isdisjoint(self.items))

    @property
    def level(self) -> Level:
        """The best evidence level among the sources."""
        return min((source.level for source in self.sources), key=LEVELS.index)


RULES: Registry[Rule] = Registry("rule")
"""All rules by id; filled by importing `harness.contract.rules`, in order of precedence."""


def matches_operation(on: Iterable[str], operation: str) -> bool:
    """Return whether one of these operation ids, patterns or groups matches an operation."""
    known = OPERATIONS.get(operation)
    return any(fnmatchcase(operation, pattern) or (known is not None and known.is_in(pattern)) for pattern in on)


CHECK_PARAMETERS = ("request", "world", "transcript", "family", "conversation", "agent")
"""The members of a call that a rule's function may take, in this order."""
DERIVED_FROM: Mapping[str, Sequence[str]] = {
    "family": ("model", "world.models"),
    "conversation": ("conversation",),
    "agent": ("agent",),
}
"""What a rule reads that takes such a member of the call."""


class RuleScope(TypedDict, total=False):
    """Where a rule applies, and what it reads. `SCOPE` in a module is that of the rules after it."""

    area: str
    on: str | Sequence[str]
    dialects: str | Sequence[str]
    when: str | Sequence[str]
    mentions: str | Sequence[str]
    reads: str | Sequence[str]


class RuleDeclaration(RuleScope, total=False):
    """The declaration of a rule besides its function, its error and its sources.

    `rejects` maps the exact words of the API, or what fills the placeholders of `error` in their order, to a request that
    gets them; for a message without placeholders it is a list with that request. No rule may refuse the requests in
    `accepts`. `on` names operations, `POST /responses` by default; `*` in it matches any text (`*{file_id}*`: every path
    with this parameter), and a group from `api.operations`, such as JSON_BODY, each operation in it. `fix` tells a client
    what to do instead. `when` names members of the body: a request with none of them cannot violate the rule, which is
    then skipped (`input[]`: an array as input). Likewise the JSON of a body must contain one of the words in `mentions`,
    and the transcript an item of a type in `items`. `reads` names what the function reads besides the members in `when`:
    members of the body, `request.query`, `request.headers.authorization`, `world.models`, `transcript`; the operation and
    the dialect need not be named. Without `reads` it may read everything. `since` and `until` are the first and last day
    of this error, if it is not valid at all times. `dialects` are those with this error (`openai`, `azure`, `foundry`),
    by default all. `area` is that of the module, unless it is given.
    """

    rejects: Required[Mapping[str | tuple[str, ...], Example] | Sequence[Example]]
    accepts: Sequence[Example]
    items: str | Sequence[str]
    fix: str
    since: str
    until: str


def rule(
    error: ApiError, *sources: Source, keyword: str | None = "x-rule", **declaration: Unpack[RuleDeclaration]
) -> Callable[[RuleFunction], RuleFunction]:
    """Register a function that finds violations; its parameters are members of the call (CHECK_PARAMETERS).

    It returns whether there is one; for an error with placeholders it is a generator of what fills them. `error` is the
    API's answer, `sources` the evidence for it; the last one may say what is assumed.

    If the schema finds the violations, the function has neither parameters nor a body. The rule is then that of a JSON
    Schema `keyword` everywhere, or without one that of the places where the schema names it (`x-rule`). With None the
    mock never raises the error: it only occurs in old recordings.
    """

    def register(function: RuleFunction) -> RuleFunction:
        module = function.__module__
        scope: RuleScope = getattr(sys.modules.get(module), "SCOPE", RuleScope())
        declared = _make_rule(function, error, sources, keyword, {**scope, **declaration})
        if problem := _declaration_problem(declared):
            raise RegistrationError(f"rule {declared.id} in {module} {problem}")
        RULES.add(declared.id, declared, module)
        return function

    return register


def _make_rule(
    function: Callable[..., Any],
    error: ApiError,
    sources: tuple[Source, ...],
    keyword: str | None,
    declaration: RuleDeclaration,
) -> Rule:
    check, needs = _as_check(function), tuple(inspect.signature(function).parameters)
    rejects, until = _by_words(error.message, declaration["rejects"]), declaration.get("until", "")
    return Rule(
        id=function.__name__,
        area=declaration.get("area", function.__module__.rpartition(".")[2]),
        doc=inspect.getdoc(function) or "",
        error=error,
        sources=sources,
        rejects={words: _on_day(example, until) for words, example in rejects.items()},
        accepts=tuple(_on_day(example, until) for example in declaration.get("accepts", ())),
        on=_as_tuple(declaration.get("on", CREATE_RESPONSE)),
        when=_as_tuple(declaration.get("when", ())),
        mentions=_as_tuple(declaration.get("mentions", ())),
        items=_as_tuple(declaration.get("items", ())),
        reads=_collect_reads(declaration, needs),
        check=check,
        needs=needs,
        keyword=None if check else keyword,
        fix=declaration.get("fix", ""),
        since=declaration.get("since", ""),
        until=until,
        dialects=_as_tuple(declaration.get("dialects", ())),
    )


def _as_check(function: Callable[..., Any]) -> RuleCheck | None:
    """Return a rule's function as its check; None if it has no body, RegistrationError for another form."""
    signature = inspect.signature(function)
    if [*signature.parameters] == [name for name in CHECK_PARAMETERS if name in signature.parameters]:
        if inspect.isgeneratorfunction(function) or signature.return_annotation in (bool, "bool"):
            return function
        if signature.return_annotation in (None, "None") and not signature.parameters:
            return None
    raise RegistrationError(
        f"rule {function.__name__}: write a generator, or a function that returns a bool, taking some of "
        f"{', '.join(CHECK_PARAMETERS)}, in this order"
    )


def _declaration_problem(declared: Rule) -> str | None:
    if not declared.doc:
        return "has no docstring"
    if declared.since > CONTRACT_DATE:
        return f"begins on {declared.since}, after the day of the contract: move CONTRACT_DATE in harness/core/dates.py"
    if not declared.sources:
        return "has no source: add reported('https://…', '2026-01-31'), or assumed('why')"
    if not (declared.rejects or declared.until) and declared.level != "assumed":
        return "has no example: add rejects={'the exact words': {…}}"
    return None


def _as_tuple(named: str | Sequence[str]) -> tuple[str, ...]:
    return (named,) if isinstance(named, str) else tuple(named)


def _collect_reads(declaration: RuleDeclaration, needs: Sequence[str]) -> frozenset[str] | None:
    """Return what a rule reads; None for everything."""
    if "reads" not in declaration:
        return None
    members = (WHEN_READS.get(name, name) for name in _as_tuple(declaration.get("when", ())))
    derived = (name for need in needs for name in DERIVED_FROM.get(need, ()))
    return frozenset([*members, *_as_tuple(declaration["reads"]), *derived])


def _by_words(
    message: str, rejects: Mapping[str | tuple[str, ...], Example] | Sequence[Example]
) -> Mapping[str, Example]:
    if isinstance(rejects, Mapping):
        return {_fill_words(message, words): example for words, example in rejects.items()}
    if len(rejects) > 1 or "{" in message:
        raise RegistrationError(f"rule about {message!r}: write rejects={{'what fills it': {{…}}, …}}")
    return {message: rejects[0]} if rejects else {}


def _fill_words(message: str, given: str | tuple[str, ...]) -> str:
    """Return the words that a key of `rejects` stands for: itself, or the message with the key in its placeholders."""
    names = list(dict.fromkeys(name for _, name, *_ in Formatter().parse(message) if name))
    if isinstance(given, str):
        if len(names) != 1:
            return given
        start, *_, end = message.format_map({names[0]: "\0"}).split("\0")
        if given.startswith(start) and given.endswith(end):
            return given
        given = (given,)
    if len(given) != len(names):
        raise RegistrationError(f"rule about {message!r}: {given} must fill {', '.join(names)}")
    return message.format_map(dict(zip(names, given, strict=True)))


def _on_day(example: Example, until: str) -> Case:
    case = _as_case(example)
    return case if case.as_of or is_valid_on(CONTRACT_DATE, "", until) else replace(case, as_of=last_day(until))
