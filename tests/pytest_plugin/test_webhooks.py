"""A test whose receiver of webhooks does something wrong fails, and says what, where and how to fix it."""

import openai
import pytest

from tests.support.slow import slow_except_every

JOB = """
def job(mock, *turns):
    mock.script(message("Paris"))
    made = openai.OpenAI().responses.create(model="gpt-4.1", input="capital?", background=True)
    mock.advance()
    mock.advance()
    return made.id


def answering(status, work=lambda: None):
    def app(environ, start_response):
        work()
        start_response(status, [])
        return []
    return app


def verifying(work=lambda event: None):
    def app(environ, start_response):
        headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name[:5] == "HTTP_"}
        try:
            event = openai.OpenAI().webhooks.unwrap(environ["wsgi.input"].read(), headers)
        except (openai.InvalidWebhookSignatureError, ValueError):
            start_response("400 Bad Request", [])
            return []
        work(headers["webhook-id"], event)
        start_response("204 No Content", [])
        return []
    return app
"""
ANY_FAULT = '["doubled", "reordered", "forged", "unsigned", "stale"]'


@pytest.mark.parametrize(
    ("mistake", "test"),
    slow_except_every(
        2,
        [
            ("webhook-unverified", "mock.webhooks(answering('200 OK'), '/hook', faults=['forged'])"),
            ("webhook-unverified", "mock.webhooks(answering('200 OK'), '/hook', faults=['unsigned'])"),
            ("webhook-replayed", "mock.webhooks(answering('200 OK'), '/hook', faults=['stale'])"),
            ("webhook-never-taken", "mock.webhooks(answering('500 Oops'), '/hook')"),
            (
                "webhook-late",
                "import time; mock.webhooks(answering('200 OK', lambda: time.sleep(0.05)), '/hook', timeout=0.01)",
            ),
            (
                "webhook-not-idempotent",
                "rows = []; mock.webhooks(verifying(lambda *_: rows.append(1)), '/hook', "
                "faults=['doubled'], effects=lambda: len(rows))",
            ),
            (
                "webhook-not-idempotent",
                "mock.when(input='thanks').script(message('!'), repeat=True); "
                "mock.webhooks(verifying(lambda *_: openai.OpenAI().responses.create(model='gpt-4.1', input='thanks')), "
                "'/hook', faults=['doubled'])",
            ),
        ],
    ),
)
def test_a_wrong_receiver_fails_its_test_unless_that_is_allowed(run, mistake, test):
    marks = ("", f'@pytest.mark.harness(webhooks=["{mistake}"])', '@pytest.mark.harness(webhooks="allow")')
    tests = [f"{mark}\ndef test_{at}(mock):\n    {test}\n    job(mock)\n" for at, mark in enumerate(marks)]
    run(JOB + "".join(tests)).shows(
        f"Webhook {mistake}: *",
        "  where   delivery * to http://localhost/hook, webhook-id wh_*",
        "  fix  *",
        f'  allow   @pytest.mark.harness(webhooks=["{mistake}"])',
        "contract: *1 wrong webhook*",
        failed=1,
        passed=2,
    )


def test_a_right_receiver_passes_whatever_goes_wrong_on_the_way(run):
    run(f"""{JOB}
def test_it(mock):
    done = {{}}
    def work(id, event):
        done.setdefault(id, openai.OpenAI().responses.retrieve(event.data.id).output_text)
    mock.webhooks(verifying(work), "/hook", faults={ANY_FAULT}, effects=lambda: len(done))
    job(mock)
    job(mock)
    assert list(done.values()) == ["Paris", "Paris"]
    assert len(mock.deliveries) == 10
""").assert_outcomes(passed=1)


def test_what_is_due_when_the_body_ends_is_delivered_and_judged(run):
    run(f"""{JOB}
def test_it(mock):
    mock.webhooks(answering("500 Oops"), "/hook")
    mock.script(message("Paris"))
    client = openai.OpenAI()
    made = client.responses.create(model="gpt-4.1", input="capital?", background=True)
    while made.status != "completed":
        made = client.responses.retrieve(made.id)
""").shows("Webhook webhook-never-taken: *the last one got 500*")


def test_a_failing_test_names_the_receiver_as_a_suspect(run):
    run(f"""{JOB}
def test_it(mock):
    mock.webhooks(answering("401 Unauthorized"), "/hook", secret="whsec_" + "c2VjcmV0" * 4)
    job(mock)
    assert "the answer was stored" == 1
""").shows("*Webhook webhook-never-taken: *", "*OPENAI_WEBHOOK_SECRET*")


@pytest.mark.slow
def test_an_app_of_an_async_test_that_has_ended_is_no_mistake_of_the_app(run):
    run(f"""{JOB}
@pytest.mark.asyncio
async def test_it(mock):
    async def app(scope, receive, send):
        await send({{"type": "http.response.start", "status": 204}})
        await send({{"type": "http.response.body"}})
    mock.webhooks(app, "/hook")
    job(mock)
""").assert_outcomes(passed=1)


def test_the_secret_is_in_the_environment_of_each_test(mock):
    with openai.OpenAI() as client:
        assert client.webhook_secret == mock.webhooks("http://localhost:9/hook").secret
