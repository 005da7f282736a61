"""`responses-harness learn`: where the API and the mock disagree, the mock then does as the API did, and nothing more."""

from pathlib import Path

import pytest

from harness.overrides.derive import offer_learning
from tests.support.command_line import run_cli
from tests.support.learning import ASK, Learn, contract, refused, taken, verdict
from tests.support.recordings import HI, KEY, recorded, write_jsonl

HELLO = {"role": "user", "content": "hi"}
TAPE = Path("tape.jsonl")
"""What was learned from last."""
BLUE = taken(colour="blue")
SEARCH = {"type": "tool_search_call", "call_id": "s_1", "execution": "client", "arguments": {}, "status": "completed"}
OTHER_OUTPUT = {"type": "custom_tool_call_output", "call_id": "s_1", "output": "{}"}


class TestWhatTheApiTook:
    def test_becomes_an_exemption_of_that_rule_at_that_place(self, learn: Learn) -> None:
        assert learn(BLUE) == (
            "1 exchange: 1 disagree with the mock, 0 with what was learned\n"
            "accepted: unknown_parameter does not apply at colour (colour: text)\n"
            "written: contract.yaml\n"
        )
        (entry,) = contract().exemptions
        assert (entry.rule, entry.at, entry.seen[0].date) == ("unknown_parameter", "colour", "2026-05-05")
        assert (verdict(colour="red"), verdict(color="red")) == ("", "Unknown parameter: 'color'.")

    @pytest.mark.parametrize(
        ("body", "alike", "other", "problem"),
        [
            ({"temperature": "1.0"}, {"temperature": "0.5"}, {"temperature": []}, "Invalid type for 'temperature'"),
            ({"truncation": "middle"}, {"truncation": "middle"}, {"truncation": "left"}, "Invalid value: 'left'."),
            (
                {"colour": "blue", "shape": "round"},
                {"colour": "red", "shape": "flat"},
                {"size": 1},
                "Unknown parameter: 'size'.",
            ),
        ],
        ids=["the kind of the value", "a value of a list", "two reasons in one request"],
    )
    def test_what_the_api_took_is_no_wider_than(self, learn, body, alike, other, problem):
        learn(taken(**body))
        assert verdict(**alike) == ""
        assert verdict(**other).startswith(problem)

    @pytest.mark.slow
    def test_what_the_api_took_is_of_the_kind_of_item_that_has_it(self, learn: Learn) -> None:
        call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "colour": 1}
        output = {"type": "function_call_output", "call_id": "c", "output": "x"}
        learn(taken(input=[call, output]))
        assert verdict(input=[call, output]) == ""
        assert verdict(input=[{**call, "colour": None}, {**output, "colour": 1}]) != ""

    def test_a_missing_member_is_missing_for_all_that_comes_after(self, learn: Learn) -> None:
        learn(taken(tools=[{"type": "file_search"}]))
        assert verdict(tools=[{"type": "file_search"}]) == ""

    def test_names_three_files_that_show_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        for name in "abcd":
            write_jsonl(tmp_path, [BLUE], f"{name}.jsonl")
        assert run_cli("learn", ".").exit_code == 0
        assert [seen.file for seen in contract().exemptions[0].seen] == ["a.jsonl", "b.jsonl", "c.jsonl"]


