"""`contract.yaml`: what may stand in it, and what is said of a mistake."""

from __future__ import annotations

import pytest

from harness.contract.own_contract import Condition, Evidence, Exemption, MemberCondition, OwnContract, OwnRefusal
from harness.contract.own_contract_file import parse_contract, render_contract
from harness.core.errors import ApiError, ConfigError

WHEN = Condition(
    models=("o3",), members=(MemberCondition("input[].status", (None, "x", 1, True), ("list",), "message"),)
)
SEEN = (Evidence("tests/a.yaml", 2, "2025-10-02"), Evidence("tests/b.yaml", 1))


def test_what_is_written_is_read_again() -> None:
    contract = OwnContract(
        (Exemption("invalid_type", "input[].status", WHEN, {"kind": "call"}, SEEN),),
        (OwnRefusal(ApiError(400, "No {value}: {{x}}", "{path}", "no"), WHEN, "invalid_value", SEEN),),
    )
    again = parse_contract(render_contract(contract))
    lines = [each.line for each in again.entries]
    assert all(lines)
    assert repr(again).replace(f"line={lines[0]}", "line=0").replace(f"line={lines[1]}", "line=0") == repr(
        OwnContract(contract.exemptions, contract.refusals, file="contract.yaml")
    )


REFUSAL = "- error: {{status: 400, message: {message}}}\n  models: [o3]\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "format: 2",
            "contract.yaml:1: format 2 is of a newer release; this one reads format 1. Update responses-harness.",
        ),
        ("format: one", "contract.yaml:1: `format` is 1, got 'one'."),
        ("exemptions: []", "contract.yaml:1: a contract needs `format`."),
        ("[1]", "contract.yaml:1: a contract is a mapping, got a list."),
        ("", "contract.yaml:1: a contract needs `format`."),
        ("format: [", "contract.yaml:2: no YAML: "),
        ("format: 1\nexemption: []", "contract.yaml:2: a contract has no `exemption`. Did you mean 'exemptions'?"),
        (
            "format: 1\nexemptions:\n- rule: invalid_typ\n  at: x",
            "contract.yaml:3: the rule 'invalid_typ' is not known. Did you mean 'invalid_type'?",
        ),
        ("format: 1\nexemptions:\n- at: x", "contract.yaml:3: an exemption needs `rule`."),
        (
            "format: 1\nexemptions:\n- rule: invalid_type\n  when:\n  - at: x\n    is: [txt]",
            "contract.yaml:6: the kind 'txt' is not known. Did you mean 'text'?",
        ),
        (
            "format: 1\nexemptions:\n- rule: invalid_type\n  when:\n  - {at: x, values: [1]}",
            "contract.yaml:5: a condition has no `values`. Did you mean 'value'?",
        ),
        (
            "format: 1\nexemptions:\n- rule: invalid_type\n  operation: POST /response",
            "contract.yaml:4: the operation 'POST /response' is not known. Did you mean 'POST /responses'?",
        ),
        (
            "format: 1\nrefusals:\n- error: {status: 200, message: x}",
            "contract.yaml:3: `status` is one from 400 to 499, got 200.",
        ),
        (
            "format: 1\nrefusals:\n- error: {status: 400, message: x}",
            "contract.yaml:3: a refusal needs `when` or `models`: it would refuse every request.",
        ),
        (
            f"format: 1\nrefusals:\n{REFUSAL.format(message=chr(34) + 'a {modle}' + chr(34))}",
            "contract.yaml:3: {modle} is no fact. Did you mean 'model'? A brace itself is {{ or }}.",
        ),
        (
            f"format: 1\nrefusals:\n{REFUSAL.format(message=chr(34) + 'a { b' + chr(34))}",
            "a brace stands alone; write {{ or }}.",
        ),
        (
            f"format: 1\nrefusals:\n{REFUSAL.format(message='a')}{REFUSAL.format(message='b')}",
            "contract.yaml:5: it says another error for the same requests as line 3; delete one of them.",
        ),
        (
            "format: 1\nexemptions:\n- rule: invalid_type\n  at: x\n  when: [{at: x}]\n"
            "refusals:\n- error: {status: 400, message: a}\n  instead: invalid_type\n  when: [{at: x}]",
            "contract.yaml:7: the API refused these requests, but line 3 says that it took them; delete one of them.",
        ),
        ("format: 1\nmembers:\n- {in: Response}", "contract.yaml:3: a member needs `at`."),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_nearest_name(text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_contract(text)
    assert problem in str(raised.value)
