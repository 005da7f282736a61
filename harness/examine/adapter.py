"""Adapters: what drives a client. A Python one is an object with one method; any other is a command.

`python -m harness.examine.worker MODULE:ATTRIBUTE` makes a command of the former, so that both run in the same way.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from harness.core.errors import ConfigError
from harness.core.registry import suggest_name
from harness.examine.case import AREAS
from harness.examine.declaration import Declaration
from harness.examine.outcome import Outcome
from harness.examine.task import Task

_HERE = Path(__file__).parent / "adapters"
ADAPTERS: Mapping[str, str] = {
    "agent-framework": "harness.examine.adapters.agent_framework_python:AgentFrameworkAdapter",
    "agent-framework-foundry": ("harness.examine.adapters.agent_framework_foundry_python:AgentFrameworkFoundryAdapter"),
    "ai-sdk": "ai_sdk.mjs",
    "azure-ai-projects": "harness.examine.adapters.azure_ai_projects_python:AIProjectsAdapter",
    "langchain-openai": "harness.examine.adapters.langchain_python:LangChainAdapter",
    "litellm": "harness.examine.adapters.litellm_python:LiteLLMAdapter",
    "llama-index": "harness.examine.adapters.llama_index_python:LlamaIndexAdapter",
    "openai": "harness.examine.adapters.openai_python:OpenAIAdapter",
    "openai-assistants": "harness.examine.adapters.openai_assistants_python:OpenAIAssistantsAdapter",
    "openai-agents-js": "openai_agents.mjs",
    "openai-node": "openai_node.mjs",
    "openai-agents": "harness.examine.adapters.openai_agents_python:OpenAIAgentsAdapter",
    "pydantic-ai": "harness.examine.adapters.pydantic_ai_python:PydanticAIAdapter",
}
"""The ready adapters by name: a Python class, or the file of a Node program in `adapters/`."""


class Adapter:
    """The base of a Python adapter: `package` is the client's distribution, the rest what it supports.

    `part` names the part of the package that it drives, where another adapter drives another one.

    Write `run`: do the task with the client, return its outcome. An exception of the client that its user would see
    belongs into the outcome (`describe_error`); one that leaves `run` counts as a crash of the adapter.
    """

    package: ClassVar[str]
    part: ClassVar[str] = ""
    areas: ClassVar[Collection[str]] = AREAS
    features: ClassVar[Collection[str]] = ()
    states: ClassVar[Sequence[str]] = ("replay",)
    states_of: ClassVar[Mapping[str, Sequence[str]]] = MappingProxyType({})
    dialects: ClassVar[Sequence[str]] = ("openai",)
    streams: ClassVar[Sequence[bool]] = (False, True)
    hosted: ClassVar[Sequence[str] | None] = None

    async def run(self, task: Task) -> Outcome:
        """Do a task; what came of it."""
        raise NotImplementedError(f"{type(self).__name__} has no `run`: see `Adapter`")

    def declare(self) -> Declaration:
        """Declare what this adapter can do."""
        client = f"{self.package} ({self.part})" if self.part else self.package
        with suppress(PackageNotFoundError):
            client = f"{client} {version(self.package)}"
        return Declaration(
            client=client,
            areas=frozenset(self.areas),
            features=frozenset(self.features),
            states=tuple(self.states),
            states_of={feature: tuple(states) for feature, states in self.states_of.items()},
            dialects=tuple(self.dialects),
            streams=tuple(self.streams),
            hosted=None if self.hosted is None else tuple(self.hosted),
        )


def command_for(adapter: str) -> list[str]:
    """Find the command of an adapter: a ready one by its name, or `MODULE:ATTRIBUTE` of Python."""
    target = ADAPTERS.get(adapter, adapter)
    if target.endswith(".mjs"):
        return ["node", str(_HERE / target)]
    if ":" not in target:
        raise ConfigError(
            f"no adapter {adapter!r}. {suggest_name(adapter, ADAPTERS)} Give one of these, MODULE:CLASS of your own, or "
            "--command."
        )
    return [sys.executable, "-m", "harness.examine.worker", target]


def split_command(command: str) -> list[str]:
    """Split the words of `--command`."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise ConfigError(f"--command {command!r}: {problem}") from problem
    if not words:
        raise ConfigError("--command is empty: give the program that reads tasks and writes outcomes.")
    return words
