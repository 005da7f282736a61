"""The state visible to one API key: store, script, account, ids, clock, and the journal.

Endpoints read and change it; a test uses it through a `Mock` (`harness.world.mock`). Two Worlds share nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol, TypedDict

from harness.analysis.call_ledger import ApprovalLedger, CodingRun
from harness.analysis.judgement import LENIENT, ClientJudgement
from harness.analysis.path import PathClaim
from harness.answers.assistants_run_events import CitationPlacement
from harness.answers.response import finish_response
from harness.api.http.dialects import check_dialect
from harness.api.models import MODELS
from harness.api.resources.containers import Containers
from harness.api.resources.files import File, Uploads
from harness.contract.overrides import Overrides
from harness.contract.rule import RULES, Rule
from harness.core.account import DEFAULT_ORGANIZATION, Organization
from harness.core.advice_wording import PYTHON, Vocabulary
from harness.core.dates import CONTRACT_DATE, parse_as_of, start_of_clock
from harness.core.delivery import Gate, Pace, ReturnedAnswer, SendLog, SendRecord
from harness.core.errors import ConfigError, Problem
from harness.core.exchange import EMPTY_MAPPING, Answer, Exchange, Json, Request, Stray, ToolRuns
from harness.core.headers import REQUEST_ID_HEADERS
from harness.core.ids import Ids, is_project_id
from harness.core.limits import UNLIMITED, Limits, drop_before, drop_oldest
from harness.core.registry import suggest_name
from harness.core.webhooks import WebhookDelivery
from harness.items.kind import CALL_OF_OUTPUT, id_prefix
from harness.world.exploration import Explorer
from harness.world.mcp_server import McpServers
from harness.world.prompt_cache import PromptCache
from harness.world.quotas import Quotas, make_quotas
from harness.world.refusals import MAX_SHOWN, NO_STRAYS, HeardStrays, RefusalLedger, StrayLog
from harness.world.route import Route
from harness.world.routed_requests import RoutedPath
from harness.world.script import Fallback, Script, TurnLog
from harness.world.store import PendingResponse, Store, empty_store
from harness.world.webhooks import Webhooks


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """The initial options of a World, apart from its names; a test may change most of them later.

    `organization` is the account behind its key. `fallback` answers when nothing was scripted, `pace` applies to turns
    without one. `dialect` is the only one it speaks (openai, azure, foundry), None for all of them: each has paths of
    its own. `as_of` is the day (YYYY-MM-DD, or YYYY-MM for its last day) whose contract applies, by default the newest
    that this release knows; a World of another day has the clock of that day. `overrides` overrules the contract.
    `limits` bounds what is kept, dropping the oldest first. `vocabulary` words the advice to its user. With
    `counts_waiting`, the time that a client waits after a refusal counts towards its quota.
    """

    organization: Organization = DEFAULT_ORGANIZATION
    fallback: Fallback | None = None
    pace: Pace | None = None
    dialect: str | None = None
    as_of: str = CONTRACT_DATE
    overrides: Overrides | None = None
    limits: Limits = UNLIMITED
    vocabulary: Vocabulary = PYTHON
    counts_waiting: bool = True


class GivenOptions(TypedDict, total=False):
    """Members of `WorldOptions` as keyword arguments."""

    organization: Organization
    fallback: Fallback | None
    pace: Pace | None
    dialect: str | None
    as_of: str
    overrides: Overrides | None
    limits: Limits
    vocabulary: Vocabulary
    counts_waiting: bool


DEFAULT_OPTIONS = WorldOptions()

CLOCK_START = 1_790_000_000
"""Unix seconds at which every World's clock starts (2026-09-21)."""
MAX_SHOWN_OTHERWISE = 100
"""The number of differences kept between what was said and what a client showed; the first are."""
MAX_FALSE_CLAIMS = 100
"""The number of false claims about a path that are kept; the first are."""
CHECKED_AT_LEAST = 128
"""How often, while the store fills with responses, the number of what is stored beside them is looked at."""
MAX_FAILED = 20
"""The number of reasons that are kept why a server failed to answer; others are counted with the last of them."""
NONE_FAILED: Mapping[Problem, int] = MappingProxyType({})


