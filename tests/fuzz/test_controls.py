"""Wrong requests to the control plane are answered at once, with what is wrong and where: all of them with `-m slow`."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from harness.server.control_plane.app import CONTROLS
from harness.server.http_server import App
from harness.server.mock_api import MockApi
from tests.fuzz.controls import LONGEST, Control, complaint, controls, prepared
from tests.support.seed import REPEAT, TODAY

EACH = 10
"""Wrong requests of each entry when the tests are quick."""


def found(requests: Iterable[Control]) -> list[tuple[Control, str]]:
    """Return what is wrong with the answers to requests, of which hundreds go to one mock."""
    wrong, app = [], prepared()
    for number, sent in enumerate(requests, 1):
        app = prepared() if number % 500 == 0 else app
        if said := complaint(app, sent):
            wrong.append((sent, said))
    return wrong


def test_some_of_each_entry_are_answered_as_they_must_be() -> None:
    sent = [*controls()]
    chance = Random(TODAY)
    of_each = [[one for one in sent if one.path == path] for path in sorted({one.path for one in sent})]
    assert found(one for some in of_each for one in chance.sample(some, min(EACH, len(some)))) == [], REPEAT


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_are_answered_as_they_must_be() -> None:
    sent = [*controls()]
    assert len(sent) > 10_000
    assert found(sent) == []


def test_every_entry_its_parameters_and_its_members_are_among_them() -> None:
    sent = [*controls()]
    assert {(method, path) for method, path, _ in CONTROLS} <= {(one.method, one.path) for one in sent}
    assert {one.query.partition(b"=")[0] for one in sent if one.path == "/report"} >= {
        *(b"unused", b"losses", b"webhooks", b"client", b"verbose")
    }
    assert Control("GET", "/events", b"after=-9223372036854775809") in sent
    assert any(one.path == "/answer" and one.body.startswith(b'{"request": 1, "yaml": "a0: &a0') for one in sent)


class TestTheCheck:
    SENT = Control("GET", "/calls")

    def said(self, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes) -> str | None:
        """Return the complaint about an answer."""

        async def serve(self: App, scope: Any, receive: Any, send: Any) -> None:
            if not status:
                raise KeyError("name")
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": body})

        monkeypatch.setattr(App, "__call__", serve)
        return complaint(App(MockApi()), self.SENT)

    @pytest.mark.parametrize(
        ("status", "body", "said"),
        [
            (0, b"", "exception: KeyError: 'name'"),
            (500, b"", "status: 500: b''"),
            (404, b"{}", "status: 404: b'{}'"),
            (400, b"no", "malformed: 400"),
            (400, b'{"detail": "no"}', "malformed: 400"),
            (400, b'{"error": {"message": "", "type": "harness_error"}}', "malformed: {"),
            (400, b'{"error": {"message": "%b", "type": "harness_error"}}' % (b"x" * (LONGEST + 1)), "length: 4,097"),
        ],
    )
    def test_the_check_sees_what_no_answer_may_be(
        self, monkeypatch: pytest.MonkeyPatch, status: int, body: bytes, said: str
    ) -> None:
        assert str(self.said(monkeypatch, status, body)).startswith(said)

    def test_the_check_has_nothing_against_a_refusal_that_says_why(self, monkeypatch: pytest.MonkeyPatch) -> None:
        body = b'{"error": {"message": "no World", "type": "harness_error"}}'
        assert self.said(monkeypatch, 400, body) is None

    def test_the_check_sees_an_answer_that_never_comes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def wait(self: App, scope: Any, receive: Any, send: Any) -> None:
            await receive()
            while True:
                await receive()

        monkeypatch.setattr(App, "__call__", wait)
        monkeypatch.setattr("tests.fuzz.controls.DEADLINE", 0.2)
        assert complaint(App(MockApi()), self.SENT) == "no answer within 0.2 s"
