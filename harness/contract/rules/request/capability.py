"""Features that the model lacks, according to the table of model families (`harness.api.models`).

Deep research models, which need certain tools, are checked before any other feature.
"""

from collections.abc import Iterator

from harness.api.http.dialects import AZURE
from harness.api.models import Model
from harness.contract.phrasing import quote_and_join, unsupported_value
from harness.contract.rule import Case, RuleScope, assumed, documented, recorded, reported, rule
from harness.contract.rules.example_requests import HI, ON_AZURE, TERRA, VALID_BODY
from harness.contract.rules.request.shape import PROBED
from harness.core.errors import COMMAND, bad_request
from harness.core.exchange import Json, Request
from harness.items.transcript import input_items

SCOPE = RuleScope(area="research")
_THEN = "2026-06"
"""A month in which these models still existed."""


def tool_types(request: Request) -> list[str]:
    """Return the types of the declared tools, without version suffixes."""
    return [tool["type"].partition("_2025")[0] for tool in request.body.get("tools") or ()]


def _research(*tools: Json) -> Case:
    return Case({"model": "o3-deep-research", "tools": [*tools]}, as_of=_THEN)


@rule(
    bad_request("Deep research models only support the {kinds} tools.", "tools"),
    reported("https://github.com/charmbracelet/crush/issues/2243", "2026-02-17"),
    when="tools",
    reads=(),
    rejects={
        "'web_search_preview', 'code_interpreter', 'mcp', and 'file_search'": _research(
            {"type": "web_search_preview"}, {"type": "function", "name": "f", "parameters": {}, "strict": False}
        )
    },
    accepts=[_research({"type": "web_search_preview"}, {"type": "code_interpreter", "container": {"type": "auto"}})],
    fix="Declare only these tools.",
)
def research_tools_only(request: Request, family: Model | None) -> Iterator[Json]:
    """Deep research models accept search tools, and none of the client's tools."""
    if family and family.only_tools and not set(tool_types(request)) <= {*family.only_tools, "web_search"}:
        yield {"kinds": quote_and_join(family.only_tools, "and")}


@rule(
    bad_request("Deep research models require at least one of {kinds} tools.", "tools"),
    recorded("pydantic/pydantic-ai", "2026-03-06"),
    reported("https://github.com/CherryHQ/cherry-studio/issues/11914", "2025-12-14"),
    reads="tools",
    rejects={
        "'web_search_preview', 'mcp', or 'file_search'": Case(
            {"model": "o3-deep-research", "temperature": 0.5}, as_of=_THEN
        )
    },
    accepts=[_research({"type": "web_search_preview"})],
    fix="Declare one of these tools.",
)
def deep_research_tools(request: Request, family: Model | None) -> Iterator[Json]:
    """Deep research models need a tool to search with; checked before their other features."""
    if family and family.needs_tools and not {*family.needs_tools, "web_search"}.intersection(tool_types(request)):
        yield {"kinds": quote_and_join(family.needs_tools, "or")}


SCOPE = RuleScope(area="capability")


@rule(
    unsupported_value("text.verbosity"),
    reported("public reports of three origins: gpt-4.1-mini, gpt-4o-mini", "2026"),
    reported("public reports of four more origins: models for Codex", "2026"),
    when="text",
    reads=(),
    rejects={
        ("high", "gpt-5-codex", "'medium'"): Case(
            {"model": "gpt-5-codex", "text": {"verbosity": "high"}}, as_of="2026-06"
        )
    },
    accepts=[{"model": "gpt-5", "text": {"verbosity": "high"}}, {"text": {"verbosity": "medium"}}],
    fix="Use a verbosity the message lists.",
)
def verbosity_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """`text.verbosity` must be one that the model's family accepts."""
    verbosity = (request.body.get("text") or {}).get("verbosity")
    if verbosity and family and verbosity not in family.verbosities:
        yield {"value": verbosity, "model": request.body["model"], "values": quote_and_join(family.verbosities, "and")}


@rule(
    bad_request(
        "This model is compatible only with 24h extended prompt caching", "prompt_cache_retention", "invalid_parameter"
    ),
    PROBED,
    reported("https://community.openai.com/t/1387096: gpt-5.6, which takes `24h` and has no use for it", "2026"),
    when="prompt_cache_retention",
    reads=(),
    rejects=[{"model": TERRA, "prompt_cache_retention": "in_memory"}],
    accepts=[
        {"model": "gpt-4.1", "prompt_cache_retention": "in_memory"},
        {"model": TERRA, "prompt_cache_retention": "24h"},
    ],
    fix="Leave it out or ask for `24h`.",
)
def retention_unsupported(request: Request, family: Model | None) -> bool:
    """The newest families only cache for 24 hours."""
    wanted = request.body.get("prompt_cache_retention")
    return bool(wanted == "in_memory" and family and family.retentions and wanted not in family.retentions)


