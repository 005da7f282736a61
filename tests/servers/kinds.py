"""The servers: what is installed, how each is started on loopback; the model behind those that need one is a mock."""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.clients.cells import Environment

HERE = Path(__file__).parent
KEY = "sk-server-under-test-0123456789"
ALONE = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost"}
"""A proxy that is none keeps a server from other hosts."""

Command = tuple[list[str], Mapping[str, str]]


@dataclass(frozen=True)
class Start:
    """What a server is started with: its environment's folder, an empty folder of its own, its port, the model's URL."""

    made: Path
    home: Path
    port: int
    upstream: str

    def tool(self, name: str) -> str:
        """Return a program of the environment."""
        return str(self.made / "bin" / name)


@dataclass(frozen=True)
class Kind:
    """A server: its packages, the command and the variables that start it, the model it is asked for."""

    name: str
    command: Callable[[Start], Command]
    python: tuple[str, ...] = ()
    npm: tuple[str, ...] = ()
    model: str = "gpt-4.1"
    here: bool = False
    options: tuple[str, ...] = field(default=("--jobs", "2"))

    @property
    def environment(self) -> Environment:
        """Where it is installed."""
        return Environment(name=self.name, python=self.python, npm=self.npm, here=self.here)


def _own(start: Start) -> Command:
    return [sys.executable, "-m", "harness", "serve", "--port", str(start.port)], {}


def _litellm(start: Start) -> Command:
    """Return a proxy in front of the mock: every model is passed through to its Responses API."""
    through = {"model": "openai/*", "api_base": start.upstream, "api_key": "sk-upstream-0123456789"}
    config = {"model_list": [{"model_name": "*", "litellm_params": through}], "general_settings": {"master_key": KEY}}
    file = start.home / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "NO_DOCS": "True"}
    return [start.tool("litellm"), "--config", str(file), "--host", "127.0.0.1", "--port", str(start.port)], quiet


def _aimock(start: Start) -> Command:
    program = start.made / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    fixtures = str(HERE / "aimock.json")
    return [start.tool("node"), str(program), "--port", str(start.port), "--fixtures", fixtures], {}


def _hermes(start: Start) -> Command:
    upstream = {"name": "mock", "base_url": start.upstream, "api_key": "sk-upstream", "api_mode": "codex_responses"}
    config = {
        "model": {"default": "gpt-5", "provider": "custom:mock", "context_length": 400_000},
        "custom_providers": [{**upstream, "model": "gpt-5"}],
        "platform_toolsets": {"api_server": ["todo"]},
        "memory": {"memory_enabled": False, "user_profile_enabled": False},
    }
    (start.home / "config.yaml").write_text(yaml.safe_dump(config))
    platform = {"API_SERVER_ENABLED": "true", "API_SERVER_PORT": str(start.port), "API_SERVER_KEY": KEY}
    return [start.tool("hermes"), "gateway", "run"], {"HERMES_HOME": str(start.home), **platform}


def _hosted(program: str) -> Callable[[Start], Command]:
    """Return a server for hosted agents of Foundry, whose agent asks the mock."""

    def command(start: Start) -> Command:
        model = {"OPENAI_BASE_URL": start.upstream, "OPENAI_API_KEY": "sk-upstream-0123456789"}
        return [start.tool("python"), str(HERE / program), str(start.port)], model

    return command


HOSTING = ("agent-framework-foundry-hosting==1.0.0b261022", "agent-framework-openai==1.17.0")
KINDS = {
    kind.name: kind
    for kind in (
        Kind("harness", _own, here=True),
        Kind("litellm", _litellm, python=("litellm[proxy]==1.106.2",)),
        Kind("aimock", _aimock, npm=("@copilotkit/aimock@1.43.0",)),
        Kind("hermes", _hermes, python=("hermes-agent==0.19.0", "aiohttp==3.14.1"), model="hermes-agent"),
        Kind("agentserver", _hosted("agent_server.py"), python=("azure-ai-agentserver-responses==2.4.0b1",)),
        Kind("agent-framework", _hosted("agent_framework_host.py"), python=HOSTING, model="gpt-5"),
    )
}
"""Every server by name; the first one is our own."""


def variables(kind: Kind, start: Start, own: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a server sees: nothing of the user's but the path."""
    return {"PATH": os.environ["PATH"], "HOME": str(start.home), **ALONE, **own}
