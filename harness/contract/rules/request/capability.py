"""Features that the model does not support: checked last, by the table of model families (`harness.api.models`)."""

from __future__ import annotations

from collections.abc import Iterator

from harness.api.models import Model
from harness.contract.phrasing import quote_and_join
from harness.contract.rule import Case, WorldView, recorded, reported, rule
from harness.contract.rules.request.shape import PROBE_ADDRESS, PROBE_DATE, PROBED
from harness.core.account import Organization
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

TERRA = "gpt-5.6-terra"
LOGPROBS = "message.output_text.logprobs"


def family_of(request: Request, world: WorldView) -> Model | None:
    """The model's family; None for an unlisted model and with a prompt template: then all features are accepted."""
    return world.models.find(request.body.get("model") or "")


def _reasoning_options(request: Request) -> Json:
    return request.body.get("reasoning") or {}


def _is_reasoning(request: Request, world: WorldView) -> bool:
    """Whether the model reasons in this request: it is a reasoning model, and its effort is not `none`."""
    family = family_of(request, world)
    return bool(family and family.reasons and (_reasoning_options(request).get("effort") or family.effort) != "none")


@rule(
    when=("temperature", "top_p", "presence_penalty", "frequency_penalty"),
    error=ApiError(400, "Unsupported parameter: '{name}' is not supported with this model.", "{name}"),
    source=[recorded("vercel/ai"), reported(PROBE_ADDRESS, PROBE_DATE)],
    rejects={
        "Unsupported parameter: 'temperature' is not supported with this model.": {"model": TERRA, "temperature": 0.5},
        "Unsupported parameter: 'top_p' is not supported with this model.": {"model": TERRA, "top_p": 1},
        "Unsupported parameter: 'presence_penalty' is not supported with this model.": {
            "model": TERRA,
            "presence_penalty": 0.5,
        },
    },
    accepts=[
        {"model": TERRA, "temperature": 1},
        {"model": "gpt-4.1", "temperature": 0.5, "top_p": 0.5, "presence_penalty": 0.5},
        {"model": "gpt-5.4", "temperature": 0.5},
        {"model": "my-deployment", "temperature": 0.5, "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}},
        {"model": "gpt-5-chat-latest", "temperature": 0.5},
        {"model": "gpt-9", "reasoning": {"effort": "max"}, "include": ["reasoning.encrypted_content"]},
        Case(
            {"prompt": {"id": "pmpt_1"}, "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}},
            absent=("model",),
            account=Organization(prompts=frozenset(["pmpt_1"])),
        ),
    ],
    fix="Leave sampling parameters out for a model that reasons; `temperature: 1` is taken.",
)
def sampling_unsupported(request: Request, world: WorldView) -> Iterator[Json]:
    """A model that reasons takes no sampling parameters; its `code` is null here.

    With effort `none`, the default of some families, they are taken.
    """
    body = request.body
    if _is_reasoning(request, world):
        named = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
        wanted = [name for name in named if body.get(name) is not None]
        yield from ({"name": name} for name in wanted if name != "temperature" or body[name] != 1)


@rule(
    when=("include", "top_logprobs"),
    error=ApiError(400, "logprobs are not supported with reasoning models.", "{name}", "unsupported_parameter"),
    source=[recorded("maruel/genai"), reported(PROBE_ADDRESS, PROBE_DATE)],
    rejects=[{"model": TERRA, "top_logprobs": 1}],
    accepts=[{"model": "gpt-4.1", "top_logprobs": 1, "include": [LOGPROBS]}],
    fix="Ask for logprobs of models that do not reason.",
)
def logprobs_unsupported(request: Request, world: WorldView) -> Iterator[Json]:
    """A model that reasons gives no logprobs; `include` is named before `top_logprobs`."""
    if _is_reasoning(request, world):
        if LOGPROBS in (request.body.get("include") or ()):
            yield {"name": "include"}
        if request.body.get("top_logprobs"):
            yield {"name": "top_logprobs"}


@rule(
    when="reasoning",
    error=ApiError(
        400,
        "Unsupported value: '{value}' is not supported with the '{model}' model. Supported values are: {values}.",
        "reasoning.effort",
        "unsupported_value",
    ),
    source=[
        PROBED,
        reported("https://github.com/openai/codex/issues/6647", "2025-11-14"),
        reported("https://github.com/Laisky/one-api/issues/266", "2025-11-14"),
        reported("public reports of eight more origins", "2026-10"),
    ],
    rejects={
        "Unsupported value: 'minimal' is not supported with the 'gpt-5.6-terra' model. Supported values are: 'none', "
        "'low', 'medium', 'high', 'xhigh', and 'max'.": {"model": TERRA, "reasoning": {"effort": "minimal"}},
        "Unsupported value: 'none' is not supported with the 'gpt-5.1-codex' model. Supported values are: 'low', "
        "'medium', and 'high'.": {"model": "gpt-5.1-codex", "reasoning": {"effort": "none"}},
        "Unsupported value: 'high' is not supported with the 'gpt-5.1-chat-latest' model. Supported values are: "
        "'medium'.": {"model": "gpt-5.1-chat-latest", "reasoning": {"effort": "high"}},
        "Unsupported value: 'none' is not supported with the 'gpt-6-astra' model. Supported values are: 'low', 'medium', "
        "'high', 'xhigh', and 'max'.": {"model": "gpt-6-astra", "reasoning": {"effort": "none"}},
    },
    accepts=[
        {"model": TERRA, "reasoning": {"effort": "max"}},
        {"model": "gpt-5", "reasoning": {"effort": "minimal"}},
        {"model": "gpt-6-luna", "reasoning": {"effort": "none"}, "temperature": 0.5},
        {"model": "gpt-6.1-sol", "reasoning": {"effort": "max"}},
    ],
    fix="Use one of the efforts the message lists.",
)
def effort_unsupported(request: Request, world: WorldView) -> Iterator[Json]:
    """`reasoning.effort` must be one that the model's family takes."""
    effort, family = _reasoning_options(request).get("effort"), family_of(request, world)
    if effort and family and family.efforts and effort not in family.efforts:
        yield {"value": effort, "model": request.body["model"], "values": quote_and_join(family.efforts, "and")}


@rule(
    when="reasoning",
    error=ApiError(
        400,
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        "reasoning.effort",
        "unsupported_parameter",
    ),
    source=reported("public reports of three origins", "2026"),
    rejects=[{"model": "gpt-4o", "reasoning": {"effort": "medium"}}],
    accepts=[{"model": "gpt-4o", "reasoning": {"effort": None}}],
    fix="Leave `reasoning` out for a model that does not reason.",
)
def effort_without_reasoning(request: Request, world: WorldView) -> Iterator[Json]:
    """A model that does not reason takes no effort."""
    family = family_of(request, world)
    if _reasoning_options(request).get("effort") and family and not family.reasons:
        yield {}


@rule(
    when="reasoning",
    error=ApiError(
        400,
        "Unsupported parameter: 'reasoning.summary' is not supported with the '{model}' model.",
        "reasoning.summary",
        "unsupported_parameter",
    ),
    source=reported("public reports of two origins", "2026"),
    rejects={
        "Unsupported parameter: 'reasoning.summary' is not supported with the 'gpt-5.3-codex-spark' model.": {
            "model": "gpt-5.3-codex-spark",
            "reasoning": {"summary": "auto"},
        }
    },
    fix="Leave `reasoning.summary` out.",
)
def summary_unsupported(request: Request, world: WorldView) -> Iterator[Json]:
    """Some models give no summaries."""
    family = family_of(request, world)
    if _reasoning_options(request).get("summary") and family and not family.summaries:
        yield {"model": request.body["model"]}


@rule(
    when="include",
    error=ApiError(400, "Encrypted content is not supported with this model.", "include"),
    source=reported("https://github.com/microsoft/agent-framework/issues/7483", "2026-08"),
    rejects=[{"store": False, "include": ["reasoning.encrypted_content"]}],
    accepts=[{"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}],
    fix="Ask for encrypted reasoning only of models that reason.",
)
def encrypted_content_unsupported(request: Request, world: WorldView) -> Iterator[Json]:
    """A model that does not reason has nothing to encrypt."""
    family = family_of(request, world)
    if "reasoning.encrypted_content" in (request.body.get("include") or ()) and family and not family.reasons:
        yield {}


@rule(
    when="text",
    error=ApiError(
        400,
        "Unsupported value: '{value}' is not supported with the '{model}' model. Supported values are: {values}.",
        "text.verbosity",
        "unsupported_value",
    ),
    source=reported("public report", "2026"),
    rejects={
        "Unsupported value: 'high' is not supported with the 'gpt-5-codex' model. Supported values are: 'medium'.": {
            "model": "gpt-5-codex",
            "text": {"verbosity": "high"},
        }
    },
    accepts=[{"model": "gpt-5", "text": {"verbosity": "high"}}, {"text": {"verbosity": "medium"}}],
    fix="Use a verbosity the message lists.",
)
def verbosity_unsupported(request: Request, world: WorldView) -> Iterator[Json]:
    """`text.verbosity` must be one that the model's family takes."""
    verbosity, family = (request.body.get("text") or {}).get("verbosity"), family_of(request, world)
    if verbosity and family and verbosity not in family.verbosities:
        yield {"value": verbosity, "model": request.body["model"], "values": quote_and_join(family.verbosities, "and")}


@rule(
    when="prompt_cache_retention",
    error=ApiError(
        400,
        "This model is compatible only with 24h extended prompt caching",
        "prompt_cache_retention",
        "invalid_parameter",
    ),
    source=PROBED,
    rejects=[{"model": TERRA, "prompt_cache_retention": "in_memory"}],
    accepts=[{"model": "gpt-4.1", "prompt_cache_retention": "in_memory"}],
    fix="Leave it out or ask for `24h`.",
)
def retention_unsupported(request: Request, world: WorldView) -> Iterator[Json]:
    """The newest families cache for 24 hours only."""
    family = family_of(request, world)
    if request.body.get("prompt_cache_retention") == "in_memory" and family and family.turns == "all_turns":
        yield {}


@rule(
    when="text",
    error=ApiError(
        400,
        "Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version `{model}`.",
        "text.format",
    ),
    source=[
        recorded("maruel/genai: gpt-4-turbo", "2025"),
        reported("public reports of three more origins: gpt-3.5-turbo, the deep research models", "2026"),
    ],
    rejects={
        "Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version `gpt-4-turbo`.": {
            "model": "gpt-4-turbo",
            "text": {"format": {"type": "json_schema", "name": "out", "schema": {"type": "object", "properties": {}}}},
        }
    },
    accepts=[{"model": "gpt-4-turbo", "input": "JSON!", "text": {"format": {"type": "json_object"}}}],
    fix="Use `json_object` or a newer model.",
)
def schema_unsupported(request: Request, world: WorldView) -> Iterator[Json]:
    """Old models and those for deep research take no schema for their answer; JSON mode they do."""
    format, family = (request.body.get("text") or {}).get("format") or {}, family_of(request, world)
    if format.get("type") == "json_schema" and family and not family.schemas:
        yield {"model": request.body["model"]}
