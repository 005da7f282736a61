"""A refusal that nobody asked for fails its test; one that the test expects, provokes or catches does not."""

from contextlib import suppress

import httpx
import openai
import pytest

from harness.ending import failed
from harness.faults import rate_limit, server_error
from harness.world.mock import Mock
from tests.support.slow import slow_except

AGENT = """
def agent(swallows=True):
    client = openai.OpenAI(max_retries=0)
    first = client.responses.create(model="gpt-4.1", input="Weather?")
    with contextlib.suppress(openai.BadRequestError if swallows else ()):
        client.responses.create(model="gpt-4.1", input="Well?", previous_response_id=first.id)

@pytest.fixture(autouse=True)
def call(mock):
    mock.script(function_call("f", {}, off_schema=True))
"""
REFUSED = "Request 2 was refused (400): No tool output found for function call call_*"


def test_code_that_swallows_a_refusal_fails_its_test(run):
    run(AGENT + "def test_it(mock): agent()").shows(
        REFUSED,
        "  where   input: function_call f * from exchange 1 has no output in this request",
        "  fix     Answer every call of the turn before*",
        '  expect  with mock.refuses("call_needs_output"): …, or for a whole test',
        '          @pytest.mark.harness(refusals=["[]"call_needs_output"])',
        "contract: 2 exchanges, 0 refusals expected, 1 unexpected, *",
        failed=1,
    )


def test_every_rule_is_named_when_several_refuse(run):
    run("""
def test_it(mock):
    import httpx
    for path in ("/nothing", "/responses/resp_none", "/nowhere"):
        httpx.get(mock.base_url + path, headers={"authorization": f"Bearer {mock.api_key}"})
""").shows(
        "Request 1 was refused (404): Invalid URL (GET /v1/nothing)",
        '*@pytest.mark.harness(refusals=["[]"unknown_url", "response_not_found"])',
        "and 2 more; -v shows them:",
        "  Request 2 was refused (404): Response with id 'resp_none' not found.",
        "  Request 3 was refused (404): Invalid URL (GET /v1/nowhere)",
        failed=1,
    )


def test_a_test_expects_a_refusal_by_rule_area_or_text(run):
    run(f"""{AGENT}
@pytest.mark.parametrize("text", ["call_needs_output", "pairing", "No tool output found"])
def test_it(mock, text):
    with mock.refuses(text) as refused:
        agent()
    assert refused.exchange is mock.exchanges[1]
    assert refused.rule == "call_needs_output"
    assert refused.error["param"] == "input"
""").shows("contract: 6 exchanges, 3 refusals expected, *", passed=3)


def test_another_refusal_in_the_block_is_not_expected(run):
    run(f"""{AGENT}
def test_it(mock):
    with mock.refuses("call_needs_output"):
        agent()
        swallow(temperature=3)
""").shows("Request 3 was refused (400)*", "contract: 3 exchanges, 1 refusal expected, 1 unexpected, *", failed=1)


def test_the_same_refusal_after_the_block_is_not_expected(run):
    run(f"""{AGENT}
def test_it(mock):
    with mock.refuses("call_needs_output"):
        agent()
    mock.script(function_call("g", {{}}, off_schema=True))
    agent()
""").shows("Request 4 was refused (400)*", failed=1)


@pytest.mark.parametrize(
    ("text", "words"),
    slow_except(
        [0],
        [
            ("pairng", "Did you mean 'pairing'?"),
            ("content", ""),
            ("some_thing_else_entirely", "No rule has this name: `responses-harness rules` lists all."),
        ],
    ),
)
def test_a_refusal_that_was_expected_and_does_not_come_fails_the_block(run, text, words):
    run(AGENT + f"def test_it(mock):\n    with mock.refuses({text!r}):\n        agent()").shows(
        f">*with mock.refuses({text!r}):",
        f'E*AssertionError: No request was refused by "{text}", which was expected: request 2 was refused (400) by '
        f"call_needs_output: No tool output found for function call call_*. {words}".rstrip(),
        failed=1,
    ).hides("*refusals.py*")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("pass", "no request came"),
        ('openai.OpenAI().responses.create(model="gpt-4.1", input="x")', "none of 1 request was refused"),
    ],
)
def test_a_block_without_any_refusal_says_so(run, body, words):
    run(AGENT + f"def test_it(mock):\n    with mock.refuses('tools'):\n        {body}").shows(
        f'E*No request was refused by "tools", which was expected: {words}.'
    )


