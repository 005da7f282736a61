"""Everything one API key can see: what was stored, what was said, what the model says next, its ids and its clock.

A World is what the `mock` fixture gives to a test. Two Worlds share nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, NamedTuple

from harness.ciphertext import Bond, seal
from harness.errors import ConfigError
from harness.exchange import Answer, Exchange, Json, Request
from harness.ids import Ids
from harness.item import ITEMS, Item
from harness.organization import ORDINARY, Organization
from harness.response import finish_with
from harness.script import Matcher, Route, Script, Turn
from harness.transcript import OUTPUTS, Transcript, conversation_id, resolve

EPOCH = 1_790_000_000
"""Unix seconds at which every World's clock starts (2026-09-21)."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A response that can be continued or read back: its object, its own input items, and the transcript so far.

    `events` is the stream that can be asked for again; None when there is none.
    """

    response: Json
    input: Sequence[Json]
    transcript: Sequence[Json]
    events: Sequence[Json] | None = None


class Run(NamedTuple):
    """A response that the model has answered and that may still be under way.

    `started` is the response as it began, `output` and `usage` are how it ends. `given` are its own input items,
    `before` the items it continues; `kept` says whether it is stored at its end.
    """

    started: Json
    output: Sequence[Json]
    usage: Json
    given: Sequence[Json]
    before: Sequence[Json]
    conversation: str | None = None
    kept: bool = True


@dataclass(slots=True)
class Conversation:
    """A stored conversation: its object and its items in order."""

    object: Json
    items: list[Json] = field(default_factory=list)


class World:
    """What one API key sees. `base_url` and `api_key` are what any client needs to reach it.

    With `automatic` each retrieve of a background response moves it on by one step; set it to False, and `advance`
    alone does.
    """

    def __init__(
        self,
        name: str = "world",
        *,
        api_key: str = "",
        base_url: str = "",
        organization: Organization | None = None,
        fallback: Callable[[Request], Sequence[Item]] | None = None,
    ) -> None:
        self.name = name
        self.api_key = api_key
        self.base_url = base_url
        self.account = organization or ORDINARY
        self.ids = Ids(name)
        self.now = EPOCH
        self.turns = Script(fallback)
        self.responses: dict[str, Stored] = {}
        self.pending: dict[str, Run] = {}
        self.automatic = True
        self.conversations: dict[str, Conversation] = {}
        self.items: dict[str, Json] = {}
        self.reasoning_of: dict[str, str] = {}
        self.follower_of: dict[str, str] = {}
        self.ciphertexts: set[str] = set()
        self.exchanges: list[Exchange] = []
        self.seen = 0
        self.problems: list[tuple[Request, str]] = []

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

    def note(self, request: Request, answer: Answer, keep: int | None = None) -> None:
        """Write an exchange to the journal; with `keep` only about that many of the latest stay in it."""
        self.seen += 1
        self.exchanges.append(Exchange(self.seen, request, answer))
        if keep is not None and len(self.exchanges) > 2 * keep:
            del self.exchanges[: len(self.exchanges) - keep]

    def tick(self) -> int:
        """The World's time in unix seconds; each call is one second later."""
        self.now += 1
        return self.now

    def identified(self, items: Sequence[Json], owner: str, now: int) -> list[Json]:
        """Items as they are stored: each has an id, the client's own where it gave one; `owner` is a response's id."""
        return [
            item if item.get("id") else {"id": self.ids.item(prefix_of(item["type"]), owner, now), **item}
            for item in items
        ]

    def sealed(self, output: Sequence[Json], asked: bool, now: int) -> list[Json]:
        """Output with its ciphertexts: reasoning gets one where the client asked; those a script gave are remembered."""
        self.ciphertexts.update(item["encrypted_content"] for item in output if item.get("encrypted_content"))
        return [self._sealed(item, now) if asked and item["type"] == "reasoning" else item for item in output]

    def _sealed(self, item: Json, now: int) -> Json:
        text = item.get("encrypted_content") or seal(Bond(self.account.name, item["id"]), now)
        made, head = {**item, "encrypted_content": text}, {name: item[name] for name in ("id", "type")}
        return head | {name: made[name] for name in sorted(made) if name not in head}

    def stored_items(self, body: Json) -> Sequence[Json]:
        """The items that a request continues: its chain's or its conversation's, none when it names neither."""
        if (previous := body.get("previous_response_id")) in self.responses:
            return self.responses[previous].transcript
        conversation = self.conversations.get(conversation_id(body) or "")
        return conversation.items if conversation else ()

    def transcript(self, body: Json) -> Transcript:
        """The resolved transcript of a request."""
        return resolve(self.stored_items(body), body, self.items)

    def enqueue(self, run: Run) -> Json:
        """Keep a background response for later; returns it as it is now, queued."""
        id = run.started["id"]
        queued = {**run.started, "status": "queued"}
        self.responses[id] = Stored(queued, run.given, [*run.before, *run.given])
        self.pending[id] = run
        return queued

    def advance(self, id: str | None = None) -> list[Json]:
        """Move a background response on by one step, without `id` all of them: queued, in progress, completed.

        Returns each as it is now; a ConfigError when `id` names none that is under way.
        """
        if id is not None and id not in self.pending:
            known = ", ".join(self.pending) or "none"
            raise ConfigError(
                f"advance({id!r}): no background response of this key is under way by this id; {known} is."
            )
        return [self._moved(one) for one in ([id] if id else list(self.pending))]

    def _moved(self, id: str) -> Json:
        stored = self.responses[id]
        if stored.response["status"] == "in_progress":
            return self.finish(self.pending.pop(id))
        running = {**stored.response, "status": "in_progress"}
        self.responses[id] = replace(stored, response=running)
        return running

    def cancel(self, id: str) -> Json:
        """End a background response without an output; one that has ended stays as it is."""
        stored = self.responses[id]
        if self.pending.pop(id, None):
            self.responses[id] = stored = replace(stored, response={**stored.response, "status": "cancelled"})
        return stored.response

    def finish(self, run: Run) -> Json:
        """The end of a response: it is remembered, and what was said becomes part of its conversation."""
        response = finish_with(run.started, run.output, run.usage, self.now + 1)
        if run.kept:
            self.store(response, run.given, run.before)
        if run.conversation and run.conversation in self.conversations:
            self.add(run.conversation, [*run.given, *run.output])
        return response

    def store(self, response: Json, given: Sequence[Json], transcript: Sequence[Json]) -> None:
        """Remember a response, so that it can be continued, read back, and its items referred to."""
        output = response["output"]
        self.responses[response["id"]] = Stored(response, given, [*transcript, *given, *output])
        self._know(given)
        self._know(output)
        self._link(output)

    def record(self, id: str, events: Sequence[Json]) -> None:
        """Keep the stream of a stored response, so that it can be resumed."""
        self.responses[id] = replace(self.responses[id], events=events)

    def add(self, conversation: str, items: Sequence[Json]) -> None:
        """Append items, which have ids, to a conversation; from then on they can be referred to."""
        self.conversations[conversation].items += items
        self._know(items)

    def _know(self, items: Iterable[Json]) -> None:
        self.items.update((item["id"], item) for item in items if item.get("id"))

    def _link(self, output: Sequence[Json]) -> None:
        for item, follower in zip_longest(output, output[1:]):
            if item["type"] == "reasoning":
                self.follower_of[item["id"]] = follower["id"] if follower else ""
                if follower:
                    self.reasoning_of[follower["id"]] = item["id"]


def prefix_of(type: str) -> str:
    """The prefix of an item's id; an output has that of its call, as the API asks for."""
    declared = ITEMS.get(OUTPUTS.get(type, type))
    return declared.prefix if declared else "item"
