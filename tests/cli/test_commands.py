"""The command line: what it prints, how it ends."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from harness.cli import main
from harness.cli.rules import rules
from harness.cli.support.foreground import Entrance
from harness.contract.check import CheckedRequest
from harness.contract.rule import RULES
from harness.core.manual import add_section
from harness.server.demo import REFUSAL_RULE, run_demo
from harness.server.mock_api import MockApi
from harness.server.transport.asgi_types import AsgiApp
from tests.support.command_line import run_cli
from tests.support.processes import free_port, spawn
from tests.support.processes import run as run_child
from tests.support.servers.live_server import serving
from tests.support.slow import slow_except, slow_except_every

ROOT = Path(__file__).parents[2]
Serve = Callable[..., str]


@contextlib.contextmanager
def python(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`python -m harness …` as a child process."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error::ResourceWarning"}
    with spawn([sys.executable, "-m", "harness", *arguments], env=env) as child:
        yield child


def client(base_url: str, api_key: str = "sk-test") -> openai.OpenAI:
    direct = openai.DefaultHttpxClient(trust_env=False)
    return openai.OpenAI(base_url=base_url, api_key=api_key, max_retries=0, http_client=direct)


def says(base_url: str, api_key: str = "sk-test", model: str = "gpt-4.1") -> str:
    """What the model says to a plain request."""
    with client(base_url, api_key) as each:
        return each.responses.create(model=model, input="hi").output_text


class TestRules:
    def test_all_are_listed_in_order_of_precedence(self) -> None:
        result = run_cli("rules")
        assert result.exit_code == 0
        header, *lines = result.stdout.splitlines()
        assert header.split() == ["id", "area", "level", "summary"]
        assert [line.split()[0] for line in lines] == list(RULES)

    def test_an_area_alone(self) -> None:
        listed = json.loads(run_cli("rules", "--area", "pairing", "--json").stdout)
        assert [rule["id"] for rule in listed] == [rule.id for rule in RULES.values() if rule.area == "pairing"]

    def test_assumptions_alone(self) -> None:
        listed = json.loads(run_cli("rules", "--assumed", "--json").stdout)
        assert {rule["level"] for rule in listed} == {"assumed"}
        assert len(listed) < len(RULES)

    def test_a_rule_is_explained(self) -> None:
        rule = RULES["assistant_content"]
        said = run_cli("rules", "assistant_content").stdout
        assert said.startswith("assistant_content  (content, ")
        for part in (rule.doc, rule.error.message, rule.fix, *rule.rejects, *(source.where for source in rule.sources)):
            assert part in said
        assert '{"input": [{"role": "assistant", "content": [{"type": "input_file"}]}, ' in said

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            (["Duplicate", "item", "found"], "duplicate_item"),  # the API's words
            (["duplicate item found with id"], "duplicate_item"),  # a phrase
            (["ASSISTANT", "input_file"], "assistant_content"),  # its text, its refusals
        ],
    )
    def test_words_find_the_rules_that_have_all_of_them(self, words: list[str], found: str) -> None:
        listed = [rule["id"] for rule in json.loads(run_cli("rules", *words, "--json").stdout)]
        assert any(found in id for id in listed)
        assert len(listed) < 15
        assert run_cli("rules", *words).stdout.startswith("id ")

    def test_words_find_by_source_and_by_fix_within_an_area(self) -> None:
        rule = next(rule for rule in RULES.values() if rule.fix and rule.sources[0].where)
        for words in ([rule.sources[0].where], [rule.fix, rule.id]):
            listed = json.loads(run_cli("rules", *words, "--json", "--area", rule.area).stdout)
            assert rule.id in [each["id"] for each in listed]
            assert {each["area"] for each in listed} == {rule.area}

    @pytest.mark.parametrize("name", slow_except_every(10, list(RULES)))
    def test_every_rule_can_be_explained_to_people_and_programs(
        self, name: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rules([name], area="", as_json=False, assumed=False, coverage=False)
        assert capsys.readouterr().out.startswith(f"{name}  (")
        rules([name], area="", as_json=True, assumed=False, coverage=False)
        explained = json.loads(capsys.readouterr().out)
        assert (explained["id"], explained["error"]["message"]) == (name, RULES[name].error.message)
        assert [case["message"] for case in explained["rejects"]] == list(RULES[name].rejects)
        assert len(explained["accepts"]) == len(RULES[name].accepts)

    def test_an_example_shows_all_that_makes_it_special(self) -> None:
        def first(name: str) -> Any:
            return json.loads(run_cli("rules", name, "--json").stdout)["rejects"][0]["request"]

        assert first("auth_missing") == {"body": {}, "headers": {}}
        assert first("auth_missing_scope") == {"given": {"scopes": []}}
        assert first("body_unicode")["raw"].isascii()
        assert first("rate_limit")["given"]["rate_limit"]["limit"] > 0
        told = first("reasoning_without_follower")
        assert told["before"] == [{"input": "hi"}]
        assert told["turns"][0][0]["type"] == "reasoning"

    def test_a_rule_without_examples_or_advice_says_so(self) -> None:
        said = run_cli("rules", "string_below_min_length").stdout
        assert "Accepted\n  no example\n" in said

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (["asistant_content"], "harness: no rule 'asistant_content'. Did you mean 'assistant_content'?"),
            (["--area", "pairng"], "harness: no area 'pairng'. Did you mean 'pairing'?"),
        ],
    )
    def test_an_unknown_name_gets_the_nearest(self, arguments: list[str], problem: str) -> None:
        result = run_cli("rules", *arguments)
        assert (result.exit_code, result.stdout, result.stderr) == (
            2,
            "",
            add_section(problem, "options-and-files") + "\n",
        )

    def test_without_a_near_name_three_are_named(self) -> None:
        assert "no area 'zzz'. The nearest of " in run_cli("rules", "--area", "zzz").stderr


class TestSchemas:
    @pytest.mark.parametrize("arguments", [[], ["--check"], ["--sync", "--openapi", "x.yaml"]])
    def test_the_command_says_what_it_became(self, arguments: list[str]) -> None:
        result = run_cli("schemas", *arguments)
        message = "harness: `harness schemas` is `python -m tools.schemas` now, in a checkout of the project."
        assert (result.exit_code, result.stdout, result.stderr) == (
            2,
            "",
            add_section(message, "options-and-files") + "\n",
        )


class TestDemo:
    def check(self, said: str, sdk: str) -> None:
        lines = said.splitlines()
        assert lines[:5] == [
            f"Two agents, run by {sdk}: Ship v2.",
            "  1  200  planner Ship v2. → function_call transfer_to_ops {}",
            '  2  200  ops     {"assistant": "ops"} → function_call deploy {"ref":"v2"}',
            "  3  200  ops     v2 is live → Deployed v2.",
            "The answer: Deployed v2.",
        ]
        assert "  4  400  client  Is it ready? → invalid_request_error" in lines
        assert "       says   Invalid value: 'input_file'. Supported values are: 'output_text' and 'refusal'." in lines
        assert "       where  input[1].content[0]" in lines
        assert f"       fix    {RULES[REFUSAL_RULE].fix}" in lines
        assert lines[-1] == "  5  200  client  Is it ready? → Yes, the plan is ready."

    @pytest.mark.slow
    def test_it_runs_as_a_command_needs_no_environment_and_prints_the_same_every_time(self) -> None:
        with python("demo") as child:
            output, problems = child.communicate(timeout=60)
        assert (child.returncode, problems) == (0, "")
        self.check(output, "openai-agents")
        assert run_cli("demo").stdout == output

    def test_without_openai_agents_it_runs_with_openai(self, absent: Callable[[str], None]) -> None:
        absent("agents")
        result = run_cli("demo")
        assert result.exit_code == 0
        self.check(result.stdout, "openai")

    def test_without_any_sdk_it_says_what_to_install(self, absent: Callable[[str], None]) -> None:
        absent("openai")
        result = run_cli("demo")
        assert result.exit_code == 2
        assert 'pip install "responses-harness[openai]"' in result.stderr

    def test_a_mock_that_is_too_kind_fails_it(
        self, absent: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        absent("agents")
        monkeypatch.setattr(
            "harness.server.answering.check_request", lambda request, world: CheckedRequest(None, request)
        )
        result = run_cli("demo")
        assert result.exit_code == 1
        assert result.stderr == (
            "harness: the mock accepted an assistant turn with an input_file; rule assistant_content is not held.\n"
        )

    def test_it_reaches_no_host_but_its_own(
        self, absent: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
        connected: list[Any] = []
        connect = socket.socket.connect
        monkeypatch.setattr(
            socket.socket, "connect", lambda self, address: (connected.append(address), connect(self, address))[1]
        )
        absent("agents")
        assert [text.plain for text in run_demo(MockApi())][-1].endswith("Yes, the plan is ready.")
        assert {address[0] for address in connected} == {"127.0.0.1"}

    @pytest.fixture
    def absent(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        """Makes a distribution look as if it were not installed."""
        find = importlib.util.find_spec

        def hide(name: str) -> None:
            for module in ("harness.server.demo", "harness.core.extras"):
                monkeypatch.setattr(f"{module}.find_spec", lambda asked: None if asked == name else find(asked))

        return hide


class TestServe:
    def test_it_prints_how_to_reach_it(self) -> None:
        port = free_port()
        with python("serve", "--port", str(port)) as child:
            assert child.stdout
            url = f"http://127.0.0.1:{port}/v1"
            assert [child.stdout.readline() for _ in range(4)] == [
                f"Serving {url}\n",
                f"export OPENAI_BASE_URL={url}\n",
                "export OPENAI_API_KEY=sk-anything\n",
                f"Viewer  http://127.0.0.1:{port}/_harness/view\n",
            ]
            assert says(url, "sk-anything").startswith("Hello.")
            child.terminate()
            _, problems = child.communicate(timeout=20)
        assert (child.returncode, problems) == (0, "")

    @pytest.mark.slow
    @pytest.mark.parametrize("end", slow_except([0], [signal.SIGINT, signal.SIGTERM]))
    def test_a_signal_ends_it_cleanly_however_early(self, end: signal.Signals) -> None:
        with python("serve", "--port", "0") as child:
            assert child.stdout
            child.stdout.readline()
            child.send_signal(end)
            _, problems = child.communicate(timeout=20)
        assert (child.returncode, problems) == (0, "")

    def test_a_key_opens_a_world_of_its_own(self, serve: Serve, tmp_path: Path) -> None:
        script = tmp_path / "script.yaml"
        script.write_text("script: [ {message: once} ]")
        url = serve("--script", str(script))
        assert says(url, "sk-a") == says(url, "sk-b") == "once"
        with pytest.raises(openai.APIStatusError, match="No turn is left") as caught:
            says(url, "sk-a")
        assert caught.value.status_code == 418

    def test_only_named_keys_are_known(self, serve: Serve) -> None:
        url = serve("--keys", "sk-a, sk-b")
        assert says(url, "sk-a") == says(url, "sk-b")
        with pytest.raises(openai.AuthenticationError, match="Incorrect API key provided: sk-c"):
            says(url, "sk-c")

    def test_zero_data_retention_stores_nothing(self, serve: Serve) -> None:
        with client(serve("--zdr")) as each:
            first = each.responses.create(model="gpt-4.1", input="hi")
            with pytest.raises(openai.BadRequestError, match="Zero Data Retention"):
                each.responses.create(model="gpt-4.1", input="hi", previous_response_id=first.id)

    def test_the_assistants_may_be_gone(self, serve: Serve) -> None:
        with client(serve("--assistants", "gone")) as each, pytest.raises(openai.NotFoundError):
            each.post("/threads", cast_to=object, body={})

    def test_one_dialect_may_be_served(self, serve: Serve) -> None:
        url = serve("--dialect", "azure")
        assert url.endswith("/openai/v1")
        assert says(url, api_key="any")

    @pytest.mark.parametrize("option", [("--assistants", "soon"), ("--dialect", "klingon")])
    def test_an_option_it_does_not_know_is_a_mistake(self, option: tuple[str, str]) -> None:
        result = run_cli("serve", *option)
        assert result.exit_code == 2
        assert option[1] in result.stderr

    def test_only_named_models_are_known(self, serve: Serve) -> None:
        url = serve("--models", "gpt-4.1,o3")
        assert says(url, model="gpt-4.1") == says(url, model="o3")
        with pytest.raises(openai.BadRequestError, match="The requested model 'gpt-5' does not exist"):
            says(url, model="gpt-5")

    def test_it_ends_inside_a_process_and_gives_its_signals_back(self, tmp_path: Path) -> None:
        script, port, handlers = tmp_path / "script.py", free_port(), handled()
        script.write_text("from harness.items import message\ndef script(request):\n    return message('Hi.')\n")
        heard: list[str] = []
        ended = threading.Event()

        def visit() -> None:
            with contextlib.suppress(openai.APIConnectionError):
                heard.extend(eventually(lambda: says(f"http://127.0.0.1:{port}/v1", "sk-b")) for _ in range(2))
            if not ended.is_set():
                os.kill(os.getpid(), signal.SIGTERM)

        visitor = threading.Thread(target=visit)
        visitor.start()
        result = run_cli("serve", "--port", str(port), "--keys", "sk-a,sk-b", "--script", str(script))
        ended.set()
        visitor.join(120)
        assert (result.exit_code, result.stderr, heard) == (0, "", ["Hi.", "Hi."])
        assert "export OPENAI_API_KEY=sk-a\n" in result.stdout
        assert handled() == handlers

    def test_a_script_without_turns_leaves_the_small_talk(self, serve: Serve, tmp_path: Path) -> None:
        script = tmp_path / "script.yaml"
        script.write_text("organization: {models: [gpt-4.1]}")
        url = serve("--script", str(script))
        assert says(url).startswith("Hello.")
        with pytest.raises(openai.BadRequestError, match="The requested model 'gpt-5' does not exist"):
            says(url, model="gpt-5")

    def test_it_ends_with_what_went_wrong_for_each_key(self, tmp_path: Path) -> None:
        script = tmp_path / "script.py"
        script.write_text(
            "from harness.items import message\n"
            "def setup(mock):\n    mock.organization(zdr=mock.api_key == 'sk-refused')\n"
            "    mock.script(message('Paris it is.'), message('Sure.'))\n"
        )
        with python("serve", "--port", "0", "--script", str(script)) as child:
            assert child.stdout
            url = child.stdout.readline().removeprefix("Serving ").strip()
            says(url, "sk-good")
            for _ in range(2):
                says(url, "sk-unanswered")
            with pytest.raises(openai.APIStatusError, match="No turn is left"):
                says(url, "sk-unanswered")
            with client(url, "sk-refused") as each, pytest.raises(openai.BadRequestError):
                each.responses.create(model="gpt-4.1", input="hi", previous_response_id="resp_1")
            with client(url, "sk-wrong") as each, pytest.raises(openai.BadRequestError):
                each.responses.create(model="gpt-4.1", input="hi", temperature=3)
            with client(url, "sk-lost") as each:
                first = each.responses.create(model="gpt-4.1", input="Where?")
                told = [{"role": "assistant", "content": "Paris it is.Paris it is."}]
                history: Any = [{"role": "user", "content": "Where?"}, *told, {"role": "user", "content": "Sure?"}]
                each.responses.create(model="gpt-4.1", input=history)
                assert first.output_text == "Paris it is."
            child.terminate()
            _, problems = child.communicate(timeout=20)
        assert child.returncode == 0
        told_at_once = [line for line in problems.splitlines() if line.startswith("harness: ")]
        assert [line.partition(":")[2].split()[:3] for line in told_at_once] == [
            ["POST", "/v1/responses", status] for status in ("418:", "400:")
        ]
        assert problems.splitlines()[2:] == [
            "sk-unanswered: 3 exchanges, 1 unanswered",
            "sk-refused: 1 exchange, 1 refused",
            "sk-wrong: 1 exchange, 1 refused (1 unexpected)",
            "sk-lost: 2 exchanges, 1 loss (text-altered in 2)",
        ]

    def test_a_script_that_cannot_be_read(self, tmp_path: Path) -> None:
        script = tmp_path / "script.yaml"
        script.write_text("script: [ {mesage: hi} ]")
        result = run_cli("serve", "--script", str(script))
        assert (result.exit_code, result.stdout) == (2, "")
        told = f"harness: {script}:1: no item 'mesage'. Did you mean 'message'?"
        assert result.stderr == add_section(told, "scripts") + "\n"

    def test_a_port_that_is_taken(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            result = run_cli("serve", "--port", str(taken.getsockname()[1]))
        assert result.exit_code == 2
        assert "cannot listen on 127.0.0.1:" in result.stderr

    @pytest.fixture
    def serve(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
        """Serves in this process what the command would serve in the foreground; returns its base URL."""
        with contextlib.ExitStack() as servers:

            def serve_beside(app: AsgiApp, host: str, port: int, entrance: Entrance, *_: object) -> None:
                urls.append(servers.enter_context(serving(app)) + entrance.root)

            def start(*arguments: str) -> str:
                result = run_cli("serve", "--port", "0", *arguments)
                assert result.exit_code == 0, result.stderr
                return urls.pop()

            urls: list[str] = []
            monkeypatch.setattr("harness.cli.serve.serve_foreground", serve_beside)
            yield start


class TestItself:
    def test_help_is_quick_because_nothing_slow_is_imported(self) -> None:
        code = (
            "import sys, harness.cli; print({'fastapi', 'uvicorn', 'openai', 'jsonschema', 'yaml'} & set(sys.modules))"
        )
        assert run_child([sys.executable, "-c", code], cwd=ROOT, check=True).stdout == "set()\n"

    def test_without_a_command_it_says_what_there_is(self) -> None:
        said = run_cli().output
        assert all(command in said for command in ("serve", "rules", "demo"))

    def test_python_m_is_the_same_command(self) -> None:
        with python("rules", "--json") as child:
            output, _ = child.communicate(timeout=20)
        assert child.returncode == 0
        assert output == run_cli("rules", "--json").stdout

    def test_the_console_script_takes_its_arguments_from_the_command_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["harness", "rules", "nothing_like_it"])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        assert capsys.readouterr().err.startswith("harness: no rule 'nothing_like_it'.")


def handled() -> list[Any]:
    return [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]


def eventually(ask: Callable[[], str]) -> str:
    """What `ask` returns once the server is up; it has a minute."""
    for _ in range(600):
        with contextlib.suppress(openai.APIConnectionError):
            return ask()
        time.sleep(0.1)
    return ask()
