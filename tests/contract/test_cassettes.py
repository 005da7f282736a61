"""The transcribed evidence: the mock answers each request in `cassettes/` as its source says the API did."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson
import pytest
import vcr.persisters.filesystem
import vcr.serializers.yamlserializer

from harness import evidence
from harness.cases import OK
from harness.evidence import Cassette, Interaction
from harness.exchange import Answer, Request
from harness.mock import ROOT, Mock
from harness.operation import find
from harness.organization import Organization, RateLimit
from harness.recall import remember
from harness.rule import RULES
from harness.world import World

CASSETTES = evidence.load()
KEY = "sk-evidence"


def sent(interaction: Interaction) -> bytes:
    """The body as it travels: a text is sent as it stands, anything else as JSON."""
    body = interaction.body
    return body.encode() if isinstance(body, str) else b"" if body is None else orjson.dumps(body)


def account(interaction: Interaction) -> Organization:
    said = dict(interaction.origin.organization)
    if "rate_limit" in said:
        said["rate_limit"] = RateLimit(**said["rate_limit"])
    return Organization(**{name: frozenset(one) if isinstance(one, list) else one for name, one in said.items()})


def ask(mock: Mock, world: World, interaction: Interaction) -> Answer:
    """What the mock says to a request, in the account and with the key that its origin names."""
    key = KEY if interaction.origin.key is None else interaction.origin.key
    headers = {**interaction.headers, **({"authorization": f"Bearer {key}"} if key else {})}
    world.account = account(interaction)
    return mock.handle(interaction.method, interaction.path, headers, interaction.query, sent(interaction))


def stored(world: World, interaction: Interaction) -> None:
    """Let a World remember what was stored before."""
    path = interaction.path.removeprefix(ROOT)
    operation, params, _ = find(interaction.method, path)
    assert operation, path
    request = Request(
        interaction.method, path, body=interaction.body, params=params, operation=operation.id, schema=operation.body
    )
    remember(world, request, interaction.answer)


def replay(cassette: Cassette) -> Iterator[tuple[Interaction, Answer]]:
    """Each refusal of a cassette and what a fresh World says to it, in order."""
    mock = Mock(keys=[KEY], fallback=lambda _: OK)
    world = mock.open(KEY)
    for interaction in cassette.interactions:
        if interaction.refused:
            yield interaction, ask(mock, world, interaction)
        else:
            stored(world, interaction)


@cache
def replayed(rule: str) -> list[tuple[Interaction, Answer]]:
    return list(replay(CASSETTES[rule]))


def differences(interaction: Interaction, answer: Answer) -> dict[str, Any]:
    """What the mock says otherwise than what was published of the error."""
    said = (answer.body.get("error") or {}) | {"status": answer.status}
    known = interaction.answer["error"] | ({"status": interaction.status} if published_status(interaction) else {})
    found = {name: said.get(name, "absent") for name, value in known.items() if said.get(name, "absent") != value}
    if not str(said.get("message")).startswith(interaction.origin.begins):
        found["message"] = said.get("message")
    return found


def published_status(interaction: Interaction) -> bool:
    return "status" in interaction.origin.published


REFUSALS = [
    pytest.param(cassette, number, id=f"{cassette.rule}-{number}")
    for cassette in CASSETTES.values()
    for number in range(1, 1 + sum(one.refused for one in cassette.interactions))
]


@pytest.mark.parametrize(("cassette", "number"), REFUSALS)
def test_a_published_refusal_is_repeated_word_for_word_by_its_own_rule(cassette: Cassette, number: int) -> None:
    interaction, answer = replayed(cassette.rule)[number - 1]
    assert differences(interaction, answer) == {}
    assert answer.rule == cassette.rule


def test_every_cassette_is_named_after_a_rule() -> None:
    assert CASSETTES
    assert evidence.orphans(RULES, CASSETTES) == []


def test_every_rule_with_a_dated_public_source_has_a_cassette() -> None:
    left = [gap.rule for gap in evidence.gaps(RULES, CASSETTES) if gap.reason == evidence.NOT_TRANSCRIBED]
    assert left == []


@pytest.mark.parametrize("cassette", CASSETTES.values(), ids=list(CASSETTES))
def test_vcrpy_reads_it(cassette: Cassette) -> None:
    requests, responses, *_ = vcr.persisters.filesystem.FilesystemPersister.load_cassette(
        cassette.file, vcr.serializers.yamlserializer
    )
    assert [one.path for one in requests] == [one.path for one in cassette.interactions]
    assert [one["status"]["code"] for one in responses] == [one.status for one in cassette.interactions]


@pytest.mark.parametrize("cassette", CASSETTES.values(), ids=list(CASSETTES))
def test_it_holds_no_key(cassette: Cassette) -> None:
    text = cassette.file.read_text(encoding="utf-8")
    assert "sk-" not in text
    assert "authorization" not in text.lower()
