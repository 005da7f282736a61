"""Prompts that Azure's content filters refuse."""

from __future__ import annotations

from collections.abc import Iterator

from harness.api.content_filters import filter_result
from harness.api.http.dialects import AZURE_DIALECTS
from harness.contract.rule import LIMITED_ACCOUNT, Case, WorldView, reported, rule
from harness.core.account import Organization
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request

FILTERED_MESSAGE = (
    "The response was filtered due to the prompt triggering Azure OpenAI\N{RIGHT SINGLE QUOTATION MARK}s content "
    "management policy. Please modify your prompt and retry. To learn more about our content filtering policies please "
    "read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766"
)


@rule(
    when=LIMITED_ACCOUNT,
    dialects=AZURE_DIALECTS,
    error=ApiError(
        400,
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
    source=reported("several public reports of Azure OpenAI's Responses, whole bodies", "2026"),
    rejects=[
        Case(
            {"model": "gpt-4o", "input": "hi"},
            on="POST !/openai/v1/responses",
            account=Organization(blocked=frozenset(["jailbreak"])),
        )
    ],
    fix="Scripted: `mock.organization(blocked=())` ends it. With the real API change the prompt, or the filter.",
)
def prompt_filtered(request: Request, world: WorldView) -> Iterator[Json]:
    """A prompt with something the filters stop is refused, whether a stream was asked for or not."""
    if world.account.blocked:
        yield {"filters": [filter_result("prompt", sorted(world.account.blocked), len(request.raw))]}
