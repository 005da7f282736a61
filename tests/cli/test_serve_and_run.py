"""`responses-harness serve -- COMMAND`: what the command is given, what is permitted, how the run ends."""

import ast
import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import serve_and_run
from harness.cli.serve_options import ServeOptions
from harness.core.limits import SERVER_THRESHOLDS
from harness.core.webhooks import DEFAULT_SECRET
from harness.report.formats import FORMATS
from harness.server.control_plane.access import control_access
from harness.server.mock_api import MockApi
from harness.viewer.trace import list_traces, read_trace
from tests.support.processes import run as run_child
from tests.support.processes import spawn
from tests.support.servers.served import ASK, environment, program, serve, spawned
from tests.support.slow import slow_except


class TestTheCommand:
    def test_reaches_the_mock_and_owns_stdout(self, script: str) -> None:
        saying = "ask(); print(ask()['output'][0]['content'][0]['text'], os.environ['HARNESS_CONTROL_TOKEN'])"
        ended = serve("--script", script, "--control-token", "a-long-token", *program(saying))
        assert (ended.returncode, ended.stdout) == (0, "Sure. a-long-token\n")
        assert ended.stderr == "responses-harness: 2 requests, nothing is wrong\n"

    def test_the_command_is_answered_by_a_function_over_and_over(self, tmp_path: Path) -> None:
        (file := tmp_path / "script.py").write_text(
            "script = [lambda request: request.body['input'], 'B']\nrepeat = True"
        )
        asking = "print(*[ask(input=text)['output'][0]['content'][0]['text'] for text in 'abc'])"
        ended = serve("--script", str(file), *program(asking))
        assert (ended.returncode, ended.stdout) == (0, "a B c\n")

    def test_the_command_finds_nothing_in_its_environment_that_leads_elsewhere(self) -> None:
        names = "OPENAI_ORG_ID", "AZURE_OPENAI_ENDPOINT", "NO_PROXY", "OPENAI_API_KEY", "HARNESS_URL"
        printing = f"ask(); print(*(os.environ.get(name) for name in {names}))"
        misleading = dict.fromkeys(("OPENAI_ORG_ID", "AZURE_OPENAI_ENDPOINT", "NO_PROXY", "no_proxy"), "elsewhere")
        given = serve(*program(printing), **misleading, OPENAI_BASE_URL="https://elsewhere.invalid/v1")
        *before, url = given.stdout.split()
        assert before == ["None", "None", "127.0.0.1,elsewhere", "sk-anything"]
        assert url.startswith("http://127.0.0.1:")

    def test_the_command_has_the_address_of_the_control_plane(self) -> None:
        asking = "ask(); print(urllib.request.urlopen(os.environ['HARNESS_URL'] + '/_harness/health').status)"
        assert serve(*program(asking)).stdout == "200\n"

    @pytest.mark.slow
    def test_the_command_reads_what_it_is_given(self) -> None:
        reading = ["--", sys.executable, "-c", f"{ASK}\nask(); print(input())"]
        with spawn(
            [sys.executable, "-m", "harness", "serve", *reading], env=environment(), stdin=subprocess.PIPE
        ) as it:
            assert it.communicate("a line\n", timeout=30)[0] == "a line\n"


class TestWhatIsPermitted:
    ASKING = "ask(temperature=7); ask()"

    def test_what_is_permitted_is_no_reason_for_a_verdict(self, script: str) -> None:
        ended = serve(
            "--script", script, "--unused", "allow", "--refusals", "number_above_maximum", *program(self.ASKING)
        )
        assert (ended.returncode, ended.stderr) == (0, "responses-harness: 2 requests, nothing is wrong\n")

    @pytest.mark.parametrize("suffix", ["yaml", "py"])
    def test_what_is_permitted_is_what_the_report_advises(self, suffix: str, tmp_path: Path) -> None:
        made = {"yaml": "script: [ {message: one}, {message: two} ]", "py": "script = ['one', 'two']"}
        (file := tmp_path / f"script.{suffix}").write_text(made[suffix])
        ended = serve("--script", str(file), *program(self.ASKING))
        assert "\n  expect  responses-harness serve --refusals number_above_maximum -- …\n" in ended.stderr
        ended = serve("--script", str(file), "--refusals", "allow", *program(self.ASKING))
        assert "\n  allow   responses-harness serve --unused allow -- …\n" in ended.stderr
        assert not [word for word in ("mock.refuses", "whole test", "/_harness/") if word in ended.stderr]

    def test_what_is_permitted_is_what_clients_do_unless_they_are_judged_strictly(self, script: str) -> None:
        twice = program("ask(); ask()")
        assert serve("--script", script, *twice).returncode == 0
        ended = serve("--script", script, "--client", "strict", *twice)
        assert ended.returncode == 1
        assert "Client duplicate-create: request 2 repeats request 1" in ended.stderr
        assert "\n  allow   responses-harness serve --client duplicate-create -- …\n" in ended.stderr
        assert serve("--script", script, "--client", "duplicate-create", *twice).returncode == 0

    def test_what_is_permitted_is_not_what_was_not_named(self, script: str) -> None:
        options = ("--script", script, "--unused", "allow", "--refusals", "unknown_parameter")
        ended = serve(*options, *program(self.ASKING))
        assert (ended.returncode, "number_above_maximum" in ended.stderr) == (1, True)


