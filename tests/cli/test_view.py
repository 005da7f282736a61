"""`responses-harness view`: what a run has left, as a page, as text, as JSON, as a test."""

import json
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from harness.items import file_citation, function_call, message
from harness.report.formats import write_report
from harness.report.report import RunFacts
from harness.viewer.build_run import assemble_run
from harness.viewer.page_data import AnsweredBy, Edge, ShownCase, ShownExchange, StreamEvent, Tried
from harness.viewer.pool import PoolReader
from harness.viewer.text import render_case, render_run
from harness.viewer.trace import SUFFIX, write_trace
from tests.support.command_line import run_cli
from tests.support.examined import cell, results, write_results
from tests.support.in_process import user
from tests.support.openai_only import run_as_user
from tests.support.pages import in_page
from tests.support.recordings import HI, error, exchange, recorded, write_jsonl
from tests.support.reports import FAILED, make_report, passed_with
from tests.support.shown import TOOL, Asked

FACTS = RunFacts("trace", "pytest tests", 1000.0, 2.5, "main@0123abcd", {"openai": "3.54.0"})


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def refused_case(name: str = "test_a.py::test_weather") -> ShownCase:
    """Return a test whose client left a call without an output."""
    asked = Asked()
    asked.mock.script([function_call("look", {}, call_id="call_1")], "Never.")
    call = asked.ask([user("Weather in Paris?")], tools=[TOOL])["output"][0]
    asked.ask([user("Weather in Paris?"), call, user("And?")], tools=[TOOL])
    case = asked.show()
    return replace(case, row=replace(case.row, id=name, name=name))


@pytest.fixture
def traces() -> Path:
    folder = Path("traces")
    write_trace(folder, FACTS, refused_case())
    write_trace(folder, FACTS, refused_case("test_a.py::test_again"))
    return folder


def page_of(*paths: object, code: int = 0) -> Path:
    ended = run_cli("view", *map(str, paths))
    assert ended.exit_code == code, ended.stderr
    return Path(ended.stdout.strip())


# A page


def test_traces_become_a_page_with_their_common_cause(traces: Path) -> None:
    run, cases = in_page(page_of(traces).read_text())
    assert (run.source, run.command, run.commit, run.counts) == (
        "trace",
        "pytest tests",
        "main@0123abcd",
        {"failed": 2},
    )
    [group] = run.causes
    assert [id for id, _ in group.cases] == ["test_a.py::test_again", "test_a.py::test_weather"]
    assert run.documented["call_needs_output"].fix
    assert [len(case.exchanges) for case in cases] == [2, 2]


def test_a_page_is_written_to_the_given_file_and_opened_on_demand(
    traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert page_of(traces, "--out", "a.html", "--open") == Path("a.html")
    assert opened == [Path("a.html").absolute().as_uri()]
    assert in_page(page_of("a.html").read_text())[0] == in_page(Path("a.html").read_text())[0]


def test_a_json_report_becomes_a_page() -> None:
    write_report(make_report(passed_with(), FAILED), Path("report.json"), ".json")
    run, _ = in_page(page_of("report.json").read_text())
    assert [(row.id, row.outcome) for row in run.cases] == [("test_a.py::test_it", "passed"), (FAILED.id, "failed")]


def test_results_of_an_examination_become_a_page() -> None:
    write_results(results(cell("tools/a", "fail", "plain,replay", "must", "No.")), Path("results.json"))
    run, _ = in_page(page_of("results.json").read_text())
    assert run.examination is not None
    assert [shown.reason for shown in run.examination.cells] == ["No."]


def test_recordings_become_a_page_that_judges_them() -> None:
    write_jsonl(Path("."), [*recorded(HI), exchange(2, HI, 400, error("Not on Sundays."))])
    run, [case] = in_page(page_of(".").read_text())
    assert run.source == "recordings"
    assert [cause.kind for cause in case.row.causes] == ["disagreement"]
    assert len(case.exchanges) == 2


def test_an_equal_message_that_a_request_adds_is_new_beside_the_one_that_it_repeats() -> None:
    said = [user("Go on."), {"role": "assistant", "content": "ok"}]
    recording = write_jsonl(Path(), recorded({**HI, "input": said[:1]}, {**HI, "input": [*said, user("Go on.")]}))
    _, (case,) = in_page(page_of(recording).read_text(encoding="utf-8"))
    transcript = PoolReader(case.pool).value(case.exchanges[1].transcript)
    assert [item["origin"] for item in transcript] == ["resent", "resent", "input"]


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (None, "no.html", "no.html: no such file or folder. Pass a trace"),
        ("<p>", "a.html", "a page without a run"),
        ('<script type="text/plain" id="run">cut</script>', "a.html", "a.html: cannot be read: this is not a Run"),
        ("{}", f"a{SUFFIX}", "this is not a Trace of the viewer"),
        ('{"facts": {}, "case": 1}', f"a{SUFFIX}", "Pass a trace"),
        ("text", "a.txt", "nothing to show"),
    ],
)
def test_what_cannot_be_shown_is_reported(content: str | None, name: str, words: str) -> None:
    if content is not None:
        Path(name).write_text(content)
    ended = run_cli("view", name)
    assert ended.exit_code == 2
    assert words in " ".join(ended.stderr.split())


