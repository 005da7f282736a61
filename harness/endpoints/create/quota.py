"""The quota of the account: a request to a model spends of it, or is refused, and the answer says what remains."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from harness.answers.prompt import Prompt
from harness.api.http.dialects import OPENAI
from harness.core.account import show_wait
from harness.core.errors import ApiError
from harness.core.exchange import Answer
from harness.faults import Refusal, ScriptedRefusal
from harness.world.api_call import ApiCall
from harness.world.quotas import Quotas

TOO_LARGE = ApiError(
    429,
    "Request too large for {model} in organization {organization} on {what}: Limit {limit}, Requested {requested}. The "
    "input or output tokens must be reduced in order to run successfully. Visit "
    "https://platform.openai.com/account/rate-limits to learn more.",
    code="rate_limit_exceeded",
    type="{kind}",
)
"""How OpenAI refuses a request that is larger than the limit, for which no waiting helps; several clients report it."""


def spend_quota(prompt: Prompt, call: ApiCall, quotas: Quotas) -> None:
    """Count a request; a ScriptedRefusal when it exceeds a limit of the account.

    It counts the tokens of its prompt, or those that it allows for its output if they are more.
    """
    model, skipped = _model_of(prompt), call.world.skipped_seconds
    tokens = max(prompt.tokens, prompt.body.get("max_output_tokens") or 0)
    if limit := quotas.spend(model, tokens, skipped):
        headers = _headers(call, model, quotas)
        if limit.requested > limit.limit and call.request.dialect == OPENAI:
            facts = {"what": limit.what, "limit": limit.limit, "requested": limit.requested, "kind": limit.kind}
            error = TOO_LARGE.fill({**facts, "model": model, "organization": call.world.account.name})
            raise ScriptedRefusal(Refusal(error=error, headers=headers))
        raise ScriptedRefusal(Refusal({"rate_limit": limit}, headers=headers))


def add_quota_headers(answer: Answer, prompt: Prompt, call: ApiCall, quotas: Quotas) -> Answer:
    """Say in the headers of an answer what remains of the quota."""
    return answer._replace(headers={**answer.headers, **_headers(call, _model_of(prompt), quotas)})


def _headers(call: ApiCall, model: str, quotas: Quotas) -> Mapping[str, str]:
    """Make the headers about the limits of a model; Azure counts whole seconds."""
    headers: dict[str, str] = {}
    in_words = call.request.dialect == OPENAI
    for kind, standing in quotas.standings(model).items():
        headers[f"x-ratelimit-limit-{kind}"] = str(standing.limit)
        headers[f"x-ratelimit-remaining-{kind}"] = str(standing.remaining)
        seconds = standing.seconds
        headers[f"x-ratelimit-reset-{kind}"] = show_wait(seconds) if in_words else str(ceil(seconds))
    return headers


def _model_of(prompt: Prompt) -> str:
    """Find the name of the model as the request has it; an agent or a template names its own."""
    return str(prompt.body.get("model") or prompt.settings.initial_response.get("model") or "default")
