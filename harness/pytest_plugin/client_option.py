"""The options `client` and `patience` of the marker: how a test's client is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.world.world import World


def judge_client(world: World, options: Mapping[str, Any]) -> None:
    """Let a World judge its client as the options of its test say."""
    from harness.core.client_judgement import FAIL, PATIENCE, AllowedMistakes, ClientJudgement

    option = options.get("client", FAIL)
    named = option if isinstance(option, list) else []
    allowed = (AllowedMistakes(named, world.exchanges, always=True),) if named else ()
    if option != FAIL or "patience" in options:
        world.client = ClientJudgement(
            FAIL if named or isinstance(option, list) else option, allowed, options.get("patience", PATIENCE)
        )
