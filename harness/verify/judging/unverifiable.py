"""Explains why a disagreement between a recording and the mock cannot be verified.

The request may depend on what existed before the recording, on what ended unobserved, on what was cut from it or on the
account, the API has changed since, or the answer was edited. A reason is a short text; an empty one means that the
disagreement is a finding.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from string import Formatter
from typing import Any

from harness.api.http.dialects import AZURE_DIALECTS, is_host_hidden, path_below_root, provider_of_host
from harness.api.operations import OPERATIONS
from harness.api.project_types import RESPONSE_PREFIXES
from harness.cassettes.format.recorded import Recorded, answered_object
from harness.contract.call import WorldCall
from harness.contract.check import Violation, check
from harness.contract.dialect_body import resolve_agent
from harness.contract.rule import RULES, Rule
from harness.contract.rules.http.beta import is_assistants_operation
from harness.core.dates import is_uncertain_on
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object, strings_in
from harness.endpoints.websocket_events import ENVELOPE_MEMBERS
from harness.items.transcript import conversation_id
from harness.verify.remember import PRESUMED
from harness.world.world import World

MADE_UP = "the ids or times of the answer are made up"

MAX_DELAY = 600
"""The maximum difference in seconds between the time in the id of a response and its `created_at`; recorded: 34."""
MAX_AGE = 2 * 86_400
"""The maximum difference in seconds between the recorder's day and the `created_at` of a new response."""
_DAY_LENGTH = len("YYYY-MM-DD")
_CLOCK_TIME = re.compile(r".{10}[T ](?!00:00:00)\d")
"""Matches a date with a time of day: a date alone, or midnight, was not read from a clock."""
_STAMPED_ID = re.compile(r"resp_(?:[0-9a-f]{18}([0-9a-f]{8})[0-9a-f]{24}|([0-9a-f]{8})[0-9a-f]{40})")
"""Matches a response id: the second of its creation follows 18 digits; until 2025-10 it came first."""
_ITEM_ID = re.compile(r"[a-z]+_[0-9A-Za-z]{16,}")
_MASK = re.compile(r"REDACTED|SANITIZED", re.IGNORECASE)
_ID_PREFIXES = {"response": RESPONSE_PREFIXES, "conversation": ("conv_",)}


def explain_edited(recorded: Recorded) -> str:
    """Explain why the answer of an exchange is not the API's own; empty without any sign of that."""
    answered = answered_object(recorded.answer, recorded.events)
    by_gateway = not is_host_hidden(recorded.host) and not provider_of_host(recorded.host, recorded.path)
    if not answered or by_gateway or "transcribed" in recorded.flags:
        return ""
    return MADE_UP if _has_made_up_ids(answered) or _has_made_up_time(recorded, answered) else ""


def _has_made_up_ids(answered: Json) -> bool:
    """Return whether an id has neither the API's form nor that of a recorder's mask."""
    kind = str(answered.get("object"))
    items = answered.get("data" if kind == "list" else "output")
    own = answered.get("id", "") if kind in _ID_PREFIXES else ""
    within = [item["id"] for item in items if _is_item(item)] if isinstance(items, list) else []
    wrong = [id for id in within if not _ITEM_ID.fullmatch(id)]
    if own and not str(own).startswith(_ID_PREFIXES[kind]):
        wrong.append(str(own))
    # Recorders mask ids on purpose; people who edit a cassette make them up.
    return any(not _MASK.search(id) for id in wrong)


def _is_item(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("type"), str) and isinstance(one.get("id"), str)


def _has_made_up_time(recorded: Recorded, answered: Json) -> bool:
    """Return whether the `created_at` of a response contradicts its id or the recorder's date."""
    created = answered.get("created_at")
    if answered.get("object") != "response" or not isinstance(created, int | float):
        return False
    if stamp := _STAMPED_ID.fullmatch(str(answered.get("id"))):
        return abs(int(stamp[1] or stamp[2], 16) - created) > MAX_DELAY or _differs_from_clock(recorded, created)
    return _differs_from_clock(recorded, created)


def _differs_from_clock(recorded: Recorded, created: float) -> bool:
    is_new = recorded.method == "POST" and path_below_root(recorded.path) == "/responses"
    if not is_new or not _CLOCK_TIME.search(recorded.date):
        return False
    made = datetime.fromisoformat(recorded.date[:_DAY_LENGTH]).replace(tzinfo=UTC)
    return abs(made.timestamp() - created) > MAX_AGE


_PATH_STEP = re.compile(r"(\w+)|\[(\d+)\]")
_INVALID_VALUE = re.compile(r"Invalid value: '(.*?)'\. Supported values are: ", re.DOTALL)
_UNKNOWN_VALUE = "unheard-of"


