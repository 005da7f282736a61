"""The fixture `client` asks without a connection where that makes no difference, and over HTTP everywhere else."""

import pytest

from harness.fast_path import is_enabled

pytestmark = pytest.mark.skipif(not is_enabled(), reason="everything goes over HTTP")

ASK = """
TOOLS = [{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}, "strict": False}]

@pytest.fixture(autouse=True)
def connections(monkeypatch):
    import socket
    made, connect = [], socket.create_connection
    monkeypatch.setattr(socket, "create_connection", lambda *args, **more: made.append(args) or connect(*args, **more))
    return made

def ask(client, **more):
    return client.responses.create(model="gpt-4.1", input="hi", **more)
"""
SAME = """
def seen(client, connections, raw):
    answer = raw(model="gpt-4.1", input="hi")
    http = answer.http_response
    headers = [pair for pair in http.headers.raw if pair[0] != b"date"]
    return http.status_code, http.http_version, http.reason_phrase, headers, http.content

def test_it(mock, client, connections):
    mock.script(message("Hi."), message("Hi."))
    first = seen(client, connections, client.responses.with_raw_response.create)
    assert connections == []
    with openai.OpenAI(max_retries=0) as other:
        second = seen(other, connections, other.responses.with_raw_response.create)
    assert len(connections) == 1
    ids = lambda text: [part for part in text.split(b'"') if b"_" not in part and not part.startswith(b":")]
    assert first[:3] == second[:3]
    assert [name for name, _ in first[3]] == [name for name, _ in second[3]]
    assert dict(first[3])[b"content-length"] == dict(second[3])[b"content-length"]
    assert ids(first[4]) == ids(second[4])
    one, two = (dict(exchange.request.headers) for exchange in mock.exchanges)
    assert one == two
    assert mock.exchanges[0].request.raw == mock.exchanges[1].request.raw
"""


def test_a_plain_answer_is_the_same_without_a_connection(run):
    run(ASK + SAME).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    "script",
    [
        "mock.script(lambda request: message('Hi.'))",
        "mock.script(delay(message('Hi.'), seconds=0.01))",
        "mock.when(input=lambda text: True).script(message('Hi.'))",
        "mock.route('POST', '/embeddings', {}); mock.script('Hi.')",
        "mock.script(message('Hi.'), repeat=True)",
    ],
)
def test_what_may_take_its_time_goes_over_http(run, script: str):
    run(f"""{ASK}
def test_it(mock, client, connections):
    from harness.faults import delay
    {script}
    assert ask(client).output_text == "Hi."
    assert len(connections) == 1
""").assert_outcomes(passed=1)


def test_a_stream_and_a_fault_are_those_of_a_connection(run):
    run(f"""{ASK}
def test_it(mock, client, connections):
    from harness.faults import cut, hang_up
    mock.script(cut(message("Hi."), after=2), hang_up())
    with pytest.raises(openai.APIConnectionError), client.responses.stream(model="gpt-4.1", input="hi") as stream:
        stream.until_done()
    with pytest.raises(openai.APIConnectionError):
        ask(client)
    assert len(connections) == 2
""").assert_outcomes(passed=1)


def test_refusals_are_the_same_and_fail_their_test(run):
    run(f"""{ASK}
def test_it(mock, client, connections):
    with mock.refuses("previous_response_not_found"), pytest.raises(openai.BadRequestError):
        ask(client, previous_response_id="resp_1")
    assert connections == []

def test_unexpected(mock, client):
    swallow(client, temperature=9)
""").assert_outcomes(passed=1, failed=1)


@pytest.mark.slow
def test_without_the_fast_path_everything_goes_over_http(run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HARNESS_FAST_PATH", "0")
    run(
        f"""{ASK}
def test_it(mock, client, connections):
    mock.script("Hi.")
    ask(client)
    assert len(connections) == 1
""",
        apart=True,
    ).assert_outcomes(passed=1)


def test_what_only_a_connection_can_refuse_is_refused(run):
    run(f"""{ASK}
def test_it(mock, client):
    mock.script("Hi.")
    with pytest.raises(openai.APIConnectionError):
        ask(client, extra_headers={{"x-mine": "a\\nb"}})
    assert ask(client).output_text == "Hi."
""").assert_outcomes(passed=1)


def test_threads_of_a_test_may_share_the_client(run):
    run(f"""{ASK}
def test_it(mock, client):
    mock.script(*["Hi."] * 40)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: ask(client), range(40)))
    assert [exchange.number for exchange in mock.exchanges] == list(range(1, 41))
    assert len({{exchange.answer.body["id"] for exchange in mock.exchanges}}) == 40
""").assert_outcomes(passed=1)


def test_no_thread_takes_a_turn_while_another_looks_at_the_script(run):
    run(f"""{ASK}
def test_it(mock, client, monkeypatch):
    import time
    from harness.world import script
    is_plain = script._is_plain_turn
    monkeypatch.setattr(script, "_is_plain_turn", lambda turn: time.sleep(0.001) or is_plain(turn))
    mock.script(*["Hi."] * 12)
    with ThreadPoolExecutor(4) as pool:
        assert {{answer.output_text for answer in pool.map(lambda _: ask(client), range(12))}} == {{"Hi."}}
""").assert_outcomes(passed=1)


def test_a_fresh_mock_of_explore_is_asked_as_well(run):
    run(f"""{ASK}
def test_it(mock, client):
    def scenario(fresh):
        fresh.script("Hi.")
        return ask(client).output_text
    explored = mock.explore(scenario, "errors/*")
    assert explored.tried > 0
    assert mock.exchanges == []
""").assert_outcomes(passed=1)
