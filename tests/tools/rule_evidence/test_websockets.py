"""`python -m tools.rule_evidence websocket`: examples asked over WebSockets, judged, and kept with all their frames."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import harness.server.mock_api  # noqa: F401  (registers the rules)
from harness.api.http.dialects import parse_upstream
from harness.cassettes.files import read_cassette
from harness.contract.rule import RULES, Case
from harness.core.exchange import Answer
from harness.live.paced import LiveApi, Sender, UpstreamError
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from tests.support.servers.live_api import KEY, Event, EventChange, Sockets, live_websocket
from tests.support.servers.live_server import over_tls
from tools.rule_evidence import cassettes as evidence
from tools.rule_evidence import store
from tools.rule_evidence.__main__ import app
from tools.rule_evidence.outcome import find_runs, judge_probe
from tools.rule_evidence.probes import Probe, probes_for_rules
from tools.rule_evidence.send import is_steered_later, send_probe


def record(url: str, into: Path, *more: str) -> Result:
    arguments = ["websocket", "--upstream", url, "--into", str(into), "--yes", *more]
    return CliRunner(env={"OPENAI_API_KEY": KEY}).invoke(app, arguments)


def of(id: str, number: int = 0) -> Probe:
    return probes_for_rules([RULES[id]])[0][number]


def sender(url: str, waits: list[float] | None = None, timeout: float = 10.0) -> Sender:
    return Sender(LiveApi(parse_upstream(url), KEY), timeout, sleep=(waits if waits is not None else []).append)


def code(event: Event) -> Any:
    return (event.get("error") or {}).get("code")


def other(status: int = 400, **error: Any) -> EventChange:
    """Every refusal is another one."""
    return lambda event: {**event, "status": status, "error": {**event["error"], **error}} if code(event) else event


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Sockets, Path, Result]]:
    """Every example asked of an API that answers as the mock does: where it was, what came, what is kept and was said."""
    into = tmp_path_factory.mktemp("cassettes")
    with live_websocket() as (url, api):
        yield url, api, into, record(url, into)


@pytest.mark.slow
def test_an_api_that_answers_as_expected_confirms_every_rule_over_one_connection_each(once: Any) -> None:
    _, api, _, result = once
    assert result.exit_code == 0, result.output
    (count,) = re.search(r"all +(\d+) +\1 +- +- +-", result.stdout).groups()
    probes, _ = probes_for_rules([rule for rule in RULES.values() if rule.area == "websocket"])
    assert api.opened == int(count) == len(probes)
    assert set(api.keys) == {f"Bearer {KEY}"}
    assert "left out: time has to pass" in result.stderr


@pytest.mark.slow
def test_what_was_sent_is_preserved_as_frames_with_its_origin(once: Any) -> None:
    url, _, into, _ = once
    held = evidence.load_rule_cassettes(into)
    assert {"event_type_missing", "stream_limit_reached", "steer_invalid_input", "generate_kind"} <= set(held)
    one = held["event_type_missing"].interactions[0]
    assert (one.origin.level, one.origin.where, one.status) == ("recorded", url[:-3], 400)
    assert one.interaction.uri == "wss://api.openai.com/v1/responses"
    assert [side for _, side, _ in one.interaction.frames] == ["client", "server"]
    accepted = evidence.read_interactions(into / "openai/accepts/generate_kind.yaml")
    assert [exchange.is_refusal for exchange in accepted] == [False, False]
    text = "".join(file.read_text() for file in into.rglob("*.yaml"))
    assert KEY not in text
    assert "Bearer" not in text
    header = read_cassette(into / "openai/rules/event_type_missing.yaml").header
    assert header
    assert (header.evidence, header.probe, header.dialect) == ("recorded", "event_type_missing", "openai")


@pytest.mark.slow
def test_what_was_sent_lately_is_not_sent_again_but_reported(once: Any) -> None:
    url, api, into, first = once
    sent = len(api.requests)
    again = record(url, into)
    assert (len(api.requests), first.stdout) == (sent, again.stdout)
    assert "asked recently, so not asked again" in again.stderr


def record_probe(probe: Probe, into: Path, change: EventChange | None = None) -> Path:
    """Return the file of what an API says to a probe now."""
    with live_websocket(change) as (url, _):
        store.store_runs(into, "openai", {probe: send_probe(probe, sender(url))}, [KEY])
    return into / f"openai/rules/{probe.rule.id}.yaml"


def test_what_was_sent_longer_ago_makes_room_and_what_people_wrote_stays(tmp_path: Path) -> None:
    probe = of("event_type_missing")
    file = record_probe(probe, tmp_path)
    recorded = file.read_text()
    mine = recorded.partition("sockets:\n")[2].replace("level: recorded", "level: reported   # by hand")
    file.write_text(re.sub(r"date: '[\d-]+'", "date: '2020-01-01'", recorded) + mine)
    text = record_probe(probe, tmp_path).read_text()
    assert [interaction.origin.level for interaction in evidence.read_interactions(file)] == ["reported", "recorded"]
    assert mine in text
    assert "2020" not in text


def test_an_example_that_begins_with_a_request_is_found_again(tmp_path: Path) -> None:
    alone, probe = of("steer_response_not_found"), of("steer_response_not_found", 1)
    for _ in range(2):
        record_probe(alone, tmp_path)
        run = evidence.read_interactions(record_probe(probe, tmp_path))
        assert [bool(exchange.interaction.frames) for exchange in run] == [False, True, True]
        assert (find_runs(alone, run), find_runs(probe, run)) == ([(1,)], [(0, 2)])


def test_other_words_are_new_words(tmp_path: Path) -> None:
    probe = of("event_type_missing")
    (one,) = evidence.read_interactions(record_probe(probe, tmp_path, other(message="Not so.")))
    outcome = judge_probe(probe, [one])
    assert outcome.finding == "new words"
    assert outcome.received == {**(outcome.expected or {}), "message": "Not so."}


DONE = {"type": "response.completed", "response": {"id": "resp_1", "object": "response", "output": []}}
REFUSAL = {"type": "invalid_request_error", "code": "x", "message": "No."}
NO_MODEL = {"message": "The requested model 'gpt-4.1-nano' does not exist.", "type": "invalid_request_error"}
NO_MODEL |= {"param": "model", "code": "model_not_found"}
LATE = {"type": "response.steer.failed", "error": {"code": "response_already_completed", "message": "Late."}}


def error(**members: Any) -> Event:
    return {"type": "error", "status": 400, "error": members}


@pytest.mark.parametrize(
    ("example", "change", "outcome"),
    [
        (("background_over_socket", 0), lambda event: DONE if code(event) else event, ("contradicted", "it is taken")),
        (
            ("stream_id_invalid", 1),
            lambda event: error(**REFUSAL) if event["type"] == "response.created" else None,
            ("contradicted", "it is refused"),
        ),
        (("background_over_socket", 0), lambda event: error(**NO_MODEL), ("unclear", "it depends on the account")),
        (
            ("steering_not_supported", 1),
            lambda event: LATE if event["type"].startswith("response.steer.") else event,
            ("unclear", "the response had ended before it could be steered"),
        ),
    ],
    ids=["accepted", "refused", "a model that the account has not", "steering that comes too late"],
)
def test_another_answer_contradicts_or_is_unclear(example: Any, change: EventChange, outcome: tuple[str, str]) -> None:
    with live_websocket(change) as (url, _):
        probe = of(*example)
        found = judge_probe(probe, send_probe(probe, sender(url)))
    assert found.finding == outcome[0]
    assert outcome[1] in found.why


def test_a_response_is_steered_while_it_runs() -> None:
    with live_websocket(lambda event: None if event["type"] == "response.completed" else event) as (url, _):
        run = send_probe(of("steer_invalid_input"), sender(url, timeout=2.0))
    assert [part.answer.status for part in run[-1].socket_exchanges] == [200, 400]


@pytest.mark.parametrize(
    ("bodies", "runs_on"),
    [
        ([{}, {"type": "response.steer", "previous_response_id": "{0.id}"}], True),
        ([{}, {"type": "response.steer", "previous_response_id": "resp_x"}], False),
        ([{}, {}, {"type": "response.steer", "previous_response_id": "{0.id}"}], False),
        ([{}, {"stream_id": "b"}, {"type": "response.steer", "previous_response_id": "{0.id}"}], True),
        ([{}], False),
    ],
)
def test_only_what_is_steered_later_is_not_waited_for(bodies: list[Event], runs_on: bool) -> None:
    assert is_steered_later([Case(body) for body in bodies], 0) is runs_on


# The pace, and what ends it.


JSON = {"content-type": "application/json"}


def test_a_limit_is_waited_for_and_leaves_no_frames() -> None:
    limited = {**error(code="rate_limit_exceeded", headers={"retry-after": "7"}), "status": 429}
    left, waits = [limited], list[float]()
    with live_websocket(lambda event: left.pop() if left else event) as (url, api):
        run = send_probe(of("event_type_missing"), sender(url, waits))
    assert (waits, len(api.requests), api.opened) == ([7.0], 2, 1)
    assert len(run[-1].interaction.frames) == 2


def test_an_upgrade_that_is_limited_is_requested_again() -> None:
    waits: list[float] = []
    with live_websocket(refused=[Answer(429, {}, {"retry-after": "3", **JSON})]) as (url, _):
        run = send_probe(of("event_type_missing"), sender(url, waits))
    assert (waits, run[-1].status) == ([3.0], 400)


def test_a_key_that_is_refused_ends_it() -> None:
    no = Answer(401, {"error": {"message": f"Incorrect API key provided: {KEY}."}}, JSON)
    with live_websocket(refused=[no]) as (url, _), pytest.raises(UpstreamError, match="refuses the key") as run:
        send_probe(of("event_type_missing"), sender(url))
    assert KEY not in str(run.value)


@pytest.mark.parametrize(
    ("behaviour", "cut", "why"),
    [
        (
            {"refused": [Answer(404, {"error": {"message": "Not here."}}, JSON)]},
            False,
            "no WebSocket could be opened: 404 Not here.",
        ),
        ({"closing": True}, True, "0 the connection is closed (ConnectionClosedError)"),
        pytest.param({"change": lambda event: None}, True, "0 no whole answer in time", marks=pytest.mark.slow),
    ],
    ids=["without WebSockets", "closes", "says nothing"],
)
def test_an_api_that_does_not_answer_leaves_it_unclear(behaviour: Any, cut: bool, why: str) -> None:
    with live_websocket(**behaviour) as (url, _):
        probe, asking = of("event_type_missing"), sender(url, timeout=1.0)
        asking.send("GET", "/v1/models", {}, None)
        run = send_probe(probe, asking)
    outcome = judge_probe(probe, run)
    assert (run[-1].interaction.cut, outcome.finding, outcome.why) == (cut, "unclear", why)


def test_nobody_there_ends_it() -> None:
    with live_websocket() as (url, _):
        pass
    with pytest.raises(UpstreamError, match=r"the connection is refused\. Is it running"):
        send_probe(of("event_type_missing"), sender(url))


def test_it_is_requested_over_tls(tmp_path_factory: pytest.TempPathFactory) -> None:
    with over_tls(MockApi(fallback=small_talk), tmp_path_factory) as origin:
        probe = of("generate_kind", 2)
        run = send_probe(probe, sender(f"{origin}/v1"))
    assert judge_probe(probe, run).finding == "confirmed"
