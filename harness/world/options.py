"""The initial options of a World."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from harness.contract.overrides import Overrides
from harness.core.account import DEFAULT_ORGANIZATION, Organization
from harness.core.dates import CONTRACT_DATE
from harness.core.delivery import Pace
from harness.core.limits import UNLIMITED, Limits
from harness.core.vocabulary import PYTHON, Vocabulary
from harness.world.script import Fallback


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """The initial options of a World, apart from its names; a test may change most of them later.

    `organization` is the account behind its key. `fallback` answers when nothing was scripted, `pace` applies to turns
    without one. `dialect` is the only one it speaks (openai, azure, foundry), None for all of them: each has paths of
    its own. `as_of` is the day (YYYY-MM-DD, or YYYY-MM for its last day) whose contract applies, by default the newest
    that this release knows; a World of another day has the clock of that day. `overrides` overrules the contract.
    `limits` bounds what is kept, dropping the oldest first. `vocabulary` words the advice to its user. With
    `counts_waiting`, the time that a client waits after a refusal counts towards its quota.
    """

    organization: Organization = DEFAULT_ORGANIZATION
    fallback: Fallback | None = None
    pace: Pace | None = None
    dialect: str | None = None
    as_of: str = CONTRACT_DATE
    overrides: Overrides | None = None
    limits: Limits = UNLIMITED
    vocabulary: Vocabulary = PYTHON
    counts_waiting: bool = True


class GivenOptions(TypedDict, total=False):
    """Members of `WorldOptions` as keyword arguments."""

    organization: Organization
    fallback: Fallback | None
    pace: Pace | None
    dialect: str | None
    as_of: str
    overrides: Overrides | None
    limits: Limits
    vocabulary: Vocabulary
    counts_waiting: bool


DEFAULT_OPTIONS = WorldOptions()
