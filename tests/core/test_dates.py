"""Days: which one is meant, and what is valid on it."""

from dataclasses import dataclass

import pytest

from harness.core.dates import (
    CONTRACT_DATE,
    day_of_recording,
    days_of_change,
    http_time,
    is_day,
    is_uncertain_on,
    is_valid_on,
    iso_time,
    parse_as_of,
    start_of_epoch,
)
from harness.core.errors import ConfigError


@dataclass
class Entry:
    since: str = ""
    until: str = ""


@pytest.mark.parametrize(
    ("text", "day"),
    [
        *[("2026-03-15", "2026-03-15"), ("2026-03", "2026-03-31"), ("2024-02", "2024-02-29")],
        *[(CONTRACT_DATE, CONTRACT_DATE), (CONTRACT_DATE[:7], CONTRACT_DATE)],
    ],
)
def test_a_day_is_itself_and_a_month_its_last_day_or_that_of_the_contract(text: str, day: str) -> None:
    assert parse_as_of(text) == day


@pytest.mark.parametrize(
    "text", ["yesterday", "2026", "2026-13", "2026-00", "2025-02-29", "2026-3", "٢٠٢٦-٠٣", "", 2026, None]
)
def test_what_is_no_date_is_refused_with_an_example(text: object) -> None:
    told = r"--as-of: .* is not a date; pass a day or a month, such as 2026-03-15 or 2026-03\."
    with pytest.raises(ConfigError, match=told):
        parse_as_of(text, "--as-of")


def test_a_month_and_a_day_that_does_not_exist_are_no_days() -> None:
    assert [is_day(text) for text in ("2026-03-15", "2026-03", "2025-02-29", "")] == [True, False, False, False]


@pytest.mark.parametrize(("text", "day"), [("2027-01", "2027-01-31"), ("2027-01-14", "2027-01-14")])
def test_a_day_to_come_is_a_forecast(text: str, day: str) -> None:
    assert parse_as_of(text) == day > CONTRACT_DATE


@pytest.mark.parametrize(
    ("day", "since", "until", "valid"),
    [
        ("2026-05-01", "2026-05", "", True),
        ("2026-04-30", "2026-05", "", False),
        ("2025-07-31", "", "2025-07", True),
        ("2025-08-01", "", "2025-07", False),
        ("2025-12-31", "2025", "2025", True),
        ("2025-06-02", "2025-06-03", "", False),
        ("2025-06-02", "", "", True),
    ],
)
def test_first_and_last_day_are_included_of_days_months_or_years(day: str, since: str, until: str, valid: bool) -> None:
    assert is_valid_on(day, since, until) is valid


def test_a_change_whose_day_is_unknown_is_uncertain_in_its_month() -> None:
    assert is_uncertain_on("2026-05-09", "2026-05", "")
    assert not is_uncertain_on("2026-05-09", "2026-05-09", "")
    assert not is_uncertain_on("2026-06-01", "2026-05", "")


def test_an_epoch_begins_where_an_entry_begins_or_has_ended() -> None:
    ended = [Entry(until=day) for day in ("2025-12", "2025", "2025-02-28")]
    changes = days_of_change([Entry("2024"), Entry("2026-05"), Entry("2026-05-09"), *ended, Entry()])
    assert changes == ("2024-01-01", "2025-03-01", "2026-01-01", "2026-05-01", "2026-05-09")
    days = ("2023-12-31", "2025-02-28", "2025-03-01", "2026-04-30", "2026-05-08", CONTRACT_DATE)
    assert [start_of_epoch(day, changes) for day in days] == ["", *changes]


def test_a_recording_is_of_its_own_day_and_none_is_newer_than_the_contract() -> None:
    assert day_of_recording("2025-04-01T10:00:00Z") == "2025-04-01"
    assert day_of_recording("2999-01-01") == CONTRACT_DATE
    assert day_of_recording("") == CONTRACT_DATE


@pytest.mark.parametrize(
    ("seconds", "iso", "http"),
    [
        (0, "1970-01-01T00:00:00", "Thu, 01 Jan 1970 00:00:00 GMT"),
        (1_774_100_980, "2026-03-21T13:49:40", "Sat, 21 Mar 2026 13:49:40 GMT"),
        (1_709_164_799, "2024-02-28T23:59:59", "Wed, 28 Feb 2024 23:59:59 GMT"),
        (1_709_251_199, "2024-02-29T23:59:59", "Thu, 29 Feb 2024 23:59:59 GMT"),
        (4_102_444_800, "2100-01-01T00:00:00", "Fri, 01 Jan 2100 00:00:00 GMT"),
    ],
)
def test_a_time_is_written_as_services_and_headers_do(seconds: int, iso: str, http: str) -> None:
    assert (iso_time(seconds), http_time(seconds)) == (f"{iso}.0000000+00:00", http)