class TestWhatIsAboutItems:
    """Violations that name a call or an item by its id are exempted for items like those that were taken."""

    def test_a_second_reason_in_the_same_request_is_learned_too(self, learn: Learn) -> None:
        printed = learn(taken(input=[HELLO, SEARCH, OTHER_OUTPUT]))
        assert "1 exchange: 1 disagree with the mock, 0 with what was learned" in printed
        assert "output_needs_call does not apply at input (kind: custom tool call output; input[].type: " in printed
        other = [{**SEARCH, "call_id": "s_2"}, {**OTHER_OUTPUT, "call_id": "s_2"}]
        assert verdict(input=[HELLO, *other]) == ""

    @pytest.mark.parametrize(
        ("items", "problem"),
        [
            ([SEARCH], "No tool output found for tool search call s_1."),
            ([{**SEARCH, "execution": "server"}, OTHER_OUTPUT], "No tool call found for custom tool call output"),
            ([OTHER_OUTPUT], "No tool call found for custom tool call output"),
            ([SEARCH, {**OTHER_OUTPUT, "call_id": "s_2"}], "No tool output found for tool search call s_1."),
            (
                [SEARCH, OTHER_OUTPUT, {**OTHER_OUTPUT, "call_id": "s_2"}],
                "No tool call found for custom tool call output with call_id s_2.",
            ),
            (
                [SEARCH, {"type": "function_call_output", "call_id": "s_2", "output": "x"}],
                "No tool output found for tool search call s_1.",
            ),
        ],
        ids=["alone", "of another kind", "without call", "of another id", "one more", "of another type"],
    )
    def test_what_is_about_items_is_no_wider_than_the_items_with_that_id(self, learn, items, problem):
        learn(taken(input=[HELLO, SEARCH, OTHER_OUTPUT]))
        assert verdict(input=[HELLO, *items]).startswith(problem)

    def test_what_sets_it_apart_is_no_other_item(self, learn: Learn) -> None:
        items, told = [SEARCH, OTHER_OUTPUT], "No tool output found for tool search call s_1."
        aside = {**HELLO, "role": "developer"}
        learn(taken(input=[aside, *items], truncation="auto"), refused(told, "input", input=items))
        assert (verdict(input=items, truncation="auto"), verdict(input=[aside, *items])) == ("", told)

    def test_an_id_is_no_word_of_an_entry(self, learn: Learn) -> None:
        call = {**SEARCH, "call_id": "abc"}
        learn(taken(input=[HELLO, call, {**OTHER_OUTPUT, "call_id": "abc"}]))
        assert "abc" not in Path("contract.yaml").read_text()


