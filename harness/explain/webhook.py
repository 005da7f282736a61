"""What a receiver of webhooks did wrong."""

from __future__ import annotations

from collections.abc import Sequence

from harness.analysis.receivers import FoundMistake, mistakes_of
from harness.explain.model import Cause, ReportFinding
from harness.world.world import World


def find_mistakes(world: World) -> Sequence[FoundMistake]:
    """Find what the receivers of a World did wrong, in the order of the deliveries."""
    return mistakes_of(world.webhooks.deliveries, world.exchanges) if world.webhooks else ()


def webhook_causes(world: World) -> list[Cause]:
    """Explain the mistakes that the World does not allow."""
    return [_webhook_cause(mistake, world) for mistake in find_mistakes(world) if not _is_allowed(mistake, world)]


def _is_allowed(mistake: FoundMistake, world: World) -> bool:
    return world.webhooks is not None and world.webhooks.is_allowed(mistake.mistake)


def _webhook_cause(mistake: FoundMistake, world: World) -> Cause:
    return Cause(
        f"Webhook {mistake.mistake}: {mistake.message}",
        kind="webhook",
        where=_describe_delivery(world, mistake.delivery),
        fix=mistake.fix,
        allow=world.vocabulary.allow_webhooks([mistake.mistake]),
        source=mistake.source,
    )


def _describe_delivery(world: World, number: int) -> str:
    """Describe a delivery in two lines."""
    assert world.webhooks is not None  # it has deliveries
    made = world.webhooks.deliveries[number - 1]
    signed = "" if made.signature == "valid" else f", signature {made.signature}"
    told = f"delivery {number} to {made.url}, webhook-id {made.id}, attempt {made.attempt}{signed}"
    return f"{told}\nabout {made.response}"


def webhook_findings(world: World, passed: bool) -> list[ReportFinding]:
    """Make a finding of each mistake; those of a test that passed, and what the World allows, were expected."""
    return [
        ReportFinding(
            "webhook",
            passed or _is_allowed(mistake, world),
            mistake.message,
            mistake.mistake,
            why=_describe_delivery(world, mistake.delivery),
            fix=mistake.fix,
        )
        for mistake in find_mistakes(world)
    ]