def test_an_error_that_leaves_the_block_does_not_hide_that_the_refusal_did_not_come(run):
    run(f"""{AGENT}
def test_it(mock):
    with pytest.raises(openai.BadRequestError), mock.refuses("tools"):
        agent(swallows=False)
""").shows(
        'No request was refused by "tools", which was expected.',
        "  came    request 2 was refused (400) by call_needs_output: No tool output found for function call",
        failed=1,
    )


def test_a_text_is_what_is_expected(run):
    run("def test_it(mock):\n    mock.refuses(404)").shows(
        "E*ConfigError: refuses(404): pass the id of a rule, an area of rules, or part*"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    slow_except(
        [0],
        [
            (
                "call_need_output",
                "refuses('call_need_output'): no rule has this name. Did you mean 'call_needs_output'?",
            ),
            ("", "refuses('') matches every refusal: pass the id of a rule, an area of rules, or part of the message."),
            (" ", "refuses(' ') matches every refusal: *"),
        ],
    ),
)
def test_an_expectation_that_names_no_refusal_is_reported_at_once(run, text, words):
    run(AGENT + f"def test_it(mock):\n    with mock.refuses({text!r}):\n        agent()").shows(
        f"E*ConfigError: {words}", failed=1
    )


@pytest.mark.parametrize("text", ["invalid_encrypted_content", "max_output_tokens", "get_weather", "No tool output"])
def test_what_a_message_may_contain_can_be_expected(text):
    assert Mock().refuses(text).text == text


def test_a_block_has_the_requests_of_other_threads_and_loops_and_without_a_with_those_to_the_end_of_the_test(run):
    run(f"""{AGENT}
def test_without_a_with(mock):
    mock.refuses("call_needs_output")
    agent()

def test_thread(mock):
    with mock.refuses("call_needs_output"), ThreadPoolExecutor(1) as pool:
        pool.submit(agent).result()

def test_loop(mock):
    async def main():
        with mock.refuses("call_needs_output"):
            await asyncio.to_thread(agent)
    asyncio.run(main())
""").assert_outcomes(passed=3)


def test_an_error_that_the_test_has_caught_itself_was_asked_for(run):
    run(f"""{AGENT}
import unittest

class AppError(Exception): ...

def wrapped(*, kept):
    try:
        agent(swallows=False)
    except openai.BadRequestError as error:
        if not kept:
            raise AppError
        refused = error
    raise AppError from refused

async def grouped():
    async with asyncio.TaskGroup() as group:
        group.create_task(asyncio.to_thread(agent, False))

def test_raises(mock):
    with pytest.raises(openai.BadRequestError):
        agent(swallows=False)

def test_function(mock):
    pytest.raises(openai.BadRequestError, agent, swallows=False)

def test_cause(mock):
    with pytest.raises(AppError):
        wrapped(kept=True)

def test_context(mock):
    with pytest.raises(AppError):
        wrapped(kept=False)

def test_group(mock):
    with pytest.raises(ExceptionGroup):
        asyncio.run(grouped())

def test_raises_group(mock):
    if hasattr(pytest, "RaisesGroup"):
        with pytest.RaisesGroup(openai.BadRequestError):
            asyncio.run(grouped())

@pytest.mark.harness(dialect="azure", unused="allow")
def test_azure(mock):
    with openai.AzureOpenAI(max_retries=0) as client, pytest.raises(openai.BadRequestError):
        client.responses.create(model="gpt-4.1", input="x", temperature=3)

@pytest.mark.usefixtures("mock")
class TestCase(unittest.TestCase):
    def test_assert_raises(self):
        with self.assertRaises(openai.BadRequestError):
            agent(swallows=False)

    def test_assert_raises_function(self):
        self.assertRaisesRegex(openai.BadRequestError, "No tool output", agent, swallows=False)
""").shows("contract: *, 9 refusals expected, *", passed=9)


