"""What the tests of streams share: finished responses, and streams as lists that can be changed."""

from hypothesis import strategies as st

from harness.answers.reader import StreamError
from harness.answers.recorded_stream import read_recorded
from harness.answers.writer import render_events
from harness.core.ids import Ids
from harness.items import (
    agent_message,
    apply_patch_call,
    apply_patch_call_output,
    code_interpreter_call,
    compaction,
    computer_call,
    create_file,
    custom_tool_call,
    delete_file,
    file_path,
    file_search_call,
    find_in_page,
    function_call,
    image_generation_call,
    local_shell_call,
    mcp_approval_request,
    mcp_call,
    mcp_list_tools,
    message,
    multi_agent_call,
    multi_agent_call_output,
    open_page,
    output_text,
    program,
    program_output,
    reasoning,
    refusal,
    search,
    shell_call,
    shell_call_output,
    shell_output,
    tool_search_call,
    tool_search_output,
    update_file,
    url_citation,
    web_search_call,
)
from harness.items.kind import render_item

NOW = 1788812320


def fold(events):
    """Fold a complete stream into its response; StreamError also for what a recorded stream may lack."""
    folded, found = read_recorded(events)
    for finding in found:
        raise StreamError(int(finding.at.removeprefix("events[").removesuffix("]")), finding.message)
    return folded


def response(*items, status="completed", **members):
    """Return a completed response with these items."""
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
        "output": [render_item(item, ids, name, NOW, **cut_off) for item in items],
        "parallel_tool_calls": True,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
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
    """Return the event types without `response.`, runs of deltas as one."""
    names = [event["type"].removeprefix("response.") for event in stream]
    return [name for name, before in zip(names, ["", *names], strict=False) if name != before]


def streamed(*items, **options):
    return list(render_events(response(*items), items=items, **options))


def deltas(stream, stem):
    return [event["delta"] for event in stream if event["type"] == f"response.{stem}.delta"]


def between(stream):
    """Return the events of the items alone."""
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
NAMES = st.sampled_from(["get_weather", "f"])
WORDS = st.text(min_size=1, max_size=9)
ACTIONS = st.one_of(
    st.none(),
    WORDS,
    st.builds(search, WORDS, WORDS, sources=st.none() | st.lists(WORDS, max_size=2)),
    st.builds(open_page, WORDS),
    st.builds(find_in_page, WORDS, WORDS),
)
OPERATIONS = st.one_of(
    st.builds(create_file, WORDS, DELTAS), st.builds(update_file, WORDS, DELTAS), st.builds(delete_file, WORDS)
)
PRINTED = st.text(max_size=9)
MCP = st.one_of(
    st.builds(mcp_list_tools, NAMES, st.lists(NAMES, max_size=2), error=st.none() | WORDS),
    st.builds(
        mcp_call, NAMES, NAMES, DELTAS, output=PRINTED, error=st.none() | WORDS, approval_request_id=st.none() | WORDS
    ),
    st.builds(mcp_approval_request, NAMES, NAMES, TEXTS),
)
HOSTED = st.one_of(
    st.builds(file_search_call, WORDS, results=st.none() | st.just([{"file_id": "file-1", "text": "a"}])),
    st.builds(web_search_call, ACTIONS),
    st.builds(code_interpreter_call, DELTAS | st.none(), outputs=st.none() | st.lists(PRINTED, max_size=2)),
    st.builds(
        image_generation_call,
        st.none() | WORDS | st.lists(WORDS, min_size=1, max_size=3),
        error=st.none() | st.just({"type": "image_generation_user_error", "message": "No."}),
    ),
    st.builds(tool_search_call, st.just({"paths": ["f"]}), execution=st.sampled_from(["server", "client"])),
    st.builds(tool_search_output, st.just([{"type": "web_search"}])),
    st.builds(program, WORDS),
    st.builds(program_output, WORDS, PRINTED),
    st.builds(compaction, WORDS),
    st.builds(multi_agent_call, st.sampled_from(["spawn_agent", "wait_agent"]), st.just("{}")),
    st.builds(multi_agent_call_output, st.sampled_from(["spawn_agent", "wait_agent"]), WORDS, PRINTED),
    st.builds(agent_message, WORDS, WORDS),
)
CLIENT = st.one_of(
    st.builds(custom_tool_call, NAMES, DELTAS),
    st.builds(computer_call, st.sampled_from([{"type": "screenshot"}, [{"type": "wait"}]])),
    st.builds(local_shell_call, st.lists(WORDS, max_size=2), env=st.dictionaries(WORDS, WORDS, max_size=1)),
    st.builds(
        shell_call,
        st.lists(DELTAS, max_size=3),
        max_output_length=st.none() | st.just(9),
        container_id=st.none() | st.just("cntr_1"),
    ),
    st.builds(
        lambda output: shell_call_output("call_1", *output),
        st.lists(PRINTED | st.builds(shell_output, PRINTED, PRINTED, exit_code=st.none() | st.just(1)), max_size=3),
    ),
    st.builds(apply_patch_call, OPERATIONS),
    st.builds(apply_patch_call_output, WORDS, st.none() | PRINTED, status=st.sampled_from(["completed", "failed"])),
)
ITEMS = st.one_of(MESSAGES, CALLS, THOUGHTS, MCP, HOSTED, CLIENT)
ENDINGS = st.sampled_from(
    [
        {},
        {"status": "incomplete"},
        {"status": "failed", "error": None},
        {"status": "failed", "error": {"code": "server_error", "message": "An error occurred."}},
    ]
)
