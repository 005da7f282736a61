"""One recorded exchange against the contract: is the request taken or refused as recorded, does the answer conform?

What a recording cannot show (an id from before it began, the account behind the key, what stands in a file) makes a
request `unverifiable`, never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from string import Formatter
from typing import Any, NamedTuple

import harness.operations  # noqa: F401  (registers every operation)
from harness import schema
from harness.body import parse, typed
from harness.contract import Refusal, check, conform
from harness.drift import drift
from harness.exchange import NOTHING, Finding, Json, Request
from harness.listen import listen
from harness.operation import Operation, find
from harness.origin import place
from harness.recall import PRESUMED, remember
from harness.recorded import Recorded
from harness.rule import RULES, Rule
from harness.scrub import hide, secrets_of
from harness.transcript import conversation_id
from harness.world import World

KEY = {"authorization": "Bearer sk-recorded"}
"""Recordings are stripped of their keys; who may ask is never judged."""
ACCOUNT = (401, 402, 403, 408, 409, 429)
"""Refusals for reasons that lie in the account or in time, not in the request."""
MEMBERS = ("message", "type", "param", "code")
_MEDIA_TYPE = re.compile(r"\w+/\w")
_LISTED = re.compile(r"(Supported values are: |expected one of |Expected one of ).*", re.DOTALL)


class Verdict(NamedTuple):
    """One judgement: `at` names its place in the report (`requests.refused`), `entry` says what, None only counts."""

    at: str
    entry: Json | None = None


def judge(recorded: Recorded, world: World) -> Iterator[Verdict]:
    """Every judgement of one exchange; `world` is what the exchanges of the same file before it have left behind."""
    operation, request = _request(recorded)
    if operation is None:
        yield Verdict("skipped", {"why": skipped(recorded)})
        return
    secrets = secrets_of(recorded.headers) | secrets_of(recorded.answer_headers)
    for at, entry in _judged(recorded, world, operation, request):
        yield Verdict(at, None if entry is None else hide({"id": recorded.id, **entry}, secrets))


def skipped(recorded: Recorded) -> str:
    """Why an exchange is not judged, in a few words."""
    below = place(recorded.path)
    if not recorded.provider and recorded.host:
        return f"another service: {recorded.host}"
    if below is None:
        return "another service"
    first, _, rest = below.lstrip("/").partition("/")
    named = f"{first}/completions" if rest.startswith("completions") else first
    return f"not judged: /{named}"


def _judged(recorded: Recorded, world: World, operation: Operation, request: Request) -> Iterator[Verdict]:
    if "no_request" in recorded.flags:
        yield Verdict("requests.absent")
    elif 200 <= recorded.status < 300:
        yield from _accepted(recorded, world, request)
    elif 400 <= recorded.status < 500:
        yield from _refused(recorded, world, request)
    if recorded.events is None:
        yield from _answer(recorded, operation)
    else:
        yield from _streamed(recorded, world, request)
    if 200 <= recorded.status < 300 and "no_request" not in recorded.flags and isinstance(request.body, dict | None):
        remember(world, request, said(recorded), recorded.events)


def _request(recorded: Recorded) -> tuple[Operation | None, Request]:
    """The operation and the request as the mock would see it; no operation for what is not judged."""
    below = place(recorded.path) if recorded.provider else None
    operation, params, _ = find(recorded.method, below) if below else (None, NOTHING, False)
    if operation is None or below is None:
        return None, Request(recorded.method, recorded.path)
    body, fault = recorded.request, None
    if operation.body and recorded.raw is not None:
        body, fault = parse(recorded.raw)
    elif operation.body and body is None:
        body = {}
    asked = typed(recorded.query, schema.load(operation.query)) if operation.query else recorded.query
    kind = recorded.headers.get("content-type", "")
    headers = {**KEY, "content-type": kind} if _MEDIA_TYPE.match(kind) else KEY
    judged_by = None if fault else operation.body or operation.query
    raw = recorded.raw or b""
    return operation, Request(recorded.method, below, headers, asked, body, raw, params, operation.id, judged_by, fault)


def _accepted(recorded: Recorded, world: World, request: Request) -> Iterator[Verdict]:
    refusal = check(request, world)
    if refusal is None:
        yield Verdict("requests.accepted")
    elif why := _beyond(refusal, recorded, request, world):
        yield Verdict("requests.unverifiable", {"why": why})
    else:
        yield Verdict("requests.refused", {"rule": refusal.rule.id, "error": refusal.error.body()["error"]})


def _beyond(refusal: Refusal, recorded: Recorded, request: Request, world: World) -> str:
    """Why a refusal says nothing: what it misses may be from before the recording, or was cut out of it; else empty."""
    if refusal.rule.id in UNSEEN or (refusal.rule.area in PAIRED and _begins_before(request, world)):
        return UNSEEN_BEFORE
    if refusal.rule.area == "lifecycle" and _is_pending(request, world):
        return ENDED_UNSEEN
    if "cut" in recorded.flags and refusal.rule.area in ("media", "reasoning"):
        return "the recording is cut"
    if not recorded.flags.isdisjoint(("sanitized", "inferred")) and refusal.rule.area in ("ids", "state"):
        return "the recording's ids were rewritten"
    return ""


def _is_pending(request: Request, world: World) -> bool:
    body = request.body if isinstance(request.body, dict) else {}
    return request.params.get("response_id") in world.pending or body.get("previous_response_id") in world.pending


ENDED_UNSEEN = "what ran in the background may have ended unseen"
UNSEEN_BEFORE = "it goes on with what the recording does not hold"
UNSEEN = frozenset(
    {
        "conversation_not_found",
        "conversation_path_not_found",
        "item_not_found",
        "previous_response_not_found",
        "prompt_not_found",
        "response_not_found",
    }
)
"""Rules that ask for what was there before: a recording that begins later does not show it."""
PAIRED = ("pairing", "reasoning")
"""Areas of rules about items that belong together, one of which may be from before."""


def _refused(recorded: Recorded, world: World, request: Request) -> Iterator[Verdict]:
    error = recorded.answer.get("error") if isinstance(recorded.answer, dict) else None
    shown = {name: error[name] for name in MEMBERS if name in error} if isinstance(error, dict) else {}
    if not shown:
        yield Verdict("refusals.unverifiable", {"why": "the answer is no error object"})
        return
    refusal = check(request, world)
    entry: Json = {"recorded": {"status": recorded.status, **shown}}
    if refusal:
        entry["mock"] = {"status": refusal.error.status, **refusal.error.body()["error"], "rule": refusal.rule.id}
    different = _differing(entry["recorded"], entry["mock"]) if refusal else ["all"]
    if not different:
        yield Verdict("refusals.same")
    elif different == ["list"]:
        yield Verdict("refusals.same")
        yield Verdict("refusals.drift", entry)
    elif (
        why := _unknowable(recorded, shown, request, world) or (refusal and _beyond(refusal, recorded, request, world))
    ) or (why := _begins_before(request, world)):
        yield Verdict("refusals.unverifiable", {"why": why, **entry})
    else:
        yield Verdict("refusals.different" if refusal else "refusals.missed", entry)


def _differing(recorded: Json, mock: Json) -> list[str]:
    """The members of an error that differ; `list` when only the values differ that the message lists."""
    names = [name for name in recorded if recorded[name] != mock.get(name)]
    if names != ["message"]:
        return names
    alike = [_LISTED.sub(r"\1", str(each["message"])) for each in (recorded, mock)]
    return ["list"] if alike[0] == alike[1] else names


def _unknowable(recorded: Recorded, error: Json, request: Request, world: World) -> str:
    if recorded.status in ACCOUNT:
        return "it depends on the account"
    for rule in speakers(recorded.status, error):
        if rule.area == "access" or any(case.given for case in (*rule.rejects.values(), *rule.accepts)):
            return "it depends on the account"
        if rule.area == "lifecycle" and _is_pending(request, world):
            return ENDED_UNSEEN
    return ""


def _begins_before(request: Request, world: World) -> str:
    """Whether what the request goes on with began before the recording, so that some of its items are unknown."""
    body = request.body if isinstance(request.body, dict) else {}
    conversation = world.conversations.get(conversation_id(body) or "")
    previous = body.get("previous_response_id")
    while isinstance(previous, str) and (stored := world.responses.get(previous)):
        previous = stored.response.get("previous_response_id")
    return UNSEEN_BEFORE if previous or (conversation and conversation.object == PRESUMED) else ""


def speakers(status: int, error: Mapping[str, Any]) -> Iterator[Rule]:
    """The rules whose words a recorded error is in."""
    for rule in RULES.values():
        same_code = rule.error.code == error.get("code") or "{" in str(rule.error.code) or "code" not in error
        if rule.error.status == status and same_code and _words(rule.id).fullmatch(str(error.get("message"))):
            yield rule


@cache
def _words(id: str) -> re.Pattern[str]:
    parts = Formatter().parse(RULES[id].error.message)
    return re.compile("".join(re.escape(text) + (".*" if field is not None else "") for text, field, *_ in parts), re.S)


def _answer(recorded: Recorded, operation: Operation) -> Iterator[Verdict]:
    answer = recorded.answer
    if answer is None or not recorded.flags.isdisjoint(("unread-answer", "transcribed")):
        return
    failed = recorded.status >= 300 or (not recorded.status and isinstance(answer, dict) and "object" not in answer)
    root = "Error" if failed else operation.answer
    if root is None:
        return
    finding = conform(root, recorded.answer)
    yield from _found("answers", [finding] if finding else [])
    yield from (Verdict("answers.drift", _told(each)) for each in drift(root, recorded.answer))


def _found(kind: str, findings: list[Finding]) -> Iterator[Verdict]:
    yield from (Verdict(f"{kind}.findings", _told(each)) for each in findings)
    if not findings:
        yield Verdict(f"{kind}.conform")


def _told(finding: Finding) -> Json:
    return {"at": finding.at, "message": finding.message}


def _streamed(recorded: Recorded, world: World, request: Request) -> Iterator[Verdict]:
    stored = world.responses.get(request.params.get("response_id", ""))
    heard = listen(recorded, stored.events if stored else None)
    yield from (Verdict("streams.events") for _ in recorded.events or ())
    yield from _found("streams", heard.findings)
    yield from (Verdict("streams.drift", _told(each)) for each in heard.drift)


def said(recorded: Recorded) -> Any:
    """The object a recorded answer gave, from the last event of a stream that carries one."""
    if recorded.events is None:
        return recorded.answer
    objects = (event.get("response") for event in reversed(recorded.events) if isinstance(event, dict))
    return next((response for response in objects if isinstance(response, dict)), None)
