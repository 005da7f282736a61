"""What an account or a model does not allow: an unverified organization, a long input, Azure's content filters."""

from collections.abc import Iterator
from dataclasses import replace

from harness.api.http.dialects import AZURE_DIALECTS, FOUNDRY
from harness.api.models import Model
from harness.api.project_types import HOSTED, NamedAgent, filter_result
from harness.api.tokens import count_words
from harness.contract.rule import LIMITED_ACCOUNT, Case, RuleScope, WorldView, documented, recorded, reported, rule
from harness.contract.rules.example_requests import ON_AGENT
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.ending import WINDOW_EXCEEDED
from harness.items.transcript import input_items

SCOPE = RuleScope(area="limits")


@rule(
    bad_request(
        "Your organization must be verified to {do}. Please go to: "
        "https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, "
        "it can take up to 15 minutes for access to propagate.",
        "{name}",
        "unsupported_value",
    ),
    reported("public reports of eight origins, one with the whole error", "2026-01-24"),
    reported("public reports of four origins: streams", "2025-08"),
    when=LIMITED_ACCOUNT,
    reads=("stream", "reasoning"),
    rejects={
        "generate reasoning summaries": Case(
            {"model": "gpt-5.6-terra", "reasoning": {"summary": "auto"}}, account=Organization(verified=False)
        ),
        "stream this model": Case({"model": "gpt-5", "stream": True}, account=Organization(verified=False)),
    },
    accepts=[
        Case({"model": "gpt-5.6-terra"}, account=Organization(verified=False)),
        Case({"model": "gpt-4.1", "stream": True}, account=Organization(verified=False)),
    ],
    fix="Scripted: `mock.organization(verified=True)` ends it. Continue without it, or verify the organization.",
)
def organization_unverified(request: Request, world: WorldView, family: Model | None) -> Iterator[Json]:
    """An unverified organization gets neither streams nor summaries from reasoning models."""
    if world.account.verified or not family or not family.reasons:
        return
    if request.body.get("stream"):
        yield {"do": "stream this model", "name": "stream"}
    if (request.body.get("reasoning") or {}).get("summary"):
        yield {"do": "generate reasoning summaries", "name": "reasoning.summary"}


@rule(
    bad_request(WINDOW_EXCEEDED, "input", "context_length_exceeded"),
    recorded("crmne/ruby_llm", "2025-10"),
    reported("public reports of three origins", "2026"),
    reported("agentic-api: of a stream the status is 200, then `error`, then `response.failed`", "2026-03"),
    rejects=[{"model": "gpt-4", "input": "more " * 8_193}],
    accepts=[
        {"model": "gpt-4", "input": "more " * 8_000},
        {"model": "gpt-4", "input": "more " * 8_193, "truncation": "auto"},
        {"model": "my-deployment", "input": "more " * 8_193},
    ],
    fix="Shorten the input, or set `truncation: auto`.",
    reads=("input", "instructions", "request.raw", "stream", "truncation"),
)
def context_length_exceeded(request: Request, family: Model | None) -> bool:
    """The input must fit the model; refused only if it certainly does not, as no token spans two words.

    Only the request's own content is counted. A stream begins regardless, and ends as failed.
    """
    return not request.body.get("stream") and exceeds_window(request, family)


def exceeds_window(request: Request, family: Model | None) -> bool:
    """Return whether a request's content exceeds the context window of its model."""
    if not family or not family.window:
        return False
    # Most bodies have too few bytes to contain so many words.
    if 0 < len(request.raw) <= 2 * family.window or request.body.get("truncation") == "auto":
        return False
    texts = [{"text": request.body.get("instructions")}, *input_items(request.body)]
    return count_words(texts) > family.window


SCOPE = RuleScope(area="filtered")
FILTERED_MESSAGE = (
    "The response was filtered due to the prompt triggering Azure OpenAI\N{RIGHT SINGLE QUOTATION MARK}s content "
    "management policy. Please modify your prompt and retry. To learn more about our content filtering policies please "
    "read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766"
)


GUARDED_AGENT: Json = {"kind": "hosted", "rai_config": {"rai_policy_name": "strict"}}
_ON_AGENT_OF_ACCOUNT = Case({"input": "hi"}, on=ON_AGENT)


def _account_with(agent: Json) -> Organization:
    return Organization(blocked=frozenset(["violence"]), agents={"helper": agent})


@rule(
    bad_request(
        "The request was blocked due to content safety policy violation at input stage.",
        code="content_filter",
        type="content_safety_error",
        body_template={"error": {"code": "{code}", "message": "{message}", "type": "{type}"}},
    ),
    documented("https://learn.microsoft.com/azure/foundry/agents/concepts/hosted-agent-guardrails", "2026"),
    when=LIMITED_ACCOUNT,
    dialects=FOUNDRY,
    rejects=[replace(_ON_AGENT_OF_ACCOUNT, account=_account_with(GUARDED_AGENT))],
    accepts=[replace(_ON_AGENT_OF_ACCOUNT, account=_account_with({"kind": "hosted"}))],
    fix="Scripted: `mock.organization(blocked=())` ends it. With the real API change the prompt, or the agent's guardrail.",
)
def hosted_agent_guarded(world: WorldView, agent: NamedAgent | None) -> bool:
    """Hosted agents have their own message for what the guardrail in their definition blocks."""
    return bool(world.account.blocked and agent and agent.kind is HOSTED and agent.definition.get("rai_config"))


@rule(
    bad_request(
        FILTERED_MESSAGE,
        "prompt",
        "content_filter",
        body_template={
            "error": {
                "message": "{message}",
                "type": "{type}",
                "param": "{param}",
                "code": "{code}",
                "content_filters": "{filters}",
                "innererror": {"code": "ContentFiltered"},
            }
        },
    ),
    reported("several public reports of Azure OpenAI's Responses, whole bodies", "2026"),
    documented("guides to the migration from chat completions, in several languages: a part of the body", "2026"),
    when=LIMITED_ACCOUNT,
    dialects=AZURE_DIALECTS,
    rejects=[
        Case(
            {"model": "gpt-4o", "input": "hi"},
            on="POST !/openai/v1/responses",
            account=Organization(blocked=frozenset(["jailbreak"])),
        )
    ],
    fix="Scripted: `mock.organization(blocked=())` ends it. With the real API change the prompt, or the filter.",
)
def prompt_filtered(request: Request, world: WorldView, agent: NamedAgent | None) -> Iterator[Json]:
    """Prompts with content that the filters block are refused, whether a stream was requested or not.

    Input of a hosted agent is not a prompt; its container calls models on its own.
    """
    if world.account.blocked and not (agent and agent.kind is HOSTED):
        yield {"filters": [filter_result("prompt", sorted(world.account.blocked), len(request.raw))]}