@rule(
    bad_request(
        "Invalid parameter: 'text.format' of type 'json_schema' is not supported with model version `{model}`.",
        "text.format",
    ),
    recorded("maruel/genai: gpt-4-turbo", "2025"),
    reported("public reports of three more origins: gpt-3.5-turbo, the deep research models", "2026"),
    when="text",
    reads=(),
    rejects={
        "gpt-4-turbo": {
            "model": "gpt-4-turbo",
            "text": {"format": {"type": "json_schema", "name": "out", "schema": {"type": "object", "properties": {}}}},
        }
    },
    accepts=[{"model": "gpt-4-turbo", "input": "JSON!", "text": {"format": {"type": "json_object"}}}],
    fix="Use `json_object` or a newer model.",
)
def schema_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Old models and those for deep research accept no schema for their answer, but do accept JSON mode."""
    format = (request.body.get("text") or {}).get("format") or {}
    if format.get("type") == "json_schema" and family and not family.schemas:
        yield {"model": request.body["model"]}


_NEWER = ("gpt-5", "gpt-6")  # these refuse flex processing in other words


@rule(
    bad_request(
        "Computer model {model} should be used with 'truncation=auto', found 'truncation={truncation}'.", "truncation"
    ),
    recorded("a public project: disabled", "2026"),
    reported(
        "https://github.com/AIProxyTeam/AIProxySwift/pull/137: it is required, so its absence is refused",
        "2025-04-13",
    ),
    assumed("the words for its absence, those of `disabled`, the default; that a dated model is named as asked for"),
    reads="truncation",
    rejects={
        ("computer-use-preview", "disabled"): Case(
            {"model": "computer-use-preview", "truncation": "disabled"}, as_of="2026-06"
        ),
        ("computer-use-preview-2025-03-11", "disabled"): Case(
            {"model": "computer-use-preview-2025-03-11"}, as_of="2026-06"
        ),
    },
    accepts=[
        Case({"model": "computer-use-preview", "truncation": "auto"}, as_of="2026-06"),
        {"truncation": "disabled"},
    ],
    fix="Set `truncation: auto`.",
)
def truncation_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """The model for computer use only accepts requests that it may truncate."""
    truncation = request.body.get("truncation") or "disabled"
    if family and family.truncations and truncation not in family.truncations:
        yield {"model": request.body["model"], "truncation": truncation}


@rule(
    bad_request("Invalid service_tier argument", "service_tier"),
    reported("a public table of probes of 57 models: the families of gpt-4o and gpt-4.1, o1, o3-mini", "2026-08-17"),
    reported("a public test with the whole error, of another tier", "2026-09"),
    reported("the tests of inspect_ai, run against the API: gpt-4o", "2026"),
    reported("public tests of three origins: ultrafast, one of gpt-4o, one with the whole error", "2026-10"),
    documented("openai 3.57.0: ultrafast for gpt-5.6-sol alone; later models are not looked at", "2026-11"),
    when="service_tier",
    reads=(),
    rejects=[{"model": "gpt-4.1", "service_tier": "flex"}],
    accepts=[
        {"model": "o3", "service_tier": "flex"},
        {"model": "gpt-4.1", "service_tier": "priority"},
        {"model": "gpt-5.6-sol", "service_tier": "ultrafast"},
        {"model": "my-deployment", "service_tier": "ultrafast"},
    ],
    fix=f"Leave the tier out, or use a model that has it: `{COMMAND} models NAME`.",
)
def tier_unsupported(request: Request, family: Model | None) -> bool:
    """Models that predate flex processing do not support it; of those before gpt-5.6 none is ultrafast."""
    is_ultrafast = request.body.get("service_tier") == "ultrafast"
    newer = ("gpt-5.6", "gpt-6") if is_ultrafast else _NEWER
    return bool(family and (is_ultrafast or _lacks_flex(request, family)) and not family.name.startswith(newer))


@rule(
    bad_request("Flex is not available for this model.", "service_tier"),
    reported("a public table of probes of 57 models: gpt-5-pro has words of its own", "2026-08-17"),
    reported("a public log of a benchmark: gpt-5.3-codex", "2026-05-19"),
    reported("a public note on a thread of the community, with the full stop", "2026-06"),
    documented("https://developers.openai.com/api/docs/guides/flex-processing: not on GPT-6.2 and later", "2026-11"),
    assumed("the param; that GPT-6.2 uses these words, as the newest models before it"),
    when="service_tier",
    reads=(),
    rejects=[{"model": "gpt-5-pro", "service_tier": "flex"}],
    accepts=[{"model": "gpt-6.1-sol", "service_tier": "flex"}, {"model": "gpt-5-pro", "service_tier": "default"}],
    fix=f"Leave the tier out, or use a model with flex processing: `{COMMAND} models NAME`.",
)
def flex_not_available(request: Request, family: Model | None) -> bool:
    """Some newer models do not offer flex processing."""
    return bool(family and _lacks_flex(request, family) and family.name.startswith(_NEWER))


def _lacks_flex(request: Request, family: Model) -> bool:
    return not family.flex and request.body.get("service_tier") == "flex"


@rule(
    bad_request("compact_threshold is not enabled.", "compact_threshold", "unsupported_parameter"),
    reported("https://github.com/langchain-ai/langchain/issues/35464: the whole error", "2026-02-27"),
    reported("https://github.com/Cloudgeni-ai/opengeni/pull/65: gpt-5.5", "2026-06-14"),
    reported("https://openrouter.ai/docs/api_reference/responses/compaction: Azure compacts by now", "2026-11"),
    dialects=AZURE,
    when="context_management",
    reads=(),
    until="2026-06-14",
    rejects=[
        Case({**VALID_BODY, "context_management": [{"type": "compaction", "compact_threshold": 100_000}]}, on=ON_AZURE)
    ],
    accepts=[Case({**VALID_BODY, "context_management": [{"type": "compaction"}]}, on=ON_AZURE)],
    fix="Shorten the history yourself.",
)
def compact_threshold_on_azure(request: Request) -> bool:
    """Azure compacted nothing by itself at first."""
    return any(entry.get("compact_threshold") is not None for entry in request.body["context_management"] or ())


_IMAGE: Json = {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}


@rule(
    bad_request(
        "Model '{model}' does not support image inputs. Try again with a vision model. To find out which models are "
        "vision-enabled, visit our our models documentation: https://platform.openai.com/docs/models",
        "input",
    ),
    reported("a public example with the whole error, of another model of Foundry; `our our` is as quoted", "2026"),
    reported("a public report: gpt-5.3-codex-spark, the first two sentences", "2026-09"),
    when="input[]",
    rejects={"o3-mini": {"model": "o3-mini", "input": [{"role": "user", "content": [_IMAGE]}]}},
    accepts=[
        {"model": "o4-mini", "input": [{"role": "user", "content": [_IMAGE]}]},
        {"model": "o3-mini", "input": [HI]},
    ],
    fix=f"Use a model with vision: `{COMMAND} models NAME`.",
)
def images_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Models without vision accept no images."""
    if family and not family.images and any(map(_has_image, request.body.get("input") or ())):
        yield {"model": request.body["model"]}


