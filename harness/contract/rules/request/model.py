"""The model must exist for this key, on the World's day, and be served by the Responses API."""

from collections.abc import Iterator

from harness.api.http.dialects import OPENAI
from harness.api.models import Model, is_forecast_gone, is_nonexistent_model
from harness.contract.rule import CREATE_RESPONSE, Case, RuleScope, WorldView, assumed, recorded, reported, rule
from harness.core.account import Organization
from harness.core.errors import COMMAND, ApiError, bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(dialects=OPENAI)


@rule(
    ApiError(404, "Model not found {model}", "model"),
    recorded("pydantic/pydantic-ai: eight models that were shut down on 2026-07-23", "2026-08-03"),
    reported("the public probes of smg: computer-use-preview", "2026-08-21"),
    reported("a public report of LLMTornado, with param and code: gpt-image-1-mini", "2026-02"),
    reported("the tests of a public command line tool: sora-2, sora-2-pro", "2025-11"),
    reads=("world.account", "world.as_of"),
    rejects={
        "gpt-5-codex": {"model": "gpt-5-codex", "temperature": 0.5},
        "o4-mini-deep-research-2025-06-26": {"model": "o4-mini-deep-research-2025-06-26"},
        "sora-2": {"model": "sora-2"},
        "gpt-5": Case({"model": "gpt-5"}, as_of="2026-12-11"),
    },
    accepts=[
        Case({"model": "gpt-5-codex"}, as_of="2026-07-22"),
        Case({"model": "gpt-5"}, as_of="2026-12-10"),
        Case({"model": "gpt-5-codex"}, account=Organization(models=frozenset(["gpt-5-codex"]))),
        {"model": "o4-mini"},
    ],
    fix=f"Use a model that exists: `{COMMAND} models` lists them. A test of an earlier time sets `as_of`.",
)
def model_gone(request: Request, world: WorldView, family: Model | None) -> Iterator[Json]:
    """A model that was shut down is not found; this is reported before anything else about the model.

    Only an observed shutdown counts: an announced one may come later. In a forecast, announced ones count too.
    """
    name = request.body.get("model")
    if (
        world.account.models is None
        and family
        and ("" < family.gone <= world.as_of or is_forecast_gone(name, world.as_of))
    ):
        yield {"model": name}


@rule(
    bad_request("The requested model '{model}' is not supported with the Responses API.", "model", "model_not_found"),
    recorded("pydantic/pydantic-ai: gpt-5-search-api", "2026-08-03"),
    reported("https://github.com/Laisky/one-api/issues/88: gpt-4o-search-preview", "2025-06-22"),
    reported("https://github.com/truefoundry/models/pull/2006: the models for audio and for search", "2026-08-04"),
    reported("the tests of a public command line tool: gpt-4o-transcribe, gpt-image-1", "2025-11"),
    reported("a public audit of every listed model: transcribe, audio, realtime, search, moderation", "2026-09-29"),
    reads=("world.account", "world.as_of"),
    rejects={
        "gpt-5-search-api": {"model": "gpt-5-search-api"},
        "gpt-4o-transcribe": {"model": "gpt-4o-transcribe"},
        "o1-mini": Case({"model": "o1-mini"}, as_of="2025-10-01"),
    },
    accepts=[Case({"model": "gpt-audio"}, account=Organization(models=frozenset(["gpt-audio"])))],
    fix=f"Use a model that the Responses API serves: `{COMMAND} models` lists them.",
)
def model_not_served(request: Request, world: WorldView, family: Model | None) -> Iterator[Json]:
    """Models for audio, images or search, and the first reasoning models, only serve chat completions."""
    if family and not family.served and world.account.models is None and not "" < family.removed <= world.as_of:
        yield {"model": request.body["model"]}


@rule(
    bad_request("The requested model, '{model}' was not found.", "model", "model_not_found"),
    reported("the tests of a public command line tool: embeddings, dall-e, davinci-002", "2025-11"),
    reported("a public diagnosis of an image editor: gpt-image-1.5", "2026-04-17"),
    reported("the notes of a public agent on opencode: gpt-image-1.5", "2026"),
    assumed("the param and the code of the errors beside it; the sources have the words"),
    reads="world.account",
    rejects={
        "text-embedding-3-small": {"model": "text-embedding-3-small"},
        "gpt-image-1.5": {"model": "gpt-image-1.5"},
    },
    accepts=[Case({"model": "dall-e-3"}, account=Organization(models=frozenset(["dall-e-3"])))],
    fix=f"Use a model that the Responses API serves: `{COMMAND} models` lists them.",
)
def model_not_there(request: Request, world: WorldView, family: Model | None) -> Iterator[Json]:
    """The Responses API does not serve models for embeddings, for completions, and some for images."""
    if family and not family.found and world.account.models is None:
        yield {"model": request.body["model"]}


