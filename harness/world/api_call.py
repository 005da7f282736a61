"""The argument of every operation handler: a request that the contract has accepted, and the World that answers it."""

from collections.abc import Mapping
from typing import Any

from harness.answers.prompt import Prompt, read_prompt, read_settings
from harness.contract.call import WorldCall
from harness.core.cached import cached_property
from harness.world.store import Store
from harness.world.world import World


class ApiCall(WorldCall):
    """A request on its way to an answer."""

    world: World

    @cached_property
    def prompt(self) -> Prompt:
        """What the request asks of the model."""
        world, transcript = self.world, self.transcript
        settings = read_settings(self.members, transcript, self.conversation, world.models, world.as_of)
        return read_prompt(self.members, transcript, self.conversation, settings)

    @property
    def params(self) -> Mapping[str, str]:
        """The path parameters, by the operation's template."""
        return self.request.params

    @property
    def query(self) -> Mapping[str, Any]:
        """The query parameters, typed."""
        return self.request.query

    @property
    def store(self) -> Store:
        """The store of the World."""
        return self.world.store