def is_accepted_now(request: Request, error: Mapping[str, Any]) -> bool:
    """Return whether a value that was refused as invalid is accepted now, where an unknown one is still refused."""
    refused, param = _INVALID_VALUE.match(str(error.get("message"))), error.get("param")
    if refused is None or not isinstance(param, str):
        return False
    changed = _replace_value(
        request.body, [name or int(index) for name, index in _PATH_STEP.findall(param)], refused[1]
    )
    violation = check(WorldCall(request._replace(body=changed), World("grown"))).violation
    return violation is not None and violation.error.message.startswith(f"Invalid value: '{_UNKNOWN_VALUE}'.")


def _replace_value(value: Any, path: list[str | int], refused: str) -> Any:
    """Copy a body, replacing `refused` with an unknown value: at the path, or in the `type` of the object there."""
    if value == refused and not path:
        return _UNKNOWN_VALUE
    if isinstance(value, Mapping) and (name := path[0] if path else "type") in value:
        return {**value, name: _replace_value(value[name], path[1:], refused)}
    if isinstance(value, list) and path and isinstance(path[0], int) and path[0] < len(value):
        return [
            _replace_value(element, path[1:], refused) if index == path[0] else element
            for index, element in enumerate(value)
        ]
    return value


DEPENDS_ON_ACCOUNT = "it depends on the account"
BEGAN_BEFORE = "it continues what is not in the recording"
DELETED_UNSEEN = "another client of the project may have deleted it"
ENDED_UNSEEN = "a background response may have ended in between"
RECORDING_IS_CUT = "the recording is cut"
ABOUT_CONNECTION = "it is about the connection, not about the request"
AGENT_HIDES_MODEL = "an agent of Foundry answered it"
DEPLOYMENT_HIDES_MODEL = "a deployment's name does not tell its model"
AZURE_ACCEPTS_MORE = "Azure accepts more than OpenAI"
IDS_REWRITTEN = "the recording's ids were rewritten"
ACCEPTED_NOW = "the API accepts this value now"

_PLACEHOLDER = re.compile(r"<[A-Z][A-Z0-9_]+>|\[?(?:REDACTED|SANITIZED)[A-Z_]*\]?")

ACCOUNT_STATUSES = (401, 402, 403, 408, 409, 424, 429)
"""Statuses that depend on the account, the time or another server rather than on the request."""
ABOUT_SUBSCRIPTION = "is not enabled for this subscription"
"""A part of the message about a tool that an Azure subscription lacks (recorded 2026-07-01: `reminder_preview`)."""
MODEL_AREAS = ("research", "sampling", "effort", "capability", "hosted", "tools", "text")
"""Areas of rules about the abilities of a model; behind a deployment or an agent, the model is unknown."""
LONG_VALUE_AREAS = ("limits", "media", "references")
"""Areas of rules about long values, which recorders shorten."""
PAIRING_AREAS = ("pairing", "reasoning", "references")
"""Areas of rules about items that belong together, one of which may precede the recording."""
BACKGROUND_AREAS = ("lifecycle", "runs")
"""Areas of rules about background work, which may end unobserved."""
UPLOAD_RULES = ("upload_incomplete", "upload_empty", "upload_not_a_form")
"""Rules about the bytes of an upload, which recorders omit."""
UPLOADED_RULES = ("file_not_readable",)
"""Rules about a file that may have been uploaded before the recording."""
VERSION_RULE = "version_missing"
"""The rule about a version in the query, which recorders omit."""
PREVIOUS_NOT_FOUND = "previous_response_not_found"
"""The code of the error for a response that cannot be continued because it does not exist."""
ID_AREAS = ("ids", "state")
"""Areas of rules about ids, which recorders rewrite."""


def explain_unverifiable_violation(violation: Violation, recorded: Recorded, request: Request, world: World) -> str:
    """Explain why this violation does not count, although the API accepted the request or gave another reason."""
    rule, body = violation.rule, as_object(request.body)
    if _is_about_missing_object(rule) or (rule.area in PAIRING_AREAS and has_unrecorded_history(body, world)):
        return BEGAN_BEFORE
    if rule.area in (*BACKGROUND_AREAS, *PAIRING_AREAS) and _is_pending(request, world):
        return ENDED_UNSEEN
    # The day is that of the first recording or report; the API may have changed earlier.
    if rule.since and (not recorded.date or is_uncertain_on(recorded.date[:10], rule.since, "")):
        return f"the API has refused this only since {rule.since}"
    if rule.id in (*UPLOAD_RULES, VERSION_RULE) or (rule.area in LONG_VALUE_AREAS and _is_cut(recorded)):
        return RECORDING_IS_CUT
    if not recorded.flags.isdisjoint(("sanitized", "inferred")) and rule.area in ID_AREAS:
        return IDS_REWRITTEN
    if why := explain_edited(recorded):
        return why
    if is_assistants_operation(request.operation) and request.dialect in AZURE_DIALECTS and rule.keyword:
        return AZURE_ACCEPTS_MORE
    # On Azure, `model` names a deployment, which may have any model.
    if rule.area in MODEL_AREAS and request.dialect in AZURE_DIALECTS:
        agent = resolve_agent(request, world)
        return AGENT_HIDES_MODEL if agent is not None and not agent.definition else DEPLOYMENT_HIDES_MODEL
    return ""


