"""Prompts that Azure's content filters refuse."""

from collections.abc import Iterator
from dataclasses import replace

from harness.api.http.dialects import AZURE_DIALECTS, FOUNDRY
from harness.api.project_types import HOSTED, NamedAgent, filter_result
from harness.contract.rule import LIMITED_ACCOUNT, Case, WorldView, documented, reported, rule
from harness.contract.rules.example_requests import ON_AGENT
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

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
def hosted_agent_guarded(world: WorldView, agent: NamedAgent | None) -> Iterator[Json]:
    """Hosted agents have their own message for what the guardrail in their definition blocks."""
    if world.account.blocked and agent and agent.kind is HOSTED and agent.definition.get("rai_config"):
        yield {}


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
