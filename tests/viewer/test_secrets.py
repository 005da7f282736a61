"""No key stands in what a page is given."""

from __future__ import annotations

import orjson

from tests.support.in_process import user
from tests.support.shown import KEY, Asked


def test_secrets_are_hidden_everywhere(asked: Asked) -> None:
    asked.mock.script(f"Your key is {KEY}.")
    asked.ask([user(f"My key is {KEY}, or sk-proj-{'a1B2' * 12}.")], metadata={"key": KEY}, instructions=KEY)
    text = orjson.dumps(asked.show("failed", why=f"E {KEY}"))
    assert KEY.encode() not in text
    assert b"sk-proj-" not in text
    headers = dict(asked.show().exchanges[0].request_headers)
    assert headers == {"authorization": "Bearer [hidden]", "content-type": "application/json", "user-agent": "me/1"}
