"""One recorded exchange: what is read from it, and what is found out where the recording hides it."""

from dataclasses import replace
from typing import Any

import pytest

from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.messages import encode_body
from harness.cassettes.format.recorded import Recorded, parse_recorded

DATE = {"date": "Thu, 09 Apr 2026 00:57:33 GMT"}
RESPONSE = {"object": "response", "created_at": 1_760_000_000, "model": "gpt-4.1"}
CREATED = [{"type": "response.created", "response": RESPONSE}]


def of(request: Any = "{}", answer: Any = "{}", **members: Any) -> Recorded:
    """Return an exchange with these bodies and members that differ from those of a plain one."""
    plain = Interaction("POST", "https://api.openai.com/v1/responses", status=200)
    bodies = {"body": encode_body(request, {}), "chunks": ((0.0, encode_body(answer, {})),)}
    return parse_recorded(replace(plain, **bodies, **members), "a.yaml", 3)


@pytest.mark.parametrize(("level", "transcribed"), [("recorded", False), ("reported", True), ("assumed", True)])
def test_what_was_published_is_transcribed(level: str, transcribed: bool) -> None:
    assert ("transcribed" in of(origin={"level": level, "where": "x"}).flags) is transcribed


@pytest.mark.parametrize(
    ("notes", "id", "file"),
    [
        ({}, "a.yaml#3", "a.yaml"),
        ({"id": "p/b#c.yaml#7"}, "p/b#c.yaml#7", "p/b#c.yaml"),
        ({"id": "own"}, "own", "a.yaml"),
        ({"id": ""}, "a.yaml#3", "a.yaml"),
        ({"id": 7}, "a.yaml#3", "a.yaml"),
    ],
)
def test_it_is_named_by_its_file_and_place_or_itself(notes: dict[str, Any], id: str, file: str) -> None:
    assert (of(notes=notes).id, of(notes=notes).file) == (id, file)


@pytest.mark.parametrize(
    ("entry", "date"),
    [
        ({"date": "2025-09-25T10:00:00Z", "answer_headers": DATE}, "2025-09-25T10:00:00Z"),
        ({"date": "Sanitized", "answer_headers": DATE}, "2026-04-09T00:57:33+00:00"),
        ({"answer": RESPONSE}, "2025-10-09T08:53:20+00:00"),
        ({"answer": CREATED}, "2025-10-09T08:53:20+00:00"),
        ({"answer": RESPONSE, "method": "GET"}, ""),
        ({"answer": {**RESPONSE, "created_at": 0}}, ""),
        ({"answer": {**RESPONSE, "created_at": "x"}}, ""),
        ({"answer": {**RESPONSE, "created_at": 10**30}}, ""),
        ({}, ""),
    ],
)
def test_its_date_is_the_recorders_or_the_answers(entry: dict[str, Any], date: str) -> None:
    assert of(**entry).date == date


@pytest.mark.parametrize("answer", [RESPONSE, CREATED])
def test_a_hidden_address_is_found_in_the_answer(answer: Any) -> None:
    found = of(uri="**REDACTED**", answer=answer)
    assert (found.host, found.path, found.provider, found.flags) == ("", "/v1/responses", "openai", {"inferred"})


@pytest.mark.parametrize(
    "entry",
    [
        {"uri": "**REDACTED**"},
        {"uri": "**REDACTED**", "answer": RESPONSE, "method": "GET"},
        {"uri": "https://other.net/", "answer": RESPONSE},
    ],
)
def test_an_address_that_the_answer_lacks_stays_unknown(entry: dict[str, Any]) -> None:
    assert of(**entry).path in ("", "/")
    assert of(**entry).flags == set()


@pytest.mark.parametrize(
    ("entry", "provider", "flags"),
    [
        ({}, "openai", set()),
        ({"notes": {"provider": "azure"}}, "azure", set()),
        ({"notes": {"provider": "other"}}, "openai", set()),
        ({"uri": "/v1/responses", "answer_headers": {"openai-version": "x"}}, "openai", set()),
        ({"uri": "https://<host>/openai/v1/responses", "answer_headers": {"x-ms-region": "x"}}, "azure", set()),
        ({"uri": "https://<host>/openai/v1/responses", "request": {"model": "gpt-5"}}, "", set()),
        ({"uri": "/v1/responses", "request": {"model": "gpt-5"}}, "openai", {"inferred"}),
        ({"uri": "/v1/responses", "answer": CREATED}, "openai", {"inferred"}),
        ({"uri": "/v1/responses", "request": {"model": "llama"}}, "", set()),
        ({"uri": "http://127.0.0.1/v1/responses", "answer_headers": {"openai-version": "x"}}, "", set()),
        ({"uri": "https://api.x.ai/v1/responses", "request": {"model": "gpt-5"}}, "", set()),
    ],
)
def test_who_answered_is_read_from_record_host_headers_or_model(entry, provider, flags):
    assert (of(**entry).provider, of(**entry).flags) == (provider, flags)


@pytest.mark.parametrize(
    ("entry", "flags"),
    [
        ({"request": "<REDACTED>"}, {"no_request"}),
        ({"request": None}, {"no_request"}),
        ({"request": None, "uri": "/v1/responses/compact"}, {"no_request"}),
        ({"request": None, "uri": "/v1/responses/r/cancel"}, set()),
        ({"request": "<REDACTED>", "status": 400}, set()),
        ({"request": None, "status": 400}, set()),
        ({"request": None, "method": "GET"}, set()),
        ({"request": "--x", "headers": {"content-type": "multipart/form-data; boundary=x"}}, set()),
        ({"answer": {"id": "resp_REDACTED_1"}}, {"sanitized"}),
        ({"request": {"previous_response_id": "resp_sanitized"}}, {"sanitized"}),
        ({"uri": "https://api.openai.com/v1/responses/resp_REDACTED_1", "method": "GET"}, {"sanitized"}),
        ({"uri": "https://api.openai.com/v1/conversations/{conversation_id}/items"}, {"sanitized"}),
        ({"answer": {"id": "resp_1", "text": "REDACTED"}}, set()),
        ({"status": 0}, {"no-status"}),
        ({"answer": "<html>"}, {"unread-answer"}),
        ({"notes": {"cut": True, "sanitized": False, "inferred": ["status"]}}, {"cut", "inferred"}),
    ],
)
def test_what_is_missing_or_odd_is_flagged(entry: dict[str, Any], flags: set[str]) -> None:
    assert of(**entry).flags == flags


def test_a_request_that_is_no_json_is_preserved_as_bytes() -> None:
    found = of(request='{"model": ', status=400)
    assert (found.request, found.raw) == (None, b'{"model": ')