def test_an_error_of_raw_http_counts_as_caught_when_it_carries_the_answer(mock):
    with pytest.raises(httpx.HTTPStatusError):
        httpx.get(mock.base_url + "/x", headers={"authorization": f"Bearer {mock.api_key}"}).raise_for_status()


def test_another_error_that_the_test_catches_excuses_no_refusal(run):
    run(f"""{AGENT}
def test_it(mock):
    agent()
    with pytest.raises(ValueError):
        raise ValueError
    with pytest.raises(openai.BadRequestError):
        openai.OpenAI().responses.create(model="gpt-4.1", input="x", temperature=3)
""").shows(REFUSED, "*1 refusal expected, 1 unexpected*", failed=1)


@pytest.mark.parametrize("turn", [rate_limit(), server_error(), failed("server_error")])
def test_a_scripted_fault_was_asked_for(turn, mock, client):
    mock.script(turn)
    with suppress(openai.OpenAIError):
        client.responses.create(model="gpt-4.1", input="x")


ACCOUNT = """
def test_it(mock):
    mock.organization(models={"gpt-4.1"}, zdr=True)
    swallow(model=%r, temperature=%r)
"""


def test_refusals_that_the_account_causes_are_expected_and_others_are_not(run):
    run(ACCOUNT % ("gpt-4o", 1)).assert_outcomes(passed=1)
    run(ACCOUNT % ("gpt-4.1", 3)).shows("Request 1 was refused (400)*temperature*", failed=1)


def test_a_marker_allows_refusals(run):
    options = ("allow", ["call_needs_output"], ["tools", "pairing"])
    tests = [
        f"@pytest.mark.harness(refusals={one!r})\ndef test_{at}(mock): agent()\n" for at, one in enumerate(options)
    ]
    run(AGENT + "".join(tests)).shows("contract: 6 exchanges, 3 refusals expected, *", passed=3)


def test_a_marker_allows_no_other_rule_and_is_no_demand(run):
    run(f"""{AGENT}
@pytest.mark.harness(refusals=["tools"])
def test_it(mock): agent()

@pytest.mark.harness(refusals=["tools"], unused="allow")
def test_nothing(mock): ...
""").assert_outcomes(failed=1, passed=1)


@pytest.mark.parametrize("option", ["allow", "tools pairing"])
def test_an_ini_option_is_the_default_of_the_marker(run, pytester, option):
    strict = '\n@pytest.mark.harness(refusals="fail")\ndef test_strict(mock): agent()'
    source = AGENT + "def test_it(mock): agent()" + strict
    run(source, "-o", f"harness_refusals={option}").assert_outcomes(passed=1, failed=1)


def test_an_ini_option_that_does_not_fit_is_a_config_error(run):
    run("def test_it(mock): ...", "-o", "harness_refusals=call_need_output").shows(
        "harness_refusals = call_need_output: no rule and no area is called 'call_need_output'. "
        "Did you mean 'call_needs_output'[?]*",
        errors=1,
    )


def test_a_refusal_after_the_body_is_an_error_of_the_teardown(run):
    run("""
@pytest.fixture
def app(mock):
    yield
    swallow(temperature=3)

def test_it(app): ...
""").shows("Request 1 was refused (400)*", passed=1, errors=1)


