"""The kinds of agents in a Foundry project, by how their answers differ: ids and streams.

The members of their responses are in `harness.endpoints.azure.members`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from harness.api.project.agents import FoundryProject, versions_of


class AgentKind(NamedTuple):
    """A kind of agent: its prefix of response ids, the number of a stream's first event, whether text comes whole.

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
"""Recorded 2025-10 to 2026-07; that its streams are numbered like others is assumed."""
AGENT_KINDS: Mapping[str, AgentKind] = {kind.name: kind for kind in (PROMPT, WORKFLOW, HOSTED)}
"""The kinds by the `kind` of a definition; any other answers as a prompt agent (assumed)."""
KIND_BY_PREFIX: Mapping[str, AgentKind] = {kind.id_prefix: kind for kind in AGENT_KINDS.values()}
"""The kinds by the prefix of their response ids, without the underscore."""
RESPONSE_PREFIXES = tuple(f"{kind.id_prefix}_" for kind in AGENT_KINDS.values())
"""The possible prefixes of a response id in a project."""


def kind_of_agent(project: FoundryProject, reference: Any) -> AgentKind:
    """Return the kind of a referenced agent, in its newest version or the one named; PROMPT if it is unknown."""
    if not isinstance(reference, dict) or not isinstance(reference.get("name"), str):
        return PROMPT
    known, wanted = versions_of(project, reference["name"]), reference.get("version")
    found = [version for version in known if wanted in (None, version["version"])] or known
    return AGENT_KINDS.get(str(found[-1]["definition"].get("kind")), PROMPT) if found else PROMPT
