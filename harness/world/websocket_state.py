"""What one WebSocket connection knows: its lanes, the last response of each, and so more than its World.

As OpenAI's guide to WebSocket mode has it, read in 2026-09: a lane remembers its last response, stored or not, and forgets
it when a continuation of it in this lane fails; when the connection closes, all of it is gone.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.core.account import Organization
from harness.core.exchange import Json
from harness.items.transcript import Transcript, resolve_transcript
from harness.world.script import Script
from harness.world.world import PendingResponse, StoredResponse, World

SILENT_SCRIPT = Script(lambda request: ())
"""What the model says to a request with `generate: false`."""


@dataclass(slots=True)
class LaneResponse:
    """The last response of a lane: as it is stored, the request that made it, how many events have told of it so far.

    `steers` are items that go before the input of what continues it.
    """

    stored: StoredResponse
    body: Json
    lane: str | None
    event_count: int
    steers: list[Json] = field(default_factory=list)

    @property
    def response(self) -> Json:
        """The response's object."""
        return self.stored.response


class ConnectionWorld:
    """A World as one connection sees it; what is not said here is the World's own.

    `lanes` are the named lanes it has had, `lane_of` says which lane made a response. With `generate` False the model is
    not asked. Zero Data Retention forbids no continuation here: nothing of it is stored.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.generate = True
        self.lanes: set[str] = set()
        self.lane_of: dict[str, str | None] = {}
        self._opened_at = world.skipped_seconds
        self._last_by_lane: dict[str | None, LaneResponse] = {}
        self._last_made: StoredResponse | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)

    @property
    def age(self) -> int:
        """Seconds since it was opened; those that requests take do not count."""
        return self.world.skipped_seconds - self._opened_at

    @property
    def account(self) -> Organization:
        """The account behind the key, as far as it limits a connection."""
        account = self.world.account
        return replace(account, zdr=False) if account.zdr else account

    @property
    def turns(self) -> Script:
        """What the model says next."""
        return self.world.turns if self.generate else SILENT_SCRIPT

    @property
    def responses(self) -> Mapping[str, StoredResponse]:
        """The responses that can be continued here."""
        return ChainMap(
            {held.response["id"]: held.stored for held in self._last_by_lane.values()}, self.world.responses
        )

    def transcript(self, body: Json) -> Transcript:
        """The resolved transcript of a request."""
        held = self.held(body.get("previous_response_id"))
        stored = held.stored.transcript if held else self.world.previous_items(body)
        return resolve_transcript(stored, body, self.world.items)

    def finish(self, run: PendingResponse) -> Json:
        """The end of a response: the World keeps it if it may, the connection does so in any case."""
        response = self.world.finish(run._replace(is_stored=run.is_stored and not self.world.account.zdr))
        self._last_made = StoredResponse(
            response, run.own_input, [*run.previous_items, *run.own_input, *response["output"]]
        )
        return response

    def held(self, id: Any) -> LaneResponse | None:
        """The last response of a lane, by its id."""
        return next((held for held in self._last_by_lane.values() if held.response["id"] == id), None)

    def set_last_response(self, lane: str | None, body: Json, told: int) -> None:
        """The response just made, by this request and in so many events, is the last one of its lane."""
        assert self._last_made is not None  # an answer with events has come from `finish`
        self._last_by_lane[lane] = LaneResponse(self._last_made, body, lane, told)
        self.lane_of[self._last_made.response["id"]] = lane

    def forget_last_response(self, lane: str | None, id: Any) -> None:
        """Forget the last response of a lane if it has this id; another lane keeps what was forked from it."""
        if (held := self._last_by_lane.get(lane)) and held.response["id"] == id:
            del self._last_by_lane[lane]

    def pending_steers(self, lane: str | None, id: Any) -> Sequence[Json]:
        """What goes before the input of a request that continues this response in this lane."""
        held = self._last_by_lane.get(lane)
        return held.steers if held and held.response["id"] == id else ()
