"""Parts of prompt caching that older models do not accept: options, and breakpoints in the input."""

from collections.abc import Iterator

from harness.api.models import Model
from harness.contract.rule import assumed, documented, reported, rule
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request
from harness.items.transcript import input_items

_GUIDE = documented(
    "https://developers.openai.com/api/docs/guides/prompt-caching: models from gpt-5.6 on alone", "2026-07-19"
)
_PARAM_ASSUMED = assumed("that `param` is the name in the words")


def _unsupported(name: str) -> ApiError:
    return bad_request(f"{name} is not supported on this model", name, "invalid_parameter")


def _input_with_breakpoint(model: str) -> Json:
    part = {"type": "input_text", "text": "hi", "prompt_cache_breakpoint": {"mode": "explicit"}}
    return {"model": model, "input": [{"role": "user", "content": [part]}]}


@rule(
    _unsupported("prompt_cache_options"),
    reported("https://github.com/stdapi-ai/stdapi.ai, tests that run against the API, too: gpt-5-nano", "2026-09"),
    reported("public notes of probes of six more origins, one with the code: gpt-5.5, and Azure's, too", "2026-10"),
    _GUIDE,
    _PARAM_ASSUMED,
    when="prompt_cache_options",
    reads=(),
    rejects=[{"model": "gpt-5.5", "prompt_cache_options": {"mode": "explicit", "ttl": "30m"}}],
    accepts=[
        {"model": "gpt-5.6-sol", "prompt_cache_options": {"mode": "explicit", "ttl": "30m"}},
        {"model": "gpt-5.5", "prompt_cache_options": None, "prompt_cache_key": "k"},
        {"model": "my-deployment", "prompt_cache_options": {"mode": "explicit"}},
    ],
    fix="Leave the options out: the model caches without them. Or use gpt-5.6 or newer.",
)
def cache_options_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Models before gpt-5.6 accept no options for prompt caching."""
    if request.body.get("prompt_cache_options") is not None and family and not family.cache_options:
        yield {}


@rule(
    _unsupported("prompt_cache_breakpoint"),
    reported("https://github.com/Kilo-Org/kilocode/pull/13052: the words", "2026-08-10"),
    reported("public notes of probes of five more origins, three with the code", "2026-10"),
    _GUIDE,
    _PARAM_ASSUMED,
    when="input",
    mentions="prompt_cache_breakpoint",
    reads="input",
    rejects=[_input_with_breakpoint("gpt-5.5")],
    accepts=[_input_with_breakpoint("gpt-5.6"), _input_with_breakpoint("my-deployment")],
    fix="Leave the breakpoints out: the model caches without them. Or use gpt-5.6 or newer.",
)
def cache_breakpoint_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Models before gpt-5.6 accept no breakpoints in the input, neither in messages nor in tool outputs."""
    if family and not family.cache_options and any(map(_has_breakpoint, input_items(request.body))):
        yield {}


def _has_breakpoint(item: Json) -> bool:
    parts = (part for name in ("content", "output") if isinstance(item.get(name), list) for part in item[name])
    return any(isinstance(part, dict) and part.get("prompt_cache_breakpoint") is not None for part in parts)
