"""What the provider knows about a key's organization: limits and permissions that decide an answer before any model runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A limit that the next request exceeds: `what` is `requests per min (RPM)` or `tokens per min (TPM)`."""

    limit: int
    used: int
    requested: int
    what: str = "requests per min (RPM)"
    seconds: float = 1.0

    @property
    def kind(self) -> str:
        """The error's `type`: `requests` or `tokens`."""
        return self.what.partition(" ")[0]


@dataclass(frozen=True, slots=True)
class Organization:
    """The account behind a World's key.

    `models` None accepts every model name; `scopes` None grants all; `locked` are conversations another process holds;
    `prompts` are the ids of its stored prompt templates; `unreachable` are addresses that answer the API with 404.
    Without being `verified` it is not given streams or reasoning summaries of models that reason.
    """

    name: str = "org-harness"
    models: frozenset[str] | None = None
    scopes: frozenset[str] | None = None
    locked: frozenset[str] = frozenset()
    prompts: frozenset[str] = frozenset()
    unreachable: frozenset[str] = frozenset()
    verified: bool = True
    zdr: bool = False
    out_of_quota: bool = False
    failing: bool = False
    rate_limit: RateLimit | None = None


ORDINARY = Organization()
"""An account that limits nothing."""
