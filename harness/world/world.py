"""Everything one API key can see: what was stored, what was said, what the model says next, its ids and its clock.

A World is what the `mock` fixture gives to a test. Two Worlds share nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import harness.analysis.losses  # noqa: F401  (registers every loss)
from harness.analysis.approval_ledger import Approval, ApprovalLedger
from harness.analysis.call_ledger import Call, collect_calls
from harness.analysis.collect_replies import collect_replies
from harness.analysis.flow import Flow, build_flow
from harness.analysis.lanes import assign_lanes, group_by_lane, without_probes
from harness.analysis.loss import Lost, losses_of
from harness.answers.response import finish_response
from harness.answers.run_events import CitationPlacement
from harness.api.dialects import API_ROOTS, FOUNDRY, check_dialect
from harness.api.encrypted_content import ContentOwner, make_encrypted_content
from harness.api.include import FullItem, filter_item
from harness.api.models import MODELS, Model
from harness.api.resources.files import Uploads
from harness.api.resources.threads import Thread
from harness.core.account import DEFAULT_ORGANIZATION, Organization
from harness.core.delivery import Gate
from harness.core.errors import ConfigError
from harness.core.exchange import Answer, Exchange, Json, Request
from harness.core.ids import Ids
from harness.core.replies import ModelReplies
from harness.ending import DEFAULT_ENDING, Ending, TurnLine
from harness.items.kind import id_prefix
from harness.items.transcript import Transcript, conversation_id, resolve_transcript
from harness.world.mcp_approvals import McpServers
from harness.world.mcp_server import McpServer, build_server
from harness.world.script import Matcher, Route, Script, Turn

CLOCK_START = 1_790_000_000
"""Unix seconds at which every World's clock starts (2026-09-21)."""


class StoredResponse(NamedTuple):
    """A response that can be continued or read back: its object, its own input items, and the transcript so far.

    `events` is the stream that can be asked for again; None when there is none.
    """

    response: Json
    input: Sequence[Json]
    transcript: Sequence[Json]
    events: Sequence[Json] | None = None


class PendingResponse(NamedTuple):
    """A response that the model has answered and that may still be under way.

    `started` is the response as it began, `output`, `usage` and `ending` are how it ends. `given` are its own input items,
    `before` the items it continues; `kept` says whether it is stored at its end.
    """

    initial_response: Json
    output: Sequence[Json]
    usage: Json
    own_input: Sequence[Json]
    previous_items: Sequence[Json]
    conversation: str | None = None
    is_stored: bool = True
    ending: Ending = DEFAULT_ENDING


@dataclass(slots=True)
class Conversation:
    """A stored conversation: its object and its items in order."""

    object: Json
    items: list[Json] = field(default_factory=list)


