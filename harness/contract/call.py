"""A request to a World, as rules and endpoints read it: derived values are computed once, when first read."""

from __future__ import annotations

from typing import Any, Protocol, Self, cast

from harness.api.http.dialects import FOUNDRY, add_definition, apply_agent
from harness.api.models import Model
from harness.api.project_types import NamedAgent
from harness.contract import schema
from harness.contract.dialect_body import PROMPT_SCHEMAS, known_definition, resolve_agent
from harness.contract.overrides import Overrides
from harness.contract.rule import WorldView
from harness.core.account import Organization
from harness.core.cached import cached_property
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object
from harness.items.transcript import Transcript, conversation_id, resolve_transcript

MEANINGFUL_NULLS = ("model", "input", "metadata", "attributes")
"""Members whose null has a meaning: an update may set the metadata of a conversation to null."""


class CheckedWorld(WorldView, Protocol):
    """A World as a check reads it: what rules may read, and the overrides from the user's recordings."""

    @property
    def overrides(self) -> Overrides | None:
        """The overrides, None without any."""


class _WorldWithAccount:
    """A World with another account."""

    def __init__(self, world: WorldView, account: Organization) -> None:
        self._world = world
        self.account = account

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


class WorldCall:
    """A request, and the World that its key leads to or None; the parameters of a rule are members of the call."""

    def __init__(self, request: Request, world: CheckedWorld | None) -> None:
        self.request = request
        self.body: Any = request.body
        self.world = world
        self.as_of = CONTRACT_DATE if world is None else world.as_of
        if request.dialect != FOUNDRY:  # only Foundry has agents
            self.agent = None

    def with_request(self, request: Request) -> Self:
        """Return a call with another request to the same World."""
        if request is self.request:
            return self
        changed = type(self)(request, self.world)
        if request.dialect == FOUNDRY:
            changed.agent = self.agent
        return changed

    @cached_property
    def members(self) -> Json:
        """The body without null members; empty if it is not an object."""
        members: Json = drop_nulls(self.body) if isinstance(self.body, dict) else {}
        return members

    @cached_property
    def family(self) -> Model | None:
        """The family of the model.

        None for an unlisted model or a prompt template, so that all features are accepted.
        """
        name = as_object(self.body).get("model")
        return None if self.world is None else self.world.models.find(name or "")

    @cached_property
    def conversation(self) -> str | None:
        """The id of the conversation that the body names."""
        return conversation_id(self.body) if isinstance(self.body, dict) else None

    @cached_property
    def agent(self) -> NamedAgent | None:
        """The agent that a request to Foundry names, in the version that answers."""
        return None if self.world is None else resolve_agent(self.request, self.world)

    @cached_property
    def transcript(self) -> Transcript:
        """The stored items that the request continues, then its own."""
        assert self.world is not None  # a request without a World is refused before its items are read
        body, store = self.body or {}, self.world.store
        return resolve_transcript(store.chain(body.get("previous_response_id"), self.conversation), body, store.items)

    @cached_property
    def as_sent(self) -> Request:
        """The request as the schema validates it: as the client sent it, without additions of an agent."""
        is_known_project = self.request.dialect == FOUNDRY and self.world is not None
        return apply_agent(self.request) if is_known_project else self.request

    @property
    def resolved(self) -> Self:
        """The call with the definition of its agent applied, where a project's request names one."""
        return self if self.request.dialect != FOUNDRY or self.world is None else self._with_definition

    @cached_property
    def _with_definition(self) -> Self:
        assert self.world is not None
        definition = known_definition(self.agent, self.request.schema, self.as_of)
        return self.with_request(add_definition(self.as_sent, definition))

    def with_account(self, account: Organization) -> WorldCall:
        """Return a call to the same World with another account."""
        world = self.world and cast("CheckedWorld", _WorldWithAccount(self.world, account))
        return WorldCall(self.request, world)


def drop_nulls(body: Any, root: str = "") -> Any:
    """Copy a body without null members at the top level, which the API ignores, except those of MEANINGFUL_NULLS.

    An unknown null member is kept if `root` is the schema of a body that a model reads: the API reports it (public
    probe, project smg, 2026-08-21: `stop`).
    """
    if not isinstance(body, dict) or None not in body.values():
        return body
    declared = schema.load(root)["properties"] if root in PROMPT_SCHEMAS else body
    return {
        name: value
        for name, value in body.items()
        if value is not None or name in MEANINGFUL_NULLS or name not in declared
    }
