"""What the tests of streams share: finished responses, and streams as lists that can be changed."""

from hypothesis import strategies as st

from harness.ids import Ids
from harness.item import finish
from harness.items import file_path, function_call, message, output_text, reasoning, refusal, url_citation
from harness.stream import events

NOW = 1788812320


def response(*items, status="completed", **members):
    """A finished response that said these items."""
    ids = Ids("stream")
    name = ids.response(NOW)
    cut_off = {"status": "incomplete"} if status == "incomplete" else {}
    return {
        "id": name,
        "object": "response",
        "created_at": NOW,
        "status": status,
        "completed_at": NOW + 1 if status == "completed" else None,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "model": "gpt-4.1-2025-04-14",
        "output": [finish(one, ids, name, NOW, **cut_off) for one in items],
        "parallel_tool_calls": True,
        "service_tier": "default",
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": {
            "input_tokens": 9,
            "input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0},
            "output_tokens": 2,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 11,
        },
        "metadata": {},
        **members,
    }


def types(stream):
    """The event types without `response.`, runs of deltas as one."""
    names = [event["type"].removeprefix("response.") for event in stream]
    return [name for name, before in zip(names, ["", *names], strict=False) if name != before]


def streamed(*items, **options):
    return list(events(response(*items), items=items, **options))


def deltas(stream, stem):
    return [event["delta"] for event in stream if event["type"] == f"response.{stem}.delta"]


def between(stream):
    """The events of the items alone."""
    return types(stream)[2:-1]


# The order of events


def tokens(*texts):
    return [{"token": text, "logprob": -0.5, "bytes": list(text.encode()), "top_logprobs": []} for text in texts]


TEXTS = st.text(max_size=40) | st.sampled_from(["", "🌦️ sun", '{"a":1}', "Hello there.\n\nBye"])
DELTAS = TEXTS | st.lists(st.text(max_size=5), max_size=5)


@st.composite
def output_texts(draw):
    text = draw(TEXTS)
    place = st.integers(0, len(text))
    ranges = [sorted(draw(st.tuples(place, place))) for _ in range(draw(st.integers(0, 3)))]
    notes = [url_citation("https://example.org", "T", *span) for span in ranges]
    return output_text(text, annotations=[*notes, *([file_path("file-1", draw(place))] if draw(st.booleans()) else [])])


PARTS = DELTAS | st.builds(refusal, DELTAS) | output_texts()
MESSAGES = st.builds(
    lambda parts, phase: message(*parts, phase=phase),
    st.lists(PARTS, min_size=1, max_size=3),
    st.sampled_from([None, "commentary", "final_answer"]),
)
CALLS = st.builds(
    function_call,
    st.sampled_from(["get_weather", "f"]),
    st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=9), max_size=3) | DELTAS,
    namespace=st.none() | st.just("travel"),
)
THOUGHTS = st.builds(
    reasoning,
    st.lists(DELTAS, max_size=3),
    encrypted_content=st.none() | st.just("gAAAAAB"),
    content=st.none() | st.lists(DELTAS, max_size=2),
)
ENDINGS = st.sampled_from(
    [
        {},
        {"status": "incomplete"},
        {"status": "failed", "error": None},
        {"status": "failed", "error": {"code": "server_error", "message": "An error occurred."}},
    ]
)
