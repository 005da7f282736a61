"""What is used of the limits per minute of an account, and when a request would exceed one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor

from harness.core.account import Organization, RateLimit, whole_number

_WHAT = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)"}
"""What the API calls the limits, by their kind."""
_MINUTE = 60
_ROUNDING = 1e-6
"""What fractions may differ by that are the same."""
_EARLY = 0.005
"""Seconds by which a client may come back before it was told to: clocks and timers differ."""


@dataclass(slots=True)
class _Limit:
    """A limit of a model: what is `used` sinks evenly, all of it within a minute; `at` is the time of the last look."""

    limit: int
    used: float = 0.0
    at: float = 0.0

    def pass_time(self, now: float) -> None:
        """Let what is used sink up to now."""
        self.used = max(0.0, self.used - (now - self.at) * self.limit / _MINUTE)
        self.at = now

    def seconds_until(self, level: float) -> float:
        """Seconds until no more than that is used."""
        milliseconds = ceil((self.used - level) * _MINUTE * 1000 / self.limit - _ROUNDING)
        return whole_number(max(0, milliseconds) / 1000)


@dataclass(slots=True)
class _Told:
    """How long a client was told to wait, and when, in seconds of the server."""

    arrived: float
    seconds: float


@dataclass(slots=True)
class _ModelUse:
    """The limits of a model by their kind, how long clients have waited as they were told, and what the last was told."""

    limits: dict[str, _Limit]
    waited: float = 0.0
    told: _Told | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """How a limit stands after a request: so much of it remains, and it is whole again in so many seconds."""

    limit: int
    remaining: int
    seconds: float


@dataclass(slots=True)
class Quotas:
    """The limits per minute of an account, for each model by itself.

    Time is what a test skips, and what a client waits that was refused: once it has waited as long as it was told, that time
    has passed. The server says when the request has `arrived`; without that only what is skipped counts.
    """

    requests: int | None = None
    tokens: int | None = None
    arrived: float | None = None
    _uses: dict[str, _ModelUse] = field(default_factory=dict)

    def spend(self, model: str, tokens: int, skipped: float) -> RateLimit | None:
        """Count a request of so many tokens for a model; returns the limit that it exceeds, and then counts nothing."""
        use = self._find_use(model)
        wanted = {"requests": 1, "tokens": tokens}
        for kind, limit in use.limits.items():
            limit.pass_time(skipped + use.waited)
            if limit.used + wanted[kind] > limit.limit + _ROUNDING:
                return self._refuse(use, kind, wanted[kind])
        for kind, limit in use.limits.items():
            limit.used += wanted[kind]
        return None

    def standings(self, model: str) -> Mapping[str, Standing]:
        """How the limits of a model stand, by their kind."""
        return {
            kind: Standing(limit.limit, max(0, floor(limit.limit - limit.used + _ROUNDING)), limit.seconds_until(0))
            for kind, limit in self._find_use(model).limits.items()
        }

    def _find_use(self, model: str) -> _ModelUse:
        use = self._uses.get(model)
        if use is None:
            limits = {"requests": self.requests, "tokens": self.tokens}
            use = _ModelUse({kind: _Limit(number) for kind, number in limits.items() if number is not None})
            self._uses[model] = use
        told, arrived = use.told, self.arrived
        if told and arrived is not None and arrived - told.arrived >= told.seconds - _EARLY:
            use.waited += told.seconds
            use.told = None
        return use

    def _refuse(self, use: _ModelUse, kind: str, wanted: int) -> RateLimit:
        limit = use.limits[kind]
        seconds = limit.seconds_until(limit.limit - wanted)
        if self.arrived is not None and use.told is None and wanted <= limit.limit:
            use.told = _Told(self.arrived, seconds)
        return RateLimit(limit.limit, ceil(limit.used - _ROUNDING), wanted, _WHAT[kind], seconds)


def make_quotas(account: Organization, known: Quotas | None) -> Quotas | None:
    """Make the quotas of an account; the known ones stay while its limits are the same, None without any."""
    limits = (account.requests_per_minute, account.tokens_per_minute)
    if limits == (None, None):
        return None
    return known if known and (known.requests, known.tokens) == limits else Quotas(*limits)
