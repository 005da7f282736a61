"""What every command prints: whole sentences in its help, the nearest name, nothing but text into a pipe, completion."""

import io
import json
import os
import re
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from harness.cli import app
from harness.cli.program import call_on_signals, make_console, print_page, print_rows
from harness.cli.serve_options import ServeOptions
from tests.support.command_line import Terminal, run_cli
from tests.support.processes import run as run_child
from tests.support.slow import slow_except_every

ROOT = Path(__file__).parents[2]
COMMANDS: dict[str, Any] = {
    name: command for name, command in vars(typer.main.get_command(app))["commands"].items() if not command.hidden
}
LISTS = [
    ["rules"],
    ["losses"],
    ["rules", "--coverage"],
    ["rules", "unknown_parameter"],
    ["losses", "text-altered"],
    ["models"],
    ["models", "gpt-5.4"],
    ["models", "--coverage"],
]
LISTS += [["cassettes", str(ROOT / "cassettes")], ["verify", str(ROOT / "tests/cassettes")], ["demo"]]


def say(*arguments: str, columns: int = 80) -> str:
    result = CliRunner(env={"COLUMNS": str(columns)}).invoke(app, arguments)
    assert result.exit_code in (0, 1, 2), result.exception
    return result.stdout + result.stderr


class TestHelp:
    @pytest.mark.parametrize("columns", [50, 80])
    def test_every_command_is_summed_up_in_a_whole_sentence(self, columns: int) -> None:
        said = " ".join(say("--help", columns=columns).partition("Commands:")[2].split())
        assert "..." not in said
        for name, command in COMMANDS.items():
            first = " ".join(command.help.split("\n\n")[0].split())
            assert f"{name} {re.split(r'(?<=[.?]) ', first)[0].removesuffix('.')}" in said

    @pytest.mark.parametrize("name", COMMANDS)
    def test_no_text_of_an_option_is_cut(self, name: str) -> None:
        said = say(name, "--help")
        assert max(map(len, said.splitlines())) <= 80
        for parameter in COMMANDS[name].params:
            assert "".join((parameter.help or "").split()) in "".join(said.split())

    def test_options_are_shown_by_group(self) -> None:
        said = say("serve", "--help")
        assert re.findall(r"^(\w.*):\n", said, re.M)[:-1] == ["Arguments", *ServeOptions.GROUPS]


@pytest.mark.parametrize(("before", "caught"), [(signal.SIG_DFL, [signal.SIGHUP]), (signal.SIG_IGN, [])])
def test_a_terminal_that_closes_is_a_signal_unless_it_is_ignored(before: signal.Handlers, caught: list[int]) -> None:
    heard = list[int]()
    outside = signal.signal(signal.SIGHUP, before)
    try:
        with call_on_signals(heard.append):
            signal.raise_signal(signal.SIGHUP)
        assert (heard, signal.getsignal(signal.SIGHUP)) == (caught, before)
    finally:
        signal.signal(signal.SIGHUP, outside)


class TestPipes:
    @pytest.mark.parametrize("arguments", slow_except_every(4, LISTS), ids=" ".join)
    def test_nothing_ends_in_blanks(self, arguments: list[str]) -> None:
        said = say(*arguments)
        assert len(said.splitlines()) > 3
        assert [line for line in said.splitlines() if line != line.rstrip()] == []

    def test_json_in_a_page_stays_in_one_piece(self, capsys: pytest.CaptureFixture[str]) -> None:
        example = json.dumps({"input": "long " * 4000})
        print_page("title", "doc", [("Refused", [example])])
        assert json.loads(capsys.readouterr().out.splitlines()[-1]) == json.loads(example)

    def test_json_stays_in_one_piece_on_a_terminal_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "40")
        monkeypatch.setattr(sys, "stdout", shown := Terminal())
        example = json.dumps({"input": "a b " * 40})
        print_page("title", "doc", [("Refused", [example, "words " * 20])])
        assert f"\n  {example}\n  words" in shown.getvalue()
        assert shown.getvalue().count("\n  words") > 1

    def test_a_long_row_stays_in_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        print_rows([{"id": "a", "summary": "word " * 900 + "end"}, {"id": "long-id", "summary": "b"}], as_json=False)
        header, first, second = capsys.readouterr().out.splitlines()
        assert (header, first[-3:], second) == ("id       summary", "end", "long-id  b")

    def test_stderr_is_a_pipe_of_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdout", Terminal())
        monkeypatch.setattr(sys, "stderr", piped := io.StringIO())
        make_console(stderr=True).print("x" * 500 + "  ")
        assert piped.getvalue() == "x" * 500 + "\n"


