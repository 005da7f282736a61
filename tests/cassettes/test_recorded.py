"""One recorded exchange: what is read from it, and what is found out where the recording hides it."""

from __future__ import annotations

from typing import Any

import pytest

from harness.cassettes.format.other_recorders import RecorderEntry
from harness.cassettes.format.recorded import Recorded, parse_recorded

DATE = {"date": "Thu, 09 Apr 2026 00:57:33 GMT"}
RESPONSE = {"object": "response", "created_at": 1_760_000_000, "model": "gpt-4.1"}
CREATED = [{"type": "response.created", "response": RESPONSE}]


def of(**entry: Any) -> Recorded:
    """An exchange whose entry differs from a plain one in these."""
    plain = RecorderEntry("POST", "https://api.openai.com/v1/responses", {}, "{}", 200, {}, "{}")
    return parse_recorded(plain._replace(**entry), "a.yaml", 3)


@pytest.mark.parametrize(("level", "transcribed"), [("recorded", False), ("reported", True), ("assumed", True)])
def test_what_was_published_is_transcribed(level: str, transcribed: bool) -> None:
    assert ("transcribed" in of(extra={"origin": {"level": level, "where": "x"}}).flags) is transcribed


def test_it_is_named_by_its_file_and_place() -> None:
    assert (of().id, of().file) == ("a.yaml#3", "a.yaml")


@pytest.mark.parametrize(
    ("extra", "id", "file"),
    [
        ({"id": "p/b#c.yaml#7"}, "p/b#c.yaml#7", "p/b#c.yaml"),
        ({"id": "own"}, "own", "a.yaml"),
        ({"id": ""}, "a.yaml#3", "a.yaml"),
        ({"id": 7}, "a.yaml#3", "a.yaml"),
    ],
)
def test_a_flat_exchange_may_have_a_name_of_its_own(extra: dict[str, Any], id: str, file: str) -> None:
    assert (of(extra=extra).id, of(extra=extra).file) == (id, file)


@pytest.mark.parametrize(
    ("entry", "date"),
    [
        ({"date": "2025-09-25T10:00:00Z", "answer_headers": DATE}, "2025-09-25T10:00:00Z"),
        ({"date": "Sanitized", "answer_headers": DATE}, "2026-04-09T00:57:33+00:00"),
        ({"said": RESPONSE}, "2025-10-09T08:53:20+00:00"),
        ({"said": CREATED}, "2025-10-09T08:53:20+00:00"),
        ({"said": RESPONSE, "method": "GET"}, ""),
        ({"said": {**RESPONSE, "created_at": 0}}, ""),
        ({"said": {**RESPONSE, "created_at": "x"}}, ""),
        ({"said": {**RESPONSE, "created_at": 10**30}}, ""),
        ({}, ""),
    ],
)
def test_its_date_is_the_recorders_or_the_answers(entry: dict[str, Any], date: str) -> None:
    assert of(**entry).date == date


@pytest.mark.parametrize("said", [RESPONSE, CREATED])
def test_a_hidden_address_is_found_in_the_answer(said: Any) -> None:
    found = of(url="**REDACTED**", said=said)
    assert (found.host, found.path, found.provider, found.flags) == ("", "/v1/responses", "openai", {"inferred"})


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "**REDACTED**"},
        {"url": "**REDACTED**", "said": RESPONSE, "method": "GET"},
        {"url": "https://other.net/", "said": RESPONSE},
    ],
)
def test_an_address_that_the_answer_does_not_tell_stays_unknown(entry: dict[str, Any]) -> None:
    assert of(**entry).path in ("", "/")
    assert of(**entry).flags == set()


@pytest.mark.parametrize(
    ("entry", "provider", "flags"),
    [
        ({}, "openai", set()),
        ({"extra": {"provider": "azure"}}, "azure", set()),
        ({"extra": {"provider": "other"}}, "openai", set()),
        ({"url": "/v1/responses", "answer_headers": {"openai-version": "x"}}, "openai", set()),
        ({"url": "https://<host>/openai/v1/responses", "answer_headers": {"x-ms-region": "x"}}, "azure", set()),
        ({"url": "https://<host>/openai/v1/responses", "asked": {"model": "gpt-5"}}, "", set()),
        ({"url": "/v1/responses", "asked": {"model": "gpt-5"}}, "openai", {"inferred"}),
        ({"url": "/v1/responses", "said": CREATED}, "openai", {"inferred"}),
        ({"url": "/v1/responses", "asked": {"model": "llama"}}, "", set()),
        ({"url": "http://127.0.0.1/v1/responses", "answer_headers": {"openai-version": "x"}}, "", set()),
        ({"url": "https://api.x.ai/v1/responses", "asked": {"model": "gpt-5"}}, "", set()),
    ],
)
def test_who_answered_is_told_by_record_host_headers_or_model(
    entry: dict[str, Any], provider: str, flags: set[str]
) -> None:
    assert (of(**entry).provider, of(**entry).flags) == (provider, flags)


@pytest.mark.parametrize(
    ("entry", "flags"),
    [
        ({"asked": "<REDACTED>"}, {"no_request"}),
        ({"asked": None}, {"no_request"}),
        ({"asked": None, "url": "/v1/responses/compact"}, {"no_request"}),
        ({"asked": None, "url": "/v1/responses/r/cancel"}, set()),
        ({"asked": "<REDACTED>", "status": 400}, set()),
        ({"asked": None, "status": 400}, set()),
        ({"asked": None, "method": "GET"}, set()),
        ({"asked": "--x", "headers": {"content-type": "multipart/form-data; boundary=x"}}, set()),
        ({"said": {"id": "resp_REDACTED_1"}}, {"sanitized"}),
        ({"asked": {"previous_response_id": "resp_sanitized"}}, {"sanitized"}),
        ({"url": "https://api.openai.com/v1/responses/resp_REDACTED_1", "method": "GET"}, {"sanitized"}),
        ({"url": "https://api.openai.com/v1/conversations/{conversation_id}/items"}, {"sanitized"}),
        ({"said": {"id": "resp_1", "text": "REDACTED"}}, set()),
        ({"status": 0}, {"no-status"}),
        ({"said": "<html>"}, {"unread-answer"}),
        ({"extra": {"cut": True, "sanitized": False, "inferred": ["status"]}}, {"cut", "inferred"}),
    ],
)
def test_what_is_missing_or_odd_is_flagged(entry: dict[str, Any], flags: set[str]) -> None:
    assert of(**entry).flags == flags


def test_a_request_that_is_no_json_is_kept_as_bytes() -> None:
    found = of(asked='{"model": ', status=400)
    assert (found.request, found.raw) == (None, b'{"model": ')
