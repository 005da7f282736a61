"""The account's quota: a request to a model spends from its limits per minute, or is refused.

Headers of the answer report what remains.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor

from harness.answers.prompt import Prompt
from harness.api.http.dialects import OPENAI
from harness.core.account import Organization, RateLimit, show_wait, whole_number
from harness.core.errors import ApiError
from harness.faults import Refusal, ScriptedRefusal

_WHAT = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)"}
"""The API's names for the limits, by kind."""
_MINUTE = 60
_ROUNDING = 1e-6
"""The tolerance when fractions are compared."""
_EARLY = 0.005
"""Seconds by which a client may retry early, as clocks and timers differ."""
TOO_LARGE = ApiError(
    429,
    "Request too large for {model} in organization {organization} on {what}: Limit {limit}, Requested {requested}. The "
    "input or output tokens must be reduced in order to run successfully. Visit "
    "https://platform.openai.com/account/rate-limits to learn more.",
    code="rate_limit_exceeded",
    type="{kind}",
)
"""OpenAI's refusal of a request larger than the limit, for which waiting does not help; reported by several clients."""


@dataclass(slots=True)
class _Limit:
    """A limit of a model; `used` decays linearly, by `limit` per minute, and `at` is when it was last updated."""

    limit: int
    used: float = 0.0
    at: float = 0.0

    def pass_time(self, now: float) -> None:
        self.used = max(0.0, self.used - (now - self.at) * self.limit / _MINUTE)
        self.at = now

    def seconds_until(self, level: float) -> float:
        milliseconds = ceil((self.used - level) * _MINUTE * 1000 / self.limit - _ROUNDING)
        return whole_number(max(0, milliseconds) / 1000)


@dataclass(slots=True)
class _RequestedWait:
    """How long a client was told to wait, and when, in the server's seconds."""

    arrived: float
    seconds: float


@dataclass(slots=True)
class _ModelUse:
    """The limits of a model by kind, how long clients have waited as told, and the last wait that was asked for."""

    limits: dict[str, _Limit]
    waited: float = 0.0
    wait: _RequestedWait | None = None


@dataclass(slots=True)
class Quotas:
    """The limits per minute of an account, separate for each model.

    Time passes when a test skips it, and when a refused client waits: once it has waited as long as it was told, that
    time has passed. The server sets when the request has `arrived`; otherwise only skipped time counts.
    """

    requests: int | None = None
    tokens: int | None = None
    arrived: float | None = None
    _uses: dict[str, _ModelUse] = field(default_factory=dict)

    def take(self, prompt: Prompt, dialect: str, organization: str, skipped: float) -> None:
        """Count a request; ScriptedRefusal if it exceeds a limit of the account.

        Counts the tokens of its prompt, or those that it allows for its output if that is more.
        """
        model = _model_of(prompt)
        tokens = max(prompt.tokens, prompt.body.get("max_output_tokens") or 0)
        if limit := self.spend(model, tokens, skipped):
            headers = self.headers(prompt, dialect)
            if limit.requested > limit.limit and dialect == OPENAI:
                facts = {"what": limit.what, "limit": limit.limit, "requested": limit.requested, "kind": limit.kind}
                error = TOO_LARGE.fill({**facts, "model": model, "organization": organization})
                raise ScriptedRefusal(Refusal(error=error, headers=headers))
            raise ScriptedRefusal(Refusal({"rate_limit": limit}, headers=headers))

    def headers(self, prompt: Prompt, dialect: str) -> Mapping[str, str]:
        """Return the headers that report what remains for the prompt's model; Azure counts whole seconds."""
        headers: dict[str, str] = {}
        for kind, limit in self._find_use(_model_of(prompt)).limits.items():
            seconds = limit.seconds_until(0)
            headers[f"x-ratelimit-limit-{kind}"] = str(limit.limit)
            headers[f"x-ratelimit-remaining-{kind}"] = str(max(0, floor(limit.limit - limit.used + _ROUNDING)))
            headers[f"x-ratelimit-reset-{kind}"] = show_wait(seconds) if dialect == OPENAI else str(ceil(seconds))
        return headers

    def spend(self, model: str, tokens: int, skipped: float) -> RateLimit | None:
        """Count a request of `tokens` for a model; returns the limit that it exceeds, and then counts nothing."""
        use = self._find_use(model)
        wanted = {"requests": 1, "tokens": tokens}
        # Check every limit before counting any: a refused request spends nothing.
        for kind, limit in use.limits.items():
            limit.pass_time(skipped + use.waited)
            if limit.used + wanted[kind] > limit.limit + _ROUNDING:
                return self._refuse(use, kind, wanted[kind])
        for kind, limit in use.limits.items():
            limit.used += wanted[kind]
        return None

    def _find_use(self, model: str) -> _ModelUse:
        use = self._uses.get(model)
        if use is None:
            limits = {"requests": self.requests, "tokens": self.tokens}
            use = _ModelUse({kind: _Limit(number) for kind, number in limits.items() if number is not None})
            self._uses[model] = use
        wait, arrived = use.wait, self.arrived
        if wait and arrived is not None and arrived - wait.arrived >= wait.seconds - _EARLY:
            use.waited += wait.seconds
            use.wait = None
        return use

    def _refuse(self, use: _ModelUse, kind: str, wanted: int) -> RateLimit:
        limit = use.limits[kind]
        seconds = limit.seconds_until(limit.limit - wanted)
        if self.arrived is not None and use.wait is None and wanted <= limit.limit:
            use.wait = _RequestedWait(self.arrived, seconds)
        return RateLimit(limit.limit, ceil(limit.used - _ROUNDING), wanted, _WHAT[kind], seconds)


def _model_of(prompt: Prompt) -> str:
    """Return the model's name as the request has it; an agent or a template names its own."""
    return str(prompt.body.get("model") or prompt.settings.initial_response.get("model") or "default")


def make_quotas(account: Organization, known: Quotas | None) -> Quotas | None:
    """Make the quotas of an account, keeping the known ones if the limits are the same; None without limits."""
    limits = (account.requests_per_minute, account.tokens_per_minute)
    if limits == (None, None):
        return None
    return known if known and (known.requests, known.tokens) == limits else Quotas(*limits)