SURFACED = """
import json; base = os.environ['HARNESS_URL'] + '/_harness/surfaced'; ask()
head = {'authorization': f"Bearer {os.environ['OPENAI_API_KEY']}"}
urllib.request.urlopen(urllib.request.Request(base, json.dumps({'result': 'Sorry.'}).encode(), head))
"""
DOUBLED = """
say = lambda *said: ask(input=[{'role': role, 'content': text} for role, text in said])
text = say(('user', 'hi'))['output'][0]['content'][0]['text']
say(('user', 'hi'), ('assistant', text + text), ('user', 'Well?'))
"""
TWO_TURNS = ("--script", "SCRIPT")
KEYS = "[ask(key) for key in ('sk-a', 'sk-a', 'sk-b', 'sk-c', 'sk-c')]"


@pytest.mark.parametrize(
    ("options", "text", "code", "said"),
    [
        pytest.param((), "ask(); sys.exit(7)", 7, "1 request, the command ended with 7\n", id="the command's"),
        pytest.param(TWO_TURNS, "ask(); sys.exit(7)", 7, "sk-anything:\n\n1 turn", id="the command's before a verdict"),
        pytest.param(
            TWO_TURNS, "ask()", 1, "sk-anything:\n\n1 turn of the script was never used.\n", id="a turn is left"
        ),
        pytest.param(TWO_TURNS, KEYS, 1, "sk-b:\n", id="a turn of one key is left"),
        pytest.param((), SURFACED, 1, "The client does not show the answer of the model: text lost: ", id="not shown"),
        pytest.param(
            (), SURFACED, 1, "\n  allow   responses-harness serve --losses allow -- …\n", id="not shown: advice"
        ),
        pytest.param(("--losses", "allow"), SURFACED, 0, "1 request, nothing is wrong", id="not shown, permitted"),
        pytest.param((), DOUBLED, 1, "\n  allow   responses-harness serve --losses text-altered -- …\n", id="a loss"),
        pytest.param(("--losses", "text-altered"), DOUBLED, 0, "nothing is wrong", id="a loss that is named"),
        pytest.param(("--losses", "citation-dropped"), DOUBLED, 1, "text-altered", id="a loss, another is named"),
        pytest.param(("--losses", "strict"), DOUBLED, 1, "text-altered", id="a loss, judged strictly"),
        pytest.param(TWO_TURNS, "", 2, "the command sent no request", id="no request"),
        pytest.param(
            (),
            "ask(); ask(key='test')",
            1,
            "1 request came with an unknown key, the last one POST /responses: 401",
            id="an unknown key",
        ),
        pytest.param(("--scripted",), "assert ask() == 418", 1, "could not be answered", id="nothing is scripted"),
    ],
)
def test_the_exit_code_is_the_commands_else_1_for_a_verdict_or_2_for_silence(
    script: str, options: tuple[str, ...], text: str, code: int, said: str
) -> None:
    ended = serve(*(script if option == "SCRIPT" else option for option in options), *program(text))
    assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr
    assert "pytest" not in ended.stderr


