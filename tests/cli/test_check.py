"""`responses-harness check` finds scripts that cannot be used and recordings that hold secrets."""

from pathlib import Path

import pytest

from harness.cli.check import _is_recording
from tests.support.command_line import run_cli
from tests.support.cpu_time import cpu_time

ROOT = Path(__file__).parents[2]
KEY = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 3
TENFOLD = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10 if n else 'x' * 10)}]\n" for n in range(10))
CASSETTE = """interactions:
- request: {method: POST, uri: https://api.openai.com/v1/responses, body: '{"input": "KEY"}', headers: {}}
  response: {status: {code: 200, message: OK}, headers: {}, body: {string: '{}'}}
version: 1
"""


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.yaml", "script:\n- mesage: hi\n", "a.yaml:2: no item 'mesage'. Did you mean 'message'?"),
        ("a.yaml", TENFOLD, "a.yaml:5: its aliases expand to more than 100,000 values"),
        ("a.py", "script = []\n", "is empty"),
        ("a.txt", "hello", "not a script"),
        ("tape.yaml", CASSETTE.replace("KEY", KEY), "tape.yaml: interactions[0].request.body: a secret"),
        ("tape.jsonl", f'{{"a": 1}}\n{{"request": {{"input": "{KEY}"}}}}\n', "tape.jsonl:2: "),
        ("tape.har", f'{{"log": {{"entries": [{{"text": "{KEY}"}}]}}}}', "tape.har: "),
    ],
)
def test_what_is_wrong_is_found(tmp_path: Path, name: str, text: str, told: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    done = run_cli("check", file)
    assert done.exit_code == 1
    assert told in done.stdout
    assert KEY not in done.stdout


def test_each_place_is_named_once(tmp_path: Path) -> None:
    file = tmp_path / "tape.yaml"
    file.write_text(f"{CASSETTE.replace('KEY', KEY)}# {KEY[:-1]}9\n", encoding="utf-8")
    told = run_cli("check", file).stdout.splitlines()
    assert [line.removeprefix(f"{file}: ").partition(": ")[0] for line in told] == [
        "line 5",
        "interactions[0].request.body",
    ]


HEX_KEY = "83f2c50ebc7d0e1a2b3c4d5e6f708192"
HAR_HEADERS = '{"log": {"entries": [{"request": {"headers": [{"name": "Api-Key", "value": "KEY"}]}}]}}'


@pytest.mark.parametrize("header", ["api-key", "Authorization", "x-api-key", "cookie"])
def test_a_key_without_a_form_of_its_own_is_found_in_its_header(tmp_path: Path, header: str) -> None:
    tape, har = tmp_path / "tape.yaml", tmp_path / "tape.har"
    tape.write_text(
        CASSETTE.replace("headers: {}}\n  r", f"headers: {{{header}: [{HEX_KEY}]}}}}\n  r"), encoding="utf-8"
    )
    har.write_text(HAR_HEADERS.replace("KEY", HEX_KEY), encoding="utf-8")
    done = run_cli("check", tape, har)
    assert done.exit_code == 1
    assert f"tape.yaml: interactions[0].request.headers.{header}[0]: a secret" in done.stdout
    assert "tape.har: log.entries[0].request.headers[0].value: a secret" in done.stdout
    assert HEX_KEY not in done.stdout


@pytest.mark.parametrize(
    "recording",
    [
        '{"Entries": [{"RequestUri": "https://a.example/", "RequestMethod": "GET", "RequestHeaders": {"api-key": "KEY"}, '
        '"StatusCode": 200}]}',
        '[{"scope": "https://a.example", "method": "GET", "path": "/", "status": 200, "response": {}, '
        '"reqheaders": {"authorization": "Bearer KEY"}}]',
    ],
)
def test_what_other_tools_record_is_a_recording(tmp_path: Path, recording: str) -> None:
    tape = tmp_path / "tape.json"
    tape.write_text(recording.replace("KEY", HEX_KEY), encoding="utf-8")
    assert "a secret" in run_cli("check", tape).stdout
    tape.write_text(recording.replace("KEY", "REDACTED"), encoding="utf-8")
    assert (done := run_cli("check", tape)).exit_code == 0, done.stdout


def test_a_cookie_that_a_har_file_lists_is_found(tmp_path: Path) -> None:
    tape = tmp_path / "tape.har"
    tape.write_text(HAR_HEADERS.replace('"headers"', '"cookies"').replace("Api-Key", "sid").replace("KEY", HEX_KEY))
    done = run_cli("check", tape)
    assert (done.exit_code, "request.cookies[0].value: a secret" in done.stdout) == (1, True)


@pytest.mark.parametrize("mask", ["REDACTED", "DUMMY", "Bearer test-key", "**REDACTED**", "sk-anything", "[hidden]"])
def test_the_mask_of_a_header_is_no_secret(tmp_path: Path, mask: str) -> None:
    tape = tmp_path / "tape.har"
    tape.write_text(HAR_HEADERS.replace("KEY", mask), encoding="utf-8")
    assert run_cli("check", tape).exit_code == 0


def test_what_is_right_is_counted(tmp_path: Path) -> None:
    script, tape = tmp_path / "a.yaml", tmp_path / "tape.yaml"
    script.write_text("script:\n- message: hi\n", encoding="utf-8")
    tape.write_text(CASSETTE.replace("KEY", "Weather?"), encoding="utf-8")
    done = run_cli("check", script, tape, ROOT / "tests/cassettes/test_weather.yaml")
    assert (done.exit_code, done.stdout) == (0, "3 checked\n")


@pytest.mark.parametrize("blank", ["\t", "\n", "{ ", "log "])
def test_blanks_cost_linear_time(blank: str) -> None:
    with cpu_time() as spent:
        assert not _is_recording(blank * 20_000)
    assert spent.seconds < 0.5


@pytest.mark.parametrize("text", ["interactions:\n", '{"log": {}}', '{\n  "interactions" : []}', '  {"request": 1}'])
def test_a_recording_is_known_by_its_first_members(text: str) -> None:
    assert _is_recording(text)
