"""The events of an Assistants API run for a turn of the script: steps, messages, required actions.

A turn that no run can express is a ScriptError: it belongs to `POST /responses`.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, Literal, NamedTuple

from harness.answers.assistants_run_tool_calls import CALL_RENDERERS, build_required_action, join_outputs
from harness.answers.item_writer import split_into_tokens
from harness.api.resources.assistants import RUN_START_EVENT, make_event
from harness.api.tokens import estimate_tokens
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.core.text import show
from harness.ending import DEFAULT_ENDING, Ending
from harness.items.kind import Item

_MARKER = re.compile(r"【[^【】]*】$")
_SANDBOX = re.compile(r"sandbox:[^\s()]+$")


class TextPiece(NamedTuple):
    """A piece of text sent in one delta, with its annotation."""

    text: str
    annotation: Json | None = None


def split_at_citations(part: Json, exact: Sequence[str]) -> list[TextPiece]:
    """Split an `output_text` part into the pieces of its text in a thread; `exact` holds the deltas without markers.

    A citation without a marker gets one: since 2025-09 it is recorded with the name of the file.
    """
    pieces, at = list[TextPiece](), 0
    notes = enumerate(part["annotations"])
    places = [_locate_annotation(note, part["text"], number) for number, note in notes]
    for start, end, text, note in sorted(places, key=lambda place: place[0]):
        pieces += [TextPiece(plain) for plain in _slice_deltas(exact, at, start)]
        before = sum(len(piece.text) for piece in pieces)
        # Where annotations overlap, the later one must not repeat text that has been sent.
        again = max(0, min(at, end) - start)
        pieces.append(TextPiece(text[again:], _render_annotation(note, text, before - again)))
        at = max(at, end)
    return [*pieces, *(TextPiece(plain) for plain in _slice_deltas(exact, at, len(part["text"])))]


def _locate_annotation(note: Json, text: str, number: int) -> tuple[int, int, str, Json]:
    """Return the range of an annotation in the scripted text, and its text in the thread."""
    if "start_index" in note:
        start, end = note["start_index"], note["end_index"]
        return start, end, text[start:end], note
    end = note["index"]
    match = (_MARKER if note["type"] == "file_citation" else _SANDBOX).search(text[:end])
    if match:
        return match.start(), end, match[0], note
    marker = f"【4:{number}†{note['filename']}】" if "filename" in note else f"sandbox:/mnt/data/{note['file_id']}"
    return end, end, marker, note


def _render_annotation(note: Json, text: str, start: int) -> Json:
    place: Json = {"text": text, "start_index": start, "end_index": start + len(text)}
    if note["type"] == "url_citation":
        return {"type": "url_citation", **place, "url_citation": {"url": note["url"], "title": note["title"]}}
    kind = "file_citation" if note["type"] == "file_citation" else "file_path"
    quoted = {"quote": note["quote"]} if "quote" in note else {}
    return {"type": kind, **place, kind: {"file_id": note["file_id"], **quoted}}


def render_delta_annotation(note: Json, index: int) -> Json:
    """Render an annotation with its index for a delta; a file citation without a scripted quote has an empty one."""
    if note["type"] != "file_citation":
        return {"index": index, **note}
    cited = note["file_citation"]
    return {"index": index, **note, "file_citation": {**cited, "quote": cited.get("quote", "")}}


def _slice_deltas(exact: Sequence[str], start: int, end: int) -> Iterator[str]:
    for piece, ends in zip(exact, accumulate(map(len, exact)), strict=True):
        begins = ends - len(piece)
        if shown := piece[max(0, start - begins) : max(0, end - begins)]:
            yield shown


def render_text_part(pieces: Sequence[TextPiece]) -> Json:
    """Render a content part of a thread's message."""
    notes: list[Any] = [piece.annotation for piece in pieces if piece.annotation]
    return {"type": "text", "text": {"value": "".join(piece.text for piece in pieces), "annotations": notes}}


CitationPlacement = Literal["both", "delta", "completed"]
"""Where a run's message has its annotations: in its deltas, in the completed message, or in both, as recorded."""

AWAITED_CALLS = {"function_call": "function", "computer_call": "function", "mcp_approval_request": "approval"}
"""Calls that the client answers; adjacent ones share a step, after which the run waits."""
RUN_ERROR_CODES = ("server_error", "rate_limit_exceeded", "invalid_prompt")

_NO_PARAMETERS: Json = {"type": "object", "properties": {}}


