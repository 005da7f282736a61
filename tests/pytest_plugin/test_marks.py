"""What a mark `harness` may say: one without sense is an error of its test; `as_of` makes the mock the API of a day."""

from tests.support.inner_run import Run

NAMES = "unused, losses, refusals, webhooks, client, requests, patience, dialect, key, as_of, contract, tls"
KNOWN = f"the options are {NAMES}, as in unused='allow'."
KEY = "pass the API key that the program sends, as in key='sk-test'."
NO_DATE = "is not a date; pass a day or a month, such as 2026-03-15 or 2026-03."
PATIENCE = "pass the seconds that a client may wait for an answer, as in patience=2."
WRONG = {
    "unusd='allow'": f"(unusd=…): {KNOWN} Did you mean 'unused'?",
    "refusal='allow'": f"(refusal=…): {KNOWN} Did you mean 'refusals'?",
    "'allow'": f"('allow'): {KNOWN}",
    "unused=True": "(unused=True): use one of 'fail', 'allow'.",
    "unused='alow'": "(unused='alow'): use one of 'fail', 'allow'. Did you mean 'allow'?",
    "losses='some'": "(losses='some'): use one of 'fail', 'allow', 'strict' or a list of losses to allow.",
    "losses=['call-drop']": "(losses=['call-drop']): use some of '",
    "losses=['citation-droped']": "Did you mean 'citation-dropped'?",
    "losses=[[]]": "(losses=[[]]): use some of '",
    "webhooks=['webhook-lat']": "Did you mean 'webhook-late'?",
    "client='strct'": "use one of 'fail', 'allow', 'strict' or a list of mistakes to allow. Did you mean 'strict'?",
    "client=['no-backof']": "Did you mean 'no-backoff'?",
    "patience=0": f"(patience=0): {PATIENCE}",
    "patience=True": f"(patience=True): {PATIENCE}",
    "dialect='aws'": "(dialect='aws'): use one of 'openai', 'azure', 'foundry'.",
    "key=''": f"(key=''): {KEY}",
    "key=' '": f"(key=' '): {KEY}",
    "key=3": f"(key=3): {KEY}",
    "key=['sk-test']": f"(key=['sk-test']): {KEY}",
    "as_of='soon'": f"(as_of='soon'): 'soon' {NO_DATE}",
    "as_of=202603": f"(as_of=202603): 202603 {NO_DATE}",
    "tls='yes'": "(tls='yes'): use True or False.",
    "tls=1": "(tls=1): use True or False.",
    "tls=None": "(tls=None): use True or False.",
}
"""Marks, and what is said of each."""


def test_each_says_what_may_stand_there(run: Run) -> None:
    tests = (f"@pytest.mark.harness({mark})\ndef test_{number}(mock): ...\n" for number, mark in enumerate(WRONG))
    result = run("".join(tests))
    result.assert_outcomes(errors=len(WRONG))
    said = [line for line in result.outlines if line.startswith("@pytest.mark.harness(")]
    assert len(said) == len(WRONG)
    assert [(line, words) for line, words in zip(said, WRONG.values(), strict=True) if words not in line] == []


AS_OF = """
@pytest.mark.harness({mark})
def test_it(mock, openai_client):
    mock.script(message("ok"))
    answer = openai_client.responses.create(model="codex-mini-latest", input="x", tools=[{{"type": "local_shell"}}])
    assert answer.created_at == {created_at}
"""


def test_as_of_a_day_what_the_api_accepted_then_is_accepted(run: Run) -> None:
    run(AS_OF.format(mark="as_of='2026-04-30'", created_at=1_777_550_401)).assert_outcomes(passed=1)


def test_without_as_of_the_newest_contract_holds(run: Run) -> None:
    run(AS_OF.format(mark="", created_at=0)).shows("*The local_shell tool is no longer supported.*", failed=1)
