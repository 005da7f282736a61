"""How a model reasons, and the sampling that reasoning models only accept without it."""

from collections.abc import Iterator

from harness.api.http.dialects import OPENAI
from harness.api.models import Model, When
from harness.api.responses import LOGPROBS
from harness.contract.phrasing import quote_and_join, unsupported_parameter, unsupported_value
from harness.contract.rule import Case, RuleScope, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import TERRA
from harness.contract.rules.request.shape import PROBE_ADDRESS, PROBE_DATE, PROBED
from harness.core.account import Organization
from harness.core.errors import COMMAND, bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(area="sampling")


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


SCOPE = RuleScope(area="effort", when="reasoning", reads=())


@rule(
    unsupported_value("reasoning.effort"),
    PROBED,
    reported("https://github.com/openai/codex/issues/6647", "2025-11-14"),
    reported("https://github.com/Laisky/one-api/issues/266", "2025-11-14"),
    reported("public reports of eight more origins", "2026-10"),
    rejects={
        ("minimal", "gpt-5.6-terra", "'none', 'low', 'medium', 'high', 'xhigh', and 'max'"): {
            "model": TERRA,
            "reasoning": {"effort": "minimal"},
        },
        ("none", "gpt-5.1-codex", "'low', 'medium', and 'high'"): Case(
            {"model": "gpt-5.1-codex", "reasoning": {"effort": "none"}}, as_of="2026-06"
        ),
        ("high", "gpt-5.2-chat-latest", "'medium'"): {"model": "gpt-5.2-chat-latest", "reasoning": {"effort": "high"}},
        ("none", "gpt-6-astra", "'low', 'medium', 'high', 'xhigh', and 'max'"): {
            "model": "gpt-6-astra",
            "reasoning": {"effort": "none"},
        },
    },
    accepts=[
        {"model": TERRA, "reasoning": {"effort": "max"}},
        {"model": "gpt-5", "reasoning": {"effort": "minimal"}},
        {"model": "gpt-6-luna", "reasoning": {"effort": "none"}, "temperature": 0.5},
        {"model": "gpt-6.1-sol", "reasoning": {"effort": "max"}},
    ],
    fix="Use one of the efforts the message lists.",
)
def effort_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """`reasoning.effort` must be one that the model's family accepts."""
    effort = reasoning_options(request).get("effort")
    if effort and family and family.efforts and effort not in family.efforts:
        yield {"value": effort, "model": request.body["model"], "values": quote_and_join(family.efforts, "and")}


@rule(
    unsupported_parameter("reasoning.effort", "with this model"),
    reported("public reports of three origins", "2026"),
    rejects=[{"model": "gpt-4o", "reasoning": {"effort": "medium"}}],
    accepts=[{"model": "gpt-4o", "reasoning": {"effort": None}}],
    fix="Leave `reasoning` out for a model that does not reason.",
)
def effort_without_reasoning(request: Request, family: Model | None) -> bool:
    """Models that do not reason accept no effort."""
    return bool(reasoning_options(request).get("effort") and family and family.reasons is False)


@rule(
    bad_request("`reasoning.mode` is not supported with this model.", "reasoning.mode", "unsupported_value"),
    recorded("pydantic/pydantic-ai: gpt-5.4, gpt-5.5 and their variants", "2026-08-03"),
    rejects=[{"model": "gpt-5.5", "reasoning": {"mode": "pro"}}],
    accepts=[
        {"model": "gpt-5.5", "reasoning": {"mode": "standard"}},
        {"model": "gpt-5.5-pro", "reasoning": {"mode": "pro"}},
        {"model": TERRA, "reasoning": {"mode": "pro"}},
        {"model": "o3", "reasoning": {"mode": "pro"}},
    ],
    fix=f"Leave `reasoning.mode` out, or use the one that the model has: `{COMMAND} models NAME`.",
)
def mode_unsupported(request: Request, family: Model | None) -> bool:
    """Models before GPT-5.6 have one mode: `pro` if their name says so, otherwise `standard`."""
    mode = reasoning_options(request).get("mode")
    return bool(mode and family and family.modes and mode not in family.modes)


