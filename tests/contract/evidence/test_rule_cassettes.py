"""The transcribed evidence: the mock answers each request in `cassettes/` as its source says the API did."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import orjson
import pytest
import vcr
from vcr.record_mode import RecordMode

from harness.api.operations import find_operation
from harness.cassettes.files import read_cassette
from harness.cassettes.format.interaction import CLIENT
from harness.contract.rule import RULES
from harness.core.account import Organization, RateLimit
from harness.core.dates import CONTRACT_DATE
from harness.core.exchange import Answer, ReceivedRequest, Request
from harness.server.mock_api import API_ROOT, MockApi
from harness.server.websocket.session import SocketSession
from harness.verify.examples import OK_TURN
from harness.verify.remember import remember
from harness.world.world import World
from tests.support.slow import slow_except_every
from tools import rule_coverage as coverage
from tools.rule_evidence import cassettes as evidence
from tools.rule_evidence.cassettes import RuleCassette, SourcedInteraction
from tools.rule_evidence.store import build_header

CASSETTES = evidence.load_rule_cassettes()
OURS = Path(__file__).parents[2] / "cassettes"
FILES = [*sorted(evidence.CASSETTES.rglob("*.yaml")), *sorted(OURS.glob("*.yaml"))]
KEY = "sk-evidence"


def path(interaction: SourcedInteraction) -> str:
    return urlsplit(interaction.interaction.uri).path


def query(interaction: SourcedInteraction) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(interaction.interaction.uri).query, keep_blank_values=True))


def account(interaction: SourcedInteraction) -> Organization:
    settings = dict(interaction.origin.organization)
    if "rate_limit" in settings:
        settings["rate_limit"] = RateLimit(**settings["rate_limit"])
    sets = {name: frozenset(value) for name, value in settings.items() if isinstance(value, list)}
    return Organization(**{**settings, **sets})


def ask(mock: MockApi, world: World, interaction: SourcedInteraction) -> Answer:
    """Return what the mock says to a request, on the day, in the account and with the key that its origin names."""
    world.as_of = f"{interaction.origin.date}-01-01"[:10] if interaction.origin.date else CONTRACT_DATE
    key = KEY if interaction.origin.key is None else interaction.origin.key
    headers = {**interaction.interaction.headers, **({"authorization": f"Bearer {key}"} if key else {})}
    world.account = account(interaction)
    if interaction.interaction.frames:
        return last_answer(mock, world, interaction, headers)
    method, body = interaction.interaction.method, interaction.interaction.body
    return mock.handle(ReceivedRequest(method, path(interaction), headers, query(interaction), body))


def last_answer(mock: MockApi, world: World, interaction: SourcedInteraction, headers: dict[str, str]) -> Answer:
    """Return what the mock says to the last event of a WebSocket; the time between its frames passes in the World."""
    session = mock.open_session(ReceivedRequest("GET", path(interaction), headers, query(interaction)))
    assert isinstance(session, SocketSession)
    began = 0.0
    for time, side, text in interaction.interaction.frames:
        if side == CLIENT:
            world.skip(int(time - began))
            began = time
            session.receive(text)
    return world.exchanges[-1].answer


def stored(world: World, interaction: SourcedInteraction) -> None:
    """Let a MockApi remember what was stored before."""
    below = path(interaction).removeprefix(API_ROOT)
    operation, params, _ = find_operation(interaction.interaction.method, below)
    assert operation, below
    request = Request(
        interaction.interaction.method,
        path,
        body=orjson.loads(interaction.interaction.body or b"null"),
        params=params,
        operation=operation.id,
        schema=operation.body_schema,
    )
    remember(world, request, interaction.answer)


def replay(cassette: RuleCassette) -> Iterator[tuple[SourcedInteraction, Answer]]:
    """Each refusal of a cassette and what a fresh MockApi says to it, in order."""
    mock = MockApi(keys=[KEY], fallback=lambda _: OK_TURN)
    world = mock.open(KEY).world
    for interaction in cassette.interactions:
        if interaction.is_refusal:
            yield interaction, ask(mock, world, interaction)
        else:
            stored(world, interaction)


def differences(interaction: SourcedInteraction, answer: Answer) -> dict[str, Any]:
    """Return what the mock says otherwise than what was published of the error."""
    error = (answer.body.get("error") or {}) | {"status": answer.status}
    known = interaction.answer["error"] | ({"status": interaction.status} if published_status(interaction) else {})
    found = {name: error.get(name, "absent") for name, value in known.items() if error.get(name, "absent") != value}
    if not str(error.get("message")).startswith(interaction.origin.begins):
        found["message"] = error.get("message")
    return found


def published_status(interaction: SourcedInteraction) -> bool:
    return "status" in interaction.origin.published


@pytest.mark.parametrize("cassette", CASSETTES.values(), ids=CASSETTES)
def test_a_published_refusal_is_repeated_word_for_word_by_its_own_rule(cassette: RuleCassette) -> None:
    refused = list(replay(cassette))
    assert refused
    for interaction, answer in refused:
        assert differences(interaction, answer) == {}
        assert answer.rule == cassette.rule


def test_every_cassette_is_named_after_a_rule() -> None:
    assert CASSETTES
    assert coverage.find_orphans(RULES, CASSETTES) == []


def test_every_rule_with_a_dated_public_source_has_a_cassette() -> None:
    gaps = coverage.find_gaps(RULES, CASSETTES)
    assert [gap.rule for gap in gaps if gap.reason == coverage.NOT_TRANSCRIBED] == []


@pytest.mark.parametrize("file", slow_except_every(8, FILES), ids=lambda file: file.stem)
def test_plain_vcrpy_plays_it(file: Path) -> None:
    recorded = [interaction for interaction in read_cassette(file).interactions if not interaction.frames]
    use = vcr.VCR().use_cassette(str(file), record_mode=RecordMode.NONE)
    with use as played, httpx.Client(verify=False) as client:  # nothing is sent, and certificates take long to read
        for record in recorded:
            answer = client.request(record.method, record.uri, content=record.body, headers=record.headers)
            assert answer.status_code == record.status
            assert parsed(answer.content) == parsed(record.answer)
    assert played.play_count == len(recorded)


def parsed(body: bytes) -> Any:
    """Return the JSON of a body, else its bytes."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body


@pytest.mark.parametrize("cassette", slow_except_every(8, CASSETTES.values()), ids=list(CASSETTES))
def test_its_header_says_what_it_is_evidence_of(cassette: RuleCassette) -> None:
    interactions = [interaction.interaction for interaction in cassette.interactions]
    assert read_cassette(cassette.file).header == build_header(cassette.rule, interactions)


@pytest.mark.parametrize("cassette", slow_except_every(8, CASSETTES.values()), ids=list(CASSETTES))
def test_it_holds_no_key(cassette: RuleCassette) -> None:
    text = cassette.file.read_text(encoding="utf-8")
    assert "sk-" not in text
    assert "authorization" not in text.lower()
