"""Which cassettes count as evidence, and which do not."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.core.errors import HarnessError
from tools.rule_evidence import cassettes as evidence
from tools.rule_evidence.cassettes import EvidenceError

ERROR = {"message": "No.", "type": "invalid_request_error", "param": None, "code": None}


def exchange(status: Any = 400, *, error: Any = ERROR, **origin: Any) -> dict[str, Any]:
    members = {"level": "reported", "where": "https://example.org/1", "date": "2026-03-27", **origin}
    return {
        "origin": {name: value for name, value in members.items() if value is not None},
        "request": {
            "method": "POST",
            "uri": "https://api.openai.com/v1/responses?stream=true",
            "headers": {"Content-Type": ["application/json"]},
            "body": json.dumps({"model": "m"}, indent=2),
        },
        "response": {"status": {"code": status}, "headers": {}, "body": {"string": json.dumps({"error": error})}},
        "wire": {"request": "compact"},
    }


def before() -> dict[str, Any]:
    made = exchange(200, level="assumed", where="not published", date=None)
    made["response"]["body"]["string"] = '{"id":"resp_1"}'
    return made


def socket(*members: dict[str, Any], **origin: Any) -> dict[str, Any]:
    frames = [{"at": 0.5 * number, "from": by, "text": json.dumps(event)} for number, (by, event) in enumerate(members)]
    uri = "wss://api.openai.com/v1/responses"
    return {"origin": exchange(**origin)["origin"], "uri": uri, "headers": {}, "frames": frames}


def write(place: Path, *entries: Any, name: str = "call_needs_output", **more: Any) -> Path:
    file = place / "openai" / "rules" / f"{name}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {"version": 1, "harness": {"format": 1}, "interactions": list(entries), **more}
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return file


def test_a_cassette_is_read_with_its_origins(tmp_path: Path) -> None:
    file = write(tmp_path, before(), exchange(request="reconstructed", project="a/b", organization={"zdr": True}))
    cassette = evidence.load_rule_cassettes(tmp_path)["call_needs_output"]
    stored, refusal = cassette.interactions
    assert (cassette.rule, cassette.file) == ("call_needs_output", file)
    assert (stored.is_refusal, refusal.is_refusal) == (False, True)
    assert (refusal.interaction.method, refusal.interaction.headers) == ("POST", {"content-type": "application/json"})
    assert (refusal.interaction.uri, refusal.interaction.body) == (
        "https://api.openai.com/v1/responses?stream=true",
        b'{"model":"m"}',
    )
    assert (refusal.status, refusal.answer["error"]["message"]) == (400, "No.")
    assert refusal.origin == evidence.Origin(
        "reported", "https://example.org/1", "2026-03-27", "a/b", "reconstructed", organization={"zdr": True}
    )


@pytest.mark.parametrize(("left_out", "sent"), [("", b'{"model":"m"}'), ("wire", b'{\n  "model": "m"\n}')])
def test_a_body_without_a_spelling_is_sent_as_it_stands(tmp_path: Path, left_out: str, sent: bytes) -> None:
    made = {key: member for key, member in exchange().items() if key != left_out}
    assert evidence.read_rule_cassette(write(tmp_path, made)).interactions[0].interaction.body == sent


def test_a_websocket_is_read_as_what_was_sent_to_its_last_event(tmp_path: Path) -> None:
    event = {"type": "error", "status": 400, "error": ERROR}
    ended = {"type": "response.completed", "response": {"id": "r"}}
    begun, other = {"type": "response.create"}, {"type": "x"}
    held = [("client", begun), ("server", ended), ("client", other), ("server", event)]
    (one,) = evidence.read_rule_cassette(write(tmp_path, sockets=[socket(*held)])).interactions
    assert (one.is_refusal, one.status, one.answer) == (True, 400, {"error": ERROR})
    assert [(part.event, part.answer.status) for part in one.socket_exchanges] == [(begun, 200), (other, 400)]


def test_a_websocket_is_held_to_what_was_published_as_well(tmp_path: Path) -> None:
    event = {"type": "error", "status": 400, "error": {"message": "No."}}
    file = write(tmp_path, sockets=[socket(("client", {}), ("server", event))])
    with pytest.raises(EvidenceError, match=r"interaction 1: origin.published must list what the error holds: message"):
        evidence.read_rule_cassette(file)


@pytest.mark.parametrize(("written", "date"), [("2026", "2026"), ("2026-03", "2026-03"), ("2026-03-27", "2026-03-27")])
def test_a_date_may_be_written_without_quotes(tmp_path: Path, written: str, date: str) -> None:
    file = write(tmp_path, exchange(date="DATE"))
    file.write_text(file.read_text().replace("DATE", written))
    assert evidence.read_rule_cassette(file).interactions[0].origin.date == date


def test_a_member_that_was_not_published_is_not_in_the_error(tmp_path: Path) -> None:
    made = exchange(error={"type": "invalid_request_error"}, published=["status", "type"], begins="No")
    assert evidence.read_rule_cassette(write(tmp_path, made)).interactions[0].origin.begins == "No"


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({key: member for key, member in exchange().items() if key != "origin"}, "origin must have level and where"),
        (exchange(level="assumed"), "origin.level must be recorded or reported for a refusal"),
        (exchange(200), "assumed for what was stored before"),
        (exchange(date=None), "origin.date must say when"),
        (exchange(organization={"zrd": True}), "organization: there is no zrd"),
        (exchange(published=["status", "message"]), "must list what the error holds: message, type"),
        (exchange(error={"message": "No."}), "must list what the error holds: message"),
        (exchange(error={}), "must hold what was published"),
        (exchange(error="No."), "must hold what was published"),
        (exchange(error={"type": "x"}, published=["type"]), "begins must say how the message begins"),
        ("text", r"interactions\[1\]: expected an exchange"),
        (exchange(where=None), r"interactions\[1\].origin: without `where`; expected where an exchange is known from"),
        (exchange(where=" "), r"interactions\[1\].origin.where: expected an address"),
        (exchange(wheres="x"), r"interactions\[1\].origin: with `wheres`; expected"),
        (exchange(level="rumoured"), r"origin.level: expected recorded or reported"),
        (exchange(date="March"), r"origin.date: expected YYYY, YYYY-MM or YYYY-MM-DD"),
        (exchange(request="guessed"), r"origin.request: expected published, as it was sent, or reconstructed"),
        (exchange(organization=["zdr"]), r"origin.organization: expected what the account was"),
        (exchange(published="all"), r"origin.published: expected a list of what was published"),
        (exchange("Bad"), r"interactions\[1\].response.status.code: expected the status"),
    ],
)
def test_an_interaction_that_says_too_little_or_has_not_the_form_is_named(
    tmp_path: Path, entry: Any, problem: str
) -> None:
    file = write(tmp_path, before(), entry)
    with pytest.raises(EvidenceError, match=problem) as raised:
        evidence.load_rule_cassettes(tmp_path)
    assert str(raised.value).startswith(f"{file}: inter")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"a: [", "not YAML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"", "no recorded exchanges"),
        (b"- 1", "no recorded exchanges"),
        (b"interactions: []", "no header"),
        (b"version: 1\nharness: {format: 1}\ninteractions: []", "no interactions"),
        (b"interactions: {a: 1}", "no recorded exchanges"),
    ],
)
def test_a_file_that_is_no_cassette_is_named(tmp_path: Path, content: bytes, problem: str) -> None:
    file = write(tmp_path, exchange())
    file.write_bytes(content)
    with pytest.raises(HarnessError, match=problem) as raised:
        evidence.read_rule_cassette(file)
    assert str(file) in str(raised.value)


def test_the_last_interaction_is_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="last interaction must be a refusal"):
        evidence.read_rule_cassette(write(tmp_path, exchange(), before()))
