"""How advice is worded for those who write Python and for those who do not."""

import re

import pytest

import harness.server.mock_api  # noqa: F401  (registers the rules)
from harness.contract.rule import RULES
from harness.core.advice_wording import JAVASCRIPT, JSON, PYTHON, PYTHON_FILE, render_json
from harness.explain.render import render_verdict
from harness.items import message
from harness.report.judge_world import judge_world
from harness.server.mock_api import MockApi
from harness.world.scripting.document import parse_document
from harness.world.scripting.validation import InvalidData
from tests.support.reports import KEY, ask
from tests.support.slow import slow_except_every

PYTHON_WORDS = re.compile(r"mock\.|pytest|@|\bNone\b|\bTrue\b|\bFalse\b|turn\(s\)|message\('|when\(|function <|\{'")


def scripted(script):
    """Return a World for other languages, with a script as JSON."""
    api = MockApi(vocabulary=JSON)
    parse_document(script).apply(api.open(KEY))
    return api


@pytest.mark.parametrize("rule", slow_except_every(8, RULES.values()), ids=lambda rule: rule.id)
def test_the_fix_of_every_rule_has_words_without_python(rule):
    assert not PYTHON_WORDS.search(JSON.word_fix(rule.fix))
    assert PYTHON.word_fix(rule.fix) == rule.fix


@pytest.mark.parametrize(
    ("fix", "words"),
    [
        ("`mock.organization(failing=False)` ends it", '`{"organization": {"failing": false}}` ends it'),
        ("`mock.organization(models={…})`", '`{"organization": {"models": […]}}`'),
        ("`mock.organization(agents={…})`", '`{"organization": {"agents": {…}}}`'),
        ("`mock.organization(scopes={'a.write'})`", '`{"organization": {"scopes": ["a.write"]}}`'),
        ("`mock.organization(assistants='v2')`", '`{"organization": {"assistants": "v2"}}`'),
    ],
)
def test_a_change_of_the_account_is_a_member_of_a_document(fix, words):
    assert JSON.word_fix(fix) == words


@pytest.mark.parametrize(
    ("vocabulary", "unused", "losses", "client", "refusals"),
    [
        (
            PYTHON,
            '@pytest.mark.harness(unused="allow")',
            ['@pytest.mark.harness(losses=["a", "b"])', '@pytest.mark.harness(losses="allow")'],
            'with mock.allows("a"): …, or for a whole test\n@pytest.mark.harness(client=["a"])',
            'with mock.refuses("a"): …, or for a whole test\n@pytest.mark.harness(refusals=["a", "b"])',
        ),
        (
            JAVASCRIPT,
            'useMock({ unused: "allow" })',
            ['useMock({ losses: ["a", "b"] })', 'useMock({ losses: "allow" })'],
            'useMock({ client: ["a"] })',
            'await mock.refuses("a", …), or for a whole file\nuseMock({ refusals: ["a", "b"] })',
        ),
        (
            JSON,
            "GET /_harness/report?unused=allow",
            ["GET /_harness/report?losses=allow"] * 2,
            '{"client": ["a"]}',
            'POST /_harness/expect {"refusals": ["a", "b"]}, before the request',
        ),
        (
            JSON.for_command(),
            "responses-harness serve --unused allow -- …",
            ["responses-harness serve --losses a,b -- …", "responses-harness serve --losses allow -- …"],
            "responses-harness serve --client a -- …",
            "responses-harness serve --refusals a,b -- …",
        ),
    ],
    ids=["python", "javascript", "json", "command"],
)
def test_advice_says_what_allows_a_finding(vocabulary, unused, losses, client, refusals):
    assert vocabulary.allow_unused == unused
    assert [vocabulary.allow_losses(ids) for ids in (["a", "b"], [])] == losses
    assert vocabulary.allow_client(["a"]) == client
    assert vocabulary.expect_refusals(["a", "b"]) == refusals


def test_a_request_without_a_turn_is_answered_in_json():
    api = scripted({"when": [{"tools": ["search"], "input": {"pattern": "a+"}, "script": [{"message": "Hi."}]}]})
    answer = ask(api, "bbb")
    assert answer["error"]["message"].splitlines() == [
        'No turn answers this request. The closest is when {"tools": ["search"], "input": {"pattern": "a+"}}, 1 turn left:',
        '  - tools wanted: ["search"]',
        "  + tools was:    []",
        '  - input wanted: {"pattern": "a+"}',
        '  + input was:    "bbb"',
        'Loosen that condition, or add a turn that answers every request: {"script": [{"message": "…"}]}.',
    ]


def test_a_verdict_speaks_of_documents_alone():
    once = {"script": [{"message": "a"}]}
    spent, silent, refused = scripted(once), scripted(once), scripted(once)
    ask(spent, "hi")
    ask(spent, "hi")
    ask(refused, "hi", model="bad model")
    unused = scripted({"script": [{"message": "a"}, {"message": "b"}]})
    ask(unused, "hi")
    repeated = scripted({**once, "when": [{"input": "x", "script": [{"message": "b"}], "repeat": True}]})
    for api, words in [
        (spent, 'Add one: {"script": [{"message": "…"}]}.'),
        (unused, '  where   script: message "b"'),
        (repeated, 'when {"input": "x"}: message "b", repeated'),
        (silent, "No request came with this test's key"),
        (refused, '`{"organization": {"models": […]}}` or `responses-harness serve --models`'),
        (refused, 'POST /_harness/expect {"refusals": ["model_not_found"]}'),
    ]:
        judged = judge_world(api.open(KEY), verbose=True)
        assert words in judged.verdict
        assert not PYTHON_WORDS.search(judged.report.replace(KEY, ""))


def test_a_script_file_in_python_is_mended_in_python_but_no_test_is_marked():
    api = MockApi(vocabulary=PYTHON_FILE)
    mock = api.open(KEY)
    mock.script(message("a"))
    ask(api, "hi")
    mock.script(message("b"))
    assert "@pytest" not in render_verdict(mock.world)
    ask(api, "hi")
    ask(api, "hi")
    assert "Add one to the file: `script = [message('…')]`." in render_verdict(mock.world)


def test_a_value_that_json_cannot_say_is_shown_all_the_same():
    loop = []
    loop.append(loop)
    assert render_json(loop).startswith("[[[[")
    assert "…" in render_json(loop)
    assert render_json("\ud800\n") == '"\\ud800\\n"'
    assert render_json({"é": [None, True]}) == '{"é": [null, true]}'


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ([{"incomplete": "max_output_tokens"}, {"message": "x"}], "A turn is items, then an ending, then faults: "),
        ([{"incomplete": "max_output_tokens"}, {"failed": {}}], "A turn is items, then an ending, then faults: "),
        ([{"cut": {"after": 4}}, {"message": "x"}], "A turn is items, then an ending, then faults: "),
        ([{"message": "x"}, {"rate_limit": {"after": "1s"}}], "An error such as `rate_limit` is an answer by itself."),
        ([{"message": 4}], "text is 4. Pass a string, or a list of strings: the exact deltas to stream."),
        ([{"function_call": {"name": None}}], "name is null. Pass a non-empty string."),
        ([{"message": {"text": "x", "phase": True}}], "phase is true. "),
    ],
)
def test_a_mistake_in_a_document_is_worded_without_python(turn, problem):
    with pytest.raises(InvalidData) as told:
        parse_document({"script": [turn]})
    assert problem in str(told.value)
    assert not PYTHON_WORDS.search(str(told.value))
