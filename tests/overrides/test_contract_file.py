"""`contract.yaml`: what may stand in it, and what is said of a mistake."""

import pytest

import harness.foundry  # noqa: F401  (registers every operation)
from harness.contract.overrides import AddedRefusal, Condition, Evidence, Exemption, MemberCondition, Overrides
from harness.core.errors import ApiError, ConfigError
from harness.overrides.contract_file import parse_overrides, render_overrides

STATUS = MemberCondition("input[].status", (None, "x", 1, True), ("list",), "message")
WHEN = Condition(models=("o3",), members=(STATUS,))
SEEN = (Evidence("tests/a.yaml", 2, "2025-10-02"), Evidence("tests/b.yaml", 1))


def test_what_is_written_is_read_again() -> None:
    contract = Overrides(
        (Exemption("invalid_type", "input[].status", WHEN, {"kind": "call"}, SEEN),),
        (AddedRefusal(ApiError(400, "No {value}: {{x}}", "{path}", "no"), WHEN, "invalid_value", SEEN),),
    )
    again = parse_overrides(render_overrides(contract))
    lines = [entry.line for entry in again.entries]
    assert all(lines)
    unnumbered = repr(again).replace(f"line={lines[0]}", "line=0").replace(f"line={lines[1]}", "line=0")
    assert unnumbered == repr(Overrides(contract.exemptions, contract.refusals, file="contract.yaml"))


@pytest.mark.parametrize(
    "text",
    [
        "refusals:\n- error: {status: 400, message: a}\n  when: [{at: x, value: [1]}]\n"
        "- error: {status: 400, message: b}\n  when: [{at: x, value: [1, 2]}]",
        "exemptions:\n- {rule: unknown_parameter, at: y}\nrefusals:\n- error: {status: 400, message: a}\n"
        "  instead: unknown_parameter\n  when: [{at: x, is: [text]}]",
        "exemptions:\n- {rule: invalid_type, at: x, when: [{at: x, is: [text]}]}\nrefusals:\n"
        "- error: {status: 400, message: a}\n  instead: invalid_type\n  when: [{at: x, is: [text, number]}]",
    ],
    ids=["some of the values", "another place", "some of the kinds"],
)
def test_entries_about_other_requests_contradict_nothing(text: str) -> None:
    assert parse_overrides(f"format: 1\n{text}").entries


MISTAKES = {
    "format: 2": "1: format 2 is of a newer release; this one reads format 1. Update responses-harness.",
    "format: one": "1: `format` is 1, got 'one'.",
    "exemptions: []": "1: a contract needs `format`.",
    "[1]": "1: a contract is a mapping, got a list.",
    "": "1: a contract needs `format`.",
    "format: [": "2: not YAML: ",
    "exemptions: []\nformat: !!bool x": "2: not a contract: 'x' is not a value of the type bool.",
    "format: 1\nexemption: []": "2: a contract has no `exemption`. Did you mean 'exemptions'?",
    "format: 1\n? [1]\n: 2\n": "2: a contract has no `[1]`. It is one of format, exemptions, refusals, members.",
    "format: 1\n? {a: 1}\n: 2\n? {a: 1}\n: 2\n": "4: `{a: 1}` is a duplicate key; delete one of them.",
}
EXEMPTIONS = {
    "rule: invalid_type\n  words: .inf": "4: `words` is a mapping, got inf.",
    "rule: invalid_typ\n  at: x": "3: the rule 'invalid_typ' is not known. Did you mean 'invalid_type'?",
    "at: x": "3: an exemption needs `rule`.",
    "rule: invalid_type\n  when:\n  - at: x\n    is: [txt]": "6: the kind 'txt' is not known. Did you mean 'text'?",
    "rule: invalid_type\n  when:\n  - {at: x, values: [1]}": "5: a condition has no `values`. Did you mean 'value'?",
    "rule: invalid_type\n  operation: POST /response": "4: the operation 'POST /response' is not known. Did you mean "
    "'POST /responses'?",
    "{rule: invalid_type, at: 'tools[0].name'}": "3: 'tools[0].name' is not a place; write `tools[].name`, without numbers.",
    "rule: invalid_type\n  seen: [{file: a, exchange: 1, date: 2026-02-30}]": "4: `date` is a day, such as 2026-03-15, "
    "got '2026-02-30'.",
    "rule: invalid_type\n  seen: [{file: a, exchange: 0}]": "4: `exchange` is a number from 1, got 0.",
    "rule: invalid_type\n  seen: [{file: a, exchange: x}]": "4: `exchange` is a number",
    "rule: invalid_type\n  rule: invalid_value": "4: `rule` is a duplicate key; delete one of them.",
    "rule: invalid_type\n  words: [a]": "4: `words` is a mapping, got a list",
    "rule: invalid_type\n  at: x\n  when: [{at: x}]\nrefusals:\n- error: {status: 400, message: a}\n"
    "  instead: invalid_type\n  when: [{at: x}]": "7: the API refused these requests, but line 3 says that it took them; "
    "delete one of them.",
}
REFUSALS = {
    "error: {status: 200, message: x}": "3: `status` is one from 400 to 499, got 200.",
    "error: {status: 400, message: x}": "3: a refusal needs `when` or `models`: it would refuse every request.",
    "error: {status: 400, message: 1}\n  models: [x]": "3: `error.message` is a text",
    "error: {status: 400, message: 'a {modle}'}\n  models: [o3]": "3: {modle} is not a fact. Did you mean 'model'? A brace "
    "itself is {{ or }}.",
    "error: {status: 400, message: 'a { b'}\n  models: [o3]": "3: a brace stands alone; write {{ or }}.",
    "error: {status: 400, message: a}\n  models: [o3]\n- error: {status: 400, message: b}\n  models: [o3]": "5: it says "
    "another error for the same requests as line 3; delete one of them.",
    "error: {status: 400, message: a}\n  when: [{at: x, value: [1, 2]}]\n- error: {status: 400, message: b}\n"
    "  when: [{at: x, value: [2]}]": "5: it says another error for the same requests as line 3; delete one of them.",
}
MEMBERS = {
    "{in: Response}": "3: a member needs `at`.",
    "{in: Respons, at: x}": "3: the schema 'Respons' is not known. Did you mean 'Response'?",
    "{in: Response, at: x}\n- {in: Response, at: x}": "4: it says the same as line 3; delete one of them.",
}
for _name, _entries in (("exemptions", EXEMPTIONS), ("refusals", REFUSALS), ("members", MEMBERS)):
    MISTAKES |= {f"format: 1\n{_name}:\n- {entry}": problem for entry, problem in _entries.items()}


@pytest.mark.parametrize(("text", "problem"), MISTAKES.items())
def test_a_mistake_is_named_with_its_line_and_the_nearest_name(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_overrides(text)
    assert str(raised.value).startswith(f"contract.yaml:{problem}")


def test_nothing_was_seen_in_the_future() -> None:
    text = "format: 1\nexemptions:\n- rule: invalid_type\n  seen: [{file: a, exchange: 1, date: 2026-05-02}]"
    assert parse_overrides(text, today="2026-05-02").exemptions[0].seen[0].date == "2026-05-02"
    told = r"contract.yaml:4: `date` '2026-05-02' lies in the future: today is 2026-05-01"
    with pytest.raises(ConfigError, match=told):
        parse_overrides(text, today="2026-05-01")
