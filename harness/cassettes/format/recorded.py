"""One exchange as somebody recorded it, whatever with: what was sent, what was answered, by whom, when, and what is odd.

What a recording hides or leaves out is looked for in the answer; what was found so is flagged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import orjson

from harness.api import decoding
from harness.api.body import parse_query
from harness.api.providers import (
    PROVIDERS,
    guess_provider,
    is_host_hidden,
    path_below_root,
    provider_by_headers,
    provider_of_host,
    split_url,
)
from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.other_recorders import FLAG_MEMBERS
from harness.core.exchange import Json

UNREAD_MEMBER = "_raw"
"""The one member of an answer that was no JSON, as flat exchanges keep it."""
_NON_JSON_TYPES = ("multipart/", "application/x-www-form-urlencoded", "application/octet-stream")
_PATHS_WITH_BODY = re.compile(
    r"/responses(/compact|/input_tokens)?|/assistants|/threads/runs|/threads/[^/]+/(messages|runs(/[^/]+/submit_tool_outputs)?)"
)
_REDACTED_ID = re.compile(rb"[\"/][a-z]{2,12}_\w{0,40}(?:REDACTED|redacted|SANITIZED|[Ss]anitized)")
"""An id that is none any more."""
_PATH_PLACEHOLDER = re.compile(r"/[{<][^/]*[}>]")
"""A part of a path that names what stood there: `/conversations/{conversation_id}`."""
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_EARLIEST_TIMESTAMP = 1_577_836_800
"""2020: before it there was no API, whatever a rewritten recording says."""


class Recorded(NamedTuple):
    """One exchange somebody recorded.

    `id` is unique in its file and the same in every reading: `<path>#<n>`, n from 1, or the record's own. `file` names
    the conversation with the API that it is part of. `path` is the whole path, as recorded, `host` empty where the
    recording has none; `headers` and `answer_headers` have names in lower case. `request` is the JSON sent, `raw` the
    bytes in its place when they are no JSON. `answer` is the JSON received, `events` the data of a stream, in order.
    `provider` is openai, azure, foundry or empty, `date` ISO 8601 or empty, `status` 0 where none was recorded.

    Flags: `no_request` (the request is not known), `cut` (the stream or long values are cut), `inferred` (some of
    method, path, status and provider were), `sanitized`, `sequence_gaps`, `transcribed`, `done-marker` (`[DONE]` was
    sent), `event-names` (they differ from the types), `unread-answer` (neither JSON nor events), `no-status`, `socket`
    (what was said over a WebSocket; `harness.verify.judging.websocket_exchanges`).
    """

    id: str
    file: str
    method: str
    host: str
    path: str
    query: Mapping[str, str | list[str]]
    headers: Mapping[str, str]
    request: Any
    raw: bytes | None
    status: int
    answer_headers: Mapping[str, str]
    answer: Any
    events: list[Json] | None
    provider: str
    date: str
    flags: frozenset[str]


def parse_recorded(found: Interaction, name: str, number: int) -> Recorded:
    """The exchange that a recorder wrote as `found`, the one of this number (from 1) in the file of this name."""
    host, path, query = split_url(found.uri)
    request, raw = decoding.decode_request(found.body, found.headers)
    said = decoding.decode_answer(found.answer, found.answer_headers)
    flags = said.flags | _find_flags(found)
    if is_host_hidden(host) and path in ("", "/") and _is_response_object(found.method, said):
        path, flags = "/v1/responses", flags | {"inferred"}
    who, guessed = _find_provider(found, host, path, request, said)
    if _PATH_PLACEHOLDER.search(path) or _REDACTED_ID.search(orjson.dumps([path, request, *said[:2]])):
        flags |= {"sanitized"}
    if isinstance(said.body, dict) and set(said.body) == {UNREAD_MEMBER}:
        flags |= {"unread-answer"}
    if _is_request_unknown(found, path, request, raw):
        flags |= {"no_request"}
    own = found.notes.get("id")
    id = own if isinstance(own, str) and own else f"{name}#{number}"
    return Recorded(
        id=id,
        file=id.rpartition("#")[0] if id == own and "#" in id else name,
        method=found.method,
        host=host,
        path=path,
        query=parse_query(query.encode()),
        headers=found.headers,
        request=request,
        raw=raw,
        status=found.status,
        answer_headers=found.answer_headers,
        answer=said.body,
        events=said.events,
        provider=who,
        date=_find_date(found, said),
        flags=frozenset(flags | ({"inferred"} if guessed else set())),
    )


def _find_flags(found: Interaction) -> set[str]:
    """What an exchange says of itself; one whose `origin` is a publication holds what was published."""
    flags = {flag for flag in FLAG_MEMBERS if found.notes.get(flag)}
    if found.cut:
        flags.add("cut")
    if found.origin and found.origin.get("level") != "recorded":
        flags.add("transcribed")
    return flags if found.status else flags | {"no-status"}


def _is_response_object(method: str, said: decoding.DecodedAnswer) -> bool:
    """Whether an answer is one to `POST /responses`, for recordings that hide the address."""
    return method == "POST" and (_answered_object(said) or {}).get("object") == "response"


def _answered_object(said: decoding.DecodedAnswer) -> Json | None:
    """The object that was answered; the first one of a stream."""
    within = (event["response"] for event in said.events or () if isinstance(event.get("response"), dict))
    return said.body if isinstance(said.body, dict) else next(within, None)


def _find_provider(
    found: Interaction, host: str, path: str, request: Any, said: decoding.DecodedAnswer
) -> tuple[str, bool]:
    """The provider, and whether it was guessed."""
    told = found.notes.get("provider")
    known = told if told in PROVIDERS else provider_of_host(host, path)
    if not known and is_host_hidden(host):
        known = provider_by_headers(path, found.answer_headers)
    if known or host:
        return known, False
    guess = guess_provider(path, request, _answered_object(said))
    return guess, bool(guess)


def _is_request_unknown(found: Interaction, path: str, request: Any, raw: bytes | None) -> bool:
    """Whether the recorder left out a request's body, or wrote something else in its place: the API took it."""
    if not 200 <= found.status < 300 or found.method != "POST":
        return False
    if raw is not None:
        return not found.headers.get("content-type", "").startswith(_NON_JSON_TYPES)
    return request is None and _PATHS_WITH_BODY.fullmatch(path_below_root(path) or "") is not None


def _find_date(found: Interaction, said: decoding.DecodedAnswer) -> str:
    """When it was recorded: said by the recorder, by the answer's headers, or by what the request made."""
    for text in (found.date, found.answer_headers.get("date", "")):
        if date := _parse_date(text):
            return date
    made = (_answered_object(said) or {}).get("created_at") if found.method == "POST" else None
    if not isinstance(made, int) or not _EARLIEST_TIMESTAMP < made < 2 * _EARLIEST_TIMESTAMP:
        return ""
    return datetime.fromtimestamp(made, UTC).isoformat()


def _parse_date(text: str) -> str:
    if _ISO_DATE.match(text):
        return text
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""
