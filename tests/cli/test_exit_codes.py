"""The exit codes of every command, as the page "The command line" lists them."""

import errno
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from harness.cli import COMMANDS
from harness.cli.drift import confirm_cost
from harness.cli.program import ExitCode, exit_with_problem
from harness.live.paced import UpstreamError
from tests.support.checked import accept_everything
from tests.support.command_line import run_cli
from tests.support.processes import spawn
from tests.support.recordings import HI, recorded, write_jsonl

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
LISTED = {
    row[1]: [cell.strip() for cell in row[2].split("|")[1:3]]
    for row in re.finditer(r"^\| \[?`(\w+)`(?:\]\([\w/#.-]+\))? \|(.*\|.*\|.*)\|$", PAGE, re.M)
}
Prepare = Callable[[Path, pytest.MonkeyPatch], list[str]]


def broken(folder: Path, patch: pytest.MonkeyPatch) -> list[str]:
    (folder / "a.yaml").write_text("interactions:\n- request: {method: GET, uri: /v1/responses}\n")
    return ["cassettes", str(folder)]


def too_kind(folder: Path, patch: pytest.MonkeyPatch) -> list[str]:
    patch.setitem(sys.modules, "agents", None)
    accept_everything(patch)
    return ["demo"]


def without_sdk(folder: Path, patch: pytest.MonkeyPatch) -> list[str]:
    patch.setitem(sys.modules, "openai", None)
    return ["demo"]


def judging(folder: Path, patch: pytest.MonkeyPatch) -> list[str]:
    return ["verify", str(write_jsonl(folder, [{**recorded(HI)[0], "request": {**HI, "colour": "blue"}}]))]


def reporting(folder: Path, *more: str) -> list[str]:
    assert run_cli("verify", write_jsonl(folder, recorded(HI)), "--report", f"{folder}/o.json").exit_code == 0
    return ["report", str(folder / "o.json"), *more]


CASES: list[tuple[ExitCode, str, Prepare]] = [
    (ExitCode.OK, "rules", lambda *_: ["rules"]),
    (ExitCode.OK, "losses", lambda *_: ["losses"]),
    (ExitCode.OK, "models", lambda *_: ["models"]),
    (ExitCode.OK, "cassettes", lambda *_: ["cassettes", str(ROOT / "tests/cassettes")]),
    (ExitCode.OK, "verify", lambda folder, _: ["verify", str(write_jsonl(folder, recorded(HI)))]),
    (ExitCode.OK, "report", lambda folder, _: reporting(folder)),
    (ExitCode.OK, "check", lambda *_: ["check", str(ROOT / "tests/cassettes/test_weather.yaml")]),
    (ExitCode.FOUND, "check", lambda *_: ["check", str(ROOT / "LICENSE")]),
    (ExitCode.NOTHING_JUDGED, "check", lambda folder, _: ["check", str(folder / "none.yaml")]),
    (ExitCode.FOUND, "verify", judging),
    (ExitCode.FOUND, "report", lambda folder, _: reporting(folder, "--fail-under", "90")),
    (ExitCode.FOUND, "cassettes", broken),
    (ExitCode.FOUND, "demo", too_kind),
    (ExitCode.NOTHING_JUDGED, "serve", lambda *_: ["serve", "--script", "/nowhere.py"]),
    (
        ExitCode.NOTHING_JUDGED,
        "record",
        lambda folder, _: ["record", "--into", str(folder), "--", sys.executable, "-c", ""],
    ),
    (ExitCode.NOTHING_JUDGED, "rules", lambda *_: ["rules", "nosuch"]),
    (ExitCode.NOTHING_JUDGED, "losses", lambda *_: ["losses", "nosuch"]),
    (ExitCode.NOTHING_JUDGED, "models", lambda *_: ["models", "nosuch"]),
    (ExitCode.OK, "manual", lambda *_: ["manual"]),
    (ExitCode.NOTHING_JUDGED, "manual", lambda *_: ["manual", "nosuch"]),
    (ExitCode.NOTHING_JUDGED, "verify", lambda folder, _: ["verify", str(folder)]),
    (ExitCode.NOTHING_JUDGED, "report", lambda folder, _: ["report", str(folder / "none.json")]),
    (ExitCode.NOTHING_JUDGED, "drift", lambda folder, _: ["drift", str(folder)]),
    (ExitCode.NOTHING_JUDGED, "cassettes", lambda folder, _: ["cassettes", str(folder)]),
    (ExitCode.NOTHING_JUDGED, "demo", without_sdk),
]


@pytest.mark.parametrize(("code", "command", "prepare"), CASES, ids=[f"{code.name}-{name}" for code, name, _ in CASES])
def test_each_command_ends_as_the_page_says(
    code: ExitCode, command: str, prepare: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    arguments = prepare(tmp_path, monkeypatch)
    result = run_cli(*arguments)
    assert (arguments[0], result.exit_code) == (command, code), result.output
    if code is not ExitCode.OK:
        assert result.output
        assert LISTED[command][code - 1], f"docs/commands.md does not say when `{command}` ends with {code}"
    if code is ExitCode.NOTHING_JUDGED:
        assert result.stderr.startswith("responses-harness: ")


def test_the_page_lists_every_command_and_every_code() -> None:
    assert set(LISTED) == set(COMMANDS)
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.M)] == list(ExitCode)


@pytest.mark.parametrize("command", LISTED)
def test_an_unknown_option_is_a_mistake(command: str) -> None:
    result = run_cli(command, "--nosuch")
    assert (result.exit_code, "No such option: --nosuch" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("number", "ends"), [(errno.ENOSPC, typer.Exit), (errno.ENOENT, FileNotFoundError)], ids=["full disk", "another"]
)
def test_a_full_disk_is_no_crash(number: int, ends: type[Exception], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ends), exit_with_problem():
        raise OSError(number, os.strerror(number), "a.yaml")
    assert ("responses-harness: a.yaml: cannot be written: " in capsys.readouterr().err) is (ends is typer.Exit)


def test_who_declines_the_cost_has_asked_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.confirm", lambda *_, **__: False)
    sender = type("Sender", (), {"live": type("Live", (), {"upstream": type("Upstream", (), {"origin": "http://x"})})})
    with pytest.raises(UpstreamError, match="nothing was sent"):
        confirm_cost("1 call", sender, False)  # type: ignore[arg-type]


@pytest.mark.slow
def test_an_interrupted_command_says_so() -> None:
    code = "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code += "from harness.cli import app, main\n"
    code += "def wait(): print('waiting', flush=True); [time.sleep(0.1) for _ in range(600)]\n"
    code += "app.command('wait')(wait); sys.argv = ['harness', 'wait']; main()"
    with spawn([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}) as child:
        assert child.stdout
        assert child.stdout.readline() == "waiting\n"
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=20)
    assert child.returncode == ExitCode.INTERRUPTED
