"""Built-in adapters, one module per client, the commands that run these or any other, and adapters to start with."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from harness.core.errors import COMMAND, ConfigError
from harness.core.registry import suggest_name
from harness.report.replace_file import explain_write_errors, open_replacement

_HERE = Path(__file__).parent
ADAPTERS: Mapping[str, str] = {
    "agent-framework": "harness.examine.adapters.agent_framework_python:AgentFrameworkAdapter",
    "agent-framework-foundry": "harness.examine.adapters.agent_framework_foundry_python:AgentFrameworkFoundryAdapter",
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
"""The built-in adapters by name: a Python class, or the file of a Node program in this folder."""
STARTERS: Mapping[str, str] = {"python": "my_adapter.py", "js": "my_adapter.mjs"}
"""The adapters to start with, by language: they pass, and mark where a user's own client goes."""


def command_for(adapter: str) -> list[str]:
    """Return the command for an adapter: a built-in one by name, or a Python `MODULE:ATTRIBUTE`."""
    target = ADAPTERS.get(adapter, adapter)
    if target.endswith(".mjs"):
        return ["node", str(_HERE / target)]
    if ":" not in target:
        raise ConfigError(
            f"no adapter {adapter!r}. {suggest_name(adapter, ADAPTERS)} Pass a built-in one, MODULE:CLASS of your own, or "
            "--command."
        )
    return [sys.executable, "-m", "harness.examine.worker", target]


def split_command(command: str) -> list[str]:
    """Split `--command` into words, as a shell does."""
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise ConfigError(f"--command {command!r}: {problem}") from problem
    if not words:
        raise ConfigError("--command is empty: pass the program that reads tasks and writes outcomes.")
    return words


def write_starter(folder: Path, language: str) -> Path:
    """Write the adapter for a language into a folder, creating that if necessary, and return the file.

    ConfigError if the file exists, which is kept, or cannot be written.
    """
    file = folder / STARTERS[language]
    if os.path.lexists(file):
        raise ConfigError(
            f"--init {folder}: {file} already exists and is kept. Choose another folder, or move it away."
        )
    with explain_write_errors(f"--init {folder}", "Pass a folder that you may write to"):
        folder.mkdir(parents=True, exist_ok=True)
        with open_replacement(file) as out:
            out.write((_HERE / file.name).read_bytes())
    return file


def starter_command(file: Path) -> str:
    """Return the command that examines with the written adapter, from the folder where `--init` was run."""
    if file.suffix == ".mjs":
        return f"{COMMAND} examine --command {shlex.quote(f'node {shlex.quote(str(file))}')}"
    command = f"{COMMAND} examine {file.stem}:MyAdapter"
    return command if file.parent == Path() else f"cd {shlex.quote(str(file.parent))} && {command}"