# Text


def test_the_text_says_first_what_is_wrong(traces: Path) -> None:
    text = run_cli("view", str(traces), "--text").stdout
    lines = text.splitlines()
    assert lines[:2] == ["2 failed; 1 cause", "(pytest tests, main@0123abcd, 2.5 s)"]
    assert lines[3].startswith("1. Request 2 was refused (400): No tool output found for function call call_1.")
    assert "  fix     Answer every call of the turn before" in text
    assert "test_a.py::test_again, request 2" in text
    assert "refused input[1], from request 1: {" in text
    assert "(2 items as before)" in text
    assert 'no request took script: message "Never."' in text


def test_the_text_of_several_causes_names_all_of_them_first(traces: Path) -> None:
    asked = Asked()
    asked.ask(17)
    write_trace(traces, FACTS, asked.show())
    lines = run_cli("view", str(traces), "--text").stdout.splitlines()
    assert lines[0] == "3 failed; 2 causes"
    assert lines[2].startswith("  1. Request 2 was refused (400): No tool output found")
    assert lines[3].startswith("  2. Request 1 was refused (400): Invalid type for 'input'")


def test_the_text_keeps_to_its_budget(traces: Path) -> None:
    short = run_cli("view", str(traces), "--text", "--tokens", "150").stdout
    assert len(short) < 150 * 4 + 100
    assert short.startswith("2 failed; 1 cause")
    assert "… more with --tokens 600" in short


def test_the_text_of_one_case(traces: Path) -> None:
    text = run_cli("view", str(traces), "--text", "--case", "weather").stdout
    assert text.startswith("test_a.py::test_weather (failed, test_a.py:3, 2 requests)")
    ended = run_cli("view", str(traces), "--text", "--case", "test_")
    assert ended.exit_code == 2
    names = "test_a.py::test_again, test_a.py::test_weather"
    assert f"--case test_: 2 cases match: {names}. Pass the whole name of one." in ended.stderr


def test_the_text_of_an_exchange_says_how_it_went() -> None:
    times = [StreamEvent({}, at) for at in (2.0, 30.0, 31.0)]
    edge = Edge(arrived=0.4, cut="cut off after 3 events", measured=True)
    answered = AnsweredBy(2, "script", "a.py", 7)
    post = partial(ShownExchange, method="POST", path="/responses", operation="", dialect="openai", status=200)
    exchanges = [
        post(1, 0, gist="hi", said="ok", retry_of=3, edge=edge, events=times, answered_by=answered),
        post(2, 1, gist="hi", said="ok", tried=[Tried("when(model='o3')", "model is 'o4'"), Tried("script", "")]),
        post(3, 1, gist="hi", said="ok", edge=Edge(measured=True), events=[StreamEvent({}, 10.0)]),
    ]
    case = replace(refused_case(), lanes=["agent 1"], exchanges=exchanges, waiting=())
    text = render_case(assemble_run([case.row], FACTS), case, 1000)
    assert "  rule    call_needs_output: Every call" in text
    assert text.partition("\n\n  1  ")[2].split("\n\n") == [
        "+0 ms  agent 1  POST /responses\n      hi\n      → 200 ok\n      retry of request 3\n"
        "      3 events in 31 ms, the longest wait 28 ms before event 2\n      cut off after 3 events\n"
        "      by script, turn 2, a.py:7",
        "  2  POST /responses\n      hi\n      → 200 ok\n      not by when(model='o3'): model is 'o4'",
        "  3  POST /responses\n      hi\n      → 200 ok\n      1 event in 10 ms, the longest wait 10 ms before event 1",
    ]


def test_the_text_of_a_loss_shows_what_was_there_and_what_came_back() -> None:
    asked = Asked()
    asked.mock.script([message("Kühl.", annotations=[file_citation("file-guide", "guide.txt")])], "Yes.")
    asked.ask([user("Milk?")])
    part = {"type": "output_text", "text": "Kühl.", "annotations": []}
    asked.ask([user("Milk?"), {"role": "assistant", "content": [part]}, user("Sure?")])
    case = asked.show()
    text = render_run(assemble_run([case.row], FACTS), lambda id: case, 1000)
    edited, was = text.splitlines()[-2:]
    assert edited.startswith('      edited input[1], from request 1: {"role": "assistant", "content": [')
    assert '"text": "Kühl.", "annotations": []' in edited
    assert was.startswith('        was: {"id": "msg_')
    assert text.count("input[1], ") == 1