class TestWhatTheApiRefused:
    def test_names_a_value_only_where_its_words_quote_it(self, learn: Learn) -> None:
        printed = learn(refused("Unsupported value: 'auto' is never auto.", "truncation", truncation="auto"))
        assert "refused: 400 Unsupported value: '{value}' is never auto." in printed
        printed = learn(refused("'truncation' is off: no truncation.", "truncation", truncation="auto"))
        assert "refused: 400 '{path}' is off: no truncation." in printed

    def test_holds_for_null_as_for_a_name(self, learn: Learn) -> None:
        printed = learn(refused("No.", "truncation", "no", truncation=None))
        assert "refused: 400 No. (models gpt-4.1; truncation: null)" in printed
        assert (verdict(truncation=None), verdict(truncation="auto")) == ("No.", "")

    def test_becomes_a_refusal_in_its_words(self, learn: Learn) -> None:
        said = "Unsupported value: 'auto' is not supported with the 'gpt-4.1' model."
        printed = learn(refused(said, "truncation", "unsupported_value", truncation="auto"))
        assert "refused: 400 Unsupported value: '{value}' is not supported with the '{model}' model." in printed
        assert verdict(truncation="auto") == said
        assert verdict(truncation="disabled") == verdict(truncation="auto", model="gpt-4o") == ""

    def test_a_refusal_of_what_was_accepted_elsewhere_holds_only_for_the_difference(self, learn: Learn) -> None:
        (accepted,) = recorded({**ASK, "truncation": "auto", "temperature": 1})
        learn(refused("No.", "truncation", "no", truncation="auto"), {**accepted, "id": "b#1"})
        assert (verdict(truncation="auto"), verdict(truncation="auto", temperature=0.5)) == ("No.", "")

    @pytest.mark.parametrize(("stream", "refused_as"), [({}, {}), ({"stream": False}, {"stream": True})])
    def test_a_refusal_of_an_accepted_request_is_not_learned(self, learn, stream, refused_as):
        (accepted,) = recorded({**ASK, "truncation": "auto", **stream})
        printed = learn(refused("No.", "truncation", "no", truncation="auto", **refused_as), accepted)
        assert "not learned: a.yaml#1: the API behaved differently in " in printed
        assert not Path("contract.yaml").exists()

    def test_a_message_in_other_words_is_not_derived(self, learn: Learn) -> None:
        """A refusal that the mock makes in other words would be missed by an exemption: that is worse."""
        learn(taken(truncation="middle"), refused("Nope.", "truncation", "nope", truncation="middle", top_p=0.5))
        assert (verdict(truncation="middle"), verdict(truncation="middle", top_p=0.5)) == ("", "Nope.")

    def test_in_other_words_stands_in_for_the_mocks_rule(self, learn: Learn) -> None:
        learn(refused("Nope: 'colour'.", "colour", "nope", colour="blue"))
        assert (contract().refusals[0].instead, verdict(colour="blue")) == ("unknown_parameter", "Nope: 'colour'.")
        assert verdict(colour=1) == "Unknown parameter: 'colour'."

    def test_a_value_that_was_accepted_elsewhere_is_no_value_of_a_refusal(self, learn: Learn) -> None:
        both = [refused("No.", "truncation", "no", truncation=name) for name in ("auto", "disabled")]
        learn(*both, *recorded({**ASK, "truncation": "disabled"}))
        assert [verdict(truncation=name) for name in ("auto", "disabled")] == ["No.", ""]

    def test_in_other_words_spares_the_requests_that_were_refused_in_the_mocks(self, learn: Learn) -> None:
        known = "Unknown parameter: 'colour'."
        learn(
            refused("Nope.", "colour", "nope", colour="blue"),
            refused(known, "colour", "unknown_parameter", colour="blue", top_p=0.5),
        )
        assert (verdict(colour="blue"), verdict(colour="blue", top_p=0.5)) == ("Nope.", known)

    def test_holds_for_the_value_of_another_member_that_its_words_quote(self, learn: Learn) -> None:
        said = "'top_p' is not supported with 'auto'."
        learn(refused(said, "top_p", "unsupported_value", top_p=0.5, truncation="auto"))
        assert (verdict(top_p=0.5, truncation="auto"), verdict(top_p=0.5)) == (said, "")

    def test_that_names_no_member_holds_for_what_all_of_its_requests_have_and_lack(self, learn: Learn) -> None:
        tiers = [{"service_tier": name, "truncation": "auto"} for name in ("auto", "default")]
        learn(*(refused("No.", None, "no", **body) for body in tiers))
        assert [verdict(**body) for body in tiers] == ["No.", "No."]
        assert verdict(service_tier="auto") == verdict(**tiers[0], text={"format": {"type": "text"}}) == ""

    def test_about_the_form_of_a_request_is_for_all_models_once_two_made_it(self, learn: Learn) -> None:
        one, other = (
            refused("No.", "truncation", "invalid_value", truncation="auto", model=model) for model in ("gpt-4.1", "o3")
        )
        learn(one)
        assert (verdict(truncation="auto"), verdict(truncation="auto", model="gpt-4o")) == ("No.", "")
        learn(one, other)
        assert verdict(truncation="auto", model="gpt-4o") == "No."

    def test_in_a_list_is_for_each_of_its_places(self, learn: Learn) -> None:
        learn(refused("No.", "input[0].role", "no", input=[{**HELLO, "role": "developer"}]))
        assert contract().refusals[0].error.param == "{path}"

    def test_that_names_a_member_of_what_is_not_there_is_about_the_rest(self, learn: Learn) -> None:
        learn(refused("No.", "text.format.name", "no", truncation="auto"))
        assert (verdict(truncation="auto"), verdict()) == ("No.", "")

    def test_what_the_api_refused_is_for_the_pairs_of_model_and_value_that_were_refused(self, learn: Learn) -> None:
        words = "not supported with this model"
        learn(
            refused(words, "truncation", "no", truncation="auto"),
            refused(words, "truncation", "no", truncation="disabled", model="gpt-4o"),
            *recorded({**ASK, "truncation": "disabled"}),
        )
        assert [verdict(truncation=name) for name in ("auto", "disabled")] == [words, ""]
        assert [verdict(truncation=name, model="gpt-4o") for name in ("auto", "disabled")] == ["", words]


def drift(*options: str) -> str:
    """Return what `verify` counts as drift of answers."""
    printed = run_cli("verify", *options, TAPE).stdout
    return next(line.split()[-1] for line in printed.splitlines() if line.startswith("answers"))


def test_a_member_that_no_schema_knows_is_known_then(learn: Learn) -> None:
    (one,) = recorded(HI)
    one["response"]["mood"] = "good"
    assert "known in Response: mood" in learn(one)
    assert (drift(), drift("--contract", "contract.yaml")) == ("1", "-")


def test_an_entry_that_changes_nothing_any_more_is_reported_and_goes(learn: Learn, tmp_path: Path) -> None:
    learn(BLUE, taken(shape="round"))
    write_jsonl(tmp_path, recorded(HI))
    printed = run_cli("verify", "--contract", "contract.yaml", TAPE).stdout
    assert "contract.yaml:5: changes nothing any more: unknown_parameter does not apply at colour" in printed
    again = run_cli("learn", TAPE).stdout
    assert "no longer needed: contract.yaml:5: unknown_parameter does not apply at colour" in again
    assert contract().entries == ()


