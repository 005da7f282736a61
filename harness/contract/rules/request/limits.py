"""Limits of the account, and of the model's context window."""

from collections.abc import Iterator

from harness.api.models import Model
from harness.api.tokens import count_words
from harness.contract.rule import LIMITED_ACCOUNT, Case, WorldView, recorded, reported, rule
from harness.core.account import Organization
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.ending import WINDOW_EXCEEDED
from harness.items.transcript import input_items


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
def context_length_exceeded(request: Request, family: Model | None) -> Iterator[Json]:
    """The input must fit the model; refused only if it certainly does not, as no token spans two words.

    Only the request's own content is counted. A stream begins regardless, and ends as failed.
    """
    if not request.body.get("stream") and exceeds_window(request, family):
        yield {}


def exceeds_window(request: Request, family: Model | None) -> bool:
    """Return whether a request's content exceeds the context window of its model."""
    if not family or not family.window:
        return False
    # Most bodies have too few bytes to contain so many words.
    if 0 < len(request.raw) <= 2 * family.window or request.body.get("truncation") == "auto":
        return False
    texts = [{"text": request.body.get("instructions")}, *input_items(request.body)]
    return count_words(texts) > family.window
