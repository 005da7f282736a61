"""Dates: the day on which a World lives, and the periods in which parts of the API were valid.

A day is a `YYYY-MM-DD` string, so days compare as strings. The first and last day of an entry (`since`, `until`) may be
less precise, `YYYY-MM` or `YYYY`: the entry is then valid from the first day, or through the last day, of that month or
year.
"""

import re
from bisect import bisect_right
from calendar import isleap, monthrange, timegm
from collections.abc import Iterable
from typing import Protocol

from harness.core.errors import ConfigError

CONTRACT_DATE = "2026-11-22"
"""The day of the newest evidence in this release, and the day of every World without `as_of`.

A later day is a forecast: the contract of this day without the models whose shutdown is announced until then.
"""
ALWAYS = ""
"""The start of the epoch before all changes."""
_DAY_SECONDS = 86_400
_WEEKDAYS = ("Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed")
"""Weekdays, starting with that of 1970-01-01."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAY = re.compile(r"([1-9]\d{3})-(\d\d)(?:-(\d\d))?")


class Dated(Protocol):
    """Something valid from the day `since` to the day `until`; an empty string is no limit."""

    @property
    def since(self) -> str:
        """The first day."""

    @property
    def until(self) -> str:
        """The last day."""


def parse_as_of(text: object, option: str = "as_of") -> str:
    """Return the day for `2026-03-15` or `2026-03` (its last day); ConfigError for any other value.

    A day after CONTRACT_DATE is a forecast: what is announced by now.
    """
    found = _find_day(text)
    if not found:
        raise ConfigError(f"{option}: {text!r} is not a date; pass a day or a month, such as 2026-03-15 or 2026-03.")
    return CONTRACT_DATE if CONTRACT_DATE.startswith(found[0]) else last_day(found[0])


def is_day(text: str) -> bool:
    """Return whether a string is a day in the form YYYY-MM-DD."""
    return len(text) == 10 and bool(_find_day(text))


def _find_day(text: object) -> re.Match[str] | None:
    """Match the parts of a day or a month; None if it does not exist."""
    found = _DAY.fullmatch(text) if isinstance(text, str) and text.isascii() else None
    if not found or not "01" <= found[2] <= "12":
        return None
    return found if "01" <= (found[3] or "01") <= last_day(f"{found[1]}-{found[2]}")[8:] else None


def last_day(limit: str) -> str:
    """Return the last day of a year, a month or a day."""
    month = f"{limit}-12"[:7]
    return limit if len(limit) == 10 else f"{month}-{monthrange(int(month[:4]), int(month[5:7]))[1]}"


def start_of_clock(day: str) -> int:
    """Return noon (UTC) of a day in unix seconds."""
    return timegm((*map(int, day.split("-")), 12, 0, 0))


def iso_time(seconds: int) -> str:
    """Format unix seconds as Azure's services do: `2026-03-21T13:49:40.0000000+00:00`."""
    return "{}-{:02}-{:02}T{:02}:{:02}:{:02}.0000000+00:00".format(*_time_parts(seconds))


def http_time(seconds: int) -> str:
    """Format unix seconds as an HTTP date: `Sat, 21 Mar 2026 13:49:40 GMT`."""
    year, month, day, *time = _time_parts(seconds)
    weekday = _WEEKDAYS[seconds // _DAY_SECONDS % 7]
    return f"{weekday}, {day:02} {_MONTHS[month - 1]} {year} {':'.join(f'{part:02}' for part in time)} GMT"


def _time_parts(seconds: int) -> tuple[int, ...]:
    """Split unix seconds, from 1970 on, into year, month, day, hour, minute and second."""
    days, rest = divmod(seconds, _DAY_SECONDS)
    year, month = 1970, 1
    while days >= (length := 365 + isleap(year)):
        days, year = days - length, year + 1
    while days >= (length := monthrange(year, month)[1]):
        days, month = days - length, month + 1
    return year, month, days + 1, rest // 3600, rest // 60 % 60, rest % 60


def day_of_recording(date: str) -> str:
    """Return the day whose contract judges a recording made at this ISO time: its own, but at most CONTRACT_DATE."""
    return min(date[:10], CONTRACT_DATE) if date else CONTRACT_DATE


def is_valid_on(day: str, since: str, until: str) -> bool:
    """Return whether something is valid on a day."""
    return since <= day and (not until or day[: len(until)] <= until)


def is_uncertain_on(day: str, since: str, until: str) -> bool:
    """Return whether a day lies in a month or year in which something changed on an unknown day."""
    return any(len(limit) < len(day) and day.startswith(limit) for limit in (since, until) if limit)


def days_of_change(entries: Iterable[Dated]) -> tuple[str, ...]:
    """Return the days on which the set of valid entries changes, in order."""
    limits = [(entry.since, entry.until) for entry in entries]
    starts = {f"{since}-01-01"[:10] for since, _ in limits if since}
    return tuple(sorted(starts | {_day_after(until) for _, until in limits if until}))


def start_of_epoch(day: str, changes: tuple[str, ...]) -> str:
    """Return the last day of change up to `day`, the start of its epoch; ALWAYS before the first change."""
    passed = bisect_right(changes, day)
    return changes[passed - 1] if passed else ALWAYS


def _day_after(limit: str) -> str:
    year, month, day = (int(part) for part in last_day(limit).split("-"))
    if day < monthrange(year, month)[1]:
        return f"{year:04}-{month:02}-{day + 1:02}"
    return f"{year:04}-{month + 1:02}-01" if month < 12 else f"{year + 1:04}-01-01"
