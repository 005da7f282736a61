"""Sampling parameters and logprobs, which reasoning models only accept without reasoning."""

from collections.abc import Iterator

from harness.api.models import Model, When
from harness.api.responses import LOGPROBS
from harness.contract.rule import Case, assumed, recorded, reported, rule
from harness.contract.rules.request.shape import PROBE_ADDRESS, PROBE_DATE
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

TERRA = "gpt-5.6-terra"


def reasoning_options(request: Request) -> Json:
    """Return the member `reasoning`; empty if it is absent."""
    return request.body.get("reasoning") or {}


def _is_refused(when: When, request: Request, family: Model) -> bool:
    """Return whether the family refuses a parameter that it accepts only `when`, given the effort or its default."""
    if not family.reasons or when in ("always", "unknown"):
        return False
    return when == "never" or (reasoning_options(request).get("effort") or family.effort) != "none"


@rule(
    bad_request("Unsupported parameter: '{name}' is not supported with this model.", "{name}"),
    recorded("vercel/ai"),
    reported(PROBE_ADDRESS, PROBE_DATE),
    reported("https://github.com/brainlid/langchain/pull/428: `top_p: 1` is refused from gpt-5.2 on", "2025-12-23"),
    assumed("that the model's default is accepted, such as `temperature: 1`"),
    when=("temperature", "top_p", "presence_penalty", "frequency_penalty"),
    reads="reasoning",
    rejects={
        "temperature": {"model": TERRA, "temperature": 0.5},
        "top_p": {"model": TERRA, "top_p": 1},
        "presence_penalty": {"model": TERRA, "presence_penalty": 0.5},
    },
    accepts=[
        {"model": TERRA, "temperature": 1},
        {"model": "gpt-5", "temperature": 1, "top_p": 1, "presence_penalty": 0},
        {"model": "gpt-4.1", "temperature": 0.5, "top_p": 0.5, "presence_penalty": 0.5},
        {"model": "gpt-5.4", "temperature": 0.5},
        {"model": "my-deployment", "temperature": 0.5, "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}},
        Case({"model": "gpt-5-chat-latest", "temperature": 0.5}, as_of="2026-06"),
        {"model": "gpt-9", "reasoning": {"effort": "max"}, "include": ["reasoning.encrypted_content"]},
        Case(
            {"prompt": {"id": "pmpt_1"}, "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}},
            absent=("model",),
            account=Organization(prompts=frozenset(["pmpt_1"])),
        ),
    ],
    fix="Leave sampling parameters out for a model that reasons, or send its defaults.",
)
def sampling_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Reasoning models accept no sampling parameters; the error's `code` is null.

    With effort `none`, the default of some families, they are accepted.
    """
    body = request.body
    if family and _is_refused(family.sampling, request, family):
        named = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
        wanted = [name for name in named if body.get(name) is not None]
        default = {"temperature": 1, "top_p": family.top_p}
        yield from ({"name": name} for name in wanted if body[name] != default.get(name, 0))


@rule(
    bad_request("logprobs are not supported with reasoning models.", "{name}", "unsupported_parameter"),
    recorded("maruel/genai"),
    reported(PROBE_ADDRESS, PROBE_DATE),
    when=("include", "top_logprobs"),
    reads="reasoning",
    rejects=[{"model": TERRA, "top_logprobs": 1}],
    accepts=[{"model": "gpt-4.1", "top_logprobs": 1, "include": [LOGPROBS]}],
    fix="Ask for logprobs of models that do not reason.",
)
def logprobs_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Reasoning models provide no logprobs; `include` is reported before `top_logprobs`."""
    if family and _is_refused(family.logprobs, request, family):
        if LOGPROBS in (request.body.get("include") or ()):
            yield {"name": "include"}
        if request.body.get("top_logprobs"):
            yield {"name": "top_logprobs"}
