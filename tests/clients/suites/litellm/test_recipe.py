"""The recipe for LiteLLM, as docs/cookbook/litellm.md shows it."""

import litellm
import pytest

from harness.faults import rate_limit


def summarize(text):
    response = litellm.responses(model="openai/gpt-5.6-sol", input=f"Summarize: {text}", num_retries=0)
    return response.output[0].content[0].text


def test_a_text_is_summarized(mock):
    mock.script("Short.")
    assert summarize("A long text.") == "Short."
    assert mock.exchanges[0].request.body["model"] == "gpt-5.6-sol"


def test_a_rate_limit_raises(mock):
    mock.script(rate_limit())
    with pytest.raises(litellm.RateLimitError):
        summarize("A long text.")