class Courier(Protocol):
    """Makes the pending deliveries of a `World`; see `harness.server.webhook_courier`."""

    takes_real_time: bool

    def lead(self, receiver: Any, path: str, url: str) -> tuple[str, Any]:
        """Return where deliveries go: the URL, and what to call instead of posting there."""

    def wake(self, world: World) -> None:
        """Start delivering what is scheduled."""

    def deliver(self, world: World) -> None:
        """Deliver what is scheduled, and wait for it unless this thread runs an event loop."""

    def delivered(self, world: World) -> Awaitable[Sequence[WebhookDelivery]]:
        """Deliver what is scheduled; awaiting the result waits for it and returns all deliveries so far."""


class World:
    """The state visible to one API key; `base_url` and `api_key` are all that a client needs to reach it.

    Without a `base_url` a client reaches it by the `scheme` of its server and the host that it names itself. With
    `automatic` each retrieve of a background response advances it by one step; otherwise only `advance` does.
    `was_dropped` says that its server has dropped another World of this key before, `created` when it created this one.
    `exchanges` is the journal; `exchange_count` includes those dropped from it; `refusals` knows which of its refusals
    were asked for. `problems` are the requests that the harness could not answer, with the reason. `tool_runs` are the
    runs of the client's tools that a test records. `shown_otherwise` holds the messages of `surfaced` over HTTP, about
    a client that showed something other than what was said; `routed` are the paths that a test answers itself, newest
    first. `edge` has the times of the exchanges that a server has answered, `answered_by` the turns and routes that
    answered, both by the number of the exchange; only reports and losses read them, and what a test has `not_awaited`.
    `unread_streams` are the streams that a test did not read to their end: the events read, by the id of the request.
    `false_claims` are the claims about its path that did not hold. `failed` counts, by reason, the requests that its
    server failed to answer, which the journal may lack, `failed_unlogged` those, by key, that of the servers that share a
    store only this one knows of. The `courier` delivers its `webhooks`, `client` says
    how the client is judged.
    """

    # What few Worlds set is here: an object with more than 30 attributes of its own is slower, and 1,600 bytes larger.
    scheme = "http"
    automatic = True
    citations: CitationPlacement = "both"
    explorer: Explorer | None = None
    coding_agents: Callable[..., Callable[..., CodingRun]] | None = None
    quotas: Quotas | None = None
    counts_waiting = True
    courier: Courier | None = None
    webhooks: Webhooks | None = None
    client: ClientJudgement = LENIENT
    shown_otherwise: tuple[str, ...] = ()
    not_awaited: tuple[str, ...] = ()
    unread_streams: Mapping[str, int] = EMPTY_MAPPING
    false_claims: tuple[PathClaim, ...] = ()
    failed: Mapping[Problem, int] = NONE_FAILED
    failed_unlogged: Mapping[str, Mapping[Problem, int]] = EMPTY_MAPPING
    routed: tuple[RoutedPath, ...] = ()
    was_dropped = False
    created = 0.0
    skipped_seconds = 0

    def __init__(
        self, name: str = "world", *, api_key: str = "", base_url: str = "", options: WorldOptions = DEFAULT_OPTIONS
    ) -> None:
        self.name = name
        self.api_key = api_key
        self.base_url = base_url
        self.dialect = check_dialect(options.dialect)
        self.vocabulary = options.vocabulary
        self.limits = options.limits
        self.account = options.organization
        if self.account is not DEFAULT_ORGANIZATION:
            self.quotas = make_quotas(self.account, None)
        if not options.counts_waiting:
            self.counts_waiting = False
        self.overrides = options.overrides
        self.models = MODELS
        self.ids = Ids(name)
        self.set_date(options.as_of)
        self.store: Store = empty_store()
        self.uploads = Uploads(self, self.store.files, self.store.vector_stores)
        self.containers = Containers(self, self.store.containers)
        self.script = Script(options.fallback, vocabulary=options.vocabulary, pace=options.pace)
        self.mcp_servers = McpServers()
        self.prompt_cache = PromptCache()
        self.gates: dict[str, Gate] = {}
        self.approval_ledger = ApprovalLedger()
        self.exchanges: list[Exchange] = []
        self.exchange_count = 0
        self.edge = SendLog()
        self.answered_by = TurnLog()
        self.problems: list[tuple[Request, Problem]] = []
        self.hear_strays(NO_STRAYS)
        self.tool_runs = ToolRuns()

    def set_date(self, as_of: str) -> None:
        """Move to noon of another day and its contract; ConfigError for a day that is invalid or in the future."""
        self.as_of = parse_as_of(as_of)
        self.now = CLOCK_START if self.as_of == CONTRACT_DATE else start_of_clock(self.as_of)

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rules by which this World refuses, by id: the mock's, and those of the user's contract."""
        return {**RULES, **self.overrides.rules} if self.overrides else RULES

    def tick(self) -> int:
        """Advance the World's time by one second and return it, in unix seconds."""
        self.now += 1
        return self.now

    def skip(self, seconds: int) -> int:
        """Let time pass and return the World's time; otherwise only requests take time, one second each."""
        if not isinstance(seconds, int) or seconds < 0:
            raise ConfigError(f"skip({seconds}): time does not go back; pass a non-negative integer of seconds.")
        self.skipped_seconds += seconds
        self.now += seconds
        for id, thread in self.store.threads.items():
            thread.expire_run(self.now)
            self.store.threads[id] = thread
        return self.now

    def organization(self, **changes: Any) -> Organization:
        """Change the account behind the key and return it."""
        if unknown := set(changes) - set(Organization.__dataclass_fields__):
            known = Organization.__dataclass_fields__
            name = min(unknown)
            near = suggest_name(name, known)
            advice = near if near.startswith("Did") else f"it has {', '.join(known)}."
            raise ConfigError(f"organization({', '.join(sorted(unknown))}=…): {advice}")
        frozen: dict[str, Any] = {
            name: frozenset(value) if isinstance(value, list | set | tuple) else value
            for name, value in changes.items()
        }
        self.account = replace(self.account, **frozen)
        # What was used of a quota stays used when the account changes.
        self.quotas = make_quotas(self.account, self.quotas)
        return self.account

    def note_arrival(self, seconds: float) -> None:
        """Record when a request arrived by the server's clock: a client that waits as told regains its quota."""
        if self.quotas and self.counts_waiting:
            self.quotas.arrived = seconds

    def gate(self, name: str) -> Gate:
        """Return the gate of this name, creating it if it is new."""
        return self.gates.setdefault(name, Gate())

    def note_failed(self, problem: Problem, count: int = 1) -> None:
        """Record requests that the server failed to answer."""
        self.failed = count_failed(self.failed, problem, count)

    @property
    def all_failed(self) -> Mapping[Problem, int]:
        """The requests that the server failed to answer, by reason."""
        known = self.failed
        for problem, count in self.failed_unlogged.get(self.api_key, NONE_FAILED).items():
            known = count_failed(known, problem, count)
        return known

    @property
    def unread(self) -> Mapping[int, int]:
        """The `unread_streams` by the number of the exchange."""
        ids = self.unread_streams
        numbers = ((exchange.number, exchange.answer.headers) for exchange in self.exchanges if ids)
        return {
            number: ids[headers[name]]
            for number, headers in numbers
            for name in REQUEST_ID_HEADERS
            if headers.get(name) in ids
        }

    @property
    def observed(self) -> ToolRuns:
        """The `tool_runs`, with the answers that the client left."""
        records = self.edge.records.items()
        left = {number for number, seen in records if isinstance(seen, SendRecord) and seen.left is not None}
        return replace(self.tool_runs, left=frozenset(left | self.unread.keys()))

    def add_exchange(self, request: Request, answer: Answer, edge: SendRecord | ReturnedAnswer | None = None) -> None:
        """Add an exchange to the journal, with the edge's record and the turn that answered it."""
        self.exchange_count = self.tool_runs.exchange_count = number = self.exchange_count + 1
        exchange = Exchange(number, request, answer)
        if self.heard_strays.log.number:
            self.heard_strays.note(number - 1)
        self.exchanges.append(exchange)
        if edge is not None:
            self.edge.records[number] = edge
            if isinstance(edge, SendRecord):
                edge.stream = answer.events
        # The turn was taken before its exchange had a number.
        if (taken := self.script.current_turn) is not None:
            self.answered_by.sources[number] = taken
            self.script.current_turn = None
        if answer.rule is not None:
            self.refusals.add(exchange)
        if self.limits is not UNLIMITED:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        limits = self.limits
        if limits.exchanges is not None and len(self.exchanges) > limits.exchanges:
            drop_oldest(self.exchanges, limits.exchanges)
            drop_before(self.edge.records, self.exchanges[0].number)
            drop_before(self.answered_by.sources, self.exchanges[0].number)
            drop_oldest(self.problems, limits.exchanges)
            self.approval_ledger.keep_newest(limits.exchanges)
        if limits.responses is not None:
            if len(self.store.responses) > limits.responses:
                self.store.keep_newest(limits.responses)
            if not self.exchange_count % (1 + limits.responses // CHECKED_AT_LEAST):
                self.store.keep_newest_besides(limits.responses)

    def hear_strays(self, log: StrayLog) -> None:
        """Watch for requests without a World, as they may be meant for this one."""
        self.heard_strays = HeardStrays(log)
        self.refusals = RefusalLedger(self.exchanges, self.heard_strays)

    @property
    def unused(self) -> list[tuple[Route | RoutedPath, Any]]:
        """What was scripted but not taken by a request: turns with their routes, answers in lists with their paths."""
        answers = [(routed, answer) for routed in reversed(self.routed) for answer in routed.unused]
        return [*self.script.unused, *answers]

    @property
    def strays(self) -> list[tuple[int, Stray]]:
        """The newest requests without a World, each with the number of this World's exchanges before it."""
        heard = self.heard_strays.read()[-MAX_SHOWN:]
        return [(self.exchange_count if stray.before is None else stray.before, stray.stray) for stray in heard]

    def add_false_claim(self, claim: PathClaim) -> None:
        """Keep a false claim about the path until the test reads it."""
        unread = (earlier for earlier in self.false_claims if not earlier.was_read)
        self.false_claims = (*unread, claim)[:MAX_FALSE_CLAIMS]

    def add_shown_otherwise(self, message: str) -> None:
        """Record, once, that a client shows something other than what was said."""
        self.shown_otherwise = tuple(dict.fromkeys([*self.shown_otherwise, message]))[:MAX_SHOWN_OTHERWISE]

    def add_item_ids(self, items: Sequence[Json], owner: str, now: int) -> list[Json]:
        """Return items as stored: each with an id, the client's own if it sent one; `owner` is a response's id."""
        stored = []
        for item in items:
            if not item.get("id"):
                in_project = item["type"] in CALL_OF_OUTPUT and is_project_id(owner)
                item = {"id": self.ids.item(id_prefix(item["type"], in_project=in_project), owner, now), **item}
            stored.append(item)
        return stored

    def add_container(self, body: Json) -> str:
        """Create a container from a body of `POST /containers`, with its files; returns its id."""
        self.tick()
        files = []
        for id in body.get("file_ids") or ():
            if (file := self.uploads.file(id)) is None:
                raise ConfigError(f"container({id!r}): no such file for this key; create one: mock.file(…).")
            files.append(file)
        made = self.containers.add(body)
        for file in files:
            self.copy_to_container(made, file)
        return made

    def copy_to_container(self, container: str, file: File) -> Json:
        """Add a copy of an uploaded file to a container; returns the copy's object."""
        return self.containers.add_file(
            container, f"{file.object['id']}-{file.object['filename']}", file.content.read()
        )

    def finish(self, pending: PendingResponse) -> Json:
        """End a response: store it, and add its items to its conversation."""
        response = finish_response(
            pending.initial_response, pending.output, pending.usage, self.now + 1, pending.ending
        )
        if pending.is_stored:
            self.store.put_response(response, pending.own_input, pending.previous)
        if (
            pending.conversation
            and pending.ending.status != "failed"
            and pending.conversation in self.store.conversations
        ):
            self.store.add_to_conversation(pending.conversation, [*pending.own_input, *pending.output])
        self.tell_webhooks(response)
        return response

    def open_webhooks(self) -> Webhooks:
        """Return the webhooks of this World, creating them on the first call."""
        if self.webhooks is None:
            # Their ids have their own seed, so that responses have the same ids with and without webhooks.
            self.webhooks = Webhooks(Ids(f"{self.name} webhooks"))
        return self.webhooks

    def tell_webhooks(self, response: Json) -> None:
        """Schedule the webhooks for a background response that has ended."""
        if self.webhooks is not None and self.courier is not None and response.get("background"):
            self.webhooks.add_event(response, self.now)
            self.courier.wake(self)


def count_failed(known: Mapping[Problem, int], problem: Problem, count: int) -> Mapping[Problem, int]:
    """Return the requests that a server failed to answer, with some more; too many reasons count as the last one."""
    if problem not in known and len(known) >= MAX_FAILED:
        problem = [*known][-1]
    return {**known, problem: known.get(problem, 0) + count}
