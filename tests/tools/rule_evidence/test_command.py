"""`python -m tools.rule_evidence`: what the live API says to the rules' examples, and the evidence that stays."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

import harness.server.mock_api  # noqa: F401  (registers the rules)
from harness.cassettes.files import lock_cassette, read_cassette
from harness.cassettes.format.interaction import CassetteHeader
from harness.cassettes.recording.recorder import SecretFound
from harness.contract.rule import RULES
from harness.core.json_values import as_object
from harness.verify.examples import build_request
from tests.support.command_line import run_cli
from tests.support.servers.live_api import KEY, Change, Live, error, live
from tools.rule_evidence import __main__ as record_rules
from tools.rule_evidence import cassettes as evidence
from tools.rule_evidence import store
from tools.rule_evidence.cassettes import Origin, attach_origin
from tools.rule_evidence.outcome import ProbeFinding, build_interaction, judge_probe
from tools.rule_evidence.probes import Probe, probes_for_rules

BOGUS = {"seed": 1}


pytestmark = pytest.mark.usefixtures("live_key")


@pytest.fixture
def one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the area only this rule is recorded."""
    monkeypatch.setattr(record_rules, "_rules_in_areas", lambda areas: [RULES["unknown_parameter"]])


@pytest.fixture
def api() -> Iterator[tuple[str, Live]]:
    with live() as served:
        yield served


def record(url: str, into: Path, *more: str) -> Result:
    return CliRunner().invoke(record_rules.app, [*more, "--upstream", url, "--into", str(into)])


def seeded(body: Any) -> bool:
    return "seed" in as_object(body)


@pytest.mark.slow
def test_examples_that_the_api_answers_as_expected_confirm_their_rules(api: tuple[str, Live], tmp_path: Path) -> None:
    result = record(api[0], tmp_path, "shape", "state", "uploads", "access", "--yes")
    assert result.exit_code == 0, result.output
    assert re.search(r"all +(\d+) +\1 +- +- +-", result.stdout)
    assert "calls, at most about" in result.stderr


@pytest.mark.slow
def test_the_evidence_is_read_like_any_other(api: tuple[str, Live], tmp_path: Path) -> None:
    record(api[0], tmp_path, "shape", "state", "access", "--yes")
    held = evidence.load_rule_cassettes(tmp_path)
    assert {"unknown_parameter", "response_not_found", "auth_missing"} <= set(held)
    one = held["unknown_parameter"].interactions[0]
    assert (one.origin.level, one.origin.where, len(one.origin.date)) == ("recorded", api[0][:-3], 10)
    assert (one.interaction.uri, one.status, one.answer["error"]["message"]) == (
        "https://api.openai.com/v1/responses",
        400,
        "Unknown parameter: 'seed'.",
    )
    assert [interaction.origin.key for interaction in held["auth_missing"].interactions] == [""]
    accepted = evidence.read_interactions(tmp_path / "openai/accepts/unknown_parameter.yaml")
    assert [exchange.status for exchange in accepted] == [200]


@pytest.mark.slow
def test_no_key_and_no_id_of_the_account_is_written(api: tuple[str, Live], tmp_path: Path) -> None:
    record(api[0], tmp_path, "state", "--yes")
    text = "".join(file.read_text() for file in tmp_path.rglob("*.yaml"))
    assert f"Bearer {KEY}" in api[1].keys
    assert KEY not in text
    made = {path.split("/")[3] for _, path, _ in api[1].requests if re.match(r"/v1/conversations/conv_\w{20}", path)}
    assert made
    assert not any(id in text for id in made)


@pytest.mark.slow
def test_what_is_fresh_is_not_sent_again_but_reported(api: tuple[str, Live], tmp_path: Path) -> None:
    first = record(api[0], tmp_path, "state", "access", "--yes")
    sent = len(api[1].requests)
    again = record(api[0], tmp_path, "state", "access", "--yes")
    assert len(api[1].requests) == sent
    assert "asked recently, so not asked again" in again.stderr
    assert first.stdout.splitlines()[-1] == again.stdout.splitlines()[-1]
    record(api[0], tmp_path, "access", "--yes", "--fresh", "0")
    assert len(api[1].requests) == sent  # of today
    with live() as other:
        record(other[0], tmp_path, "access", "--yes")
        assert other[1].requests


