"""Everything that reads bytes of others, by name: a function that returns or raises the errors that it documents.

What the function gets is at most LARGEST bytes. Where a parser needs more than bytes, the first line is the rest: a content
type, a path.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from harness.analysis.surfaced import describe_difference
from harness.answers.encode import encode_events
from harness.answers.reader import StreamError
from harness.answers.recorded_stream import read_recorded
from harness.api.http import bodies
from harness.api.http.bodies import parse_body, parse_query
from harness.api.http.dialects import parse_api_path
from harness.api.http.multipart import parse_form
from harness.api.operations import find_operation
from harness.cassettes.format.serializer import dump_cassette, parse_cassette
from harness.cassettes.format.untrusted import UnreadableRecording
from harness.cassettes.scrubbing.mask_text import Masker, Unsearchable
from harness.core.errors import ConfigError, HarnessError, ScriptError
from harness.core.exchange import ReceivedRequest, Request
from harness.core.replies import ModelReplies
from harness.explain.refusal import describe_sent_part, resolve_path
from harness.items import function_call, message
from harness.overrides.project_file import read_overrides
from harness.report.formats.json_file import read_report
from harness.server.mock_api import API_ROOT, MockApi
from harness.server.websocket.session import SocketSession
from harness.unscripted.default_model import small_talk
from harness.verify.examples import EXAMPLE_HEADERS, EXAMPLE_KEY
from harness.verify.read_files import read_recording
from harness.world.mock import Mock
from harness.world.scripting.document import parse_sent_script, parse_yaml_turns
from harness.world.scripting.load import load_script_file
from harness.world.world import World
from tests.fuzz.parsers import seeds
from tests.fuzz.parsers.connection import feed_connection
from tools.aimock.script import import_fixtures

LARGEST = 64_000
"""Bytes that a parser reads in less than a second."""


@dataclass(frozen=True, slots=True)
class Parser:
    """A function from bytes, what it raises by contract, inputs that it takes, and what errors begin with."""

    parse: Callable[[bytes], object]
    seeds: Callable[[], Sequence[bytes]]
    raises: tuple[type[Exception], ...] = ()
    begins: str = ""
    """How the message of an error begins: with the place."""
    words: Sequence[bytes] = ()


def _body(raw: bytes) -> None:
    value, fault = parse_body(raw)
    assert fault is None or value is None
    orjson.dumps(value)


def _request(raw: bytes) -> None:
    """A body sent to the whole mock: the contract, the model and the stream read all of it."""
    answer = MockApi(fallback=small_talk).handle(
        ReceivedRequest("POST", f"{API_ROOT}/responses", EXAMPLE_HEADERS, raw=raw)
    )
    assert answer.status < 500, answer.body
    assert answer.status != 418 or b"raised" not in orjson.dumps(answer.body), answer.body


def _sse(raw: bytes) -> None:
    answer = bodies.decode_answer(raw, {"content-type": "text/event-stream"})
    if answer.events is not None:
        read_recorded(answer.events)


def _encodings(raw: bytes) -> None:
    coding, _, body = raw.partition(b"\n")
    headers = {"content-encoding": coding.decode("latin-1"), "transfer-encoding": coding.decode("latin-1")}
    bodies.decode_answer(body, headers)
    bodies.decode_request(body, headers)


def _cassette(raw: bytes) -> None:
    content = parse_cassette(raw.decode("utf-8", "replace"), "fuzz")
    if content.header:
        dump_cassette(content.header, content.interactions)


def _file(suffix: str) -> Callable[[bytes], None]:
    def read(raw: bytes) -> None:
        for recorded in read_recording(_write(f"fuzz{suffix}", raw)):
            orjson.dumps([recorded.request, recorded.answer, recorded.events])

    return read


def _form(raw: bytes) -> None:
    content_type, _, body = raw.partition(b"\n")
    orjson.dumps(parse_form(body, content_type.decode("latin-1")))


def _socket(raw: bytes) -> None:
    """Messages of a WebSocket, one a line."""
    session = MockApi(fallback=small_talk).open_session(
        ReceivedRequest("GET", f"{API_ROOT}/responses", EXAMPLE_HEADERS)
    )
    assert isinstance(session, SocketSession)
    for part in raw.split(b"\n")[:20]:
        encode_events(session.receive(part))


def _script(raw: bytes) -> None:
    load_script_file(_write("fuzz.yaml", raw))


def _turns(raw: bytes) -> None:
    """Turns in YAML, as the control plane takes them."""
    parse_yaml_turns(raw.decode("utf-8", "replace"))


def _contract(raw: bytes) -> None:
    read_overrides(_write("fuzz-contract.yaml", raw))


def _fixtures(raw: bytes) -> None:
    """Fixtures of aimock."""
    import_fixtures([_write("fuzz-fixtures.json", raw)])


def _sent_script(raw: bytes) -> None:
    value, _ = parse_body(raw)
    if isinstance(value, dict):
        parse_sent_script(value).apply(Mock(World("trial")))


def _surfaced(raw: bytes) -> None:
    """What a client shows, as the control plane takes it."""
    value, _ = parse_body(raw)
    describe_difference(value, _said())


@cache
def _said() -> ModelReplies:
    api = MockApi()
    mock = api.open(EXAMPLE_KEY)
    mock.script([message("Hello."), function_call("f", {"a": 1})])
    tools = [{"type": "function", "name": "f", "parameters": {}, "strict": False}]
    body = orjson.dumps({"model": "gpt-5", "input": "hi", "tools": tools})
    assert api.handle(ReceivedRequest("POST", f"{API_ROOT}/responses", EXAMPLE_HEADERS, raw=body)).status == 200
    return mock.replies


def _report(raw: bytes) -> None:
    read_report(_write("fuzz.json", raw))


def _path(raw: bytes) -> None:
    """A path in JSON, of an address, of a query; the JSON follows in the next line."""
    line, _, body = raw.partition(b"\n")
    text, (value, _) = line.decode("utf-8", "replace"), parse_body(body)
    resolve_path(value, text)
    describe_sent_part(Request("POST", "/responses", body=value), text, [text])
    find_operation("GET", parse_api_path(text).endpoint_path)
    parse_query(line)


def _masked(raw: bytes) -> None:
    Masker().mask_bytes(raw)


def _write(name: str, raw: bytes) -> Path:
    file = _folder() / name
    file.write_bytes(raw)
    return file


@cache
def _folder() -> Path:
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="fuzz", dir=shared if shared.is_dir() else None))


def _recordings(suffix: str) -> Parser:
    made = {".yaml": seeds.cassettes, ".har": seeds.archives, ".jsonl": seeds.lines}[suffix]
    return Parser(_file(suffix), made, (UnreadableRecording,), str(_folder() / f"fuzz{suffix}"), seeds.MEMBERS)


@cache
def parsers() -> dict[str, Parser]:
    """Every parser by name."""
    return {
        "body": Parser(_body, seeds.bodies, words=seeds.JSON_WORDS),
        "request": Parser(_request, seeds.bodies, words=seeds.JSON_WORDS),
        "sse": Parser(_sse, seeds.streams, (StreamError,), "event ", seeds.STREAM_WORDS),
        "encodings": Parser(_encodings, seeds.encoded),
        "cassette": Parser(_cassette, seeds.cassettes, (UnreadableRecording,), "fuzz: ", seeds.MEMBERS),
        "recording": _recordings(".yaml"),
        "har": _recordings(".har"),
        "jsonl": _recordings(".jsonl"),
        "multipart": Parser(_form, seeds.forms, words=seeds.FORM_WORDS),
        "messages": Parser(_socket, seeds.messages, words=seeds.JSON_WORDS),
        "connection": Parser(feed_connection, seeds.connections, words=seeds.HTTP_WORDS),
        "script": Parser(_script, seeds.scripts, (ScriptError,), str(_folder() / "fuzz.yaml:"), seeds.SCRIPT_WORDS),
        "turns": Parser(_turns, seeds.scripts, (ScriptError,), "turns:", seeds.SCRIPT_WORDS),
        "contract": Parser(_contract, seeds.contracts, (ConfigError,), str(_folder() / "fuzz-contract.yaml:")),
        "fixtures": Parser(_fixtures, seeds.fixtures, (HarnessError,), words=seeds.JSON_WORDS),
        "sent-script": Parser(_sent_script, seeds.sent_scripts, (HarnessError,), words=seeds.JSON_WORDS),
        "surfaced": Parser(_surfaced, seeds.results, (ConfigError,), words=seeds.JSON_WORDS),
        "report": Parser(_report, seeds.reports, (ConfigError,), str(_folder() / "fuzz.json: ")),
        "path": Parser(_path, seeds.paths),
        "scrubbing": Parser(_masked, seeds.secrets, (Unsearchable,)),
    }


def named(names: Sequence[str]) -> dict[str, Parser]:
    """Return the parsers of these names, all without any; KeyError for an unknown one."""
    known: dict[str, Any] = parsers()
    return {name: known[name] for name in names or known}
