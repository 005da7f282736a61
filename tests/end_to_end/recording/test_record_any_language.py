"""Clients in any language, recorded by the base URL in their environment, over TLS; what was recorded answers them alike."""

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest

from harness.cassettes.files import read_cassette
from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.recording.recorder import open_recorder
from harness.cassettes.recording.replay import ReplayApp, load_recordings
from harness.cassettes.recording.vcr import use_cassette
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.core.errors import ConfigError
from harness.faults import pause
from harness.items import message
from harness.server.mock_api import MockApi
from harness.verify.read_files import read_recording
from harness.world.mock import Mock
from tests.clients.cells import found
from tests.clients.environments import prepared
from tests.servers.__main__ import started
from tests.servers.kinds import KINDS, Start
from tests.support.command_line import run_cli
from tests.support.processes import free_port, run
from tests.support.servers.live_server import behind_tls, over_tls, recorded, serving

pytestmark = pytest.mark.slow
KEY = "sk-any-language-0123456789"
TEXTS = ["Once ", "upon ", "a ", "time."]

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
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, MockApi]]:
    """The live API: the mock of another seed, over TLS with a certificate of its own."""
    played = MockApi()
    with over_tls(played, tmp_path_factory) as origin:
        yield f"{origin}/v1", played


@pytest.fixture
def world(live: tuple[str, MockApi], mock: Mock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mock]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    made = live[1].open(KEY, "another seed")
    made.script(message("A story?"), pause(message(TEXTS), after=4, seconds=0.1))
    yield made
    live[1].close(KEY)


def record(upstream: str, file: Path, command: Sequence[str]) -> None:
    """Record a command, each request judged before it is sent and each answer by the mock's."""
    result = run_cli("record", "--upstream", upstream, "--into", file, "--strict", "--", *command)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_of_any_language_is_recorded_and_played_to(client: Command, live, world, tmp_path, capfd, monkeypatch):
    command, file = client(tmp_path), tmp_path / "story.yaml"
    record(live[0], file, command)
    output = capfd.readouterr().out
    assert "Invalid type for 'input'" in output

    first, streamed, refused = read_cassette(file).interactions
    assert [interaction.status for interaction in (first, streamed, refused)] == [200, 200, 400]
    assert len(streamed.chunks) == streamed.answer.count(b"event: ") >= 10
    assert KEY not in file.read_text()
    assert [recorded.status for recorded in read_recording(file)] == [200, 200, 400]

    player = ReplayApp(load_recordings(file))
    with serving(player) as origin:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{origin}/v1")
        again = run(command, check=True).stdout
    assert player.misses == []
    assert texts(again) == texts(output)


def texts(output: str) -> list[Any]:
    """Return what a client has printed, without ids, which a cassette renames."""
    lines = [
        line.partition("data: ")[2] or line for line in output.splitlines() if line.strip() and "event: " not in line
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


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of somebody else that speaks the API, over TLS."""
    kind = KINDS["aimock"]
    try:
        made = prepared(kind.environment)
    except ConfigError as problem:
        pytest.skip(f"npm packages cannot be installed: {problem}")
    port = free_port()
    begin = Start(made, tmp_path_factory.mktemp("aimock"), port, "")
    with started(kind, begin), behind_tls(port, tmp_path_factory) as origin:
        yield f"{origin}/v1"


TOOLS = [
    {
        "type": "function",
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "strict": False,
    }
]
REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/responses", {"model": "gpt-4.1", "input": "What is the capital of France?"}),
    ("POST", "/responses", {"model": "gpt-4.1", "input": "weather in Paris", "stream": True, "tools": TOOLS}),
    ("POST", "/responses", {"model": "gpt-4.1", "input": "And now?", "stream": True}),
    ("POST", "/responses", "{broken"),
    ("GET", "/models", None),
    ("GET", "/nowhere", None),
]


def send_all(base_url: str) -> list[tuple[int, str, list[bytes]]]:
    """Send each of these; the status, type and body, in the pieces in which it came, of each answer."""
    got = []
    with httpx2.Client(timeout=20, headers={"authorization": f"Bearer {KEY}"}) as client:
        for method, path, body in REQUESTS:
            sent = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
            headers = {"content-type": "application/json"} if sent else {}
            with client.stream(method, f"{base_url}{path}", content=sent, headers=headers) as answer:
                got.append((answer.status_code, answer.headers.get("content-type", ""), [*answer.iter_raw()]))
    return got


def by_proxy(upstream: str, file: Path) -> list[Any]:
    with open_recorder(file, CassetteHeader(), secrets=[KEY]) as cassette, recorded(upstream, cassette) as front:
        got = send_all(f"{front.origin}{front.root}")
        front.interactions(len(REQUESTS))
    return got


def in_process(upstream: str, file: Path) -> list[Any]:
    with use_cassette(file, "all", secrets=[KEY]) as cassette:
        got = send_all(upstream)
    assert cassette.failures == []
    return got


def played_by_server(upstream: str, file: Path) -> list[Any]:
    with serving(ReplayApp(load_recordings(file))) as origin:
        return send_all(f"{origin}/v1")


def played_in_process(upstream: str, file: Path) -> list[Any]:
    with use_cassette(file):
        return send_all(upstream)


@pytest.mark.parametrize("play", [played_by_server, played_in_process])
@pytest.mark.parametrize("record", [by_proxy, in_process])
def test_a_foreign_server_over_tls_is_played_byte_for_byte(record, play, foreign, tmp_path):
    recorded = record(foreign, file := tmp_path / "it.yaml")
    assert [status for status, _, _ in recorded] == [200, 200, 200, 400, 200, 404]
    assert all(len(recorded[number][2]) > 1 for number in (1, 2))
    again = play(foreign, file)
    assert [(status, kind) for status, kind, _ in again] == [(status, kind) for status, kind, _ in recorded]
    assert [b"".join(pieces) for _, _, pieces in again] == [masked(*answer) for answer in recorded]
    if play is played_in_process:
        assert [[*map(len, pieces)] for _, _, pieces in again] == [[*map(len, pieces)] for _, _, pieces in recorded]


def masked(status: int, kind: str, pieces: Sequence[bytes]) -> bytes:
    """Return what an answer becomes in a cassette: ids are others, everything else is the same."""
    chunks = tuple((0.0, piece) for piece in pieces)
    interaction = Interaction("GET", "/", status=status, answer_headers={"content-type": kind}, chunks=chunks)
    return scrub_interactions([interaction])[0].answer
