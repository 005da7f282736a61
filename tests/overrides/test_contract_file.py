"""`contract.yaml`: what may stand in it, and what is said of a mistake."""

import pytest

import harness.foundry  # noqa: F401  (registers every operation)
from harness.contract.overrides import AddedRefusal, Condition, Evidence, Exemption, MemberCondition, Overrides
from harness.core.errors import ApiError, ConfigError
from harness.overrides.contract_file import parse_overrides, render_overrides

STATUS = MemberCondition("input[].status", (None, "x", 1, True), ("list",), "message")
WHEN = Condition("POST /responses/compact", "azure", models=("o3",), members=(STATUS,))
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
    "format: one": '1: format is "one". Pass 1.',
    "exemptions: []": "1: format is missing. Add it.",
    "format: 1\nexemptions: {rule: x}": '2: exemptions is {"rule": "x"}. Pass a list.',
    "[1]": "1: [1] is not an object. Its members: format, exemptions, refusals, members.",
    "": "1: the file is empty. Begin with `format: 1`.",
    "format: [": "2: did not find expected node content.",
    "exemptions: []\nformat: !!bool x": "2: 'x' is not a value of the type bool.",
    "format: 1\nexemption: []": "2: no member 'exemption'. Did you mean 'exemptions'?",
    "format: 1\n? [1]\n: 2\n": "2: found unhashable key.",
    "format: 1\n? {a: 1}\n: 2\n? {a: 1}\n: 2\n": "2: found unhashable key.",
}
EXEMPTIONS = {
    "rule: invalid_type\n  words: .inf": "4: words is Infinity. Pass an object.",
    "rule: invalid_typ\n  at: x": "3: no rule 'invalid_typ'. Did you mean 'invalid_type'?",
    "at: x": "3: rule is missing. Add it.",
    "rule: invalid_type\n  when:\n  - at: x\n    is: [txt]": "6: no kind 'txt'. Did you mean 'text'?",
    "rule: invalid_type\n  when:\n  - {at: x, values: [1]}": "5: no member 'values'. Did you mean 'value'?",
    "rule: invalid_type\n  operation: POST /response": "4: no operation 'POST /response'. Did you mean "
    "'POST /responses'?",
    "{rule: invalid_type, at: 'tools[0].name'}": '3: at is "tools[0].name". Pass a place without numbers, `tools[].name`.',
    "rule: invalid_type\n  seen: [{file: a, exchange: 1, date: 2026-02-30}]": '4: date is "2026-02-30". Pass a day, '
    "such as 2026-03-15.",
    "rule: invalid_type\n  seen: [{file: a, exchange: 0}]": "4: exchange is 0. Pass a number from 1.",
    "rule: invalid_type\n  seen: [{file: a, exchange: x}]": '4: exchange is "x". Pass a number from 1.',
    "rule: invalid_type\n  rule: invalid_value": "4: key 'rule' is set twice. Remove one.",
    "rule: invalid_type\n  when: [{at: x, value: [[1]]}]": "4: value is [[1]]. Pass a list of texts, numbers, "
    "booleans and nulls.",
    "rule: invalid_type\n- rule: invalid_type": "4: it says the same as line 3; delete one of them.",
    "rule: invalid_type\n  words: [a]": '4: words is ["a"]. Pass an object.',
    "rule: invalid_type\n  at: x\n  when: [{at: x}]\nrefusals:\n- error: {status: 400, message: a}\n"
    "  instead: invalid_type\n  when: [{at: x}]": "7: the API refused these requests, but line 3 says that it took them; "
    "delete one of them.",
}
REFUSALS = {
    "error: {status: 399, message: x}": "3: status is 399. Pass a status from 400 to 499.",
    "error: {status: 500, message: x}": "3: status is 500. Pass a status from 400 to 499.",
    "error: {status: 400, message: x}": "3: a refusal needs `when` or `models`: it would refuse every request.",
    "error: {status: 400, message: 1}\n  models: [x]": "3: message is 1. Pass a text.",
    "error: {status: 400, message: 'a {modle}'}\n  models: [o3]": "3: {modle} is not a fact. Did you mean 'model'? A brace "
    "itself is {{ or }}.",
    "error: {status: 400, message: 'a { b'}\n  models: [o3]": "3: a brace stands alone; write {{ or }}.",
    "error: {status: 400, message: a}\n  models: [o3]\n- error: {status: 400, message: b}\n  models: [o3]": "5: it says "
    "another error for the same requests as line 3; delete one of them.",
    "error: {status: 400, message: a}\n  when: [{at: x, value: [1, 2]}]\n- error: {status: 400, message: b}\n"
    "  when: [{at: x, value: [2]}]": "5: it says another error for the same requests as line 3; delete one of them.",
}
MEMBERS = {
    "{in: Response}": "3: at is missing. Add it.",
    "{in: Respons, at: x}": "3: no schema 'Respons'. Did you mean 'Response'?",
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
    told = r"contract.yaml:3: date '2026-05-02' lies in the future: today is 2026-05-01"
    with pytest.raises(ConfigError, match=told):
        parse_overrides(text, today="2026-05-01")
