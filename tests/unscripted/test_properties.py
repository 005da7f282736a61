"""Whatever a request asks of a model without a script, the answer conforms, is possible, and is taken back."""

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from harness.core.exchange import Json
from tests.support.clients.unscripted import (
    CASES,
    CITY,
    Conversation,
    model_for,
    results_of,
)

SENTENCES = st.sampled_from(
    (
        "hi",
        "word " * 3_000,
    )
)
TOOLS = st.lists(st.sampled_from([tool for tools, _, _ in CASES for tool in tools]), max_size=4).map(
    lambda tools: list({(tool["type"], tool.get("name"), tool.get("server_label")): tool for tool in tools}.values())
)
FORMATS = st.sampled_from(({"type": "text"}, {"type": "json_schema", "name": "city", "schema": CITY, "strict": True}))
OPTIONS = st.fixed_dictionaries(
    {"tools": TOOLS},
    optional={
        "tool_choice": st.sampled_from(("auto", "none", "required")),
        "reasoning": st.fixed_dictionaries(
            {"effort": st.sampled_from(("none", "low", "high"))}, optional={"summary": st.just("auto")}
        ),
        "text": st.fixed_dictionaries({"format": FORMATS, "verbosity": st.sampled_from(("low", "high"))}),
        "include": st.lists(
            st.sampled_from(("reasoning.encrypted_content", "code_interpreter_call.outputs")), unique=True
        ),
        "context_management": st.just([{"type": "compaction", "compact_threshold": 1000}]),
        "store": st.booleans(),
        "stream": st.booleans(),
        "max_output_tokens": st.sampled_from((16, 5_000)),
        "max_tool_calls": st.just(1),
        "parallel_tool_calls": st.booleans(),
    },
)


def is_possible(options: Json, said: str) -> bool:
    """Return whether the API takes such a request: a demand needs a tool, a deferred tool a search."""
    tools = options["tools"]
    found = {tool["type"] for tool in tools}
    deferred = any(tool.get("defer_loading") or "defer" in str(tool.get("tools")) for tool in tools)
    searches = sum(tool["type"] == "tool_search" for tool in tools)
    named = [tool.get("name") for tool in tools]
    return not (
        (options.get("tool_choice") == "required" and not found - {"tool_search"})
        or deferred != bool(searches)
        or searches > 1
        or len(set(named)) < len(named) - named.count(None)
    )


@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None, max_examples=60)
@given(OPTIONS, SENTENCES)
def test_every_answer_conforms_and_may_be_sent_back(options: Json, said: str) -> None:
    assume(is_possible(options, said))
    if options.get("store") is False:  # what is not stored comes back only with its ciphertext
        options = {**options, "include": ["reasoning.encrypted_content"]}
    talk = Conversation(**{**options, "model": model_for(options["tools"])})
    history: list[Json] = [{"role": "user", "content": said}]
    for later in ({}, {"tool_choice": "auto"}, {"tool_choice": "auto"}):  # an output ends what is demanded
        answer = talk.ask(history, **later).body
        if answer["status"] == "incomplete":
            return
        history += [*answer["output"], *results_of(answer["output"])]