class RunWriter:
    """Writes the events of a turn of a run to `events`.

    `run` is the queued run, `prompt` the number of input tokens, `now` unix seconds.
    """

    def __init__(self, run: Json, ids: Ids, now: int, prompt: int, citations: CitationPlacement = "both") -> None:
        self.events: list[Json] = []
        self._ids = ids
        self._run = run
        self._now = now
        self._prompt = prompt
        self._citations = citations
        self._used: list[Json] = []
        self._waits: list[Json] = []
        self._ending = DEFAULT_ENDING

    def write_turn(self, turn: Sequence[Item], before: Sequence[Json], ending: Ending = DEFAULT_ENDING) -> list[Json]:
        """Write the events of a turn from the start of the run; `before` holds the steps of its earlier turns.

        With an ending other than completed, the last step of the turn is not completed.
        """
        turn = join_outputs(turn)
        _check_run_turn(turn, ending)
        self._used = [step["usage"] for step in before if step["usage"]]
        run = {**self._run, "status": "in_progress", "started_at": self._now}
        self._append_event(RUN_START_EVENT, run)
        groups = [list(group) for _, group in groupby(turn, lambda item: AWAITED_CALLS.get(item.type, id(item)))]
        for place, items in enumerate(groups, 1):
            self._ending = ending if place == len(groups) else DEFAULT_ENDING
            self._write_step(items)
        self._write_end(run, ending)
        return self.events

    def _append_event(self, name: str, data: Json) -> None:
        self.events.append(make_event(name, data))

    def _write_end(self, run: Json, ending: Ending) -> None:
        end: Json = {"status": ending.status, "expires_at": None, "usage": sum_usages(self._used)}
        if ending.status == "failed":
            self._append_event(
                "thread.run.failed", {**run, **end, "failed_at": self._now + 1, "last_error": _error_of_ending(ending)}
            )
        elif ending.status == "incomplete":
            # Recorded (2024-04) under this name; the documentation has thread.run.incomplete.
            why = {"incomplete_details": {"reason": "max_completion_tokens"}}
            self._append_event("thread.run.completed", {**run, **end, **why})
        elif self._waits:
            waits = {"status": "requires_action", "required_action": build_required_action(self._waits)}
            self._append_event("thread.run.requires_action", {**run, **waits})
        else:
            self._append_event("thread.run.completed", {**run, **end, "completed_at": self._now + 1})

    def _write_step(self, items: Sequence[Item]) -> None:
        if items[0].type == "message":
            self._write_message(items[0])
        elif items[0].type == "mcp_list_tools":
            self._write_mcp_tools(items[0])
        elif items[0].type != "reasoning":
            self._write_calls(items)

    def _start_step(self, details: Json) -> Json:
        step = {
            "id": self._ids.alphanumeric("step_"),
            "object": "thread.run.step",
            "created_at": self._now,
            "run_id": self._run["id"],
            **{name: self._run[name] for name in ("assistant_id", "thread_id")},
            "type": details["type"],
            "status": "in_progress",
            **dict.fromkeys(("cancelled_at", "completed_at")),
            "expires_at": self._run["expires_at"],
            **dict.fromkeys(("failed_at", "last_error")),
            "step_details": details,
            "usage": None,
        }
        self._append_event("thread.run.step.created", step)
        self._append_event("thread.run.step.in_progress", step)
        return step

    def _end_step(self, step: Json, details: Json, emitted: Sequence[Json]) -> None:
        end = complete_step(step, details, self._now + 1, count_step_usage(self._prompt, emitted))
        self._used.append(end["usage"])
        if self._ending.status == "failed":
            end = {**step, "status": "failed", "failed_at": self._now + 1, "last_error": _error_of_ending(self._ending)}
        self._append_event(f"thread.run.step.{end['status']}", end)

    def _write_message(self, item: Item) -> None:
        id = self._ids.message()
        step = self._start_step({"type": "message_creation", "message_creation": {"message_id": id}})
        message = {
            "id": id,
            "object": "thread.message",
            "created_at": self._now,
            **{name: self._run[name] for name in ("assistant_id", "thread_id")},
            "run_id": self._run["id"],
            "status": "in_progress",
            **dict.fromkeys(("incomplete_details", "incomplete_at", "completed_at")),
            "role": "assistant",
            "content": [],
            "attachments": [],
            "metadata": {},
        }
        self._append_event("thread.message.created", message)
        self._append_event("thread.message.in_progress", message)
        content = [self._write_part(id, index, part, item) for index, part in enumerate(item.members["content"])]
        end = _interrupted_members(self._ending) or {"status": "completed"}
        at = {f"{end['status']}_at": self._now + 1, "content": content}
        self._append_event(f"thread.message.{end['status']}", {**message, **end, **at})
        self._end_step(step, step["step_details"], [item.members])

    def _write_part(self, id: str, index: int, part: Json, item: Item) -> Json:
        """Write the deltas of a message part; returns the completed part."""
        if part["type"] == "refusal":
            for piece in item.deltas.get(("refusal", index)) or split_into_tokens(part["refusal"]):
                self._append_delta("message", id, {"content": [{"index": index, "type": "refusal", "refusal": piece}]})
            return {"type": "refusal", "refusal": part["refusal"]}
        pieces = split_at_citations(part, item.deltas.get(("output_text", index)) or split_into_tokens(part["text"]))
        for text in self._text_deltas(pieces):
            self._append_delta("message", id, {"content": [{"index": index, "type": "text", "text": text}]})
        shown = [piece if self._citations != "delta" else TextPiece(piece.text) for piece in pieces]
        return render_text_part(shown)

    def _text_deltas(self, pieces: Sequence[TextPiece]) -> Iterator[Json]:
        """Render the deltas of a text. Recorded: only the first, and those with an annotation, have `annotations`."""
        number = 0
        for place, piece in enumerate(pieces):
            notes = (
                [render_delta_annotation(piece.annotation, number)]
                if piece.annotation and self._citations != "completed"
                else []
            )
            number += len(notes)
            yield {"value": piece.text, **({"annotations": notes} if notes or place == 0 else {})}

    def _append_delta(self, kind: str, id: str, delta: Json) -> None:
        self._append_event(f"thread.{kind}.delta", {"id": id, "object": f"thread.{kind}.delta", "delta": delta})

    def _write_mcp_tools(self, item: Item) -> None:
        """Write the tools of an MCP server; recorded only for Foundry, whose clients read their properties."""
        step = self._start_step({"type": "activities", "activities": []})
        tools = {
            tool["name"]: {"description": tool["description"], "parameters": {**_NO_PARAMETERS, **tool["input_schema"]}}
            for tool in item.members["tools"]
        }
        activity: Json = {"id": self._ids.alphanumeric("activity_"), "type": "mcp_list_tools"}
        activity |= {"server_label": item.members["server_label"], "tools": tools}
        self._end_step(step, {"type": "activities", "activities": [activity]}, ())

    def _write_calls(self, items: Sequence[Item]) -> None:
        step = self._start_step({"type": "tool_calls", "tool_calls": []})
        if items[0].type.startswith("mcp"):
            self._append_event("thread.run.step.created", step)
        calls = []
        for index, item in enumerate(items):
            id = item.members.get("call_id") or self._ids.call()
            call, deltas = CALL_RENDERERS[item.type](item, self._ids)
            calls.append({"id": id, **call})
            for number, delta in enumerate(deltas):
                head = {"index": index, "id": id} if number == 0 else {"index": index}
                streamed = {"type": "tool_calls", "tool_calls": [{**head, **delta}]}
                self._append_delta("run.step", step["id"], {"step_details": streamed})
        # The step stays open: its outputs come from the client, with another request.
        if items[0].type in AWAITED_CALLS and self._ending.status == DEFAULT_ENDING.status:
            self._waits += calls
        else:
            self._end_step(step, {"type": "tool_calls", "tool_calls": calls}, [item.members for item in items])