class World:
    """What one API key sees. `base_url` and `api_key` are what any client needs to reach it.

    With `automatic` each retrieve of a background response moves it on by one step; set it to False, and `advance`
    alone does. `dialect` is the only one it speaks (openai, azure, foundry), None all of them: each has paths of its own.
    """

    def __init__(
        self,
        name: str = "world",
        *,
        api_key: str = "",
        base_url: str = "",
        organization: Organization | None = None,
        fallback: Callable[[Request], Sequence[TurnLine]] | None = None,
        dialect: str | None = None,
    ) -> None:
        self.name = name
        self.api_key = api_key
        self.base_url = base_url
        self.account = organization or DEFAULT_ORGANIZATION
        self.models = MODELS
        self.ids = Ids(name)
        self.now = CLOCK_START
        self.skipped_seconds = 0
        self.dialect = check_dialect(dialect)
        self.azure_members: dict[str, Json] = {}
        self.agents: dict[str, list[Json]] = {}
        self.turns = Script(fallback)
        self.gates: dict[str, Gate] = {}
        self.responses: dict[str, StoredResponse] = {}
        self.pending: dict[str, PendingResponse] = {}
        self.automatic = True
        self.conversations: dict[str, Conversation] = {}
        self.uploads = Uploads(self)
        self.items: dict[str, Json] = {}
        self.unfiltered_items: dict[str, FullItem] = {}
        self.reasoning_of: dict[str, str] = {}
        self.follower_of: dict[str, str] = {}
        self.ciphertexts: set[str] = set()
        self.assistants: dict[str, Json] = {}
        self.threads: dict[str, Thread] = {}
        self.citations: CitationPlacement = "both"
        self.mcp_servers = McpServers()
        self.approval_ledger = ApprovalLedger()
        self.exchanges: list[Exchange] = []
        self.exchange_count = 0
        self.problems: list[tuple[Request, str]] = []

    def learn(self, family: Model) -> None:
        """Add a family of models to those that this World knows, or replace the one of that name."""
        self.models = self.models.with_family(family)

    @property
    def azure_endpoint(self) -> str:
        """What a client for Azure OpenAI takes as its endpoint."""
        return urlsplit(self.base_url)._replace(path="").geturl()

    @property
    def project_endpoint(self) -> str:
        """What a client for Azure AI Foundry takes as the endpoint of its project."""
        return self.azure_endpoint + API_ROOTS[FOUNDRY].removesuffix("/openai/v1")

    def script(self, *turns: Turn) -> Route:
        """What the model says to the next requests that no `when` route answers, one turn a request."""
        return self.turns.add(turns)

    def when(
        self,
        *,
        instructions: Matcher | None = None,
        tools: Matcher | None = None,
        model: Matcher | None = None,
        input: Matcher | None = None,
        agent: Matcher | None = None,
    ) -> Route:
        """A route: `mock.when(instructions="planner").script(message("…"))`; see `script.fits` for how each matches."""
        asked = {"instructions": instructions, "tools": tools, "model": model, "input": input, "agent": agent}
        return self.turns.when({name: wanted for name, wanted in asked.items() if wanted is not None})

    def mcp(self, server_label: str, tools: Mapping[str, Any]) -> McpServer:
        """Script a remote MCP server: `mock.mcp("prod", {"deploy": lambda ref: f"{ref} is live", "status": "up"})`.

        By the name of each tool its result: a text, other JSON, a function of the arguments by name, a `mcp.ToolError`; or
        a dict with the `result` and what the list of tools shows: `description`, `input_schema`, `annotations`. From then on
        an `mcp_call` of a script without output is asked for or made, as `require_approval` of the request says.
        """
        server = build_server(server_label, tools)
        self.mcp_servers.add(server)
        return server

    def gate(self, name: str) -> Gate:
        """The gate of a name: `pause(turn, after=3, until="shown")` waits until `mock.gate("shown").open()`."""
        return self.gates.setdefault(name, Gate())

    @property
    def approvals(self) -> list[Approval]:
        """Every call of an MCP server that needed leave, in order: who gave it, and how often the call was made."""
        return list(self.approval_ledger)

    @property
    def said(self) -> ModelReplies:
        """What the model said, as the answers so far have shown it: one for each response or run, oldest first."""
        return collect_replies(self.exchanges)

    @property
    def calls(self) -> list[Call]:
        """Every call that a client has to make, in order: who asked for it, and how often it was answered."""
        return collect_calls(self.exchanges)

    @property
    def lanes(self) -> dict[str, list[Exchange]]:
        """The exchanges of each agent, by a name that its requests give: `{"planner": […], "ops": […]}`."""
        return group_by_lane(self.exchanges, self.turns.agent_hints)

    @property
    def flow(self) -> Flow:
        """What happened so far: `print(mock.flow)`, or `mock.flow.mermaid` for a sequence diagram of it."""
        return build_flow(assign_lanes(without_probes(self.exchanges), self.turns.agent_hints))

    @property
    def losses(self) -> list[Lost]:
        """What the clients lost of what was said, although the API takes it; `loss.losses_of(…, strict=True)` finds more."""
        return losses_of(self.exchanges)

    def organization(self, **changes: Any) -> Organization:
        """Change the account behind the key, say `mock.organization(zdr=True, models={"gpt-4.1"})`; returns it."""
        if unknown := set(changes) - set(Organization.__dataclass_fields__):
            known = ", ".join(Organization.__dataclass_fields__)
            raise ConfigError(f"organization({', '.join(sorted(unknown))}=…): it has {known}.")
        frozen: dict[str, Any] = {
            name: frozenset(value) if isinstance(value, list | set | tuple) else value
            for name, value in changes.items()
        }
        self.account = replace(self.account, **frozen)
        return self.account

    def file(
        self, name: str, data: bytes | str = b"", *, purpose: str = "user_data", expires_after: int | None = None
    ) -> str:
        """Upload a file, say `mock.file("a.txt", "Paris")`, that expires after so many seconds; returns its id."""
        return self.uploads.add_file(name, data, purpose, expires_after)

    def vector_store(self, *files: str, **members: Any) -> str:
        """Make a vector store of uploaded files, by their ids, with members of `POST /vector_stores`; returns its id."""
        return self.uploads.add_store(files, members)

    def add_exchange(self, request: Request, answer: Answer, keep: int | None = None) -> None:
        """Write an exchange to the journal; with `keep` only about that many of the latest stay in it."""
        self.exchange_count += 1
        self.exchanges.append(Exchange(self.exchange_count, request, answer))
        if keep is not None and len(self.exchanges) > 2 * keep:
            del self.exchanges[: len(self.exchanges) - keep]

    def tick(self) -> int:
        """The World's time in unix seconds; each call is one second later."""
        self.now += 1
        return self.now

    def skip(self, seconds: int) -> int:
        """Let time pass, say until a connection is too old; returns the World's time. Requests alone take a second each."""
        if seconds < 0:
            raise ConfigError(f"skip({seconds}): time does not go back; give a number of seconds from 0 on.")
        self.skipped_seconds += seconds
        self.now += seconds
        for thread in self.threads.values():
            thread.expire_run(self.now)
        return self.now

    def add_item_ids(self, items: Sequence[Json], owner: str, now: int) -> list[Json]:
        """Items as they are stored: each has an id, the client's own where it gave one; `owner` is a response's id."""
        return [
            item if item.get("id") else {"id": self.ids.item(id_prefix(item["type"]), owner, now), **item}
            for item in items
        ]

    def add_encrypted_content(self, output: Sequence[Json], asked: bool, now: int) -> Sequence[Json]:
        """Output with its ciphertexts: reasoning gets one where the client asked; those a script gave are remembered."""
        self.ciphertexts.update([item["encrypted_content"] for item in output if item.get("encrypted_content")])
        if not asked:
            return output
        return [self._encrypt_reasoning(item, now) if item["type"] == "reasoning" else item for item in output]

    def apply_include(self, output: Sequence[Json], include: Sequence[str]) -> list[Json]:
        """Output as a request shows it that includes these; what that hides is kept for who includes it later."""
        return [self._hide_members(item, include) for item in output]

    def _hide_members(self, item: Json, include: Sequence[str]) -> Json:
        shown = filter_item(item, include)
        if shown is not item:
            self.unfiltered_items[item["id"]] = FullItem(item, include)
        return shown

    def _encrypt_reasoning(self, item: Json, now: int) -> Json:
        text = item.get("encrypted_content") or make_encrypted_content(ContentOwner(self.account.name, item["id"]), now)
        made, head = {**item, "encrypted_content": text}, {name: item[name] for name in ("id", "type")}
        return head | {name: made[name] for name in sorted(made) if name not in head}

    def previous_items(self, body: Json) -> Sequence[Json]:
        """The items that a request continues: its chain's or its conversation's, none when it names neither."""
        if (previous := body.get("previous_response_id")) in self.responses:
            return self.responses[previous].transcript
        conversation = self.conversations.get(conversation_id(body) or "")
        return conversation.items if conversation else ()

    def transcript(self, body: Json) -> Transcript:
        """The resolved transcript of a request."""
        return resolve_transcript(self.previous_items(body), body, self.items)

    def enqueue(self, run: PendingResponse) -> Json:
        """Keep a background response for later; returns it as it is now, queued."""
        id = run.initial_response["id"]
        queued = {**run.initial_response, "status": "queued"}
        self.responses[id] = StoredResponse(queued, run.own_input, [*run.previous_items, *run.own_input])
        self.pending[id] = run
        return queued

    def advance(self, id: str | None = None) -> list[Json]:
        """Move a background response or a run on by one step, without `id` all of them: queued, in progress, completed.

        Returns each as it is now; a ConfigError when `id` names none that is under way.
        """
        runs = {run: thread for thread in self.threads.values() for run in thread.pending_events}
        under_way = [*self.pending, *runs]
        if id is not None and id not in under_way:
            known = ", ".join(under_way) or "none"
            raise ConfigError(
                f"advance({id!r}): no background response or run of this key is under way by this id; {known} is."
            )
        moved = [id] if id else under_way
        return [runs[one].advance_run(one) if one in runs else self._advance_response(one) for one in moved]

    def _advance_response(self, id: str) -> Json:
        stored = self.responses[id]
        if stored.response["status"] == "in_progress":
            return self.finish(self.pending.pop(id))
        running = {**stored.response, "status": "in_progress"}
        self.responses[id] = stored._replace(response=running)
        return running

    def cancel(self, id: str) -> Json:
        """End a background response without an output; one that has ended stays as it is."""
        stored = self.responses[id]
        if self.pending.pop(id, None):
            self.responses[id] = stored = stored._replace(response={**stored.response, "status": "cancelled"})
        return stored.response

    def finish(self, run: PendingResponse) -> Json:
        """The end of a response: it is remembered, and what was said becomes part of its conversation."""
        response = finish_response(run.initial_response, run.output, run.usage, self.now + 1, run.ending)
        if run.is_stored:
            self.store_response(response, run.own_input, run.previous_items)
        if run.ending.status != "failed" and run.conversation in self.conversations:
            self.add_to_conversation(run.conversation, [*run.own_input, *run.output])
        return response

    def store_response(self, response: Json, given: Sequence[Json], transcript: Sequence[Json]) -> None:
        """Remember a response, so that it can be continued, read back, and its items referred to."""
        output = response["output"]
        self.responses[response["id"]] = StoredResponse(response, given, [*transcript, *given, *output])
        self._index_items([*given, *output])
        self._link_reasoning(output)

    def store_events(self, id: str, events: Sequence[Json]) -> None:
        """Keep the stream of a stored response, so that it can be resumed."""
        self.responses[id] = self.responses[id]._replace(events=events)

    def add_to_conversation(self, conversation: str, items: Sequence[Json]) -> None:
        """Append items, which have ids, to a conversation; from then on they can be referred to."""
        self.conversations[conversation].items += items
        self._index_items(items)

    def _index_items(self, items: Iterable[Json]) -> None:
        for item in items:
            if id := item.get("id"):
                self.items[id] = item

    def _link_reasoning(self, output: Sequence[Json]) -> None:
        for place, item in enumerate(output, 1):
            if item["type"] == "reasoning" and "id" in item:
                follower = output[place].get("id", "") if place < len(output) else ""
                self.follower_of[item["id"]] = follower
                if follower:
                    self.reasoning_of[follower] = item["id"]
