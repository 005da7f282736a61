"""The multi-agent beta of `/responses`: its header, and what a request with agents cannot ask for."""

from __future__ import annotations

from collections.abc import Iterator

from harness.api.multi_agent import MULTI_AGENT_BETA, enables_agents, has_multi_agent_beta
from harness.contract.rule import Case, assumed, documented, rule
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

MULTI_AGENT_GUIDE = documented("https://developers.openai.com/api/docs/guides/multi-agent", "2026-11")
_HEADERS = {
    "authorization": "Bearer sk-harness-example",
    "content-type": "application/json",
    "openai-beta": MULTI_AGENT_BETA,
}
_ENABLED: Json = {"model": "gpt-5.6-sol", "multi_agent": {"enabled": True}}


def agents_case(**members: object) -> Case:
    """A request with agents as an example."""
    return Case({**_ENABLED, **members}, headers=_HEADERS)


@rule(
    when="multi_agent",
    error=ApiError(400, "Unknown parameter: 'multi_agent'.", "multi_agent", "unknown_parameter"),
    source=[
        MULTI_AGENT_GUIDE,
        documented("openai 3.54.0: only the requests of `beta.responses` have it", "2026-11"),
        assumed("that it is unknown without the header"),
    ],
    rejects=[_ENABLED],
    accepts=[
        agents_case(),
        Case({**_ENABLED}, headers={**_HEADERS, "openai-beta": f"assistants=v2, {MULTI_AGENT_BETA}"}),
        agents_case(multi_agent=None),
        agents_case(multi_agent={"enabled": True, "max_concurrent_subagents": 12}),
    ],
    fix=f"Send the header `OpenAI-Beta: {MULTI_AGENT_BETA}`, as `client.beta.responses` does with `betas`.",
)
def multi_agent_beta_missing(request: Request) -> Iterator[Json]:
    """Agents are a beta, which its header asks for."""
    if request.body["multi_agent"] is not None and not has_multi_agent_beta(request):
        yield {}


@rule(
    when="multi_agent",
    error=ApiError(
        400,
        "Unsupported parameter: '{name}' is not supported when multi_agent is enabled.",
        "{name}",
        "unsupported_parameter",
    ),
    source=[MULTI_AGENT_GUIDE, assumed("that it is refused and not passed over; the words")],
    rejects={
        "Unsupported parameter: 'max_tool_calls' is not supported when multi_agent is enabled.": agents_case(
            max_tool_calls=3
        ),
        "Unsupported parameter: 'reasoning.summary' is not supported when multi_agent is enabled.": agents_case(
            reasoning={"summary": "auto"}
        ),
    },
    accepts=[
        agents_case(reasoning={"effort": "low", "summary": None}),
        agents_case(max_tool_calls=3, multi_agent={"enabled": False}),
    ],
    fix="Leave it out, or do not enable `multi_agent`.",
)
def unsupported_with_agents(request: Request) -> Iterator[Json]:
    """With agents there is neither a limit of tool calls nor a summary of the reasoning."""
    if not enables_agents(request.body):
        return
    reasoning = request.body.get("reasoning")
    if request.body.get("max_tool_calls") is not None:
        yield {"name": "max_tool_calls"}
    if isinstance(reasoning, dict) and reasoning.get("summary") is not None:
        yield {"name": "reasoning.summary"}