@pytest.mark.usefixtures("one_rule")
def test_what_was_sent_longer_ago_makes_room(api: tuple[str, Live], tmp_path: Path) -> None:
    record(api[0], tmp_path, "shape", "--yes")
    file = tmp_path / "openai/rules/unknown_parameter.yaml"
    count = len(evidence.read_interactions(file))
    file.write_text(re.sub(r"date: '[\d-]+'", "date: '2020-01-01'", file.read_text()))
    record(api[0], tmp_path, "shape", "--yes")
    held = evidence.read_interactions(file)
    assert len(held) == count
    assert all(exchange.origin.date > "2025" for exchange in held)


HAND = """# kept by hand
version: 1
harness: {format: 1, evidence: reported}
interactions:
"""
ENTRY = """- origin: {level: reported, where: https://example.org/1, date: 2026-03-27}   # a note
  request: {method: POST, uri: https://api.openai.com/v1/responses, headers: {}, body: '{"seed": 2}'}
  response:
    status: {code: 400}
    body: {string: '{"error": {"message": "No.", "type": "t", "param": "x", "code": "y"}}'}
"""


@pytest.mark.slow
@pytest.mark.usefixtures("one_rule")
@pytest.mark.parametrize("indent", ["  ", ""])
def test_what_people_have_transcribed_stays(api: tuple[str, Live], tmp_path: Path, indent: str) -> None:
    file = tmp_path / "openai/rules/unknown_parameter.yaml"
    file.parent.mkdir(parents=True)
    written = "".join(f"{indent}{line}\n" for line in ENTRY.splitlines())
    file.write_text(HAND + written)
    for _ in range(2):
        record(api[0], tmp_path, "shape", "--yes")
    held = evidence.read_interactions(file)
    assert [exchange.origin.level for exchange in held].count("reported") == 1
    assert held[0].origin.where == "https://example.org/1"
    text = file.read_text()
    assert text.startswith("# kept by hand\nversion: 1\nharness:\n")
    assert f"interactions:\n{written}{indent}- origin:\n" in text
    assert read_cassette(file).header == CassetteHeader("", "openai", evidence="recorded", probe="unknown_parameter")


STRANGE = """{"version": 1, "harness": {"format": 1}, "interactions": [{"origin":
  {"level": "reported", "where": "https://example.org/1", "date": "2026", "published": ["message"]},
  "request": {"method": "POST", "uri": "https://a/v1"},
  "response": {"status": {"code": 400}, "body": {"string": "{\\"error\\": {\\"message\\": \\"No.\\"}}"}}}]}"""


def test_a_file_of_a_strange_layout_is_written_anew_with_all_that_it_says(tmp_path: Path) -> None:
    file = tmp_path / "openai/rules/unknown_parameter.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(STRANGE)
    store.store_runs(tmp_path, "openai", {probe(): run(REFUSED)})
    assert [interaction.origin.level for interaction in evidence.read_interactions(file)] == ["reported", "recorded"]
    assert file.read_text().startswith("version: 1\nharness:\n  dialect: openai\n")


def changed(change: Change, tmp_path: Path, area: str = "shape") -> Result:
    with live(change) as served:
        return record(served[0], tmp_path, area, "--yes")


@pytest.mark.usefixtures("one_rule")
def test_a_refusal_in_other_words_is_new_words(tmp_path: Path) -> None:
    other = error(400, "No 'seed' here.", "seed", "unknown_parameter")
    result = changed(lambda method, path, body: other if seeded(body) else None, tmp_path)
    assert result.exit_code == 1
    told = "new words  unknown_parameter: Unknown parameter: 'seed'.\n  message  \"Unknown parameter: 'seed'.\" → "
    assert f"{told}\"No 'seed' here.\"\n" in result.stdout
    assert evidence.load_rule_cassettes(tmp_path)["unknown_parameter"]


@pytest.mark.usefixtures("one_rule")
def test_what_the_api_accepts_contradicts_its_rule(tmp_path: Path) -> None:
    ok = (200, {}, {"id": "resp_1", "object": "response", "status": "completed", "output": []})
    result = changed(lambda method, path, body: ok if seeded(body) else None, tmp_path)
    assert result.exit_code == 1
    assert "contradicted  unknown_parameter: Unknown parameter: 'seed'.\n  it is taken" in result.stdout
    accepted = evidence.read_interactions(tmp_path / "openai/accepts/unknown_parameter.yaml")
    assert [orjson.loads(exchange.interaction.body).get("seed") for exchange in accepted] == [1, None]