def _interrupted_members(ending: Ending) -> Json:
    """Return the members of a message that the end of the run has interrupted; empty if it has not."""
    reason = {"incomplete": "max_tokens", "failed": "run_failed"}.get(ending.status)
    return {"status": "incomplete", "incomplete_details": {"reason": reason}} if reason else {}


def _error_of_ending(ending: Ending) -> Json:
    error: Json = ending.members["error"]
    return error


def _check_run_turn(turn: Sequence[Item], ending: Ending) -> None:
    possible = sorted((*CALL_RENDERERS, "message", "reasoning", "mcp_list_tools"))
    kinds = [item.type for item in turn]
    if foreign := [kind for kind in kinds if kind not in possible]:
        raise ScriptError(f"{foreign[0]}: a run has no such step. A turn in a thread can be {', '.join(possible)}.")
    first = next((place for place, kind in enumerate(kinds) if kind in AWAITED_CALLS), len(kinds))
    if late := [kind for kind in kinds[first:] if kind != kinds[first]]:
        raise ScriptError(
            f"{late[0]} after {kinds[first]}: the run waits for the client at that point. Put it into the next turn."
        )
    if ending.status == "incomplete" and ending.members["incomplete_details"]["reason"] != "max_output_tokens":
        raise ScriptError("incomplete: a run can only be incomplete because of tokens. Leave out the reason.")
    if ending.status == "failed" and _error_of_ending(ending)["code"] not in RUN_ERROR_CODES:
        raise ScriptError(
            f"failed: code is {show(_error_of_ending(ending)['code'])}. "
            f"A run fails with one of {', '.join(RUN_ERROR_CODES)}."
        )


def complete_step(step: Json, details: Json, now: int, usage: Json) -> Json:
    """Return a step as completed."""
    return {**step, "status": "completed", "completed_at": now, "step_details": details, "usage": usage}


def count_step_usage(prompt: int, emitted: Sequence[Json]) -> Json:
    """Count the usage of a step with `prompt` input tokens and these items as output; zero without items."""
    completion = estimate_tokens(emitted)
    return build_run_usage(prompt if emitted else 0, completion)


def sum_usages(used: Sequence[Json]) -> Json:
    """Sum the usages of the steps of a run."""
    return build_run_usage(*(sum(usage[name] for usage in used) for name in ("prompt_tokens", "completion_tokens")))


def build_run_usage(prompt: int, completion: int) -> Json:
    """Build a usage object; `prompt_token_details` is the name on the wire."""
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_token_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
