"""How near an answer is to the one that is due."""

from __future__ import annotations

from typing import Any

from harness.core.exchange import Json
from harness.live.client.http import TOO_MANY_REQUESTS, ServerReply
from harness.live.rule_questions import Question
from harness.verify.compare import differing_error_members, select_error_members

GRADES = ("words", "code", "status")
"""Of a refusal, best first: word for word; the same status, code and param; the same status. Each is worth a third."""
GRADE_POINTS = {"words": 3, "code": 2, "status": 1}
UNGRADED = ("blocked", "limited")
"""Outcomes that say nothing of the request itself: what must come before it failed, or the server was asked too often."""


def is_refused(reply: ServerReply) -> bool:
    """Whether the server said no: by its status, or in a stream that it began all the same."""
    return reply.status >= 400 or any(event.get("type") == "error" for event in reply.recorded.events or ())


def grade_reply(question: Question, before: list[ServerReply], reply: ServerReply | None) -> str:
    """What became of a question; without a reply a request before it was not answered as it must be.

    Of a refusal: one of GRADES, else `other` (another refusal), `taken` or `failed` (no answer, 5xx). Of an accept: `taken`,
    `refused` or `failed`. Of both: one of UNKNOWN.
    """
    if reply is None:
        return "blocked"
    if reply.status == TOO_MANY_REQUESTS:
        return "limited"
    if reply.status >= 500 or (reply.fault and reply.status < 400):
        return "failed"
    if question.kind == "accept":
        return "taken" if reply.is_accepted and not is_refused(reply) else "refused"
    return _grade_refusal(question.expected_error(before), reply)


def _grade_refusal(expected: Json, reply: ServerReply) -> str:
    if reply.status < 400:
        return "other" if is_refused(reply) else "taken"
    got = reply_error(reply)
    if got["status"] != expected["status"]:
        return "other"
    different = differing_error_members(expected, got)
    if "code" not in got or not {"code", "param"}.isdisjoint(different):
        return "status"
    return "code" if different and different != ["list"] else "words"


def reply_error(reply: ServerReply) -> Json:
    """The error of an answer, with its status; what it says in another form is its message."""
    body = reply.body if reply.recorded.events is None else _find_error_event(reply)
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return {"status": reply.status, **select_error_members(error)}
    return {"status": reply.status, "message": reply.fault or body}


def _find_error_event(reply: ServerReply) -> Any:
    events = reply.recorded.events or ()
    return next(({"error": event} for event in events if event.get("type") == "error"), reply.body)