_CREATE_ASSISTANT = "POST /assistants"
_ASKS_A_MODEL = (
    CREATE_RESPONSE,
    *(_CREATE_ASSISTANT, "POST /assistants/{assistant_id}", "POST /threads/runs", "POST /threads/{thread_id}/runs"),
)


@rule(
    bad_request("The requested model '{model}' does not exist.", "model", "model_not_found"),
    reported("https://github.com/openai/openai-assistants-quickstart/issues/1: of an assistant", "2024-05-01"),
    recorded("maruel/genai, posit-dev/chatlas, 0xPlaygrounds/rig", "2026"),
    recorded("pydantic/pydantic-ai: eleven names that look like models", "2026-08-03"),
    recorded("newrelic/newrelic-python-agent", "2026-07-21"),
    recorded("open-telemetry/opentelemetry-python-contrib", "2026-04-18"),
    reported("https://github.com/kangminlee-maker/local-OAuth-CLI-API-adapter", "2026-08-30"),
    reads=("world.account", "world.as_of"),
    on=_ASKS_A_MODEL,
    rejects={
        "": {"model": ""},
        "gpt-9": Case({"model": "gpt-9"}, account=Organization(models=frozenset(["gpt-4.1"]))),
        "gemini-1.5-flash": {"model": "gemini-1.5-flash"},
        "gpt-4-does-not-exist-12345": {"model": "gpt-4-does-not-exist-12345"},
        "bad model": {"model": "bad model"},
        "gpt-5.1-mini": {"model": "gpt-5.1-mini"},
        "o1-mini": {"model": "o1-mini"},
        "gtp-4.1": {"model": "gtp-4.1"},
        "gpt-4.1-mni": Case({"model": "gpt-4.1-mni"}, on=_CREATE_ASSISTANT),
    },
    accepts=[
        *({"model": name} for name in ("gpt-5.9", "gpt-5-prod", "my-gpt-4o", "ft:gtp-4.1:acme::9aBc")),
        *({"model": name} for name in ("any-name", "ft:gpt-4.1-mini:acme::9aBc", "anthropic/claude-sonnet-4-5")),
        Case({"model": "gpt-4.1"}, account=Organization(models=frozenset(["gpt-4.1"]))),
        Case({"model": "claude-local"}, account=Organization(models=frozenset(["claude-local"]))),
    ],
    fix=f"Use a model of this key; `mock.organization(models={{…}})` or `{COMMAND} serve --models` set which exist.",
)
def model_not_found(request: Request, world: WorldView, family: Model | None) -> Iterator[Json]:
    """`model` must name a model that this key may use; the status is 400, not 404.

    Unless the account lists its models, every name is accepted except an empty one, one that the API refused
    (`gpt-5.1-mini`), another vendor's (`gemini-1.5-flash`), one that says that it is no model (`gpt-nonexistent`), one
    that is a typing error away from a model's (`gtp-4.1`), and that of a model removed long ago.
    """
    name, account = request.body.get("model"), world.account
    if name is None or (account.models is not None and name in account.models and name not in account.deleted_models):
        return
    removed = family is not None and "" < family.removed <= world.as_of
    is_listed_out = account.models is not None or name in account.deleted_models
    if is_listed_out or removed or is_nonexistent_model(name) or world.models.find_meant(name):
        yield {"model": name}


@rule(
    bad_request("The requested model '{model}' cannot be used with the Assistants API.", "model", "unsupported_model"),
    reported("public notes of a grading pipeline: gpt-5.1", "2026-03-31"),
    reported(
        "https://github.com/alexrudall/ruby-openai/issues/611: the whole error, of gpt-5-mini, since listed as served",
        "2025-08-08",
    ),
    assumed("that the type, the param and the code are those of the error of gpt-5-mini"),
    reads="world.account",
    on=_ASKS_A_MODEL[1:],
    rejects={name: Case({"model": name}, on=_CREATE_ASSISTANT) for name in ("gpt-5.1", "gpt-5.1-2025-11-13")},
    accepts=[
        *(Case({"model": name}, on=_CREATE_ASSISTANT) for name in ("gpt-4.1", "gpt-5-mini")),
        Case({"model": "gpt-5.1"}, on=_CREATE_ASSISTANT, account=Organization(models=frozenset(["gpt-5.1"]))),
    ],
    fix="Use `gpt-4.1` or `gpt-5`, or move to `POST /responses`.",
)
def model_not_for_assistants(request: Request, world: WorldView, family: Model | None) -> Iterator[Json]:
    """The Assistants API does not serve GPT-5.1; no report says so of the models after it."""
    if family and family.name == "gpt-5.1" and world.account.models is None:
        yield {"model": request.body["model"]}


def is_missing_model(name: str, world: WorldView) -> bool:
    """Return whether the API has no model of this name on the World's day."""
    family = world.models.find(name)
    ended = family is not None and (family.has_ended(world.as_of) or is_forecast_gone(name, world.as_of))
    return ended or is_nonexistent_model(name)