def _has_image(item: Json) -> bool:
    parts = item.get("content")
    return isinstance(parts, list) and any(part.get("type") == "input_image" for part in parts)


SCOPE = RuleScope(area="caching")
_GUIDE = documented(
    "https://developers.openai.com/api/docs/guides/prompt-caching: models from gpt-5.6 on alone", "2026-07-19"
)


def _input_with_breakpoint(model: str) -> Json:
    part = {"type": "input_text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}}
    return {"model": model, "input": [{"role": "user", "content": [part]}]}


@rule(
    bad_request("{name} is not supported on this model", "{name}", "invalid_parameter"),
    reported("https://github.com/stdapi-ai/stdapi.ai, tests that run against the API, too: gpt-5-nano", "2026-09"),
    reported("https://github.com/Kilo-Org/kilocode/pull/13052: the words about a breakpoint", "2026-08-10"),
    reported("public notes of probes of eleven more origins, four with the code: gpt-5.5, and Azure's, too", "2026-10"),
    _GUIDE,
    assumed("that `param` is the name in the words"),
    when=("prompt_cache_options", "input[]"),
    mentions=("prompt_cache_options", "prompt_cache_breakpoint"),
    reads=(),
    rejects={
        "prompt_cache_options": {"model": "gpt-5.5", "prompt_cache_options": {"mode": "explicit", "ttl": "30m"}},
        "prompt_cache_breakpoint": _input_with_breakpoint("gpt-5.5"),
    },
    accepts=[
        {"model": "gpt-5.6-sol", "prompt_cache_options": {"mode": "explicit", "ttl": "30m"}},
        {"model": "gpt-5.5", "prompt_cache_options": None, "prompt_cache_key": "k"},
        {"model": "my-deployment", "prompt_cache_options": {"mode": "explicit"}},
        _input_with_breakpoint("gpt-5.6"),
        _input_with_breakpoint("my-deployment"),
    ],
    fix="Leave options and breakpoints out: the model caches without them. Or use gpt-5.6 or newer.",
)
def cache_options_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Models before gpt-5.6 accept neither options for prompt caching nor breakpoints in messages and tool outputs."""
    if family and not family.cache_options:
        if request.body.get("prompt_cache_options") is not None:
            yield {"name": "prompt_cache_options"}
        if any(map(_has_breakpoint, input_items(request.body))):
            yield {"name": "prompt_cache_breakpoint"}


def _has_breakpoint(item: Json) -> bool:
    parts = (part for name in ("content", "output") if isinstance(item.get(name), list) for part in item[name])
    return any(isinstance(part, dict) and part.get("prompt_cache_breakpoint") is not None for part in parts)