def test_a_skip_hides_no_refusal(run):
    result = run("""
import unittest

def test_skips(mock):
    swallow(temperature=3)
    pytest.skip("the API is not there")

@pytest.fixture
def app(mock):
    swallow(temperature=3)
    pytest.skip("the API is not there")

def test_app(app): ...

class TestCase(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def given(self, mock): ...

    def test_skips(self):
        swallow(temperature=3)
        self.skipTest("the API is not there")
""")
    result.assert_outcomes(skipped=3, errors=3)
    assert sum(line.startswith("Request 1 was refused (400)") for line in result.outlines) == 3


def test_a_skip_needs_no_request(run):
    run("""
def test_skips(mock):
    mock.script(message("unused"))
    pytest.skip("nothing to do here")

def test_expects(mock):
    with mock.refuses("number_above_maximum"), pytest.raises(openai.BadRequestError):
        openai.OpenAI(max_retries=0).responses.create(model="gpt-4.1", input="x", temperature=3)
    pytest.skip("nothing more to do here")
""").assert_outcomes(skipped=2)


def test_a_failing_test_is_not_judged_twice(run):
    run(AGENT + "def test_it(mock):\n    agent()\n    assert 1 == 2").shows(
        "E*assert 1 == 2", REFUSED, "contract: 2 exchanges, 0 refusals expected, 1 unexpected, *", failed=1
    )


def test_a_refusal_over_a_websocket_fails_too(run):
    run("""
def test_it(mock):
    with openai.OpenAI().responses.connect() as connection:
        connection.send({"type": "response.create", "model": "gpt-4.1", "input": "x", "temperature": 3})
        assert connection.recv().type == "error"
""").shows("Request 1 was refused (400)*", failed=1)


PROBING = """
def ask(mock, method, path):
    import httpx
    return httpx.request(method, mock.azure_endpoint + path, headers={"authorization": f"Bearer {mock.api_key}"}, json={})
"""


def test_probes_for_other_servers_are_one_cause_and_hide_no_other(run):
    run(f"""{PROBING}
def test_it(mock):
    mock.script(message("hi"))
    ask(mock, "POST", "/api/show")
    for path in ("/api/tags", "/props", "/v1/props", "/version"):
        ask(mock, "GET", path)
    ask(mock, "POST", "/v1/responses")
""").shows(
        "Request 6 was refused (400): *",
        "and 1 more; -v shows them:",
        "  5 requests for paths that only other servers have were refused (404).",
        failed=1,
    ).hides("*base URL must end*")
    run(f"""{PROBING}
def test_one(mock):
    ask(mock, "GET", "/props")
""").shows("1 request for a path that only other servers have was refused (404).", failed=1)


def test_one_mark_lets_all_probes_pass(run):
    source = f"""{PROBING}
@pytest.mark.harness(refusals=["unknown_url"])
def test_it(mock):
    for path in ("/api/tags", "/props", "/v1/props", "/version"):
        ask(mock, "GET", path)
"""
    run(source).assert_outcomes(passed=1)
    run(source.replace("@pytest", "# @pytest")).shows(
        "  where   GET /api/tags, GET /props, GET /v1/props, GET /version",
        '*@pytest.mark.harness(refusals=[[]"unknown_url"])',
        failed=1,
    )


def test_an_address_without_v1_is_reported(run):
    run(f"{PROBING}\ndef test_it(mock): ask(mock, 'POST', '/responses')").shows("*base URL must end in `/v1`*")


def test_a_flow_of_hundreds_shows_the_request_that_is_blamed(run):
    run("""
def test_it(mock, openai_client):
    mock.script(*[message(f"answer {n}") for n in range(60)])
    for n in range(60):
        if n == 7:
            swallow(openai_client, temperature=9)
        openai_client.responses.create(model="gpt-4.1", input=f"question {n}")
""").shows("… 2 earlier requests", "  3 *", "  8 *", "*see above*", " 12 *", "… 39 earlier requests", " 52 *", " 61 *")
