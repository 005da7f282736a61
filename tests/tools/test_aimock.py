"""Fixtures of aimock as scripts: which requests they answer, with which turns; what is left out, and why."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types.responses import Response
from typer.testing import CliRunner, Result

from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.world.mock import Mock
from harness.world.scripting.document import parse_document
from harness.world.scripting.load import load_script_file
from tests.support.command_line import run_cli
from tests.support.tools import functions
from tools.aimock.__main__ import app
from tools.aimock.script import ImportedScript, import_fixtures, write_imported

F: Json = {"name": "f", "arguments": {"x": 1}}
HELLO: Json = {"match": {"userMessage": "hello"}, "response": {"content": "Hi."}}
Convert = Callable[..., ImportedScript]


def fixture(response: Json, match: Json | None = None, **more: Any) -> Json:
    return {"match": {"userMessage": "hi"} if match is None else match, "response": response, **more}


def write(folder: Path, *fixtures: Any, name: str = "f.json") -> Path:
    file = folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"fixtures": fixtures}))
    return file


@pytest.fixture
def convert(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Convert:
    """Convert fixtures, which stand in `f.json`; one that answers every request comes last, so that some are converted."""
    monkeypatch.chdir(tmp_path)
    return lambda *fixtures: import_fixtures([write(Path(), *fixtures, fixture({"content": "Else."}, {}))])


def run_aimock(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def played(mock: Mock, script: ImportedScript) -> None:
    parse_document(script.document).apply(mock)


def ask(client: openai.OpenAI, input: Any, **more: Any) -> str:
    answer: Response = client.responses.create(**{"model": "gpt-4.1", "input": input, **more})
    return answer.output_text


class TestResponses:
    @pytest.mark.parametrize(
        ("response", "lines"),
        [
            ({"content": "Hi."}, [{"message": "Hi."}]),
            ({"content": {"city": "Oslo"}}, [{"message": '{"city":"Oslo"}'}]),
            ({"toolCalls": [{**F, "id": "call_1"}]}, [{"function_call": {**F, "call_id": "call_1"}}]),
            (
                {"toolCalls": [{**F, "arguments": '{"x":1}'}, {**F, "arguments": '{"x": 2}'}]},
                [{"function_call": F}, {"function_call": {**F, "arguments": '{"x": 2}'}}],
            ),
            ({"content": "Wait.", "toolCalls": [F]}, [{"message": "Wait."}, {"function_call": F}]),
            (
                {"content": "ignored", "blocks": [{"type": "toolCall", **F}, {"type": "text", "text": "Wait."}]},
                [{"function_call": F}, {"message": "Wait."}],
            ),
            (
                {"content": "Hi.", "reasoning": "Hm.", "webSearches": ["Oslo"]},
                [{"reasoning": "Hm."}, {"web_search_call": "Oslo"}, {"message": "Hi."}],
            ),
            ({"content": "Hi.", "finishReason": "length"}, [{"message": "Hi."}, {"incomplete": "max_output_tokens"}]),
            (
                {"content": "Hi.", "usage": {"prompt_tokens": 3, "output_tokens": 4}, "model": "m"},
                [{"message": "Hi."}, {"usage": {"input_tokens": 3, "output_tokens": 4}}, {"response": {"model": "m"}}],
            ),
            (
                {"error": {"message": "Slow.", "type": "rate_limit_error", "code": "slow"}, "status": 429},
                [
                    {
                        "http_error": {"status": 429, "message": "Slow.", "type": "rate_limit_error", "code": "slow"}
                        | {"headers": {"retry-after": "1"}}
                    }
                ],
            ),
            (
                {"error": {"message": "Oops."}},
                [{"http_error": {"status": 500, "message": "Oops.", "type": "server_error"}}],
            ),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_responses_are_turns(self, convert: Convert, response: Json, lines: list[Json]) -> None:
        route = convert(fixture(response)).routes[0]
        assert (route.conditions, route.repeat, route.turns) == ({"user": "hi"}, True, [lines])

    @pytest.mark.parametrize(
        ("delivery", "lines"),
        [
            ({"chunkSize": 2}, [{"message": ["He", "ll", "o."]}]),
            ({"latency": 20}, [{"message": "Hello."}, {"pause": {"seconds": 0.02}}]),
            ({"truncateAfterChunks": 3}, [{"message": "Hello."}, {"cut": {"after": 3}}]),
            (
                {"latency": 20, "disconnectAfterMs": 100},
                [{"message": "Hello."}, {"pause": {"seconds": 0.02}}, {"cut": {"after": 5}}],
            ),
            (
                {"streamingProfile": {"ttft": 300, "tps": 40, "jitter": 0.1}},
                [{"message": "Hello."}, {"pace": {"ttft": 0.3, "tokens": 40, "jitter": 0.1}}],
            ),
            ({"chaos": {"latencyMs": 500}}, [{"message": "Hello."}, {"delay": {"seconds": 0.5}}]),
        ],
        ids=str,
    )
    def test_responses_come_as_the_fixture_says(self, convert: Convert, delivery: Json, lines: list[Json]) -> None:
        script = convert(fixture({"content": "Hello."}, **delivery))
        assert script.routes[0].turns == [lines]
        assert script.dropped == []

    def test_what_a_turn_leaves_open_is_reported(self, convert: Convert) -> None:
        response = {"content": "Hi.", "id": "resp_mine", "reasoningSignature": "x", "colour": "blue"}
        more: Json = {"chaos": {"dropRate": 0.5}, "disconnectAfterMs": 5, "replaySpeed": 2, "metadata": {}}
        assert [why.removeprefix("f.json: fixtures[0]: ") for why in convert(fixture(response, **more)).dropped] == [
            "response.id is not set: the mock makes its own",
            "response.reasoningSignature is not sent: the Responses API has no such member",
            "response.colour is not known",
            "chaos.dropRate is not played: the mock does nothing by chance. Script a fault, such as cut(…) or hang_up()",
            "disconnectAfterMs is not played: without latency the stream has ended. Script cut(…, after=4)",
            "replaySpeed is not played",
        ]


class TestMatchers:
    @pytest.mark.parametrize(
        ("match", "conditions"),
        [
            ({"systemMessage": "planner"}, {"instructions": "planner"}),
            ({"systemMessage": ["Ann", "v1.2"]}, {"instructions": {"pattern": r"(?s)^(?=.*Ann)(?=.*v1\.2)"}}),
            ({"toolName": "f"}, {"tools": ["f"]}),
            ({"model": "gpt-4.1"}, {"model": {"pattern": r"^gpt-4\.1(-\d|$)"}}),
            ({"toolCallId": "call_1"}, {"call_id": {"pattern": r"(^|\n)call_1$"}}),
            ({"toolResultContains": "rain"}, {"input": "rain", "call_id": {"pattern": "."}}),
            ({"hasToolResult": True}, {"call_id": {"pattern": "."}}),
            ({"hasToolResult": False}, {"call_id": {"pattern": "^$"}}),
            ({"endpoint": "chat", "userMessage": "x"}, {"user": "x"}),
        ],
        ids=str,
    )
    def test_matchers_are_conditions(self, convert: Convert, match: Json, conditions: Json) -> None:
        assert convert(fixture({"content": "Hi."}, match)).routes[0].conditions == conditions

    def test_matchers_tell_the_steps_of_a_loop_apart(self, convert: Convert, mock: Mock, client: openai.OpenAI) -> None:
        script = convert(
            fixture({"content": "Rainy."}, {"userMessage": "weather", "hasToolResult": True}),
            fixture({"toolCalls": [{"name": "f", "arguments": {}, "id": "call_1"}]}, {"userMessage": "weather"}),
        )
        played(mock, script)
        asked: Any = {"role": "user", "content": "The weather?"}
        tools: Any = functions("f")
        (call,) = client.responses.create(model="gpt-4.1", input=[asked], tools=tools).output
        output = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}
        history = [asked, call.model_dump(exclude_unset=True), output]
        assert ask(client, history, tools=tools) == "Rainy."
        assert ask(client, [*history, {"role": "user", "content": "Thanks."}]) == "Else."

    def test_matchers_keep_case_where_it_tells_fixtures_apart(self, convert, mock, client):
        small, large = (fixture({"content": f"{text}!"}, {"userMessage": text}) for text in ("ops", "Ops"))
        script = convert(small, large, HELLO)
        assert [route.conditions for route in script.routes[2:]] == [{"user": "hello"}, {}]
        played(mock, script)
        assert [ask(client, text) for text in ("Ops", "ops", "HELLO", "bye")] == ["Ops!", "ops!", "Hi.", "Else."]

    def test_places_in_a_sequence_are_turns_that_end(self, convert: Convert, mock: Mock, client: openai.OpenAI) -> None:
        second, first = (
            fixture({"content": str(place)}, {"userMessage": "hi", "sequenceIndex": place}) for place in (1, 0)
        )
        played(mock, convert(second, first, fixture({"content": "rest"})))
        assert [ask(client, "hi") for _ in range(4)] + [ask(client, "bye")] == ["0", "1", "rest", "rest", "Else."]

    def test_places_in_a_conversation_are_turns_that_begin_again(self, convert, mock, client):
        turns = [fixture({"content": str(place)}, {"userMessage": "hi", "turnIndex": place}) for place in (0, 2)]
        played(mock, convert(*turns))
        assert [ask(client, "hi") for _ in range(3)] + [ask(client, "bye")] == ["0", "2", "0", "Else."]

    def test_a_fixture_that_answers_every_request_is_last(self, convert: Convert) -> None:
        late = fixture({"content": "late"}, {"userMessage": "late"})
        script = convert(fixture({"content": "first"}, {"sequenceIndex": 0}), fixture({"content": "all"}, {}), late)
        first = {"model": "*", "script": [{"message": "first"}], "repeat": False}
        assert script.document == {"when": [first], "script": [{"message": "all"}], "repeat": True}
        assert [why.partition(": it never answers: ")[::2] for why in script.left_out] == [
            ("f.json: fixtures[3]", "f.json: fixtures[1] has the same matchers. Change them, or remove it."),
            ("f.json: fixtures[2]", "f.json: fixtures[1] before it answers every request. Move it up."),
        ]


class TestLeftOut:
    @pytest.mark.parametrize(
        ("given", "where", "why"),
        [
            (fixture({"embedding": [0.1]}, {"inputText": "x"}), ".match.inputText", "it matches embeddings"),
            (fixture({"embedding": [0.1]}), ".response", "embedding is not an answer of the Responses API"),
            (fixture({"image": {"url": "x"}}), ".response", "image is not an answer of the Responses API"),
            (fixture({"content": "x"}, {"predicate": {}}), ".match.predicate", "it is code"),
            (fixture({"content": "x"}, {"responseFormat": "json_object"}), ".match.responseFormat", "text.format"),
            (fixture({"content": "x"}, {"context": "a"}), ".match.context", "a header of aimock"),
            (fixture({"content": "x"}, {"endpoint": "speech"}), ".match.endpoint", "another part of the API"),
            (fixture({"content": "x"}, {"usermessage": "x"}), ".match.usermessage", "Did you mean 'userMessage'?"),
            (fixture({"content": "x"}, {"userMessage": 5}), ".match", "userMessage is 5. Pass a text."),
            (fixture({"content": "x"}, {"sequenceIndex": -1}), ".match", "sequenceIndex is -1. Pass a non-negative"),
            (fixture({"content": "x"}, {"sequenceIndex": 3}), "", "sequenceIndex 3 never comes"),
            (fixture({}), ".response", "it is empty: {}"),
            (fixture({"content": "x", "finishReason": "odd"}), ".response", 'finishReason is "odd"'),
            (fixture({"content": "x", "finishReason": {}}), ".response", "finishReason is {}. Pass one of: stop"),
            (fixture({"toolCalls": [{"arguments": {}}]}), ".response.toolCalls[0]", "name is null. Pass a text."),
            (fixture({"toolCalls": [{"name": "f"}]}), ".response.toolCalls[0]", "arguments is null"),
            (fixture({"toolCalls": 5}), ".response.toolCalls", "toolCalls is 5. Pass a list"),
            (fixture({"blocks": [{"type": "odd"}]}), ".response.blocks[0]", 'type is "odd". Use text or toolCall.'),
            (fixture({"webSearches": 5, "content": "x"}), ".response", "webSearches is 5. Pass a list of texts."),
            (fixture({"error": {}}), ".response.error", "message is null. Pass a text."),
            (fixture({"error": {"message": "x"}, "status": 200}), ".response", "status is 200"),
            (fixture({"content": "x"}, latency="slow"), "", 'latency is "slow". Pass a non-negative number'),
            (fixture({"content": "x"}, chunkSize=0), ".response", "chunkSize is 0. Pass a positive integer."),
            ({"match": {}}, ".response", "response is null. Pass an object."),
            ({"response": {"content": "x"}}, ".match", "null is not an object. Its members"),
            ("odd", "", "it is not an object. Add match and response."),
        ],
    )
    def test_what_is_left_out_is_told_with_where_and_why(
        self, convert: Convert, given: Any, where: str, why: str
    ) -> None:
        [told] = convert(given).left_out
        assert told.startswith(f"f.json: fixtures[0]{where}: ")
        assert why in told

    @pytest.mark.parametrize(
        ("content", "why"),
        [
            ("{", "it is not JSON"),
            ('{"fixtures": {}}', 'it has no list "fixtures"'),
            ("[]", 'it has no list "fixtures"'),
            ("[" * 2000, "it is not JSON"),
            ("", "it is not JSON"),
        ],
    )
    def test_a_file_that_is_none_does_not_stop_the_others(self, tmp_path: Path, content: str, why: str) -> None:
        write(tmp_path, HELLO)
        (tmp_path / "odd.json").write_text(content)
        script = import_fixtures([tmp_path])
        assert len(script.routes) == 1
        assert [told.partition(": ")[2].startswith(why) for told in script.left_out] == [True]

    def test_a_folder_without_fixtures_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="no fixtures found"):
            import_fixtures([tmp_path])
        with pytest.raises(ConfigError, match=r"absent\.json: it cannot be read: No such file"):
            import_fixtures([tmp_path / "absent.json"])


def routes_of(script: Any) -> list[Any]:
    """Return the conditions and turns of all routes of a script."""
    script.apply(mock := Mock())
    return [
        ({name: getattr(wanted, "pattern", wanted) for name, wanted in route.conditions.items()}, [*route.turns])
        for route in mock.world.script.all_routes
    ]


class TestFiles:
    def test_files_of_a_folder_come_before_those_of_folders_in_it(self, tmp_path: Path) -> None:
        for name in ("a/inner.json", "z.json", "b.json"):
            write(tmp_path, fixture({"content": name}, {"userMessage": name}), name=name)
        (tmp_path / "notes.txt").write_text("no fixture")
        script = import_fixtures([tmp_path])
        assert [route.conditions["user"] for route in script.routes] == ["b.json", "z.json", "a/inner.json"]

    def test_every_form_says_the_same(self, convert: Convert, tmp_path: Path) -> None:
        script = convert(
            fixture({"content": "Hi.", "usage": {"input_tokens": 3}}, {"model": "gpt-4.1"}, truncateAfterChunks=3),
            fixture({"content": 'a\n"b"'}, {"systemMessage": ['say "x"', "y\\"]}),
            fixture({"error": {"message": "No."}, "status": 503}, {"sequenceIndex": 0}),
            fixture({"toolCalls": [{"name": "f", "arguments": {"x": [None, True]}}]}, {"toolCallId": "c"}),
            fixture({"content": "x", "id": "y\n\nz"}, {"odd": 1}),
        )
        document = parse_document(json.loads(write_imported(script, "json")))
        made = [routes_of(document)]
        for form, suffix in (("python", "py"), ("yaml", "yaml")):
            (file := tmp_path / f"script.{suffix}").write_text(text := write_imported(script, form))  # type: ignore[arg-type]
            assert "# not converted: f.json: fixtures[4].match.odd: " in text
            made.append(routes_of(load_script_file(file)))
        assert made[0] == made[1] == made[2]
        assert len(made[0]) == 5


class TestCommand:
    def test_the_command_prints_a_script_and_tells_what_is_not_in_it(self, tmp_path: Path) -> None:
        file = write(tmp_path, HELLO, fixture({"embedding": [1]}))
        done = run_aimock(file)
        assert done.exit_code == 0
        assert f"# not converted: {file.as_posix()}: fixtures[1].response: embedding" in done.stdout
        assert "- user: hello" in done.stdout
        assert "responses-harness: 1 converted, 1 not" in done.stderr

    def test_the_command_writes_a_file_that_can_be_checked(self, tmp_path: Path) -> None:
        file, made = write(tmp_path, HELLO), tmp_path / "script.py"
        assert run_aimock(file, "-o", made).exit_code == 0
        assert 'mock.when(user="hello").script(message("Hi."), repeat=True)' in made.read_text()
        assert run_cli("check", made).exit_code == 0
        again = run_aimock(file, "-o", made)
        assert (again.exit_code, "already exists" in again.stderr) == (2, True)

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (["--to", "yml"], "--to yml: Did you mean 'yaml'?"),
            (["--to", "yaml", "-o", "x.py"], "a file x.py holds python"),
            (["-o", "absent/x.py"], "absent/x.py: cannot be written: No such file or directory"),
        ],
    )
    def test_the_command_refuses_what_it_cannot_write(self, tmp_path, monkeypatch, arguments, why):
        monkeypatch.chdir(tmp_path)
        done = run_aimock(write(Path(), HELLO), *arguments)
        assert (done.exit_code, done.stdout) == (2, "")
        assert why in re.sub(r"\s+", " ", done.stderr)

    def test_the_command_fails_when_nothing_is_converted(self, tmp_path: Path) -> None:
        done = run_aimock(write(tmp_path, fixture({"embedding": [1]})))
        assert done.exit_code == 2
        assert "no fixture could be converted" in done.stderr