def explain_unverifiable_error(
    error: Json, violation: Violation | None, recorded: Recorded, request: Request, world: World
) -> str:
    """Explain why the mock, which found `violation` or none, cannot be expected to return the recorded error."""
    if recorded.status in ACCOUNT_STATUSES or ABOUT_SUBSCRIPTION in str(error.get("message")):
        return DEPENDS_ON_ACCOUNT
    if "socket" in recorded.flags and _is_about_connection(recorded.status, error):
        return ABOUT_CONNECTION
    for rule in match_rules(recorded.status, error):
        if rule.area in ("access", "beta") or any(case.account for case in (*rule.rejects.values(), *rule.accepts)):
            return DEPENDS_ON_ACCOUNT
        if rule.area in BACKGROUND_AREAS and _is_pending(request, world):
            return ENDED_UNSEEN
        if rule.id in UPLOADED_RULES and not violation:
            return BEGAN_BEFORE
        if not violation and _is_about_missing_object(rule) and OPERATIONS[request.operation].is_project:
            return DELETED_UNSEEN
        if rule.until and (not (rule.check and recorded.date) or is_uncertain_on(recorded.date[:10], "", rule.until)):
            return f"the API answered so until {rule.until}"
        if rule.area in LONG_VALUE_AREAS and _is_cut(recorded):
            return RECORDING_IS_CUT
    if is_accepted_now(request, error):
        return ACCEPTED_NOW
    if violation and recorded.status == violation.error.status == 404 and OPERATIONS[request.operation].is_project:
        return ""  # both report a missing object, with different messages
    if violation:
        return explain_unverifiable_violation(violation, recorded, request, world)
    unknown = has_unrecorded_history(as_object(request.body), world) or _lists_unknown_items(request, world)
    return BEGAN_BEFORE if unknown else ""


def _is_about_connection(status: int, error: Mapping[str, Any]) -> bool:
    """Return whether an error concerns members that a WebSocket adds to a request, or the state of the connection."""
    added = error.get("param") in (*ENVELOPE_MEMBERS, "stream_id") or error.get("code") == PREVIOUS_NOT_FOUND
    return added or any(rule.area == "websocket" for rule in match_rules(status, error))


def match_rules(status: int, error: Mapping[str, Any]) -> Iterator[Rule]:
    """Yield the rules whose error has this status, code and message."""
    for rule in RULES.values():
        same_code = rule.error.code == error.get("code") or "{" in str(rule.error.code) or "code" not in error
        if rule.error.status == status and same_code and _message_pattern(rule.id).fullmatch(str(error.get("message"))):
            yield rule


@cache
def _message_pattern(id: str) -> re.Pattern[str]:
    parts = list(Formatter().parse(RULES[id].error.message))
    if not any(text for text, *_ in parts):
        return re.compile("(?!)")  # a message without any fixed text identifies no rule
    return re.compile("".join(re.escape(text) + (".*" if field is not None else "") for text, field, *_ in parts), re.S)


def _is_about_missing_object(rule: Rule) -> bool:
    """Return whether a rule reports a missing object, which may have been created before the recording."""
    missing = rule.error.status == 404 and rule.area not in ("transport", "gateway")
    return missing or rule.error.code == PREVIOUS_NOT_FOUND


def has_unrecorded_history(body: Json, world: World) -> bool:
    """Return whether the request continues a chain or conversation from before the recording, with unknown items."""
    conversation = world.store.conversations.get(conversation_id(body) or "")
    previous = body.get("previous_response_id")
    while isinstance(previous, str) and (stored := world.store.responses.get(previous)):
        previous = stored.response.get("previous_response_id")
    return bool(previous) or bool(conversation and conversation.object == PRESUMED)


def _lists_unknown_items(request: Request, world: World) -> bool:
    """Return whether a cursor may name an item whose id is not recorded."""
    operation = OPERATIONS.get(request.operation) if {"after", "before"} & request.query.keys() else None
    listed = operation.cursors if operation else None
    return listed is not None and None in listed.ids(request, world)


def _is_pending(request: Request, world: World) -> bool:
    thread = world.store.threads.get(request.params.get("thread_id", ""))
    if thread and (run := thread.active_run):
        return bool(run["status"] != "requires_action")
    named = (request.params.get("response_id"), as_object(request.body).get("previous_response_id"))
    return any(isinstance(id, str) and id in world.store.pending for id in named)


def _is_cut(recorded: Recorded) -> bool:
    return "cut" in recorded.flags or any(map(_PLACEHOLDER.fullmatch, strings_in(recorded.request)))
