"""Parses an interaction of any recorder: request and answer as JSON, provider, date, and flags for what is unusual.

Facts that a recording hides or omits are inferred from the answer, and flagged.
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from harness.api.http import bodies, dialects
from harness.api.http.bodies import parse_query
from harness.cassettes.format.har_and_vcr import FLAG_MEMBERS
from harness.cassettes.format.interaction import Chunk, Interaction
from harness.core.exchange import Finding, Json
from harness.core.json_values import as_object

UNREAD_MEMBER = "_raw"
"""The only member of an answer that was not JSON, in flat exchanges."""
_NON_JSON_TYPES = (
    *("multipart/", "application/x-www-form-urlencoded", "application/octet-stream"),
    *("application/zip", "application/gzip"),
)
_PATHS_WITH_BODY = re.compile(
    r"/responses(/compact|/input_tokens)?|/assistants|/threads/runs|/threads/[^/]+/(messages|runs(/[^/]+/submit_tool_outputs)?)"
)
_MASKS = (b"REDACTED", b"redacted", b"SANITIZED", b"Sanitized", b"sanitized")
_MASKED_ID = re.compile(rb"[\"/][a-z]{2,12}_\w{0,40}(?:%s)" % b"|".join(_MASKS))
_PATH_PLACEHOLDER = re.compile(r"/[{<][^/]*[}>]")
"""A part of a path that was replaced by its name: `/conversations/{conversation_id}`."""
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DAY_LENGTH = len("YYYY-MM-DD")
_EARLIEST_TIMESTAMP = 1_577_836_800
"""2020: the API is younger, so an earlier time cannot be that of a recording."""


class Recorded(NamedTuple):
    """One recorded exchange, parsed.

    `id` is unique in its file and stable between readings: `<path>#<n>`, n from 1, or the record's own. `file` names
    the conversation with the API that it is part of. `path` is the complete path, as recorded; `host` is empty if the
    recording has none; `headers` and `answer_headers` have lower-case names. `request` is the JSON sent, `raw` the
    bytes sent if they are not JSON. `answer` is the JSON received, `events` the data of a stream, in order. `provider`
    is openai, azure, foundry or empty, `date` ISO 8601 or empty, `status` 0 if none was recorded. `misframed` describes
    mistakes in the lines around the events of a stream, `times` the seconds from its first data to each event.

    Flags: `no_request` (the request is not known), `cut` (the stream or long values are cut), `inferred` (some of
    method, path, status and provider were), `sanitized`, `sequence_gaps`, `transcribed`, `done-marker` (`[DONE]` was
    sent), `unread-answer` (neither JSON nor events), `encoded-answer` (its encoding could not be decoded), `broken-off`
    (the last event of the stream is incomplete, or it has none), `no-status`, `socket` (over a WebSocket;
    `harness.verify.judging.websockets`).
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
    misframed: tuple[Finding, ...] = ()
    times: tuple[float, ...] = ()


def parse_recorded(interaction: Interaction, name: str, number: int) -> Recorded:
    """Parse an interaction, which has this number (from 1) in the file of this name."""
    host, path, query = dialects.split_url(interaction.uri)
    request, raw = bodies.decode_request(interaction.body, interaction.headers)
    answer = bodies.decode_answer(interaction.answer, interaction.answer_headers)
    flags = answer.flags | _find_flags(interaction)
    # Some recorders mask the whole URL; the answer to a POST then reveals the path.
    if dialects.is_host_hidden(host) and path in ("", "/") and _is_response_object(interaction.method, answer):
        path, flags = "/v1/responses", flags | {"inferred"}
    provider, guessed = _find_provider(interaction, host, path, request, answer)
    if _PATH_PLACEHOLDER.search(path) or _has_masked_id(orjson.dumps([path, request, *answer[:2]])):
        flags |= {"sanitized"}
    if isinstance(answer.body, dict) and set(answer.body) == {UNREAD_MEMBER}:
        flags |= {"unread-answer"}
    if _is_request_unknown(interaction, path, request, raw):
        flags |= {"no_request"}
    own = interaction.notes.get("id")
    id = own if isinstance(own, str) and own else f"{name}#{number}"
    return Recorded(
        id=id,
        file=id.rpartition("#")[0] if id == own and "#" in id else name,
        method=interaction.method,
        host=host,
        path=path,
        query=parse_query(query.encode()),
        headers=interaction.headers,
        request=request,
        raw=raw,
        status=interaction.status,
        answer_headers=interaction.answer_headers,
        answer=answer.body,
        events=answer.events,
        provider=provider,
        date=_find_date(interaction, answer),
        flags=frozenset(flags | ({"inferred"} if guessed else set())),
        misframed=answer.misframed,
        times=find_event_times(interaction.chunks) if answer.events and "unread-answer" not in flags else (),
    )


