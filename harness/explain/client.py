"""What a client did wrong in how it asked: too often, too soon, not again, or on from where it was not."""

from __future__ import annotations

import harness.analysis.client_mistakes  # noqa: F401  (registers every mistake)
from harness.analysis.client_mistake import CLIENT_MISTAKES, ClientMistake, SeenClient, client_mistakes_of
from harness.core.client_judgement import ALLOW, STRICT
from harness.core.exchange import Request
from harness.explain.model import Cause, ReportFinding
from harness.world.world import World


def see_client(world: World) -> SeenClient:
    """See a World's client by its journal and the edge of its server."""
    return SeenClient(world.exchanges, world.edge, frozenset(world.answered_by.taken), world.client.patience)


def find_client_mistakes(world: World) -> list[ClientMistake]:
    """Find the mistakes of a World's client that are looked for, allowed or not, in the order of its requests."""
    if world.client.option == ALLOW or not world.exchanges:
        return []
    return client_mistakes_of(see_client(world), strict=world.client.option == STRICT)


def _is_allowed(mistake: ClientMistake, world: World) -> bool:
    return any(allowed.permits(mistake.mistake, mistake.exchange) for allowed in world.client.allowed)


def client_causes(world: World) -> list[Cause]:
    """Explain the mistakes that the World does not allow."""
    made = [mistake for mistake in find_client_mistakes(world) if not _is_allowed(mistake, world)]
    requests = {exchange.number: exchange.request for exchange in world.exchanges} if made else {}
    return [_client_cause(mistake, requests[mistake.exchange], world) for mistake in made]


def _client_cause(mistake: ClientMistake, request: Request, world: World) -> Cause:
    return Cause(
        f"Client {mistake.mistake}: {mistake.message}.",
        mistake.exchange,
        "client",
        mistake.mistake,
        general=f"Client {mistake.mistake}: {CLIENT_MISTAKES[mistake.mistake].summary}",
        where=f"{request.method} {request.path}, request {mistake.exchange}",
        came=mistake.came,
        fix=mistake.fix,
        allow=world.vocabulary.allow_client([mistake.mistake]),
        source=mistake.source,
    )


def client_findings(world: World, passed: bool) -> list[ReportFinding]:
    """Make a finding of each mistake; those of a test that passed, and what the World allows, were expected."""
    return [
        ReportFinding(
            "client",
            passed or _is_allowed(mistake, world),
            mistake.message,
            mistake.mistake,
            mistake.exchange,
            fix=mistake.fix,
        )
        for mistake in find_client_mistakes(world)
    ]