@pytest.mark.usefixtures("one_rule")
def test_what_the_api_refuses_contradicts_an_example_that_passes(tmp_path: Path) -> None:
    no = error(400, "Unknown parameter: 'tools[0].function'.", "tools[0].function", "unknown_parameter")
    result = changed(lambda *request: no if isinstance(as_object(request[2]).get("tools"), list) else None, tmp_path)
    assert "contradicted  unknown_parameter: an example that it takes\n  it is refused" in result.stdout


@pytest.mark.slow
def test_another_rule_that_comes_first_contradicts(tmp_path: Path) -> None:
    no = error(400, "Unknown parameter: 'modell'.", "modell", "unknown_parameter")
    result = changed(lambda *request: no if as_object(request[2]).get("temperature") == 3 else None, tmp_path)
    assert "contradicted  number_above_maximum" in result.stdout
    assert "  it is refused by unknown_parameter" in result.stdout


@pytest.mark.usefixtures("one_rule")
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (error(403, "You are not allowed to."), "it depends on the account"),
        (error(400, "The requested model 'gpt-4.1-nano' does not exist.", "model", "model_not_found"), "account"),
        ((501, {}, {"error": {"message": "Not yet."}}), "501 Not yet."),
    ],
)
def test_what_lies_in_the_account_or_the_hour_is_unclear_and_not_kept(answer: Any, why: str, tmp_path: Path) -> None:
    result = changed(lambda method, path, body: answer if seeded(body) else None, tmp_path)
    assert result.exit_code == 0, result.output
    unclear = result.stdout.partition("unclear  unknown_parameter: Unknown parameter: 'seed'.")[2]
    assert why in unclear
    held = evidence.read_interactions(tmp_path / "openai/rules/unknown_parameter.yaml")
    assert not any(seeded(orjson.loads(exchange.interaction.body)) for exchange in held)


def test_an_example_whose_first_step_fails_is_unclear(tmp_path: Path) -> None:
    no = error(403, "Not for you.")
    result = changed(lambda method, path, body: no if path == "/v1/conversations" else None, tmp_path, "state")
    assert "what it needs could not be made: 403 Not for you." in result.stdout


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_it_has_and_goes_on_later(tmp_path: Path) -> None:
    stop = error(401, "Incorrect API key provided.")
    with live() as (url, behind):
        behind.change = lambda method, path, body: stop if len(behind.requests) == 20 else None
        first = record(url, tmp_path, "shape", "--yes")
        assert first.exit_code == 2
        assert "refuses the key: Incorrect API key provided." in first.stderr
        count = sum(len(evidence.read_interactions(file)) for file in tmp_path.rglob("*.yaml"))
        assert count >= 18
        again = record(url, tmp_path, "shape", "--yes")
        assert again.exit_code == 0
        # Each example once, the refused one again, and those that were not yet written when it stopped.
        assert len(behind.requests) == int(again.stdout.rpartition("all ")[2].split()[0]) + 1 + (19 - count), (
            again.stdout
        )


def test_nothing_is_sent_before_somebody_has_agreed(api: tuple[str, Live], tmp_path: Path) -> None:
    result = record(api[0], tmp_path, "access")
    assert result.exit_code == 2
    assert "there is no terminal to confirm this cost. Pass --yes." in result.stderr
    assert "3 calls, at most" in result.stderr
    assert (api[1].requests, list(tmp_path.iterdir())) == ([], [])


@pytest.mark.parametrize(("answer", "sent_any"), [("n\n", False), ("y\n", True)])
def test_a_person_is_prompted_whether_to_go_on(api, tmp_path, answer, sent_any):
    arguments = ["access", "--upstream", api[0], "--into", str(tmp_path)]
    result = CliRunner().invoke(record_rules.app, arguments, input=answer)
    assert "Continue?" in result.stderr
    assert bool(api[1].requests) is sent_any
    assert result.exit_code == (0 if sent_any else 2)


def test_every_area_has_a_name() -> None:
    assert record_rules._rules_in_areas(["all"]) == record_rules._rules_in_areas([]) == list(RULES.values())


