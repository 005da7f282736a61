"""The recipe for Celery, as docs/cookbook/celery.md shows it."""

import openai
from celery import Celery

from harness.faults import rate_limit

app = Celery("jobs", broker="memory://", backend="cache+memory://")
app.conf.task_always_eager = True


@app.task(autoretry_for=(openai.RateLimitError,), max_retries=2, default_retry_delay=0)
def summarize(text):
    with openai.OpenAI(max_retries=0) as client:
        return client.responses.create(model="gpt-5.6-sol", input=f"Summarize: {text}").output_text


def test_the_task_answers(mock):
    mock.script("Short.")
    assert summarize.delay("A long text.").get() == "Short."


def test_the_task_is_tried_again(mock):
    mock.script(rate_limit(), "Short.")
    assert summarize.delay("A long text.").get() == "Short."
    assert [exchange.status for exchange in mock.exchanges] == [429, 200]
