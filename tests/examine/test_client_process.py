"""Adapters that cannot be used: each is told apart, and no process of one outlives its examination."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from harness.core.errors import ConfigError
from harness.examine.adapters import command_for
from harness.examine.client_process import ClientProcess, Hung
from harness.examine.run_cases import examine, select_cases
from harness.examine.task import Task

CASE = select_cases("tools/one-call")
DECLARED = json.dumps({"client": "c", "features": ["tools"]})


def wrong(name):
    return command_for(f"tests.examine.wrong_adapters:{name}")


def cells_of(command, cases=CASE, jobs=1):
    return examine(command, cases, modes=lambda mode: mode.state == "replay", jobs=jobs).cells


def program(*lines):
    """Return a command that runs these lines of Python."""
    return [sys.executable, "-c", "\n".join(("import sys, time", *lines))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("no.such.module:Adapter", "No module named 'no'"),
        ("tests.examine.wrong_adapters:Absent", "has no attribute 'Absent'"),
        ("tests.examine.wrong_adapters:not_an_adapter", "is not a harness.examine.adapter.Adapter"),
        ("tests.examine.wrong_adapters:Misnamed", "'tool' is unknown. Did you mean 'tools'?"),
    ],
)
def test_an_adapter_that_cannot_be_used(target, says):
    with pytest.raises(ConfigError, match="writes no valid declaration") as told:
        examine(command_for(target), CASE)
    assert says in str(told.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Dying", "its process ended: exit code 7"),
        ("Raising", "LookupError: no such thing"),
        ("Rubbish", "Rubbish.run returned a str, not an Outcome"),
    ],
)
def test_an_adapter_that_dies_is_a_crash(name, says):
    cells = cells_of(wrong(name))
    assert {cell.verdict for cell in cells} == {"crash"}
    assert all(says in cell.reason for cell in cells)


@pytest.mark.slow
def test_one_that_hangs_is_ended():
    (case,) = CASE
    cells = cells_of(wrong("Stuck"), [replace(case, seconds=1)])
    assert {(cell.verdict, cell.reason) for cell in cells} == {("hang", "it took longer than 1 s")}


@pytest.mark.slow
@pytest.mark.parametrize("line", ["print('.', flush=True)", "print('.', end='', flush=True)"])
def test_one_that_prints_forever_is_ended(line):
    command = program(f"print({DECLARED!r}, flush=True)", f"while True: {line}")
    (case,) = CASE
    cells = cells_of(command, [replace(case, seconds=1)])
    assert {(cell.verdict, cell.reason) for cell in cells} == {("hang", "it took longer than 1 s")}


@pytest.mark.slow
def test_one_that_prints_without_measure_is_a_crash():
    command = program(f"print({DECLARED!r}, flush=True)", "while True: print('.' * 65536, end='')")
    assert {(cell.verdict, cell.reason) for cell in cells_of(command)} == {
        ("crash", "it printed more than 16,777,216 bytes")
    }


def test_one_that_takes_no_task_is_ended():
    client = ClientProcess(program(f"print({DECLARED!r}, flush=True)", "time.sleep(3600)"))
    with pytest.raises(Hung, match=r"it took longer than 0\.2 s"):
        client.do(Task(prompts=("a" * 1_000_000,)), 0.2)


def test_one_that_declares_nothing_is_ended():
    with pytest.raises(ConfigError, match=r"writes no valid declaration: it took longer than 0\.2 s"):
        ClientProcess(program("while True: print('.', flush=True)"), start_seconds=0.2)


@pytest.mark.slow
def test_the_error_of_a_client_that_asks_for_nothing_comes_first():
    cells = cells_of(wrong("Unable"))
    assert {cell.reason for cell in cells} == {'the task ended in an error: ImportError: "no module of this name"'}


@pytest.mark.slow
def test_what_it_prints_is_kept_and_does_no_harm():
    cells = cells_of(wrong("Talkative"))
    assert all("the user sees" in " ".join(cell.reasons) for cell in cells)


@pytest.mark.slow
def test_tasks_that_a_client_leaves_are_reported():
    told = [reason for cell in cells_of(wrong("Leaking")) for reason in cell.reasons]
    assert "1 asyncio tasks were left running\n  fix: Await or cancel what the client starts." in told


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ('{"outcome": 3}', "an outcome is an object, not int"),
        pytest.param('{"outcome": {"text": "a"}}', "an outcome has no member 'text'. Did you", marks=pytest.mark.slow),
        pytest.param('{"outcome": {"texts": "a"}}', "outcome.texts is of type str", marks=pytest.mark.slow),
        pytest.param('{"outcome": {"texts": [1]}}', "outcome.texts must hold strings", marks=pytest.mark.slow),
    ],
)
def test_rubbish_from_a_command_is_a_crash(answer, says):
    command = program(f"print({DECLARED!r}, flush=True)", f"for line in sys.stdin: print({answer!r}, flush=True)")
    assert all(cell.verdict == "crash" and says in cell.reason for cell in cells_of(command))


def test_lines_of_a_command_that_are_no_outcome_are_kept():
    answer = '{"outcome": {"texts": ["a"]}}'
    command = program(
        f"print({DECLARED!r}, flush=True)", f"for line in sys.stdin: print('hm'); print({answer!r}, flush=True)"
    )
    assert all(cell.printed == ("hm",) for cell in cells_of(command))


@pytest.mark.slow
def test_two_examinations_at_once_do_not_meet():
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: cells_of(command_for("openai")), range(2)))
    assert [{cell.verdict for cell in cells} for cells in both] == [{"pass"}, {"pass"}]
