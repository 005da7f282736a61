"""`mock.explore`: each variation has a World of its own, to which the test's key leads in the meantime."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.server.mock_api import MockApi
    from harness.world.exploration import Exploration, Scenario
    from harness.world.mock import Mock
    from harness.world.world import World


@dataclass(frozen=True, slots=True)
class WorldExplorer:
    """Explores variations for the World of a test."""

    api: MockApi
    world: World

    def __call__(self, scenario: Scenario, cases: str, seed: int, combined: int) -> Exploration:
        """Run the scenario under variations."""
        from harness.examine.explore.explore import explore

        return explore(scenario, self._fresh, cases, seed, combined)

    def generated(self, scenario: Scenario, strategy: Any, seed: int, examples: int) -> Exploration:
        """Run the scenario under generated scripts."""
        from harness.examine.explore.explore import explore_scripts

        return explore_scripts(scenario, self._fresh, strategy, seed, examples)

    @contextmanager
    def _fresh(self) -> Iterator[Mock]:
        from harness.drive.counted import record_runs
        from harness.world.strays import StrayLog

        api, world = self.api, self.world
        del api.worlds[world.api_key]
        strays, api.strays = api.strays, StrayLog()
        try:
            made = api.open(world.api_key, world.name, world.base_url, world.vocabulary)
            made.world.dialect, made.world.overrides = world.dialect, world.overrides
            made.world.set_date(world.as_of)
            with record_runs(made.world.tool_runs, ""):
                yield made
        finally:
            api.worlds[world.api_key], api.strays = world, strays
