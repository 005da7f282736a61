"""What the model can do with what was asked: judged last, by a table of model families (`harness.model`)."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import ApiError
from harness.exchange import Json, Request
from harness.model import model
from harness.phrase import in_quotes
from harness.rule import recorded, reported, rule
from harness.rules.shape import DAY, PROBE, probed

TERRA = "gpt-5.6-terra"
LOGPROBS = "message.output_text.logprobs"


def _effort(request: Request) -> str | None:
    """The reasoning effort a request runs with: what it asks for, else the family's default."""
    asked = request.body.get("reasoning") or {}
    return asked.get("effort") or model(request.body.get("model") or "").effort


def _reasons(request: Request) -> bool:
    return _effort(request) not in (None, "none") and model(request.body.get("model") or "").reasons


@rule(
    when=("temperature", "top_p", "presence_penalty", "frequency_penalty"),
    error=ApiError(400, "Unsupported parameter: '{name}' is not supported with this model.", "{name}"),
    source=[recorded("vercel/ai"), reported(PROBE, DAY)],
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
    ],
    fix="Leave sampling parameters out for a model that reasons; `temperature: 1` is taken.",
)
def sampling_unsupported(request: Request) -> Iterator[Json]:
    """A model that reasons takes no sampling parameters; its `code` is null here.

    With effort `none`, the default of some families, they are taken.
    """
    body = request.body
    if _reasons(request):
        named = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
        wanted = [name for name in named if body.get(name) is not None]
        yield from ({"name": name} for name in wanted if name != "temperature" or body[name] != 1)


@rule(
    when=("include", "top_logprobs"),
    error=ApiError(400, "logprobs are not supported with reasoning models.", "{name}", "unsupported_parameter"),
    source=[recorded("maruel/genai"), reported(PROBE, DAY)],
    rejects={"logprobs are not supported with reasoning models.": {"model": TERRA, "top_logprobs": 1}},
    accepts=[{"model": "gpt-4.1", "top_logprobs": 1, "include": [LOGPROBS]}],
    fix="Ask for logprobs of models that do not reason.",
)
def logprobs_unsupported(request: Request) -> Iterator[Json]:
    """A model that reasons gives no logprobs; `include` is named before `top_logprobs`."""
    if _reasons(request):
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
    source=[probed, reported("public reports of three more origins", "2026-09")],
    rejects={
        "Unsupported value: 'minimal' is not supported with the 'gpt-5.6-terra' model. Supported values are: 'none', "
        "'low', 'medium', 'high', 'xhigh', and 'max'.": {"model": TERRA, "reasoning": {"effort": "minimal"}},
    },
    accepts=[{"model": TERRA, "reasoning": {"effort": "max"}}, {"model": "gpt-5", "reasoning": {"effort": "minimal"}}],
    fix="Use one of the efforts the message lists.",
)
def effort_unsupported(request: Request) -> Iterator[Json]:
    """`reasoning.effort` must be one that the model's family takes."""
    asked = (request.body.get("reasoning") or {}).get("effort")
    family = model(request.body.get("model") or "")
    if asked and family.efforts and asked not in family.efforts:
        yield {"value": asked, "model": request.body["model"], "values": in_quotes(family.efforts, "and")}


@rule(
    when="reasoning",
    error=ApiError(
        400,
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
        "reasoning.effort",
        "unsupported_parameter",
    ),
    source=reported("public reports of three origins", "2026"),
    rejects={
        "Unsupported parameter: 'reasoning.effort' is not supported with this model.": {
            "model": "gpt-4o",
            "reasoning": {"effort": "medium"},
        }
    },
    accepts=[{"model": "gpt-4o", "reasoning": {"effort": None}}],
    fix="Leave `reasoning` out for a model that does not reason.",
)
def effort_without_reasoning(request: Request) -> Iterator[Json]:
    """A model that does not reason takes no effort."""
    asked = (request.body.get("reasoning") or {}).get("effort")
    if asked and not model(request.body.get("model") or "").reasons:
        yield {}


