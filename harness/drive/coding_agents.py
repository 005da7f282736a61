"""`CodingAgent`: runs a coding agent of the command line, unmodified, with the mock as its model.

codex = CodingAgent("codex", mock, folder)
run = codex("Fix the test.")
assert run.ran("pytest").before("git commit")

Its configuration is written into a home of its own, and a fake proxy keeps it from other hosts.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypedDict, Unpack
from weakref import finalize

from harness.analysis.call_ledger import CodingRun, list_commands
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.core.json_values import pick
from harness.core.registry import Registry
from harness.core.text import show
from harness.drive.run_program import run_program
from harness.world.mock import Mock

MODEL = "gpt-5.4"
SECONDS = 120.0
"""Seconds that a run may take."""
KEY_VARIABLE = "OPENAI_API_KEY"
ALONE = {
    **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), "http://127.0.0.1:9"),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost,::1"),
}
"""A proxy that is none: the agent reaches the mock, and no other host."""
McpServers = Mapping[str, str | Sequence[str]]
"""MCP servers by name: the URL of one, or the command that starts it."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What the configuration of an agent is written from; with `approves` no command waits for an approval."""

    home: Path
    base_url: str
    api_key: str
    model: str = MODEL
    approves: bool = True
    mcp: McpServers = field(default_factory=dict)

    def write(self, path: str, text: str) -> None:
        """Write a file of the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


LACKS: Mapping[str, str] = {
    "mcp=…": "has no MCP servers",
    "approves=False": "approves every command",
    "images=…": "takes no images",
    "resume=True": "resumes no session",
}
"""What some agents lack, by the option that they therefore refuse."""
ONE_SETUP = ("mcp=…", "approves=False")
"""What an agent lacks whose configuration leaves no choice."""
ONLY_RUNS = tuple(LACKS)
"""What an agent lacks that takes nothing but a prompt."""


@dataclass(frozen=True, slots=True)
class CodingCli:
    """A coding agent: its program, how to install it, and functions for the configuration and the command line.

    `settle` returns further variables; `line` takes the prompt, the images, and whether the last session goes on. It
    refuses the options that it `lacks`.
    """

    program: str
    install: str
    settle: Callable[[Setup], Mapping[str, str]]
    line: Callable[[str, Sequence[str], bool], list[str]]
    lacks: Sequence[str] = ()

    def configure(self, setup: Setup) -> dict[str, str]:
        """Write the configuration into the home, and return the variables of the program."""
        self._refuse({"mcp=…": bool(setup.mcp), "approves=False": not setup.approves})
        home = {"HOME": str(setup.home), "XDG_CONFIG_HOME": str(setup.home / ".config")}
        return {**home, KEY_VARIABLE: setup.api_key, **ALONE, **self.settle(setup)}

    def arguments(self, prompt: str, images: Sequence[str], resume: bool) -> list[str]:
        """Return the arguments of a run."""
        self._refuse({"images=…": bool(images), "resume=True": resume})
        return self.line(prompt, images, resume)

    def _refuse(self, asked: Mapping[str, bool]) -> None:
        for option in self.lacks:
            if asked.get(option):
                raise ConfigError(f"{self.program} {LACKS[option]}: leave out {option}.")


CODING_AGENTS: Registry[CodingCli] = Registry("coding agent")
"""Every coding agent that can be configured, by the name of its program."""


def find_coding_agent(name: str) -> CodingCli:
    """Return a coding agent by name; ConfigError for another name."""
    if name not in CODING_AGENTS:
        more = " Claude Code speaks Anthropic's Messages API, which the mock does not." if "claude" in name else ""
        raise ConfigError(f"no coding agent {name!r}. Use one of: {', '.join(CODING_AGENTS)}.{more}")
    return CODING_AGENTS[name]


class SetupOptions(TypedDict, total=False):
    """The options of a coding agent that go into its configuration; see `Setup`."""

    model: str
    approves: bool
    mcp: McpServers


class CodingAgent:
    """A coding agent whose model is the mock: each call runs it in `folder` with a prompt.

    `program` is its path, by default the one on PATH. With `approves` its commands need no approval. `mcp` are the MCP
    servers it is configured with, `arguments` are added to its command line; a run may take `timeout` seconds.
    """

    def __init__(
        self,
        name: str,
        mock: Mock,
        folder: Path | str | None = None,
        *,
        program: Path | str | None = None,
        arguments: Sequence[str] = (),
        timeout: float = SECONDS,
        **options: Unpack[SetupOptions],
    ) -> None:
        self._cli = find_coding_agent(name)
        if not (found := shutil.which(str(program or self._cli.program))):
            raise ConfigError(
                f"{name}: {program or self._cli.program} is not there. Install it: {self._cli.install}; or "
                "pass its path: program=…"
            )
        if problem := _find_problem(arguments, timeout, options.get("mcp", {})):
            raise ConfigError(f"{name}: {problem}")
        if folder and Path(folder).exists() and not Path(folder).is_dir():
            raise ConfigError(f"{name}: {folder} is not a folder. Pass the folder in which the agent works.")
        kept_in = Path(mkdtemp(prefix=f"harness-{name}-"))
        finalize(self, shutil.rmtree, kept_in, ignore_errors=True)
        self.folder = Path(folder) if folder else kept_in / "folder"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._program, self._mock, self._timeout, self._arguments = found, mock, timeout, list(arguments)
        setup = Setup(kept_in / "home", mock.base_url, mock.api_key, **options)
        kept = pick(os.environ, "PATH", "LANG", "TMPDIR", "SYSTEMROOT")
        self._environment = {**kept, "TERM": "dumb", **self._cli.configure(setup)}

    def __call__(self, prompt: str, *, images: Sequence[Path | str] = (), resume: bool = False) -> CodingRun:
        """Run the agent with a prompt, in a new session unless it is to `resume`; AssertionError if it does not end."""
        before = {name: hash(content) for name, content in _read_files(self.folder)}
        first = self._mock.world.exchange_count
        line = [self._program, *self._cli.arguments(prompt, list(map(str, images)), resume), *self._arguments]
        ended = run_program(line, self._timeout, self.folder, self._environment)
        if ended.code is None:
            problem = f"{self._cli.program} did not end within {self._timeout:g} s. Its output ends with:\n{ended.end}"
            raise AssertionError(problem)
        files = _read_written(self.folder, before)
        commands = list_commands(exchange for exchange in self._mock.exchanges if exchange.number > first)
        return CodingRun(ended.code, ended.output, ended.errors, files, commands)


def _find_problem(arguments: Any, timeout: Any, servers: Any) -> str:
    """Describe which option of an agent is invalid; empty if none is."""
    if isinstance(arguments, str) or not isinstance(arguments, Sequence):
        return f'arguments = {show(arguments)}: pass a list, ["--verbose"].'
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        return f"timeout = {show(timeout)}: pass a number of seconds above 0."
    if not isinstance(servers, Mapping):
        return f'mcp = {show(servers)}: pass the servers by name, {{"sums": ["python", "server.py"]}}.'
    for name, server in servers.items():
        if not server or not isinstance(server, str | Sequence):
            return (
                f'mcp: {name} is {show(server)}. Pass the command that starts it, ["python", "server.py"], or its URL.'
            )
    return ""


def _read_files(folder: Path) -> Iterator[tuple[str, bytes | None]]:
    """Yield the files of a folder, except those of Git, by relative path, with None for one that nobody may read."""
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for file in (Path(parent, name) for name in names if name != ".git"):
            if file.is_file():  # no link that leads nowhere
                try:
                    content: bytes | None = file.read_bytes()
                except FileNotFoundError:  # something still running has removed it
                    continue
                except OSError:
                    content = None
                yield file.relative_to(folder).as_posix(), content


def _read_written(folder: Path, before: Mapping[str, int]) -> dict[str, str | None]:
    """Return the text of each file with another hash than before, and None for one that was deleted."""
    written, left = dict[str, str | None](), set(before)
    for name, content in _read_files(folder):
        left.discard(name)
        if content is not None and before.get(name) != hash(content):
            written[name] = content.decode(errors="replace")
    return dict(sorted({**written, **dict.fromkeys(left)}.items()))


def _servers(setup: Setup, remote: Json, local: Callable[[str | Sequence[str]], Json]) -> dict[str, Json]:
    """Return the MCP servers in an agent's form: members of one with a URL, beside that, and all of one with a command."""
    return {
        name: {**remote, "url": server} if isinstance(server, str) else local(server)
        for name, server in setup.mcp.items()
    }