def test_the_exit_code_is_that_of_a_shell_for_a_signal_and_for_what_cannot_be_run(tmp_path: Path) -> None:
    (plain := tmp_path / "plain").write_text("no program")
    assert serve("--", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    assert serve("--", str(plain)).returncode == 126
    missing = serve("--", "no-such-command")
    assert missing.returncode == 127
    assert missing.stderr == (
        "responses-harness: no-such-command: cannot be run: No such file or directory. Pass a command after --.\n"
    )


class TestADialect:
    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (
                ("--dialect", "foundry"),
                "AZURE_AI_PROJECT_ENDPOINT, FOUNDRY_PROJECT_ENDPOINT or PROJECT_ENDPOINT, or be passed its value. "
                "Azure's clients send no token over plain HTTP: serve with --tls.",
            ),
            (("--dialect", "foundry", "--tls"), "PROJECT_ENDPOINT, or be passed its value."),
            (
                ("--dialect", "azure"),
                "AZURE_OPENAI_ENDPOINT and AZURE_OPENAI_API_KEY, or be passed their values.",
            ),
            ((), "OPENAI_BASE_URL and OPENAI_API_KEY, or be passed their values."),
        ],
        ids=["foundry", "foundry over TLS", "azure", "openai"],
    )
    def test_a_dialect_says_what_its_clients_have_to_read(self, options: tuple[str, ...], told: str) -> None:
        ended = serve(*options, "--", "true")
        assert (ended.returncode, ended.stderr.endswith(f"{told}\n")) == (2, True), ended.stderr

    @pytest.mark.parametrize(
        ("dialect", "names"),
        [
            ("foundry", {"AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT", "PROJECT_ENDPOINT"}),
            ("azure", {"AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY", "OPENAI_API_VERSION"}),
        ],
    )
    def test_a_dialect_has_the_variables_of_its_clients(self, dialect: str, names: set[str]) -> None:
        ended = serve(
            "--dialect", dialect, *program("ask(url=os.environ['HARNESS_URL'] + '/v1'); print(dict(os.environ))")
        )
        told = ast.literal_eval(ended.stdout)
        root = told["HARNESS_URL"] + ("/api/projects/harness" if dialect == "foundry" else "")
        assert names <= told.keys()
        assert {told[name] for name in names if name.endswith("ENDPOINT")} == {root}
        assert told.get("OPENAI_BASE_URL") == (f"{root}/openai/v1" if dialect == "foundry" else None)


class TestASignal:
    @pytest.mark.slow
    @pytest.mark.parametrize("number", slow_except([0], [signal.SIGINT, signal.SIGTERM]))
    def test_reaches_the_command_and_what_it_started(self, number: int) -> None:
        catching = f"trap 'echo caught; exit 3' {number}; echo ready; while :; do sleep 0.05; done"
        with spawned("--", "sh", "-c", catching) as child:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
            child.send_signal(number)
            output, _ = child.communicate(timeout=30)
        assert (output, child.returncode) == ("caught\n", 3)

    @pytest.mark.slow
    def test_a_signal_is_not_needed_for_what_the_command_leaves_behind(self) -> None:
        with spawned("--", "sh", "-c", "sleep 60 & echo $!") as child:
            output, _ = child.communicate(timeout=30)  # the sleeper would keep stdout open
        with pytest.raises(ProcessLookupError):
            os.kill(int(output), 0)


class TestACodingAgent:
    CONFIG = "import os, pathlib; print(pathlib.Path(os.environ['CODEX_HOME'], 'config.toml').read_text()); ask()"

    def test_a_coding_agent_finds_its_configuration_in_a_home_of_its_own(self) -> None:
        ended = serve("--for", "codex", *program(self.CONFIG))
        assert ended.returncode == 0, ended.stderr
        assert 'wire_api = "responses"' in ended.stdout


class TestTheDay:
    ASK_OLD = "print(ask(model='codex-mini-latest', tools=[{'type': 'local_shell'}]))"

    def test_the_day_is_that_of_the_option(self) -> None:
        ended = serve("--as-of", "2026-04", *program(self.ASK_OLD))
        assert (ended.returncode, "'object': 'response'" in ended.stdout) == (0, True), ended.stderr

    def test_the_day_is_that_of_the_contract_without_it(self) -> None:
        assert serve(*program(self.ASK_OLD)).stdout == "400\n"