def test_the_file_of_the_project_is_found(learn: Learn, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.harness]\ncontract = "tests/learned/own.yaml"\n')
    assert "written: tests/learned/own.yaml" in learn(BLUE)
    assert run_cli("verify", TAPE).exit_code == 0
    assert "unknown_parameter" in run_cli("rules", "--area", "yours").stdout


@pytest.mark.parametrize("path", ["tapes", "tapes/tape.jsonl"])
def test_without_a_project_the_file_is_beside_the_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tapes").mkdir()
    write_jsonl(tmp_path / "tapes", [BLUE])
    assert "written: tapes/contract.yaml" in run_cli("learn", path).stdout


def test_rules_of_ones_own_are_listed_as_yours(learn: Learn) -> None:
    learn(refused("No.", "truncation", "no", truncation="auto"))
    listed = run_cli("rules", "--contract", "contract.yaml", "--area", "yours").stdout
    assert "yours_400_truncation" in listed
    assert "a.jsonl#1" not in listed
    assert "400 No." in run_cli("rules", "yours_400_truncation", "--contract", "contract.yaml").stdout


def test_what_could_be_learned_is_offered_except_what_is_known(learn: Learn, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.harness]\ncontract = "own.yaml"\n')
    shapes = [taken(**{f"shape_{number}": 1}) for number in range(6)]
    learn(shapes[0])
    file = write_jsonl(tmp_path, [refused("Nope.", "shape_0", "nope", shape_0="round"), *shapes])
    disagreeing, *shown, command, _, first, _, _, _, _, last = offer_learning([file], tmp_path)
    assert disagreeing == "7 exchanges; the API and the mock disagree in 6:"
    assert shown[0].startswith(
        "  tape.jsonl#1, POST /responses: refused with another message: 400 Nope. (the mock: Unk"
    )
    assert shown[1].startswith("  tape.jsonl#3, POST /responses: accepted, the mock refuses it: Unknown")
    assert shown[5:] == [last] == ["  … 1 more"]
    assert command == "learn it: responses-harness learn --contract own.yaml tape.jsonl"
    assert first == "  - unknown_parameter does not apply at shape_1 (shape_1: number)"


class TestNothingToLearn:
    @pytest.mark.parametrize("content", ["", "garbage", '{"a": 1}\n', "- 1\n- 2\n", "\x00\x01"])
    def test_a_file_without_recordings_is_reported(self, tmp_path: Path, content: str) -> None:
        (tmp_path / "a.jsonl").write_text(content)
        result = run_cli("learn", tmp_path)
        assert result.exit_code == 2
        assert "nothing to learn from in " in result.stderr

    def test_another_providers_model_is_another_service(self, tmp_path: Path) -> None:
        elsewhere = {"provider": "", "host": "api.anthropic.com", "url_path": "/v1/messages"}
        file = write_jsonl(tmp_path, [{**taken(x=1), **elsewhere}])
        assert "nothing to learn from in " in run_cli("learn", file).stderr

    def test_recordings_that_agree_write_no_file(self, learn: Learn) -> None:
        assert learn(*recorded(HI)) == "1 exchange: 0 disagree with the mock, 0 with what was learned\n"
        assert not Path("contract.yaml").exists()


class TestSecrets:
    def test_no_secret_gets_into_the_file(self, learn: Learn) -> None:
        learn(
            taken(colour=KEY),
            refused(f"The colour {KEY} of ann@acme.io is taken.", "truncation", "no", truncation="auto"),
            refused("No.", "truncation", "no", truncation="auto", model=f"ft:{KEY}"),
            refused("No.", "truncation", "no", truncation="auto", model="ft:ann@acme.io"),
        )
        text = Path("contract.yaml").read_text()
        assert KEY not in text
        assert "ann@acme.io" not in text

    def test_an_entry_that_would_need_one_is_left_out_alone(self, learn: Learn) -> None:
        printed = learn(taken(**{KEY: 1}), BLUE)
        assert "not learned: " in printed
        assert "a value of it seems to be a secret" in printed
        assert KEY not in Path("contract.yaml").read_text() + printed
        assert [exemption.at for exemption in contract().exemptions] == ["colour"]

    def test_no_secret_gets_into_a_bundle(self, learn: Learn) -> None:
        learn(taken(colour=f"Bearer {KEY}", input="Mail ann@acme.io", instructions=f"My key is {KEY}."))
        result = run_cli("learn", "--share", "shared.jsonl", TAPE)
        assert "1 exchanges written" in result.stdout, result.output
        (line,) = Path("shared.jsonl").read_text().splitlines()
        assert [word for word in (KEY, "ann@acme.io") if word in line] == []
        assert '"colour"' in line
        assert "requests.refused" in run_cli("verify", "shared.jsonl").stdout


