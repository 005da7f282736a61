"""Clients in any language, recorded by the base URL in their environment, over TLS; what was recorded answers them alike."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from harness.cli import app
from harness.errors import ConfigError
from harness.faults import pause
from harness.items import message
from harness.mock import Mock
from harness.recorder import load
from harness.replaying import Player, loaded
from harness.tape import read
from harness.world import World
from tests.clients.cells import found
from tests.clients.environments import prepared
from tests.unit.live import over_tls, serving

KEY = "sk-any-language-0123456789"
TOLD = ["Once ", "upon ", "a ", "time."]

PYTHON = """
import json, openai
client = openai.OpenAI(max_retries=0)
first = client.responses.create(model="gpt-4.1", input="Tell me a story.")
with client.responses.stream(model="gpt-4.1", input="Go on.", previous_response_id=first.id) as stream:
    deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
try:
    client.responses.create(model="gpt-4.1", input=3)
except openai.BadRequestError as refused:
    print(json.dumps([first.output_text, deltas, refused.message]))
"""
NODE = """
import OpenAI from 'openai';
const client = new OpenAI({maxRetries: 0});
const first = await client.responses.create({model: 'gpt-4.1', input: 'Tell me a story.'});
const asked = {model: 'gpt-4.1', input: 'Go on.', previous_response_id: first.id, stream: true};
const deltas = [];
for await (const event of await client.responses.create(asked)) {
  if (event.type === 'response.output_text.delta') deltas.push(event.delta);
}
try {
  await client.responses.create({model: 'gpt-4.1', input: 3});
} catch (refused) {
  console.log(JSON.stringify([first.output_text, deltas, refused.message]));
}
"""
CURL = """
ask() {
  curl -sN "$OPENAI_BASE_URL/responses" -H "Authorization: Bearer $OPENAI_API_KEY" \\
    -H "Content-Type: application/json" -d "$1"
}
id=$(ask '{"model": "gpt-4.1", "input": "Tell me a story."}' | sed 's/.*"id":"\\(resp_[0-9a-z]*\\)".*/\\1/')
ask "{\\"model\\": \\"gpt-4.1\\", \\"input\\": \\"Go on.\\", \\"previous_response_id\\": \\"$id\\", \\"stream\\": true}"
ask '{"model": "gpt-4.1", "input": 3}'
"""


def python(folder: Path) -> list[str]:
    return [sys.executable, "-c", PYTHON]


def node(folder: Path) -> list[str]:
    """Node with `openai` from npm, in the environment of the suite that runs it."""
    (suite,) = found(["node_openai"])
    try:
        made = prepared(suite.environments[0])
    except ConfigError as problem:
        pytest.skip(f"npm packages cannot be installed: {problem}")
    (folder / "node_modules").symlink_to(made / "node_modules")
    (folder / "story.mjs").write_text(NODE)
    return [str(made / "bin" / "node"), str(folder / "story.mjs")]


def curl(folder: Path) -> list[str]:
    if not shutil.which("curl"):
        pytest.skip("no curl")
    return ["sh", "-c", CURL]


CLIENTS = [python, node, curl]
Command = Callable[[Path], list[str]]


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Mock]]:
    """The live API: the mock of another seed, over TLS with a certificate of its own."""
    played = Mock()
    with over_tls(played, tmp_path_factory) as origin:
        yield f"{origin}/v1", played


@pytest.fixture
def world(live: tuple[str, Mock], mock: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = live[1].open(KEY, "another seed")
    made.script(message("A story?"), pause(message(TOLD), after=4, seconds=0.1))
    yield made
    live[1].close(KEY)


def record(upstream: str, file: Path, command: Sequence[str]) -> None:
    """Record a command, each request judged before it is sent and each answer by the mock's."""
    result = CliRunner().invoke(
        app, ["record", "--upstream", upstream, "--into", str(file), "--strict", "--", *command]
    )
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_of_any_language_is_recorded_and_played_to(client: Command, live, world, tmp_path, capfd, monkeypatch):
    command, file = client(tmp_path), tmp_path / "story.yaml"
    record(live[0], file, command)
    heard = capfd.readouterr().out
    assert "Invalid type for 'input'" in heard

    whole, streamed, refused = load(file).takes
    assert [take.status for take in (whole, streamed, refused)] == [200, 200, 400]
    assert len(streamed.chunks) == streamed.answer.count(b"event: ") >= 10
    assert KEY not in file.read_text()
    assert [found.status for found in read(file)] == [200, 200, 400]

    player = Player(loaded(file))
    with serving(player) as origin:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{origin}/v1")
        subprocess.run(command, check=True, timeout=60)
    again = capfd.readouterr().out
    assert player.misses == []
    assert texts(again) == texts(heard)


def texts(heard: str) -> list[Any]:
    """What a client has printed, without ids, which a cassette renames."""
    lines = [
        line.partition("data: ")[2] or line for line in heard.splitlines() if line.strip() and "event: " not in line
    ]
    return [_plain(json.loads(line)) if line[:1] in "[{" else line for line in lines]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _plain(inner)
            for name, inner in value.items()
            if name not in ("id", "item_id", "previous_response_id")
        }
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