def test_json_has_the_run_and_its_cases(traces: Path) -> None:
    document = json.loads(run_cli("view", str(traces), "--json", "--case", "weather").stdout)
    assert [row["id"] for row in document["run"]["cases"]] == ["test_a.py::test_weather"]
    assert len(document["cases"]) == 1


# Two runs


def test_a_run_is_compared_with_an_earlier_one(traces: Path) -> None:
    later = Path("later")
    write_trace(later, FACTS, refused_case())
    asked = Asked()
    asked.ask(17)
    write_trace(later, FACTS, asked.show())
    lines = run_cli("view", str(later), "--against", str(traces), "--text").stdout.splitlines()
    assert lines[0] == "2 failed; 2 causes"
    assert lines[2].startswith("  1. new: Request 1 was refused (400): Invalid type for 'input'")
    assert lines[4:7] == [
        "against traces (main@0123abcd): 1 new cause, 0 gone; 1 failing and not in the earlier one; "
        "1 failed before and not in this one",
        "  failing and not in the earlier one: test_a.py::test_it",
        "  failed before and not in this one: test_a.py::test_again",
    ]


def test_two_releases_of_a_client_are_compared() -> None:
    for name, verdicts in (("old", ("pass", "fail")), ("new", ("fail", "pass"))):
        cells = [
            cell(f"tools/{id}", verdict, "plain", "must", "No.") for id, verdict in zip("ab", verdicts, strict=True)
        ]
        write_results(results(*cells, client=f"mine {name}"), Path(f"{name}.json"))
    run, _ = in_page(page_of("new.json", "--against", "old.json", code=1).read_text())
    assert run.comparison
    assert run.comparison.clients == [("mine old", "mine new")]
    assert (run.comparison.broken, run.comparison.mended) == (
        ["mine new tools/a [plain]"],
        ["mine new tools/b [plain]"],
    )


def test_an_examination_is_not_compared_with_tests(traces: Path) -> None:
    write_results(results(cell("tools/a")), Path("results.json"))
    ended = run_cli("view", str(traces), "--against", "results.json", "--text")
    assert (ended.exit_code, "Pass two of the same kind." in " ".join(ended.stderr.split())) == (2, True)


@pytest.mark.parametrize(
    ("now", "before", "code", "words"),
    [
        ("failed", "passed", 1, "worse: test_a.py::test_it (passed → failed); 1 exchange as before"),
        ("passed", "failed", 0, "better: test_a.py::test_it (failed → passed); 1 exchange as before"),
        ("failed", "failed", 0, "same: test_a.py::test_it (failed); 1 exchange as before"),
    ],
)
def test_a_run_that_is_worse_ends_with_1(now: str, before: str, code: int, words: str) -> None:
    for name, outcome in (("now", now), ("before", before)):
        asked = Asked()
        asked.mock.script("One.")
        asked.ask("hi")
        write_trace(Path(name), FACTS, asked.show(outcome))
    ended = run_cli("view", "now", "--against", "before", "--text")
    assert (ended.exit_code, words in ended.stdout) == (code, True)
    document = json.loads(run_cli("view", "now", "--against", "before", "--json").stdout)
    assert document["run"]["comparison"]["verdict"] == words.partition(":")[0]


def test_runs_without_a_common_case_are_not_compared(traces: Path) -> None:
    asked = Asked()
    asked.mock.script("One.")
    asked.ask("hi")
    write_trace(Path("other"), FACTS, asked.show("passed"))
    ended = run_cli("view", "other", "--against", str(traces), "--text")
    assert (ended.exit_code, "no case in common" in ended.stderr) == (2, True)


def test_the_text_names_what_differs_and_counts_what_is_new() -> None:
    for name, texts in (("now", ("a", "other", *"cdef")), ("before", ("a", "b"))):
        asked = Asked()
        asked.mock.script(*["One."] * len(texts))
        for text in texts:
            asked.ask(text)
        write_trace(Path(name), FACTS, asked.show("passed"))
    lines = run_cli("view", "now", "--against", "before", "--text").stdout.splitlines()
    at = lines.index("  same: test_a.py::test_it (passed); 1 exchange as before")
    assert lines[at + 1 : at + 3] == [
        "    request 2 of agent 1, changed: input was 'b', is 'other'",
        "    4 requests not there before",
    ]


