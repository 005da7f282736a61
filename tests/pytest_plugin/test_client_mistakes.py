"""A test whose client asks in a wrong way fails: for what can be no intention always, for the rest on demand."""

import pytest

from tests.support.inner_run import InnerRun, Run
from tests.support.slow import slow_except

ASKING = """
import httpx
from harness.faults import http_error, pause, rate_limit, server_error

def ask(mock, times=2, **headers):
    headers = {"Authorization": f"Bearer {mock.api_key}", **headers}
    for _ in range(times):
        httpx.post(f"{mock.base_url}/responses", json={"model": "gpt-4.1", "input": "hi"}, headers=headers)
"""
COUNTED = 'ask(mock, **{"x-stainless-retry-count": "1"})'
REFUSED = 'mock.script(http_error(400, "No."), repeat=True)'
IGNORED = 'mock.script(rate_limit(after="5s"), "ok"); ask(mock)'


def judged(run: Run, body: str, mark: str = "") -> InnerRun:
    marked = f"@pytest.mark.harness({mark})" if mark else ""
    return run(f"{ASKING}\n{marked}\ndef test_it(mock):\n    {body}\n")


class TestWhatCanBeNoIntention:
    def test_a_mistake_that_can_be_no_intention_fails_a_test(self, run: Run) -> None:
        judged(run, f"{REFUSED}; {COUNTED}").shows(
            "Client retried-non-retryable: request 2 repeats request 1, which was refused with 400*",
            "  where   POST /responses, request 2",
            "  fix     Retry only after 408, 409, 429, 5xx*",
            '  allow   with mock.allows("retried-non-retryable"): …, or for a whole test',
            '          @pytest.mark.harness(client=[[]"retried-non-retryable"[]])',
            "  manual  responses-harness manual how-the-client-asks",
            "*1 mistake of a client*",
            failed=1,
        )

    @pytest.mark.parametrize("mark", ['client="allow"', 'client=["retried-non-retryable"]'])
    def test_what_can_be_no_intention_is_allowed_by_a_mark(self, run: Run, mark: str) -> None:
        judged(run, f"{REFUSED}; {COUNTED}", mark).assert_outcomes(passed=1)

    def test_what_can_be_no_intention_is_allowed_in_a_block_alone(self, run: Run) -> None:
        block = f'with mock.allows("retried-non-retryable"): {COUNTED}'
        judged(run, f"{REFUSED}\n    {block}").assert_outcomes(passed=1)
        judged(run, f"{REFUSED}\n    {block}\n    {COUNTED}").shows(
            "Client retried-non-retryable: request 3 *", failed=1
        )


class TestWhatMayBeIntended:
    def test_a_habit_that_may_be_intended_passes(self, run: Run) -> None:
        judged(run, IGNORED).assert_outcomes(passed=1)

    def test_a_habit_that_may_be_intended_fails_on_demand(self, run: Run) -> None:
        judged(run, IGNORED, 'client="strict"').shows(
            "Client retry-after-ignored: request 2 did not wait the 5 s that the 429 to request 1 asked for.",
            "  came    after *.* s",
            failed=1,
        )

    def test_may_be_allowed_from_some_place_on(self, run: Run) -> None:
        judged(run, f'mock.allows("retry-after-ignored"); {IGNORED}', 'client="strict"').assert_outcomes(passed=1)

    @pytest.mark.slow
    def test_a_wait_counts_from_a_patience_on(self, run: Run) -> None:
        slow = 'mock.script(pause("ok", seconds=0.3)); ask(mock, 1)'
        judged(run, slow, 'client="strict"').assert_outcomes(passed=1)
        judged(run, slow, 'client="strict", patience=0.1').shows(
            "Client no-timeout: the client waited *.* s for request 1 without receiving a byte; the limit is 0.1 s*",
            failed=1,
        )


def test_a_mistake_that_there_is_not_says_so(run: Run) -> None:
    judged(run, 'mock.allows("no-backof")').shows(
        "*ConfigError: allows('no-backof'): no such client mistake. Did you mean*no-backoff*"
    )


READING = """
@pytest.mark.harness(client="strict")
def test_it(mock):
    mock.script(message("It is sunny in Paris today, with some wind from the west."))
    stream = openai.OpenAI().responses.create(model="gpt-4.1", input="x", stream=True)
    READ
"""


@pytest.mark.parametrize(
    ("read", "events"),
    slow_except(
        [0],
        [
            ("pass", "0 events"),
            ("next(stream)", "1 event"),
            ("next(stream), next(stream)\n    stream.close()", "2 events"),
        ],
    ),
)
def test_a_stream_that_is_not_read_to_its_end_is_left(run, read, events):
    run(READING.replace("READ", read)).shows(
        f"Client abandoned-stream: the client left request 1 after {events} of its stream, which was sent whole.",
        failed=1,
    )


@pytest.mark.parametrize(
    "read", ["list(stream)", "[event for event in stream if event.type == 'response.completed'][0]"]
)
def test_a_stream_that_is_read_to_its_last_event_is_not_left(run, read):
    run(READING.replace("READ", read)).assert_outcomes(passed=1)


def test_a_stream_of_the_asynchronous_client_is_watched_too(run):
    run("""
@pytest.mark.harness(client="strict")
def test_it(mock):
    mock.script(message("It is sunny."))

    async def read_one():
        async with openai.AsyncOpenAI() as client:
            stream = await client.responses.create(model="gpt-4.1", input="x", stream=True)
            await anext(stream)
            await stream.close()

    asyncio.run(read_one())
""").shows("Client abandoned-stream: the client left request 1 after 1 event of its stream*", failed=1)