def _has_masked_id(data: bytes) -> bool:
    return any(mask in data for mask in _MASKS) and _MASKED_ID.search(data) is not None


def _find_flags(interaction: Interaction) -> set[str]:
    """Return the flags that the recorder wrote; an exchange whose `origin` is a publication is `transcribed`."""
    flags = {flag for flag in FLAG_MEMBERS if interaction.notes.get(flag)}
    if interaction.cut:
        flags.add("cut")
    if interaction.origin and interaction.origin.get("level") != "recorded":
        flags.add("transcribed")
    return flags if interaction.status else flags | {"no-status"}


def _is_response_object(method: str, answer: bodies.DecodedAnswer) -> bool:
    """Return whether an answer looks like that of `POST /responses`, for recordings without a URL."""
    return method == "POST" and (answered_object(*answer[:2]) or {}).get("object") == "response"


def answered_object(answer: Any, events: Sequence[Json] | None) -> Json | None:
    """Return the object in an answer, or the first response in its events."""
    candidates = (answer, *(as_object(event).get("response") for event in events or ()))
    return next((candidate for candidate in candidates if isinstance(candidate, dict)), None)


def _find_provider(
    interaction: Interaction, host: str, path: str, request: Any, answer: bodies.DecodedAnswer
) -> tuple[str, bool]:
    noted = interaction.notes.get("provider")
    known = noted if noted in dialects.PROVIDERS else dialects.provider_of_host(host, path)
    if not known and dialects.is_host_hidden(host):
        known = dialects.provider_by_headers(path, interaction.answer_headers)
    if known or host:
        return known, False
    guess = dialects.guess_provider(path, request, answered_object(*answer[:2]))
    return guess, bool(guess)


def _is_request_unknown(interaction: Interaction, path: str, request: Any, raw: bytes | None) -> bool:
    """Return whether the recorder omitted or replaced the body of a request that the API accepted."""
    if not 200 <= interaction.status < 300 or interaction.method != "POST":
        return False
    if raw is not None:
        return not interaction.headers.get("content-type", "").startswith(_NON_JSON_TYPES)
    return request is None and _PATHS_WITH_BODY.fullmatch(dialects.path_below_root(path) or "") is not None


def _find_date(interaction: Interaction, answer: bodies.DecodedAnswer) -> str:
    """Return the time of the recording, from its recorder, its source, a header or a created object; may be empty."""
    published = str(interaction.origin.get("date") or "")
    for text in (
        interaction.date,
        published if len(published) == _DAY_LENGTH else "",
        interaction.answer_headers.get("date", ""),
    ):
        if date := _parse_date(text):
            return date
    # A GET may return objects of any age; what a POST creates is as old as the recording.
    created = (answered_object(*answer[:2]) or {}).get("created_at") if interaction.method == "POST" else None
    if not isinstance(created, int) or not _EARLIEST_TIMESTAMP < created < 2 * _EARLIEST_TIMESTAMP:
        return ""
    return datetime.fromtimestamp(created, UTC).isoformat()


def _parse_date(text: str) -> str:
    if _ISO_DATE.match(text):
        return text
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


_FRAME_END = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_DATA = re.compile(rb"(?:^|[\r\n])data:")


def find_event_times(chunks: Sequence[Chunk]) -> tuple[float, ...]:
    """Return the seconds from the first data until each event of a stream was complete; empty without times."""
    # Recorders without a clock give all chunks the same time.
    if not chunks or chunks[0][0] == chunks[-1][0]:
        return ()
    body, ends = b"".join(data for _, data in chunks), list(accumulate(len(data) for _, data in chunks))
    times, start = [], 0
    for end in [*(match.end() for match in _FRAME_END.finditer(body)), len(body)]:
        if _DATA.search(body, start, end):
            times.append(chunks[bisect_left(ends, end)][0] - chunks[0][0])
        start = end
    return tuple(times)