def test_a_missing_key_and_an_unknown_area_are_mistakes(api, tmp_path, monkeypatch):
    assert "no area 'shapes'. Did you mean 'shape'?" in record(api[0], tmp_path, "shapes", "--yes").stderr
    monkeypatch.delenv("OPENAI_API_KEY")
    assert "set OPENAI_API_KEY, or name another variable" in record(api[0], tmp_path, "access", "--yes").stderr
    monkeypatch.setenv("MINE", KEY)
    assert record(api[0], tmp_path, "access", "--yes", "--key-env", "MINE").exit_code == 0


# What one run of a probe leaves behind.


def probe() -> Probe:
    return probes_for_rules([RULES["unknown_parameter"]])[0][0]


def run(answer: Any, status: int = 400, **members: Any) -> Any:
    origin = Origin("recorded", "https://api.openai.com", "2026-10-01")
    interaction = build_interaction(build_request(probe().case, ()), "https://api.openai.com")
    return [
        attach_origin(replace(interaction, status=status, chunks=((0.0, orjson.dumps(answer)),), **members), origin)
    ]


REFUSED = {"error": {"message": "Unknown parameter: 'seed'.", "type": "t", "param": "seed", "code": "c"}}


def test_a_secret_in_an_answer_is_not_written(tmp_path: Path) -> None:
    leak = {"error": {**REFUSED["error"], "note": "x" * 8}}
    with pytest.raises(SecretFound, match=r"not written, because an answer still holds what looks secret"):
        store.store_runs(tmp_path, "openai", {probe(): run(leak)}, ["x" * 8, "'seed'. xxxxxxxx"[:8]])
    assert not list(tmp_path.rglob("*.yaml"))


def test_two_recorders_of_one_rule_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "openai/rules/unknown_parameter.yaml"
    with lock_cassette(file), pytest.raises(Exception, match="another recorder is writing this cassette"):
        store.store_runs(tmp_path, "openai", {probe(): run(REFUSED)})
    assert not file.exists()


@pytest.mark.parametrize(
    ("answer", "status", "cut"),
    [({"title": "No."}, 400, False), (REFUSED, 500, False), ({}, 0, False), ({}, 200, True)],
)
def test_an_answer_that_proves_nothing_is_not_kept(tmp_path: Path, answer: Any, status: int, cut: bool) -> None:
    store.store_runs(tmp_path, "openai", {probe(): run(answer, status, cut=cut)})
    assert not list(tmp_path.rglob("*.yaml"))


def test_what_is_refused_no_longer_leaves_the_place_of_what_was_refused(tmp_path: Path) -> None:
    one, accepted = probe(), {"id": "resp_1", "object": "response", "output": []}
    for answer, status, folder in ((REFUSED, 400, "rules"), (accepted, 200, "accepts")):
        store.store_runs(tmp_path, "openai", {one: run(answer, status)})
        assert [file.parent.name for file in tmp_path.rglob("*.yaml")] == [folder]


def test_the_stream_of_an_example_is_preserved_as_it_came(api: tuple[str, Live], tmp_path: Path) -> None:
    record(api[0], tmp_path, "text", "--yes")
    held = evidence.read_interactions(tmp_path / "openai/accepts/stream_options_without_stream.yaml")
    assert held[0].answer[0]["type"] == "response.created"
    assert held[0].interaction.answer.startswith(b"event: response.created\ndata: {")
    assert held[0].interaction.is_stream


def finding(answer: Any, status: int) -> ProbeFinding:
    return judge_probe(probe(), run(answer, status)).finding


def test_a_changed_member_alone_is_new_words() -> None:
    same = {"message": "Unknown parameter: 'seed'.", "type": "invalid_request_error", "code": "unknown_parameter"}
    assert finding({"error": {**same, "param": "seed"}}, 400) == "confirmed"
    assert finding({"error": {**same, "param": None}}, 400) == "new words"
    assert finding({"error": "no object"}, 400) == "new words"


@pytest.mark.slow
def test_what_was_recorded_is_judged_without_a_finding(api: tuple[str, Live], tmp_path: Path) -> None:
    record(api[0], tmp_path, "transport", "parted_uploads", "--yes")
    result = run_cli("verify", tmp_path)
    assert result.exit_code == 0, result.output
    assert re.search(r"answers +[1-9]", result.output)
