"""The model must exist for this key."""

from __future__ import annotations

from collections.abc import Iterator

from harness.api.dialects import OPENAI
from harness.api.models import is_nonexistent_model
from harness.contract.rule import Case, WorldView, recorded, reported, rule
from harness.core.account import Organization
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request


@rule(
    dialects=OPENAI,
    error=ApiError(400, "The requested model '{model}' does not exist.", "model", "model_not_found"),
    source=[
        recorded("maruel/genai, posit-dev/chatlas, 0xPlaygrounds/rig", "2026"),
        recorded("newrelic/newrelic-python-agent", "2026-07-21"),
        recorded("open-telemetry/opentelemetry-python-contrib", "2026-04-18"),
        reported("https://github.com/kangminlee-maker/local-OAuth-CLI-API-adapter", "2026-08-30"),
    ],
    rejects={
        "The requested model '' does not exist.": {"model": ""},
        "The requested model 'gpt-9' does not exist.": Case(
            {"model": "gpt-9"}, account=Organization(models=frozenset(["gpt-4.1"]))
        ),
        "The requested model 'gemini-1.5-flash' does not exist.": {"model": "gemini-1.5-flash"},
        "The requested model 'gpt-4-does-not-exist-12345' does not exist.": {"model": "gpt-4-does-not-exist-12345"},
        "The requested model 'bad model' does not exist.": {"model": "bad model"},
    },
    accepts=[
        *({"model": name} for name in ("any-name", "ft:gpt-4.1-mini:acme::9aBc", "anthropic/claude-sonnet-4-5")),
        Case({"model": "gpt-4.1"}, account=Organization(models=frozenset(["gpt-4.1"]))),
        Case({"model": "claude-local"}, account=Organization(models=frozenset(["claude-local"]))),
    ],
    fix="Use a model of this key; `mock.organization(models={…})` or `harness serve --models` say which there are.",
)
def model_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`model` must name a model this key may use; the status is 400, not 404.

    Unless the account lists its models, every name is taken but an empty one, another vendor's (`gemini-1.5-flash`) and
    one that says of itself that it is none (`gpt-nonexistent`).
    """
    name, listed, gone = request.body.get("model"), world.account.models, world.account.deleted_models
    if name is not None and (name in gone or (is_nonexistent_model(name) if listed is None else name not in listed)):
        yield {"model": name}