def _settle_codex(setup: Setup) -> dict[str, str]:
    provider = {"name": "mock", "base_url": setup.base_url, "wire_api": "responses", "env_key": KEY_VARIABLE}
    sandbox = "danger-full-access" if setup.approves else "read-only"
    lines = [f"model = {json.dumps(setup.model)}", 'model_provider = "mock"', 'approval_policy = "never"']
    lines += [f'sandbox_mode = "{sandbox}"', "[analytics]", "enabled = false", "[model_providers.mock]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in provider.items()]
    for name, server in _servers(setup, {}, _split_command).items():
        lines += [f"[mcp_servers.{json.dumps(name)}]"]
        lines += [f"{member} = {json.dumps(value)}" for member, value in server.items()]
    setup.write(".codex/config.toml", "\n".join(lines) + "\n")
    return {"CODEX_HOME": str(setup.home / ".codex")}


def _split_command(server: str | Sequence[str]) -> Json:
    return {"command": server[0], "args": list(server[1:])}


def _codex_arguments(prompt: str, images: Sequence[str], resume: bool) -> list[str]:
    start = ["exec", *(["resume", "--last"] if resume else []), "--skip-git-repo-check"]
    return [*start, *(f"--image={image}" for image in images), prompt]


def _settle_copilot(setup: Setup) -> dict[str, str]:
    every = {"tools": ["*"]}
    servers = _servers(
        setup, {"type": "http", **every}, lambda server: {"type": "local", **_split_command(server), **every}
    )
    setup.write(".copilot/mcp-config.json", json.dumps({"mcpServers": servers}))
    provider = {"BASE_URL": setup.base_url, "TYPE": "openai", "API_KEY": setup.api_key, "WIRE_API": "responses"}
    variables = {f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()}
    allowed = {"COPILOT_ALLOW_ALL": "true"} if setup.approves else {}
    return {**variables, **allowed, "COPILOT_MODEL": setup.model, "COPILOT_OFFLINE": "true"}


def _copilot_arguments(prompt: str, images: Sequence[str], resume: bool) -> list[str]:
    attached = [part for image in images for part in ("--attachment", image)]
    return [*(["--continue"] if resume else []), *attached, "--prompt", prompt]


def _settle_opencode(setup: Setup, name: str = "opencode") -> dict[str, str]:
    servers = _servers(setup, {"type": "remote"}, lambda server: {"type": "local", "command": list(server)})
    options = {"baseURL": setup.base_url, "apiKey": setup.api_key}
    model, parts = f"openai/{setup.model}", ("text", "image")
    known = {"name": setup.model, "attachment": True, "modalities": {"input": parts, "output": ["text"]}}
    config = {
        "model": model,
        "small_model": model,
        "enabled_providers": ["openai"],
        "mcp": servers,
        "autoupdate": False,
        "share": "disabled",
        "lsp": False,
        "formatter": False,
        "permission": "allow" if setup.approves else {"bash": "ask", "edit": "ask"},
        "agent": {"title": {"disable": True}},  # it would ask the model for a title of the session
        "provider": {"openai": {"options": options, "models": {setup.model: known}}},
    }
    setup.write(f".config/{name}/{name}.json", json.dumps(config))
    return dict.fromkeys((f"{name.upper()}_DISABLE_AUTOUPDATE", f"{name.upper()}_DISABLE_MODELS_FETCH"), "1")


def _opencode_arguments(prompt: str, images: Sequence[str], resume: bool) -> list[str]:
    return [
        "run",
        *(["--continue"] if resume else []),
        prompt,
        *(part for image in images for part in ("--file", image)),
    ]


def _settle_pi(setup: Setup) -> dict[str, str]:
    model = {"id": setup.model, "name": setup.model, "reasoning": True, "input": ["text", "image"]}
    limits = {"contextWindow": 272_000, "maxTokens": 128_000}
    free = dict.fromkeys(("input", "output", "cacheRead", "cacheWrite"), 0)
    provider = {"baseUrl": setup.base_url, "api": "openai-responses", "apiKey": setup.api_key}
    models = {"providers": {"mock": {**provider, "models": [{**model, **limits, "cost": free}]}}}
    setup.write(".pi/agent/models.json", json.dumps(models))
    setup.write(".pi/agent/settings.json", json.dumps({"defaultProvider": "mock", "defaultModel": setup.model}))
    return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0", "PI_CODING_AGENT_DIR": str(setup.home / ".pi/agent")}


def _pi_arguments(prompt: str, images: Sequence[str], resume: bool) -> list[str]:
    return ["--print", *(["--continue"] if resume else []), *(f"@{image}" for image in images), prompt]


def _settle_cline(setup: Setup) -> dict[str, str]:
    name = "openai-native"
    settings = {"provider": name, "apiKey": setup.api_key, "model": setup.model, "baseUrl": setup.base_url}
    provider = {"settings": settings, "updatedAt": "2026-11-29T00:00:00.000Z", "tokenSource": "manual"}
    known = {"version": 1, "lastUsedProvider": name, "modes": {}, "providers": {name: provider}}
    setup.write(".cline/data/settings/providers.json", json.dumps(known))
    # Its hub is a process that would outlive it.
    return {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}


def _settle_code_puppy(setup: Setup) -> dict[str, str]:
    endpoint = {"url": setup.base_url, "api_key": setup.api_key}
    model = {"type": "custom_openai_responses", "name": setup.model, "custom_endpoint": endpoint}
    setup.write(".code_puppy/extra_models.json", json.dumps({"mock": {**model, "context_length": 272_000}}))
    names = {"puppy_name": "mock", "owner_name": "mock", "model": "mock", "yolo_mode": "true"}
    lines = ["[puppy]", *(f"{name} = {value}" for name, value in names.items())]
    setup.write(".config/code_puppy/puppy.cfg", "\n".join(lines) + "\n")
    return {}


def _settle_mini(setup: Setup) -> dict[str, str]:
    settings = {"GLOBAL_CONFIG_DIR": str(setup.home), "CONFIGURED": "true", "MODEL_NAME": f"openai/{setup.model}"}
    variables = {f"MSWEA_{name}": value for name, value in settings.items()}
    return {**variables, "MSWEA_COST_TRACKING": "ignore_errors", "OPENAI_BASE_URL": setup.base_url}


MINI_OPTIONS = ("--model-class", "litellm_response", "--yolo", "--exit-immediately", "--cost-limit", "0", "--task")


def _prompt_after(*options: str) -> Callable[[str, Sequence[str], bool], list[str]]:
    return lambda prompt, *_: [*options, prompt]


for _cli in (
    CodingCli("codex", "npm install -g @openai/codex", _settle_codex, _codex_arguments),
    CodingCli("copilot", "npm install -g @github/copilot", _settle_copilot, _copilot_arguments),
    CodingCli("opencode", "npm install -g opencode-ai", _settle_opencode, _opencode_arguments),
    CodingCli("kilo", "npm install -g @kilocode/cli", partial(_settle_opencode, name="kilo"), _opencode_arguments),
    CodingCli("pi", "npm install -g @earendil-works/pi-coding-agent", _settle_pi, _pi_arguments, ONE_SETUP),
    CodingCli("cline", "npm install -g cline", _settle_cline, _prompt_after("--provider", "openai-native"), ONLY_RUNS),
    CodingCli("code-puppy", "pip install code-puppy", _settle_code_puppy, _prompt_after("--prompt"), ONLY_RUNS),
    CodingCli("mini", "pip install mini-swe-agent", _settle_mini, _prompt_after(*MINI_OPTIONS), ONLY_RUNS),
):
    CODING_AGENTS.add(_cli.program, _cli)
