"""Whether the model exists for this key."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import ApiError
from harness.exchange import Json, Request
from harness.organization import Organization
from harness.rule import Case, World, recorded, reported, rule


@rule(
    error=ApiError(400, "The requested model '{model}' does not exist.", "model", "model_not_found"),
    source=[
        recorded("newrelic/newrelic-python-agent", "2026-07-21"),
        recorded("open-telemetry/opentelemetry-python-contrib", "2026-04-18"),
        reported("https://github.com/kangminlee-maker/local-OAuth-CLI-API-adapter", "2026-08-30"),
    ],
    rejects={
        "The requested model '' does not exist.": {"model": ""},
        "The requested model 'gpt-9' does not exist.": Case(
            {"model": "gpt-9"}, given=Organization(models=frozenset(["gpt-4.1"]))
        ),
    },
    accepts=[{"model": "any-name"}, Case({"model": "gpt-4.1"}, given=Organization(models=frozenset(["gpt-4.1"])))],
    fix="Use a model of this key; the mock takes every name unless models are given (`harness serve --models`).",
)
def model_not_found(request: Request, world: World) -> Iterator[Json]:
    """`model` must name a model this key may use; the status is 400, not 404. An empty name never exists."""
    name = request.body.get("model")
    known = world.account.models
    if name == "" or (known is not None and name is not None and name not in known):
        yield {"model": name}