@rule(
    unsupported_value("reasoning.context"),
    recorded("pydantic/pydantic-ai: o3", "2026-07-24"),
    rejects={("all_turns", "o3", "'auto' and 'current_turn'"): {"model": "o3", "reasoning": {"context": "all_turns"}}},
    accepts=[
        {"model": "o3", "reasoning": {"context": "current_turn"}},
        {"model": "gpt-5.4", "reasoning": {"context": "all_turns"}},
        {"model": "my-deployment", "reasoning": {"context": "all_turns"}},
    ],
    fix="Use a value the message lists.",
)
def context_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Models before GPT-5.4 only see the reasoning of the current turn."""
    context = reasoning_options(request).get("context")
    if context and family and family.contexts and context not in family.contexts:
        yield {"value": context, "model": request.body["model"], "values": quote_and_join(family.contexts, "and")}


@rule(
    unsupported_parameter("reasoning.summary", "with the '{model}' model"),
    reported("public reports of two origins", "2026"),
    rejects={"gpt-5.3-codex-spark": {"model": "gpt-5.3-codex-spark", "reasoning": {"summary": "auto"}}},
    fix="Leave `reasoning.summary` out.",
)
def summary_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Some models provide no summaries."""
    if reasoning_options(request).get("summary") and family and not family.summaries:
        yield {"model": request.body["model"]}


@rule(
    unsupported_value("reasoning.summary"),
    reported("public reports of three origins: gpt-5-codex, gpt-5.1-codex, gpt-5.2-codex", "2026"),
    rejects={
        ("concise", "gpt-5.1-codex", "'detailed'"): Case(
            {"model": "gpt-5.1-codex", "reasoning": {"summary": "concise"}}, as_of="2026-06"
        )
    },
    accepts=[{"model": "gpt-5", "reasoning": {"summary": "concise"}}],
    fix="Use a value the message lists, or `auto`.",
)
def summary_value_unsupported(request: Request, family: Model | None) -> Iterator[Json]:
    """Some models only provide one kind of summary, which `auto` selects."""
    summary = reasoning_options(request).get("summary")
    values = family.summary_values if family else ()
    if summary and summary != "auto" and values and summary not in values:
        yield {"value": summary, "model": request.body["model"], "values": quote_and_join(values, "and")}


@rule(
    bad_request("Encrypted content is not supported with this model.", "include"),
    reported("https://github.com/microsoft/agent-framework/issues/7483", "2026-08"),
    when="include",
    reads=(),
    rejects=[{"store": False, "include": ["reasoning.encrypted_content"]}],
    accepts=[{"model": "gpt-5", "store": False, "include": ["reasoning.encrypted_content"]}],
    fix="Ask for encrypted reasoning only of models that reason.",
)
def encrypted_content_unsupported(request: Request, family: Model | None) -> bool:
    """Models that do not reason have nothing to encrypt."""
    return bool(
        "reasoning.encrypted_content" in (request.body.get("include") or ()) and family and family.reasons is False
    )


SCOPE = RuleScope(area="effort")
_MAKE_ASSISTANT = Case({"model": "o1", "reasoning_effort": "medium"}, on="POST /assistants")


@rule(
    bad_request(
        "Unsupported value: 'reasoning_effort' does not support '{value}' with this model.", code="unsupported_value"
    ),
    reported("https://github.com/openai/openai-python/issues/2112: from o1 to gpt-4, the whole error", "2025-02-12"),
    assumed("that an effort that was sent is kept like the one that the API sets, and refused with its model as well"),
    on=("POST /assistants", "POST /assistants/{assistant_id}"),
    dialects=OPENAI,
    rejects={
        "medium": after(_MAKE_ASSISTANT, Case({"model": "gpt-4o"}, on="POST /assistants/{0.id}")),
        "low": Case({"model": "gpt-4o", "reasoning_effort": "low"}, on="POST /assistants"),
    },
    accepts=[after(_MAKE_ASSISTANT, Case({"model": "gpt-4o", "reasoning_effort": None}, on="POST /assistants/{0.id}"))],
    fix="Send `reasoning_effort: null` with a model that does not reason.",
)
def assistant_effort(request: Request, world: WorldView) -> Iterator[Json]:
    """An assistant whose model does not reason has no effort, not even one from its former model."""
    kept = world.store.assistants.get(request.params.get("assistant_id", ""), {})
    effort = request.body.get("reasoning_effort", kept.get("reasoning_effort"))
    family = world.models.find(request.body.get("model") or kept.get("model") or "")
    if effort and family and family.effort is None:
        yield {"value": effort}
