"""The kinds of agents of a Foundry project, by what differs in their answers: the ids and how a stream is told.

Which members their responses have is in `harness.endpoints.azure.members`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.api.project.agents import FoundryProject, versions_of


class AgentKind(NamedTuple):
    """A kind of agent: the prefix of its responses' ids, the number of a stream's first event, whether texts come whole.

    With `tells_whole` a text comes in one delta, without padding, and its parts have no logprobs.
    """

    name: str
    id_prefix: str = "resp"
    first_number: int = 0
    tells_whole: bool = False


PROMPT = AgentKind("prompt")
WORKFLOW = AgentKind("workflow", id_prefix="wfresp", first_number=1, tells_whole=True)
"""Recorded 2026-02-26."""
HOSTED = AgentKind("hosted", id_prefix="caresp")
"""Recorded 2025-10 to 2026-07; that its streams are numbered as others is assumed."""
AGENT_KINDS: Mapping[str, AgentKind] = {kind.name: kind for kind in (PROMPT, WORKFLOW, HOSTED)}
"""The kinds by the `kind` of a definition; every other answers as a prompt agent (assumed)."""
KIND_BY_PREFIX: Mapping[str, AgentKind] = {kind.id_prefix: kind for kind in AGENT_KINDS.values()}
"""The kinds by what the id of a response begins with, up to the underscore."""
RESPONSE_PREFIXES = tuple(f"{kind.id_prefix}_" for kind in AGENT_KINDS.values())
"""How the id of a response may begin in a project."""


def kind_of_agent(project: FoundryProject, reference: Any) -> AgentKind:
    """Find the kind of a referenced agent, in its newest version unless the reference names one; PROMPT if it is unknown."""
    if not isinstance(reference, dict) or not isinstance(reference.get("name"), str):
        return PROMPT
    known, wanted = versions_of(project, reference["name"]), reference.get("version")
    found = [version for version in known if wanted in (None, version["version"])] or known
    return AGENT_KINDS.get(str(found[-1]["definition"].get("kind")), PROMPT) if found else PROMPT
