"""A body that differs in the text of its `input` alone is read as if nothing had been kept of those before."""

from __future__ import annotations

import json

import pytest

from harness.core.exchange import Json, ReceivedRequest
from harness.core.limits import Limits
from harness.fast_path.prepared import split_at_input
from harness.items import message
from harness.server.mock_api import MockApi

KEY = "sk-texts"
PATH = "/v1/responses"
HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
SERVED = Limits(exchanges=1_000, responses=1_000, worlds=10)
ORDINARY = b'{"model":"gpt-4.1","input":"%b"}'
FORMS = {
    "compact": ORDINARY,
    "spaced": b'{"model": "gpt-4.1", "input" : "%b", "store": false}',
    "with lines": b'{\n  "input":\n"%b",\n  "model": "gpt-4.1"\n}',
    "of its name alone": b'{"input":"%b","model":"gpt-4.1","user":"inputs"}',
    "in an inner object first": b'{"metadata":{"input":"a"},"model":"gpt-4.1","input":"%b"}',
    "in an inner object last": b'{"model":"gpt-4.1","input":"%b","metadata":{"input":"a"}}',
    "as a value before": b'{"user":"input","model":"gpt-4.1","input":"%b"}',
    "twice": b'{"model":"gpt-4.1","input":"a","input":"%b"}',
    "with an escape": b'{"model":"gpt-4.1","instructions":"\\"input\\":\\"a\\"","input":"%b"}',
    "with an escaped name": b'{"model":"gpt-4.1","\\u0069nput":"%b","metadata":{"input":"a"}}',
    "after an escape": b'{"model":"gpt-4.1","input":"a\\"%b"}',
    "before an escape": b'{"model":"gpt-4.1","input":"%b\\" b"}',
    "in a list": b'{"model":"gpt-4.1","input":[{"role":"user","content":"%b"}]}',
}
TEXTS = (
    *(b"one", b"two words", b"", b"input", b" ", "Grüße, 你好".encode(), b"\\n\\t\\u00e9", b"\\ud83d\\ude00"),
    *(
        b"\xff",
        b"a\nb",
        b"\\ud800",
        b"\\x",
        b"\\",
        b'\\"',
        b'" b',
        b'","input":"',
        b"{\\u007d",
        b":,[]{}",
        b"x" * 70_000,
    ),
)


def play(bodies: list[bytes], limits: Limits) -> list[tuple[int, object, object]]:
    """Answer the bodies one after the other, with what the journal holds of each."""
    api = MockApi(limits=limits)
    mock = api.open(KEY)
    mock.script(message("ok"), repeat=True)
    for raw in bodies:
        api.handle(ReceivedRequest("POST", PATH, HEADERS, raw=raw))
    return [(exchange.status, exchange.request.body, exchange.answer.body) for exchange in mock.exchanges]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_text_is_answered_as_if_it_came_first(form: bytes) -> None:
    known = [form % str(number).encode() for number in range(4)]
    bodies = [*known, *[form % text for text in TEXTS], *known]
    assert play(bodies, SERVED) == play(bodies, Limits())


def test_what_stands_around_a_text_is_kept_when_it_comes_again() -> None:
    api = MockApi(limits=SERVED)
    api.open(KEY).script(message("ok"), repeat=True)
    assert api._prepared is not None
    for number in range(4):
        api.handle(ReceivedRequest("POST", PATH, HEADERS, raw=ORDINARY % str(number).encode()))
    assert list(api._prepared._texts._values) == [(b'{"model":"gpt-4.1","input":', b"}")]


def test_a_body_has_its_own_text() -> None:
    split = split_at_input(ORDINARY % b"caf\xc3\xa9")
    assert split is not None
    template: Json = {"model": "gpt-4.1", "input": "hi"}
    assert (split.replace_text(template), template["input"]) == ({"model": "gpt-4.1", "input": "café"}, "hi")


@pytest.mark.parametrize(
    ("raw", "is_certain"),
    [
        (ORDINARY % b"hi", True),
        (ORDINARY % b"a\\nb", True),
        (ORDINARY % b'a\\"b', False),
        (FORMS["in an inner object first"] % b"hi", False),
        (FORMS["in an inner object last"] % b"hi", False),
        (FORMS["with an escape"] % b"hi", False),
    ],
)
def test_the_text_is_certain_where_no_other_can_be_meant(raw: bytes, is_certain: bool) -> None:
    split = split_at_input(raw)
    assert split is not None
    assert split.is_certain_in(json.loads(raw)) == is_certain


@pytest.mark.parametrize(
    "raw", [b"", b"{}", b'{"input":', b'{"input":"a', b'{"input":["a"]}', b'{"input":null,"b":"c"}']
)
def test_a_body_without_a_text_is_not_split(raw: bytes) -> None:
    assert split_at_input(raw) is None
