"""No option of a command is given in vain: a wrong one, or one without effect beside the others, is refused in words."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.command_line import run_cli
from tests.support.slow import slow_except_every

MISTAKES = [
    ("verify a.yaml --timeout 3", "--model, --key-env and --timeout need --server."),
    ("verify --server http://a/v1 --respell", "for recordings. Omit --respell."),
    ("check none.yaml", "none.yaml: cannot be read"),
    ("rules asistant_content", "responses-harness: no rule 'asistant_content'. Did you mean 'assistant_content'?"),
    ("rules --area pairng", "responses-harness: no area 'pairng'. Did you mean 'pairing'?"),
    ("rules --area zzz", "no area 'zzz'. The nearest of "),
    ("models gpt-5.5-pro --coverage", "--coverage covers all models"),
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
    ("examine", "pass one ADAPTER, or --command CMD."),
    ("examine openai --command x", "pass one ADAPTER, or --command CMD."),
    ("examine opnai", "no adapter 'opnai'. Did you mean 'openai'?"),
    ("examine openai --case answers/txt", "no case 'answers/txt'. Did you mean 'answers/text'?"),
    ("examine openai --cases answer/*", "no case 'answer/*'."),
    ("examine openai --case answers/text --cases tools/*", "use --cases or --case."),
    ("examine openai --modes stram", "no mode 'stram'. Did you mean 'stream'?"),
    ("examine openai --report a.txt", "--report a.txt: its suffix must be one of .json"),
    ("examine openai --baseline no.json", "no.json: cannot be read: No such file"),
    ("examine --command ./no-such-program", "cannot start './no-such-program'"),
    ('examine --command "\'"', '--command "\'": No closing quotation'),
    ("examine --merge", "pass the files"),
    ("examine --init a --jobs 3", "run it with the command that it prints. Omit --jobs."),
    ("examine openai --language js", "also pass --init DIR."),
    ("examine openai -v", "also pass --case ID."),
    ("examine openai --list", "combine it with --cases. Omit ADAPTER."),
    ("examine --merge a.json --baseline b.json", "combine it with --report. Omit --baseline."),
    ("serve --assistants soon", "soon"),
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
    ("serve --workers 2", "start several servers behind a proxy that hashes the key; docs/processes.md has recipes."),
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


@pytest.mark.parametrize(("line", "words"), slow_except_every(3, MISTAKES), ids=[line for line, _ in MISTAKES])
def test_a_wrong_command_line_does_nothing_and_says_why(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = run_cli(*shlex.split(line))
    assert (ended.exit_code, ended.stdout, list(tmp_path.iterdir())) == (2, "", []), ended.output
    assert words in " ".join(word for word in ended.stderr.split() if word != "│")