class TestCompletion:
    @pytest.mark.parametrize(
        ("typed", "completed"),
        [
            ("responses-harness rules call_n", ["call_needs_output"]),
            ("responses-harness rules --area pair", ["pairing"]),
            ("responses-harness models gpt-5.4-m", ["gpt-5.4-mini", "gpt-5.4-mini-2026-03-17"]),
            ("responses-harness losses text-", ["text-altered", "text-edited"]),
            ("responses-harness verify --resp", ["--respell"]),
            ("harness cass", ["cassettes"]),
        ],
    )
    def test_names_are_completed(self, typed: str, completed: list[str]) -> None:
        asked = {"_HARNESS_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        result = CliRunner(env=asked).invoke(app, [], prog_name="harness")
        assert result.stdout.split() == completed

    @pytest.mark.slow
    def test_the_script_of_the_shell_is_shown(self) -> None:
        command = f"{shlex.quote(sys.executable)} -m harness --show-completion; exit $?"
        said = run_child(["bash", "-c", command], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True).stdout
        assert "complete -o default -F _responses_harness_completion responses-harness" in said


MISTAKES = [
    ("verify a.yaml --timeout 3", "--model, --key-env and --timeout need --server."),
    ("verify", "pass recordings, or --server URL."),
    ("verify --jobs 0 .", "Invalid value for '--jobs': "),
    ("verify --json", "Option '--json' requires an argument."),
    ("verify --json --respell .", "--json needs a value, and --respell is an option."),
    ("verify --server http://a/v1 --respell", "for recordings. Omit --respell."),
    ("check none.yaml", "none.yaml: cannot be read"),
    ("rules asistant_content", "responses-harness: no rule 'asistant_content'. Did you mean 'assistant_content'?"),
    ("rules nosuch", "'. `responses-harness rules` lists them."),
    ("rules tool chioce", "no rule contains all of 'tool', 'chioce'. 'chioce' is in none. Did you mean 'choice'?"),
    ("rules duplicate_item body_unicode", "Each is in some rule; use fewer."),
    ("rules --area pairng", "responses-harness: no area 'pairng'. Did you mean 'pairing'?"),
    ("rules --area zzz", "no area 'zzz'. The nearest of "),
    ("models gpt-5.5-pro --coverage", "--coverage covers all models"),
    ("models gpt-5.4-mni", "no model 'gpt-5.4-mni'. Did you mean 'gpt-5.4-mini'?"),
    ("models --covrage", "--coverage"),
    ("losses nosuch", "no loss 'nosuch'. The nearest of "),
    ("losses text-alterd", "Did you mean 'text-altered'?"),
    (f"cassettes {ROOT}/tests/casettes", f"no such file or folder. Did you mean '{ROOT}/tests/cassettes'?"),
    (f"verify {ROOT}/README.m", f"no such file or folder. Did you mean '{ROOT}/README.md'?"),
    ("cassettes .", "no cassette found"),
    ("manual turn-are-left", "Did you mean 'turns-are-left'?"),
    ("drift nosuch", "nosuch: no such file or folder. Pass the path of a recording"),
    ("report nosuch.json", "nosuch.json: cannot be read: No such file or directory."),
    (
        "report merge",
        "responses-harness: merge: pass the files: responses-harness report merge A.json B.json -o C.json.",
    ),
    ("report merge -o c.json", "pass the files"),
    ("report a.json --html - --markdown -", "only one format can go to stdout: write the others to files."),
    ("report merge a.json --html -", "merge writes JSON there unless -o names a file; write the others to files."),
    ("view . --text --json", "--text and --json: pass one of them."),
    ("view . --case a", "--case selects a case for text, JSON or a test"),
    ("view . --against . --text --case a", "--against compares whole runs: omit --case"),
    ("view . --against . --fork 1", "--against compares whole runs: omit --case, --write-test and --fork"),
    ("view . --model a --write-test b.py", "--model changes what follows the requests that are kept: pass --fork N."),
    ("view . --with a==1", "--with changes what follows the requests that are kept: pass --fork N."),
    ("view . --fork 1", "--fork writes a test or runs one: also pass --write-test FILE, or --with a release."),
    ("view . --fork 1 --with a==1 --prompt b", "--prompt changes the test that is written: also pass --write-test"),
    ("view . --write-test t.txt", "--write-test t.txt: pytest reads files of Python. Pass a name like test_cases.py."),
    ("examine openai --write-test nosuch/t.py", "--write-test nosuch/t.py: no folder nosuch. Create it first."),
    ("examine --merge", "pass the files: responses-harness examine --merge A.json B.json --report C.html."),
    ("examine openai --cases a* --case answers/text", "use --cases or --case."),
    ("serve --open -- true", "--open shows a server; for a COMMAND, write a page: --report FILE.html."),
    ("examine openai --write-test t.txt", "--write-test t.txt: pytest reads files of Python."),
    ("examine", "pass one ADAPTER, or --command CMD."),
    ("examine openai --command x", "pass one ADAPTER, or --command CMD."),
    ("examine openai litellm", "pass one ADAPTER, or --command CMD."),
    ("examine opnai", "no adapter 'opnai'. Did you mean 'openai'?"),
    ("examine openai --case answers/txt", "no case 'answers/txt'. Did you mean 'answers/text'?"),
    ("examine openai --cases answer/*", "no case 'answer/*'."),
    ("examine openai --case answers/text --cases tools/*", "use --cases or --case."),
    ("examine openai --modes stram", "no mode 'stram'. Did you mean 'stream'?"),
    ("examine openai --report a.txt", "--report a.txt: its suffix must be one of .json"),
    ("examine openai --baseline no.json", "no.json: cannot be read: No such file"),
    ("examine --command ./no-such-program", "cannot start './no-such-program'"),
    ('examine --command "\'"', '--command "\'": No closing quotation'),
    ('examine --command " "', "--command is empty: pass the program"),
    ("examine --init . --language jvascript", "no language 'jvascript'."),
    ("examine openai --init .", "--init writes an adapter; run it with the command that it prints. Omit ADAPTER."),
    ("examine --merge", "pass the files"),
    ("examine --init a --jobs 3", "run it with the command that it prints. Omit --jobs."),
    ("examine openai --language js", "also pass --init DIR."),
    ("examine openai -v", "also pass --case ID."),
    ("examine openai --list", "combine it with --cases. Omit ADAPTER."),
    ("examine --merge a.json --baseline b.json", "combine it with --report. Omit --baseline."),
    ("serve --assistants soon", "soon"),
    ("serve --for claude -- true", "no coding agent 'claude'"),
    ("serve --as-of soon -- true", "--as-of: 'soon' is not a date; pass a day"),
    ("serve --dialect klingon", "klingon"),
    ("serve --paced", "--paced keeps the pace of recordings: also pass --replay DIR."),
    ("serve --replay . -- true", "Omit -- COMMAND"),
    ("serve --store-seconds 5", "--store-seconds applies only to a shared --store"),
    ("serve --metrics -- true", "--metrics is only for servers without a COMMAND"),
    ("serve --refusals unknown_paramter", "no rule and no area is called 'unknown_paramter'. Did you mean"),
    ("serve --refusals tools,toolz", "no rule and no area is called 'toolz'."),
    (
        "serve --client no-backoff,no-backof",
        "--client no-backof: pass strict, allow, or permitted mistakes. Did you mean",
    ),
    ("serve --unused allow", "pass one after --"),
    ("serve --", "no COMMAND after --."),
    ("record --", "no COMMAND after --."),
    ("serve --report report.html", "pass one after --"),
    ("serve --workers 2", "start several servers behind a proxy that hashes the key, such as nginx or HAProxy."),
    ("serve --losses maybe -- true", "losses 'maybe': use fail, allow, strict, or a comma-separated list of losses."),
    ("serve --report report.doc -- true", "its suffix must be one of"),
    ("serve --report no-such-folder/report.html -- true", "no folder no-such-folder"),
    ("serve --webhook localhost", "pass a URL like http://localhost:8000/hook"),
    ("serve --webhook http://localhost --webhook-secret s3cret", "a signing secret is whsec_"),
    ("serve --certificate absent.pem -- true", "--certificate absent.pem: cannot be read: No such file or directory."),
    (
        "serve --key sk-mine -- true",
        "--key sk-mine: this option is for the key of a --certificate FILE; pass API keys with",
    ),
    *(
        (
            f"serve --replay . {option}",
            f"it can only be combined with --host, --port, --paced and TLS. Omit {option.split()[0]}.",
        )
        for option in (
            *("--assistants gone", "--store-seconds 5", "--control-token x", "--keys sk-a", "--metrics"),
            *("--refusals allow", "--log text", "--script a.yaml"),
        )
    ),
]


@pytest.mark.parametrize(("line", "words"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_wrong_command_line_does_nothing_and_says_why(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    ended = run_cli(*shlex.split(line))
    assert (ended.exit_code, ended.stdout, list(tmp_path.iterdir())) == (2, "", []), ended.output
    assert len(ended.stderr) < 600
    said = " ".join(word for word in ended.stderr.split() if word != "│")
    assert words in said
    assert "Did you mean" not in said or "lists them" not in said
