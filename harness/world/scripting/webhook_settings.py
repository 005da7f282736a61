"""The setting `webhooks` of a script as plain data: a URL, an object, or a list of these.

webhooks: http://localhost:8000/hook
webhooks: [{url: "http://localhost:8000/hook", secret: whsec_c2VjcmV0, faults: [doubled], allow: [webhook-late]}]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.analysis.receivers import RECEIVER_MISTAKES
from harness.core.exchange import Json
from harness.core.ids import Ids
from harness.world.mock import Mock
from harness.world.scripting.validation import (
    TEXT,
    TEXT_LIST,
    WHOLE_NUMBER,
    InvalidData,
    ValueForm,
    check_members,
    errors_at,
)
from harness.world.webhooks import ALL_ALLOWED, Webhooks, check_names

_FORMS: Mapping[str, ValueForm] = {
    "url": TEXT,
    "secret": TEXT,
    "events": TEXT_LIST,
    "faults": TEXT_LIST,
    "late": WHOLE_NUMBER,
    "timeout": ValueForm(
        "a number above 0",
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9,
    ),
    "allow": ValueForm(
        f'"{ALL_ALLOWED}", or a list of mistakes', lambda value: value == ALL_ALLOWED or TEXT_LIST.is_valid(value)
    ),
}


def parse_webhooks(value: Any) -> Callable[[Mock], dict[str, str]]:
    """Parse webhooks; applying the change returns the secret of each by its URL."""
    parsed = []
    for index, webhook in enumerate(value if isinstance(value, list) else [value]):
        with errors_at(index) if isinstance(value, list) else errors_at():
            parsed.append(_parse_webhook(webhook))

    def change(mock: Mock) -> dict[str, str]:
        secrets = {}
        for url, options, allowed in parsed:
            secrets[url] = mock.webhooks(url, **options).secret
            mock.world.open_webhooks().allowed.update(allowed)
        return secrets

    return change


def _parse_webhook(value: Any) -> tuple[str, Json, list[str]]:
    """Parse one webhook: its URL, the arguments of `mock.webhooks`, and the allowed mistakes."""
    own = {"url": value} if isinstance(value, str) else {**check_members(value, "member of a webhook", _FORMS)}
    for name, member in own.items():
        with errors_at(name):
            _FORMS[name].check(name, member)
    if "url" not in own:
        raise InvalidData('url is missing. Add {"url": "http://localhost:8000/hook"}.')
    given: str | list[str] = own.pop("allow", [])
    allowed: list[str] = [given] if isinstance(given, str) else given
    check_names("allow", [name for name in allowed if name != ALL_ALLOWED], list(RECEIVER_MISTAKES))
    url = own.pop("url")
    Webhooks(Ids("")).add_endpoint(url, **own)  # to find a mistake before anything is changed
    return url, own, allowed