# A test and its fork


def test_a_fork_is_written_with_its_changes(traces: Path) -> None:
    ended = run_cli(
        *("view", str(traces), "--case", "weather", "--fork", "1", "--model", "gpt-5.6-sol"),
        *("--prompt", "Or not?", "--write-test", "written.py"),
    )
    assert (ended.exit_code, ended.stdout) == (0, "written.py: test_a.py::test_weather\n"), ended.stderr
    text = Path("written.py").read_text()
    assert "# Forked after request 1: the model is gpt-5.6-sol, the user says 'Or not?'\n" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (["--tool-output", "x"], "write NAME=TEXT"),
        (["--tool-output", "x=1", "--tool-output", "x=2"], "--tool-output x comes twice"),
        (["--prompt", ""], "--prompt: it is empty"),
        (["--with", ""], "--with: it is empty"),
    ],
)
def test_a_change_that_would_change_nothing_is_refused(traces: Path, changes: list[str], words: str) -> None:
    wrong = run_cli("view", str(traces), "--case", "weather", "--fork", "1", *changes, "--write-test", "w.py")
    assert (wrong.exit_code, words in " ".join(wrong.stderr.split()), Path("w.py").exists()) == (2, True, False)


def test_a_cassette_is_forked() -> None:
    write_jsonl(Path("."), recorded(HI))
    ended = run_cli("view", ".", "--fork", "0", "--prompt", "Ho", "--write-test", "written.py")
    assert ended.exit_code == 0, ended.stderr
    assert 'input="Ho"' in Path("written.py").read_text()


AGENT = """
import importlib.metadata
import openai
from harness.items import function_call, message

TOOL = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


def test_it(mock):
    client = openai.OpenAI()
    mock.script(function_call("look", {}, call_id="call_1"), message("Sunny."))
    first = client.responses.create(model=MODEL, input="Weather?", tools=[TOOL])
    output = [{"type": "function_call_output", "call_id": "call_1", "output": "18"}]
    client.responses.create(model="gpt-4.1", input=output if IS_FIXED else "Well?", previous_response_id=first.id)
"""


@pytest.fixture
def agent(tmp_path: Path) -> Callable[..., None]:
    """Write the release of an agent, which its test reads from a folder of an environment."""

    def release(is_fixed: bool, model: str = "gpt-4.1") -> None:
        head = f"IS_FIXED = {is_fixed}\nMODEL = {model!r}\n"
        (tmp_path / "test_agent.py").write_text(head + AGENT)

    release(is_fixed=False)
    run_as_user(tmp_path, "")
    pytest_again = [sys.executable, "-m", "pytest", "-q", "test_agent.py", "--harness-trace=all"]
    subprocess.run([*pytest_again, "-p", "no:cacheprovider"], cwd=tmp_path, capture_output=True, timeout=60)
    return release


@pytest.mark.slow
def test_a_fork_to_a_release_ends_with_0_only_if_it_passes_and_keeps_what_came_before(
    agent: Callable[..., None],
) -> None:
    again = ("view", "harness-traces", "--fork", "1", "--with", sys.prefix)
    still = run_cli(*again)
    assert (still.exit_code, "same: test_agent.py::test_it (failed); 2 exchanges as before" in still.stdout) == (
        1,
        True,
    )
    agent(is_fixed=True)
    ended = run_cli(*again)
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    assert "better: test_agent.py::test_it (failed → passed); 1 exchange as before" in ended.stdout
    assert json.loads(run_cli(*again, "--json").stdout)["run"]["comparison"]["verdict"] == "better"
    agent(is_fixed=True, model="gpt-5.6-sol")
    ended = run_cli(*again)
    assert (ended.exit_code, "--fork 1: request 1 is kept, but changed. Pass --fork 0." in ended.stderr) == (1, True)


@pytest.mark.slow
def test_a_fork_that_is_written_runs_with_a_release(agent: Callable[..., None]) -> None:
    written = ("view", "harness-traces", "--fork", "1", "--write-test", "test_fork.py", "--with", sys.prefix)
    ended = run_cli(*written)
    assert (ended.exit_code, "same: test_fork.py::test_it (failed); 2 exchanges as before" in ended.stdout) == (1, True)


@pytest.mark.slow
def test_a_trace_becomes_a_test_that_fails_in_the_same_way(traces: Path, tmp_path: Path) -> None:
    ended = run_cli("view", str(traces), "--write-test", "written.py", "--case", "weather")
    assert ended.exit_code == 0, ended.stderr
    printed = run_as_user(tmp_path, Path("written.py").read_text())
    assert "Request 2 was refused (400): No tool output found for function call call_1." in printed
    assert "1 failed" in printed