def test_garbage_is_collected_seldom_while_the_command_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object) -> int:
        seen.append((gc.get_threshold(), gc.get_freeze_count() > 0))
        return 0

    seen: list[object] = []
    before = gc.get_threshold()
    monkeypatch.setattr(serve_and_run, "run_command", look)
    serve_and_run.run_with_mock(ServeOptions(command=["true"]), MockApi(), control_access("127.0.0.1", "", []))
    assert seen == [(SERVER_THRESHOLDS, True)]
    assert gc.get_threshold() == before != SERVER_THRESHOLDS


@pytest.mark.slow
def test_a_webhook_receives_the_ends_of_the_commands_responses(tmp_path):
    told = run_child(
        [
            *(sys.executable, "-m", "harness", "serve", "--webhook", "http://127.0.0.1:9/hook"),
            *program(
                """
made = ask(background=True)
for _ in range(2):
    urllib.request.urlopen(urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/responses/" + made["id"],
        headers={"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )).read()
print(os.environ["OPENAI_WEBHOOK_SECRET"])
"""
            ),
        ],
        env={name: value for name, value in environment().items() if name != "OPENAI_WEBHOOK_SECRET"},
    )
    assert told.stdout.strip() == DEFAULT_SECRET
    assert told.returncode == 1
    assert "Webhook webhook-never-taken" in told.stderr
    assert "127.0.0.1:9 cannot be reached" in " ".join(told.stderr.split())
    assert '{"webhooks": {…, "allow": ["webhook-never-taken"]}} in the script' in told.stderr


class TestTheReport:
    def test_the_report_is_written_in_all_forms_with_a_case_for_each_world(self, script: str, tmp_path: Path) -> None:
        files = {suffix: tmp_path / f"report{suffix}" for suffix in FORMATS}
        ending = (
            "ask(model='gpt-5.9'); call = urllib.request.Request(os.environ['HARNESS_URL'] + '/_harness/world', "
            "method='DELETE', headers={'authorization': 'Bearer sk-ended'}); ask('sk-ended'); urllib.request.urlopen(call)"
        )
        options = [part for file in files.values() for part in ("--report", str(file))]
        assert serve("--script", script, *options, *program(ending)).returncode == 1
        made = json.loads(files[".json"].read_text())
        assert [(case["id"], case["outcome"], len(case["exchanges"])) for case in made["tests"]] == [
            ("sk-ended", "failed", 1),
            ("sk-anything", "failed", 1),
        ]
        assert all(file.stat().st_size > 200 for file in files.values())
        assert made["unknown_models"] == {"gpt-5.9": 1}

    def test_the_report_is_a_trace_for_a_world_with_a_verdict_on_demand(self, script: str, tmp_path: Path) -> None:
        asking = "ask('sk-one'); ask('sk-one'); ask('sk-two')"
        assert serve("--script", script, "--trace", str(tmp_path / "traces"), *program(asking)).returncode == 1
        [trace] = map(read_trace, list_traces([tmp_path / "traces"]))
        assert (trace.case.row.name, trace.case.row.outcome, len(trace.case.exchanges)) == ("sk-two", "failed", 1)
        assert [cause.kind for cause in trace.case.row.causes] == ["unused"]

    def test_the_report_has_a_failed_case_for_requests_with_an_unknown_key(self, tmp_path: Path) -> None:
        files = {suffix: tmp_path / f"report{suffix}" for suffix in (".json", ".xml", ".sarif", ".md")}
        options = [part for file in files.values() for part in ("--report", str(file))]
        assert serve(*options, *program("ask(); ask(key='test'); ask(key='test')")).returncode == 1
        passed, failed = json.loads(files[".json"].read_text())["tests"]
        assert (passed["id"], passed["outcome"]) == ("sk-anything", "passed")
        assert (failed["id"], failed["outcome"], len(failed["exchanges"])) == (
            "requests with an unknown key",
            "failed",
            2,
        )
        assert failed["why"].startswith("2 requests came with an unknown key, the last one POST /resp")
        assert 'failures="1"' in files[".xml"].read_text()
        assert all("Incorrect API key provided: test." in files[suffix].read_text() for suffix in (".sarif", ".md"))

    def test_the_report_says_what_is_permitted(self, script: str, tmp_path: Path) -> None:
        file = tmp_path / "report.json"
        serve("--script", script, "--unused", "allow", "--report", str(file), *program("ask()"))
        made = json.loads(file.read_text())
        assert [case["outcome"] for case in made["tests"]] == ["passed"]
        assert [finding["expected"] for finding in made["tests"][0]["found"]] == [True]
