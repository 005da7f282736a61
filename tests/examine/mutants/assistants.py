"""Mutants of a client in a thread of the Assistants API."""

from typing import Any

from harness.core.exchange import Json
from tests.examine.mutants.mutant import R, gives_up, mutant

PLAIN = "plain,thread"
STREAMED = "stream,thread"


def once(self: R, run: Json) -> list[Json]:
    """Return one output, however many calls there are."""
    return R.outputs_for(self, run)[:1]


def first_outputs_only(self: R, run: Json) -> list[Json]:
    """A second call in a run gets no output."""
    if getattr(self, "submitted", False):
        gives_up("the run waits again")
    self.submitted = True  # type: ignore[attr-defined]
    return R.outputs_for(self, run)


def new_thread(self: R, prompt: str) -> str:
    """Text of the first prompt again, for each that follows."""
    return str(self.shown["texts"][0]) if self.shown["texts"] else R.say_in_thread(self, prompt)


def without_notes(self: R, id: str) -> str:
    text = R.text_of_run(self, id)
    self.shown["annotations"] = []
    return text


def silent(self: R, below: str, body: Json) -> Json:
    """A failed run is taken for an empty answer."""
    try:
        return R.go_on(self, below, body)
    except Exception as problem:
        if "went away" not in str(problem):
            raise
        return {"status": "completed", "id": "run_none"}


def known_only(self: R, event: Json) -> None:
    if "thought" in event.get("object", ""):
        raise KeyError(event["object"])
    R.show_in_thread(self, event)


def half_is_whole(self: R, problem: Any) -> Json | None:
    return None if "connection broke" in str(problem) else R.describe(self, problem)


def no_incomplete(self: R, below: str, body: Json) -> Json:
    run = R.go_on(self, below, body)
    return run if run["status"] != "incomplete" else {}


mutant("dialects/assistants-session", STREAMED, say_in_thread=new_thread)
mutant("dialects/assistants-two-calls", PLAIN, outputs_for=once)
mutant("dialects/assistants-tool-twice", PLAIN, outputs_for=first_outputs_only)
mutant("dialects/assistants-citation", PLAIN, text_of_run=without_notes)
mutant("dialects/assistants-failed", PLAIN, go_on=silent)
mutant("dialects/assistants-incomplete", PLAIN, go_on=no_incomplete)
mutant("dialects/assistants-cut", STREAMED, describe=half_is_whole)
mutant("dialects/assistants-unknown-event", STREAMED, show_in_thread=known_only)
