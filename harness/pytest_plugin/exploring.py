"""`mock.explore`: each variation has a World of its own, to which the key of the test leads meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.server.mock_api import MockApi
    from harness.world.exploration import Exploration, Explorer, Scenario
    from harness.world.mock import Mock
    from harness.world.world import World


def make_explorer(api: MockApi, world: World) -> Explorer:
    """What explores for the World of a test."""

    @contextmanager
    def fresh() -> Iterator[Mock]:
        from harness.drive.counted import record_runs

        del api.worlds[world.api_key]
        try:
            made = api.open(world.api_key, world.name, world.base_url, world.vocabulary)
            made.world.dialect, made.world.own_contract = world.dialect, world.own_contract
            made.world.set_date(world.as_of)
            with record_runs(made.world.tool_runs, ""):
                yield made
        finally:
            api.worlds[world.api_key] = world

    def explorer(scenario: Scenario, cases: str, seed: int, combined: int) -> Exploration:
        from harness.examine.explore.explore import explore

        return explore(scenario, fresh, cases, seed, combined)

    return explorer