class TestMembersOfAnswers:
    def test_members_of_answers_in_the_events_of_a_stream_become_members_too(self, learn: Learn) -> None:
        (one,) = recorded(HI)
        event = {"type": "response.completed", "sequence_number": 0, "response": {**one["response"], "mood": "good"}}
        streamed = {**one, "response": None, "events": [event], "request": {**one["request"], "stream": True}}
        assert "known in ResponseStreamEvent: response.mood" in learn(streamed)

    def test_members_of_answers_in_an_item_are_known_at_that_place_only(self, learn: Learn, tmp_path: Path) -> None:
        (one,) = recorded(HI)
        one["response"]["output"][0]["mood"] = "good"
        assert "known in Response: output[].mood" in learn(one)
        assert drift("--contract", "contract.yaml") == "-"
        one["response"]["mood"] = "good"
        write_jsonl(tmp_path, [one])
        assert drift("--contract", "contract.yaml") == "1"


class TestTheFileOfTheUser:
    def test_own_entries_stay_and_stay_the_same(self, learn: Learn) -> None:
        own = "format: 1\nexemptions:\n- rule: unknown_parameter\n  at: mine\n"
        Path("contract.yaml").write_text(own)
        learn(BLUE)
        assert [exemption.at for exemption in contract().exemptions] == ["colour", "mine"]
        before = Path("contract.yaml").read_text()
        learn(BLUE)
        assert Path("contract.yaml").read_text() == before

    def test_a_mistake_in_it_stops_before_anything_is_written(self, learn: Learn) -> None:
        learn(BLUE)
        Path("contract.yaml").write_text("format: 1\nexemption: []\n")
        result = run_cli("learn", TAPE)
        assert (result.exit_code, Path("contract.yaml").read_text()) == (2, "format: 1\nexemption: []\n")
        assert "contract.yaml:2: no member 'exemption'. Did you mean 'exemptions'?" in result.stderr

    @pytest.mark.parametrize(
        ("settings", "problem"),
        [
            ("[tool.harness]\ncontract = 3", "pyproject.toml: [tool.harness] contract is the name of a file, got 3."),
            (
                "[tool.harness]\ncontrct = 'a'",
                "pyproject.toml: [tool.harness] has no 'contrct'. Did you mean 'contract'?",
            ),
            ("[tool]\nharness = 3", "pyproject.toml: [tool.harness] is a table, got 3."),
            ("[tool.harness]\ncontract = '", "pyproject.toml: not readable: "),
            ("[tool.harness]\ncontract = " + "[" * 5_000, "pyproject.toml: not readable: "),
            ("[tool.harness]\ncontract = " + "9" * 5_000, "pyproject.toml: not readable: "),
            ("[tool.harness]\ncontract = 0x" + "f" * 5_000, "is the name of a file, got 'an integer of"),
            ("[tool.harness]\ncontract = 'none.yaml'", "none.yaml: cannot be read: No such file or directory."),
            ('[tool.harness]\ncontract = "\\u0000"', "cannot be read: embedded null byte."),
        ],
        ids=[
            "a number",
            "misspelt",
            "no table",
            "an open quote",
            "deep",
            "a long number",
            "hexadecimal",
            "no file",
            "no name",
        ],
    )
    def test_a_mistake_in_the_settings_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, problem: str
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("pyproject.toml").write_text(settings)
        result = run_cli("rules")
        assert (result.exit_code, problem in result.stderr) == (2, True), result.stderr

    def test_one_that_cannot_be_written_is_an_error(self, learn: Learn) -> None:
        learn(BLUE)
        result = run_cli("learn", "--contract", TAPE / "own.yaml", TAPE)
        assert (result.exit_code, "tape.jsonl/own.yaml: cannot be written: " in result.stderr) == (2, True)

    @pytest.mark.parametrize("command", ["verify", "rules", "serve"])
    def test_a_mistake_is_reported_wherever_the_file_is_loaded(self, tmp_path: Path, command: str) -> None:
        (tmp_path / "own.yaml").write_text("format: 7\n")
        paths = [write_jsonl(tmp_path, recorded(HI))] if command == "verify" else []
        result = run_cli(command, "--contract", tmp_path / "own.yaml", *paths)
        assert result.exit_code == 2
        assert "own.yaml:1: format 7 is of a newer release" in " ".join(result.stderr.split())

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"\xff\xfe", "not UTF-8, so not a contract"),
            (b"a: &a [*a]\n", "an alias stands for what contains it"),
            (b"\x00", "unacceptable character"),
            (b"- " * 5000, "nest"),
        ],
    )
    def test_garbage_is_an_error_and_no_crash(self, tmp_path: Path, content: bytes, problem: str) -> None:
        (tmp_path / "own.yaml").write_bytes(content)
        result = run_cli("rules", "--contract", tmp_path / "own.yaml")
        assert result.exit_code == 2, result.exception
        assert problem in " ".join(result.stderr.split())


