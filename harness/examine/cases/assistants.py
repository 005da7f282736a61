"""Cases for the Assistants API: an assistant, a thread, its messages and runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.ending import failed, incomplete
from harness.examine.case import ASKED, ASKED_TWICE, THREAD, WITH_TOOL, Check, Script, always, case, turns
from harness.examine.checks import cites, fails, runs, shows, shows_or_fails, streamed
from harness.examine.task import Task
from harness.faults import cut, insert_event
from harness.items import file_citation, function_call, message

MODEL = "gpt-4.1"
REFERENCE = "the API reference of Assistants v2; types of the SDK, `AssistantStreamEvent` and `Run`"
RECORDED = f"recorded streams of runs, 2024 to 2026; {REFERENCE}"
UNKNOWN = {"event": "thread.run.thought.delta", "data": {"id": "thought_1", "object": "thread.run.thought.delta"}}
CITED = message("Store it cold.【4:0†guide.txt】", annotations=[file_citation("file-guide", "guide.txt")])


def _through_a_thread(name: str, title: str, task: Task, script: Script, *checks: Check, **words: Any) -> None:
    case(
        f"dialects/assistants-{name}",
        *checks,
        title=title,
        does=words.pop("does", f"{title}, from a run of the Assistants API."),
        source=words.pop("source", RECORDED),
        shows=words.pop("shows", "The same as from Responses."),
        states=(THREAD,),
        task=replace(task, model=MODEL),
        script=script,
        **words,
    )


_through_a_thread("text", "A text", ASKED, turns(message(["Sun", "ny."])), shows("Sunny."), streamed("Sunny."))
_through_a_thread(
    "session",
    "A thread with two prompts",
    ASKED_TWICE,
    turns(message("Sunny."), message("Rain.")),
    shows("Sunny.", "Rain."),
    streamed("Sunny.", "Rain."),
)
_through_a_thread(
    "tool",
    "A call of a function",
    WITH_TOOL,
    turns(function_call("get_weather", {"city": "Paris"}), message("18 °C.")),
    shows("18 °C."),
    runs(("get_weather", {"city": "Paris"})),
    does="The run waits with `requires_action`, and goes on when its outputs are submitted.",
)
_through_a_thread(
    "two-calls",
    "Two calls at once",
    WITH_TOOL,
    turns(
        [function_call("get_weather", {"city": "Paris"}), function_call("get_weather", {"city": "Rome"})],
        message("18 °C in both."),
    ),
    shows("18 °C in both."),
    runs(("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"})),
    does="The run waits for two outputs, which have to come in one request.",
)
_through_a_thread(
    "tool-twice",
    "A second call after the first",
    WITH_TOOL,
    turns(
        function_call("get_weather", {"city": "Paris"}),
        function_call("get_weather", {"city": "Rome"}),
        message("18 °C in both."),
    ),
    shows("18 °C in both."),
    runs(("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"}), ordered=True),
    does="The run waits with `requires_action` once more after the first outputs.",
)
_through_a_thread(
    "citation",
    "A citation of a file",
    ASKED,
    turns(CITED),
    shows("Store it cold.【4:0†guide.txt】"),
    cites({"type": "file_citation", "text": "【4:0†guide.txt】"}),
    shows="The text, once, with its annotation.",
)
_through_a_thread(
    "failed",
    "A run that fails",
    ASKED,
    turns(failed("server_error", "The model went away.")),
    fails("The model went away."),
    fails=True,
    does="The status of the run is `failed`, its `last_error` says why.",
    shows="An error with the API's words.",
)
_through_a_thread(
    "incomplete",
    "A run that is cut by the limit of tokens",
    ASKED,
    turns([message("Once upon a"), incomplete("max_output_tokens")]),
    shows_or_fails("Once upon a"),
    fails=True,
    does="The status of the run is `incomplete`, the message holds what there is.",
    shows="What there is of the text, or an error.",
)
_through_a_thread(
    "cut",
    "A stream that is cut",
    ASKED,
    always(cut(message(["Once ", "upon ", "a time."]), after=9)),
    fails(),
    streams=(True,),
    fails=True,
    spare=True,
    source="HTTP has no sign for it but the missing end of the body",
    shows="An error; no success with half a text.",
)
_through_a_thread(
    "unknown-event",
    "An event of an unknown type",
    ASKED,
    turns(insert_event(message("Sunny."), UNKNOWN, after=5)),
    shows("Sunny."),
    streams=(True,),
    source="the API's page on backwards compatibility: new types of events may come",
    shows="The text; nothing for the event.",
)
