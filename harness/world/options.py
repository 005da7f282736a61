"""The options of a World."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from harness.contract.overrides import Overrides
from harness.core.account import DEFAULT_ORGANIZATION, Organization
from harness.core.dates import CONTRACT_DATE
from harness.core.delivery import Pace
from harness.core.limits import UNLIMITED, Limits
from harness.core.text.vocabulary import PYTHON, Vocabulary
from harness.world.script import Fallback


@dataclass(frozen=True, slots=True)
class WorldOptions:
    """The options that a World begins with; a test may change most of them later.

    `organization` is the account behind its key. `fallback` answers what was never scripted, `pace` is that of turns
    without one. `dialect` is the only one it speaks (openai, azure, foundry), None all of them: each has paths of its own.
    `as_of` is the day (YYYY-MM-DD, or given as YYYY-MM its last day) whose contract holds, by default the newest that this
    release knows; a World of another day has the clock of that day. `overrides` overrules the contract. `limits` bound
    what is kept, the oldest goes first. `vocabulary` words the advice to its user. With `counts_waiting` the time that a
    client waits after it was refused counts for its quota.
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
    """Members of `WorldOptions`, as arguments."""

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