class TestWhatIsNoEvidence:
    """What a recording holds that says nothing about the API, or cannot be true."""

    @pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gemini-2.5-pro", "mistral-large-latest"])
    def test_a_model_of_another_provider(self, learn: Learn, tmp_path: Path, model: str) -> None:
        why = f"#1: {model!r} is a model of another provider; what a gateway takes for it is no contract of the API."
        other = taken(model=model, colour="blue")
        write_jsonl(tmp_path, [other])
        assert f"nothing to learn from in {TAPE}: {TAPE}{why}" in run_cli("learn", TAPE).stderr
        printed = learn(other, taken(shape="round"))
        assert why in printed
        assert "not judged: " in printed
        assert [exemption.at for exemption in contract().exemptions] == ["shape"]

    def test_a_refusal_of_such_a_model_is_evidence(self, learn: Learn) -> None:
        learn(refused("No such thing.", "model", "no_such_thing", model="claude-sonnet-4-5"))
        assert verdict(model="claude-sonnet-4-5") == "No such thing."

    @pytest.mark.parametrize("day", ["2999-01-01", "2026-13-01", "soon"])
    def test_a_day_that_is_none_or_lies_in_the_future(self, learn: Learn, day: str) -> None:
        one = taken(colour="blue")
        one["response"].pop("created_at", None)
        learn({**one, "recorded_at": f"{day}T00:00:00Z"})
        assert contract().exemptions[0].seen[0].date == ""

    @pytest.mark.parametrize("name", ["a.b", "a[0]", "a]", ""])
    def test_a_name_that_cannot_be_written_as_a_place(self, learn: Learn, name: str) -> None:
        learn(taken(**{name: 1}), BLUE)
        assert [exemption.at for exemption in contract().exemptions] == ["colour"]

    def test_an_entry_that_newer_recordings_contradict_goes(self, learn: Learn) -> None:
        Path("contract.yaml").write_text(
            "format: 1\nrefusals:\n- error: {status: 400, message: a}\n  when: [{at: truncation, value: [auto]}]\n"
            "exemptions:\n- {rule: unknown_parameter, at: colour, when: [{at: colour, is: [text]}]}\n"
        )
        printed = learn(
            refused("b", "truncation", "b", truncation="auto", model="gpt-4.1"),
            refused("b", "truncation", "b", truncation="auto", model="gpt-4o"),
            refused("c", "colour", "c", colour="blue"),
        )
        assert [refusal.error.message for refusal in contract().refusals] == ["b", "c", "a"]
        assert "no longer needed: contract.yaml:6: unknown_parameter does not apply at colour (colour: text)" in printed

    def test_a_refusal_of_what_newer_recordings_show_taken_goes(self, learn: Learn) -> None:
        Path("contract.yaml").write_text(
            "format: 1\nrefusals:\n- error: {status: 400, message: a}\n  instead: unknown_parameter\n"
            "  when: [{at: colour, is: [text]}]\n"
        )
        assert "no longer needed: contract.yaml:3: refused: 400 a (colour: text)" in learn(BLUE)
        assert contract().refusals == ()


class TestABundle:
    def test_a_bundle_has_each_kind_once(self, learn: Learn) -> None:
        learn(BLUE, taken(colour="blue", metadata={"a": "b"}), taken(shape="round"))
        assert "2 exchanges written" in run_cli("learn", "--share", "shared.jsonl", TAPE).stdout

    def test_a_bundle_is_not_written_where_nothing_differs(self, tmp_path: Path) -> None:
        result = run_cli("learn", "--share", tmp_path / "shared.jsonl", write_jsonl(tmp_path, recorded(HI)))
        assert result.stdout == "nothing to share: recordings and mock agree.\n"
        assert not (tmp_path / "shared.jsonl").exists()
