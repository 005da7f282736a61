"""A request that comes when its test is over."""

import contextlib
import threading
import time

import openai
import pytest

from harness.items import message


@pytest.mark.cause(title="came after that test had ended", fix="wait for everything it started", place="late.py:")
def test_a_thread_outlives_its_test(mock, ask):
    client = openai.OpenAI(max_retries=0)
    mock.script(message("Sunny."))
    ask()

    def later():
        time.sleep(0.5)
        with contextlib.suppress(openai.OpenAIError):
            client.responses.create(model="gpt-4.1", input="Hi.")

    threading.Thread(target=later).start()
