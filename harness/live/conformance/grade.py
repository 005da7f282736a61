"""Grades the reply of a server by comparing it with the API's answer."""

from __future__ import annotations

from typing import Any

from harness.core.exchange import Json
from harness.live.client.http import TOO_MANY_REQUESTS, ServerReply
from harness.live.rule_questions import Question
from harness.verify.compare import differing_error_members, select_error_members

GRADES = ("words", "code", "status")
"""Grades of a refusal, best first: same message; same status, code and param; same status."""
GRADE_POINTS = {"words": 3, "code": 2, "status": 1}
UNGRADED = ("blocked", "limited")
"""Outcomes that prove nothing about a request: an earlier request failed, or the server limits the request rate."""


def is_refused(reply: ServerReply) -> bool:
    """Return whether the server refused the request, by its status or by an event of a stream."""
    return reply.status >= 400 or any(event.get("type") == "error" for event in reply.recorded.events or ())


def grade_reply(question: Question, before: list[ServerReply], reply: ServerReply | None) -> str:
    """Grade the reply to a question; None means that an earlier request was not answered as expected.

    For a refusal: one of GRADES, else `other` (another refusal), `taken` or `failed` (no answer, 5xx). For an accept:
    `taken`, `refused` or `failed`. For both: one of UNGRADED.
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
    actual = reply_error(reply)
    if actual["status"] != expected["status"]:
        return "other"
    different = differing_error_members(expected, actual)
    if "code" not in actual or not {"code", "param"}.isdisjoint(different):
        return "status"
    return "code" if different and different != ["list"] else "words"


def reply_error(reply: ServerReply) -> Json:
    """Return the error of a reply with its status; an error in another form becomes the message."""
    body = reply.body if reply.recorded.events is None else _find_error_event(reply)
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return {"status": reply.status, **select_error_members(error)}
    return {"status": reply.status, "message": reply.fault or body}


def _find_error_event(reply: ServerReply) -> Any:
    events = reply.recorded.events or ()
    return next(({"error": event} for event in events if event.get("type") == "error"), reply.body)