@rule(
    when="reasoning",
    error=ApiError(
        400,
        "Unsupported parameter: 'reasoning.summary' is not supported with the '{model}' model.",
        "reasoning.summary",
        "unsupported_parameter",
    ),
    source=reported("public report", "2026"),
    rejects={
        "Unsupported parameter: 'reasoning.summary' is not supported with the 'gpt-5.3-codex-spark' model.": {
            "model": "gpt-5.3-codex-spark",
            "reasoning": {"summary": "auto"},
        }
    },
    fix="Leave `reasoning.summary` out.",
)
def summary_unsupported(request: Request) -> Iterator[Json]:
    """Some models give no summaries."""
    named = request.body.get("model") or ""
    if named.startswith("gpt-5.3-codex-spark") and (request.body.get("reasoning") or {}).get("summary"):
        yield {"model": named}


@rule(
    when="include",
    error=ApiError(400, "Encrypted content is not supported with this model.", "include"),
    source=reported("https://github.com/microsoft/agent-framework/issues/7483", "2026-08"),
    rejects={
        "Encrypted content is not supported with this model.": {
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
    },
    accepts=[{"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}],
    fix="Ask for encrypted reasoning only of models that reason.",
)
def encrypted_content_unsupported(request: Request) -> Iterator[Json]:
    """A model that does not reason has nothing to encrypt."""
    wanted = "reasoning.encrypted_content" in (request.body.get("include") or ())
    if wanted and not model(request.body.get("model") or "").reasons:
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
def verbosity_unsupported(request: Request) -> Iterator[Json]:
    """`text.verbosity` must be one that the model's family takes."""
    asked = (request.body.get("text") or {}).get("verbosity")
    family = model(request.body.get("model") or "")
    if asked and asked not in family.verbosities:
        yield {"value": asked, "model": request.body["model"], "values": in_quotes(family.verbosities, "and")}


@rule(
    when="prompt_cache_retention",
    error=ApiError(
        400,
        "This model is compatible only with 24h extended prompt caching",
        "prompt_cache_retention",
        "invalid_parameter",
    ),
    source=probed,
    rejects={
        "This model is compatible only with 24h extended prompt caching": {
            "model": TERRA,
            "prompt_cache_retention": "in_memory",
        }
    },
    accepts=[{"model": "gpt-4.1", "prompt_cache_retention": "in_memory"}],
    fix="Leave it out or ask for `24h`.",
)
def retention_unsupported(request: Request) -> Iterator[Json]:
    """The newest families cache for 24 hours only."""
    asked = request.body.get("prompt_cache_retention")
    if asked == "in_memory" and model(request.body.get("model") or "").turns == "all_turns":
        yield {}


_NO_MINIMAL = {"web_search": "web_search", "web_search_preview": "web_search", "image_generation": "image_gen"}


@rule(
    when="reasoning",
    error=ApiError(400, "The following tools cannot be used with reasoning.effort 'minimal': {names}.", "tools"),
    source=reported("public reports of two origins", "2026"),
    rejects={
        "The following tools cannot be used with reasoning.effort 'minimal': image_gen, web_search.": {
            "model": "gpt-5",
            "reasoning": {"effort": "minimal"},
            "tools": [{"type": "image_generation"}, {"type": "web_search"}],
        }
    },
    accepts=[{"model": "gpt-5", "reasoning": {"effort": "low"}, "tools": [{"type": "web_search"}]}],
    fix="Raise the effort or leave these tools out.",
)
def tools_with_minimal_effort(request: Request) -> Iterator[Json]:
    """With effort `minimal` some hosted tools cannot be used."""
    if (request.body.get("reasoning") or {}).get("effort") == "minimal":
        types = (tool["type"] for tool in request.body.get("tools") or ())
        if names := sorted({_NO_MINIMAL[type] for type in types if type in _NO_MINIMAL}):
            yield {"names": ", ".join(names)}


DEEP_TOOLS = ("web_search_preview", "web_search", "mcp", "file_search")


@rule(
    error=ApiError(
        400,
        "Deep research models require at least one of 'web_search_preview', 'mcp', or 'file_search' tools.",
        "tools",
    ),
    source=reported("public reports of three origins", "2025"),
    rejects={
        "Deep research models require at least one of 'web_search_preview', 'mcp', or 'file_search' tools.": {
            "model": "o3-deep-research"
        }
    },
    accepts=[{"model": "o3-deep-research", "tools": [{"type": "web_search_preview"}]}],
    fix="Declare one of these tools.",
)
def deep_research_tools(request: Request) -> Iterator[Json]:
    """A deep research model needs something to search with."""
    types = {tool["type"].partition("_2025")[0] for tool in request.body.get("tools") or ()}
    if "deep-research" in (request.body.get("model") or "") and not types.intersection(DEEP_TOOLS):
        yield {}
