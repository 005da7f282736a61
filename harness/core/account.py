"""The account behind an API key: limits and permissions that decide an answer before any model runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.text import show

FILTER_CATEGORIES = ("hate", "sexual", "violence", "self_harm", "jailbreak")
"""The categories of Azure's content filter for prompts."""
ASSISTANTS_STATES = ("v2", "gone")
PROJECT_ID = "proj_harness"
"""The id, in error messages, of the project that every key of a World belongs to."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A rate limit that the next request exceeds; `what` is `requests per min (RPM)` or `tokens per min (TPM)`."""

    limit: int
    used: int
    requested: int
    what: str = "requests per min (RPM)"
    seconds: float = 1.0

    @property
    def kind(self) -> str:
        """The error's `type`: `requests` or `tokens`."""
        return self.what.partition(" ")[0]


def whole_number(seconds: float) -> float:
    """Convert a whole number of seconds to an int, so that it prints without decimals."""
    return int(seconds) if seconds == int(seconds) else seconds


def show_wait(seconds: float) -> str:
    """Format a wait as the API does: `20ms`, `9.816s`, `1m26.4s`."""
    if 0 < seconds < 1:
        return f"{whole_number(round(seconds * 1000, 3))}ms"
    minutes, rest = divmod(seconds, 60)
    if not minutes:
        return f"{whole_number(round(seconds, 3))}s"
    hours, minutes = divmod(int(minutes), 60)
    return f"{f'{hours}h' if hours else ''}{minutes}m{whole_number(round(rest, 3))}s"


@dataclass(frozen=True, slots=True)
class Organization:
    """The account behind a World's key.

    `models` lists the models of the key; None accepts every name except those in `deleted_models`. `scopes` of None
    grants every scope. `locked` holds the conversations that another process holds, and the names of Foundry agents
    that another request is changing. `prompts` holds the ids of stored prompt templates. The API gets a 404 from the
    addresses in `unreachable`; the MCP servers at the addresses in `unlisted` cannot list their tools.

    `files` holds the ids of files and vector stores that exist from the start; `largest_file` is the maximum size of an
    upload in bytes. `blocked` holds the filter categories for which Azure refuses every prompt. `agents` maps the names
    of Foundry agents to definitions with `model`, `instructions` and `tools`; agents with other names exist too, but
    their definitions are unknown. If `hosts_agents` is false, the project's region has no hosted agents; if `takes_keys`
    is false, the Azure resource has disabled API keys. `assistants` is `v2` or `gone`: since 2026-08-26 the Assistants
    API only answers 404. An account that is not `verified` gets no streams and no reasoning summaries from reasoning
    models. `requests_per_minute` and `tokens_per_minute` apply to each model separately.
    """

    name: str = "org-harness"
    models: frozenset[str] | None = None
    scopes: frozenset[str] | None = None
    locked: frozenset[str] = frozenset()
    prompts: frozenset[str] = frozenset()
    unreachable: frozenset[str] = frozenset()
    unlisted: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    largest_file: int = 512 * 1024 * 1024
    verified: bool = True
    zdr: bool = False
    out_of_quota: bool = False
    failing: bool = False
    overloaded: bool = False
    rate_limit: RateLimit | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    assistants: str = "v2"
    blocked: frozenset[str] = frozenset()
    agents: Mapping[str, Json] | None = None
    deleted_models: frozenset[str] = frozenset()
    hosts_agents: bool = True
    takes_keys: bool = True

    def __post_init__(self) -> None:
        for name, member in self.__dataclass_fields__.items():
            value = getattr(self, name)
            if isinstance(value, str) and str(member.type).startswith("frozenset"):  # `in` would match substrings
                raise ConfigError(f"organization({name}={show(value)}): pass a set of strings, {{{show(value)}}}.")
        for name in ("requests_per_minute", "tokens_per_minute"):
            limit = getattr(self, name)
            if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
                raise ConfigError(
                    f"organization({name}={show(limit)}): pass a number of at least 1, or None for no limit."
                )
        if strange := set(self.blocked) - set(FILTER_CATEGORIES):
            raise ConfigError(
                f"organization(blocked={', '.join(sorted(strange))}): the categories are {', '.join(FILTER_CATEGORIES)}."
            )
        if self.assistants not in ASSISTANTS_STATES:
            raise ConfigError(
                f"organization(assistants={show(self.assistants)}): use one of {', '.join(ASSISTANTS_STATES)}."
            )


DEFAULT_ORGANIZATION = Organization()
"""An account without limits."""
