"""Deliveries to real receivers: apps of this process and servers at a URL, right ones and wrong ones; nothing sleeps."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

import openai
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from flask import Flask, request
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from harness.core.errors import ConfigError
from harness.ending import failed, incomplete
from harness.items import message
from harness.world.mock import Mock
from tests.support.servers.stalling import ENDLESS, SILENT, STUCK, TRICKLING, TRICKLING_HEAD, stalling

pytestmark = pytest.mark.harness(webhooks=["webhook-never-taken", "webhook-late"])


class Receiver:
    """A hook that verifies, reads the response, and remembers what it was told; it answers `statuses`, then 200."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.told: list[tuple[str, str]] = []

    def take(self, body: bytes, headers: Any) -> int:
        client = openai.OpenAI()
        try:
            event: Any = client.webhooks.unwrap(body, headers)
        except (openai.InvalidWebhookSignatureError, ValueError):
            return 400
        self.told.append((event.type, client.responses.retrieve(event.data.id).output_text))
        return self.statuses.pop(0) if self.statuses else 200

    def flask(self) -> Flask:
        app = Flask("receiver")
        app.add_url_rule("/hook", view_func=lambda: ("", self.take(request.data, request.headers)), methods=["POST"])
        return app

    def starlette(self) -> Starlette:
        async def hook(asked: Request) -> PlainTextResponse:
            status = await asyncio.to_thread(self.take, await asked.body(), asked.headers)
            return PlainTextResponse("", status)

        return Starlette(routes=[Route("/hook", hook, methods=["POST"])])

    def aiohttp(self) -> web.Application:
        async def hook(asked: web.Request) -> web.Response:
            return web.Response(status=await asyncio.to_thread(self.take, await asked.read(), asked.headers))

        app = web.Application()
        app.router.add_post("/hook", hook)
        return app


def run_job(mock: Mock, *turn: Any) -> str:
    """Let a background response end; returns its id."""
    mock.script(list(turn) or message("Paris"))
    made = openai.OpenAI().responses.create(model="gpt-4.1", input="capital of France?", background=True)
    mock.advance()
    mock.advance()
    return made.id


def statuses(mock: Mock) -> list[int | None]:
    return [delivery.status for delivery in mock.deliveries]


def outcomes(mock: Mock) -> list[tuple[int | None, str]]:
    return [(delivery.status, delivery.error) for delivery in mock.deliveries]


@contextmanager
def served(app: Any) -> Iterator[str]:
    class Quiet(WSGIRequestHandler):
        def log_message(self, *_: Any) -> None: ...

    with make_server("127.0.0.1", 0, app, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook"
        server.shutdown()
        thread.join()


class TestAnApp:
    @pytest.mark.parametrize("kind", ["flask", "starlette"])
    def test_an_app_receives_an_event_when_a_response_has_completed(self, mock, kind):
        receiver = Receiver()
        mock.webhooks(getattr(receiver, kind)(), "/hook")
        id = run_job(mock)
        assert receiver.told == [("response.completed", "Paris")]
        (delivery,) = mock.deliveries
        assert (delivery.event, delivery.response, delivery.status) == ("response.completed", id, 200)
        assert (delivery.attempt, delivery.signature, delivery.error) == (1, "valid", "")
        assert 0 < delivery.seconds < delivery.limit

    def test_an_app_receives_an_event_for_every_other_end(self, mock):
        receiver = Receiver()
        mock.webhooks(receiver.flask(), "/hook")
        run_job(mock, message("Pa"), incomplete())
        run_job(mock, message("Pa"), failed())
        mock.script(message("never said"))
        client = openai.OpenAI()
        client.responses.cancel(client.responses.create(model="gpt-4.1", input="hi", background=True).id)
        assert [delivery.event for delivery in mock.deliveries] == [
            "response.incomplete",
            "response.failed",
            "response.cancelled",
        ]

    def test_an_app_receives_an_event_for_a_streamed_background_response(self, mock):
        receiver = Receiver()
        mock.webhooks(receiver.flask(), "/hook")
        mock.script(message("Paris"))
        with openai.OpenAI().responses.stream(model="gpt-4.1", input="hi", background=True) as stream:
            stream.until_done()
        assert statuses(mock) == [200]

    def test_an_app_receives_no_event_for_responses_in_the_foreground(self, mock):
        mock.webhooks(Receiver().flask(), "/hook")
        mock.script(message("Paris"))
        openai.OpenAI().responses.create(model="gpt-4.1", input="hi")
        assert mock.deliveries == []

    def test_an_app_receives_an_event_when_polling_has_moved_the_response_on(self, mock):
        receiver = Receiver()
        mock.webhooks(receiver.starlette(), "/hook")
        mock.script(message("Paris"))
        client = openai.OpenAI()
        made = client.responses.create(model="gpt-4.1", input="hi", background=True)
        while made.status != "completed":
            made = client.responses.retrieve(made.id)
        assert statuses(mock) == [200]
        assert receiver.told == [("response.completed", "Paris")]

    def test_an_app_that_raises_has_answered_500_and_the_error_says_where(self, mock):
        def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
            raise KeyError("order")

        mock.webhooks(app, "/hook")
        run_job(mock)
        (delivery,) = mock.deliveries
        assert delivery.status == 500
        assert "KeyError: 'order'" in delivery.error
        assert "test_webhook_courier.py" in delivery.error

    def test_an_app_that_says_nothing_has_answered_500(self, mock):
        def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
            return []

        async def asgi(scope: Any, receive: Any, send: Any) -> None:
            pass

        for app in (wsgi, asgi):
            mock.webhooks(app, "/hook")
        run_job(mock)
        assert sorted(outcomes(mock)) == [
            (500, "the app has not answered"),
            (500, "the app has not called start_response"),
        ]

    def test_an_app_that_works_on_after_its_answer_is_waited_for(self, mock):
        done = []

        async def work() -> None:
            await asyncio.sleep(0)
            done.append(1)

        async def hook(_: Request) -> PlainTextResponse:
            return PlainTextResponse("", background=BackgroundTask(work))

        mock.webhooks(Starlette(routes=[Route("/", hook, methods=["POST"])]), "/")
        run_job(mock)
        assert done == [1]

    def test_an_app_that_does_not_answer_in_time_is_asked_again_later(self, mock):
        async def hook(_: Request) -> PlainTextResponse:
            await asyncio.sleep(60)
            return PlainTextResponse("")

        mock.webhooks(Starlette(routes=[Route("/", hook, methods=["POST"])]), "/", timeout=0.1)
        run_job(mock)
        mock.skip(5)
        assert [(made.attempt, made.status, made.error) for made in mock.deliveries] == [
            (1, None, "no answer within 0.1 s"),
            (2, None, "no answer within 0.1 s"),
        ]

    @pytest.mark.parametrize("pause", [0.0, 0.01])
    def test_an_app_of_asgi_that_never_ends_its_answer_is_given_up(self, mock, pause):
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await send({"type": "http.response.body", "body": b".", "more_body": True})
                await asyncio.sleep(pause)

        mock.webhooks(app, "/hook", timeout=1)
        run_job(mock)
        assert outcomes(mock) == [(None, "answered 200, did not end within 1 s")]

    @pytest.mark.parametrize("starts", [False, True])
    def test_an_app_of_wsgi_that_never_ends_its_answer_is_given_up(self, mock, starts):
        test_has_ended, app_has_ended = threading.Event(), threading.Event()

        def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterator[bytes]:
            try:
                if starts:
                    start_response("200 OK", [])
                while not test_has_ended.wait(0.01):
                    if starts:
                        yield b"."
            finally:
                app_has_ended.set()

        mock.webhooks(app, "/hook", timeout=1)
        run_job(mock)
        assert outcomes(mock) == [(None, f"{'answered 200, did not end' if starts else 'no answer'} within 1 s")]
        if starts:  # an app that yields is closed, as by a server whose client has left
            assert app_has_ended.wait(30)
        test_has_ended.set()

    def test_an_app_is_read_no_further_than_a_megabyte(self, mock):
        sent: list[int] = []

        def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterator[bytes]:
            start_response("204 No Content", [])
            for _ in range(100):
                sent.append(65536)
                yield b"." * 65536

        async def asgi(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 202, "headers": []})
            for _ in range(100):
                sent.append(65536)
                await send({"type": "http.response.body", "body": b"." * 65536, "more_body": True})

        for app in (wsgi, asgi):
            mock.webhooks(app, "/hook")
        run_job(mock)
        assert sorted(outcomes(mock)) == [(202, ""), (204, "")]
        assert sum(sent) <= 2 * (1024 * 1024 + 2 * 65536)

    @pytest.mark.parametrize("kind", ["wsgi", "asgi"])
    def test_an_app_may_move_time_on_itself(self, mock, kind):
        def skip(*_: Any) -> PlainTextResponse:
            mock.skip(1)
            return PlainTextResponse("")

        def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
            skip()
            start_response("200 OK", [])
            return []

        app = wsgi if kind == "wsgi" else Starlette(routes=[Route("/hook", skip, methods=["POST"])])
        mock.webhooks(app, "/hook", timeout=5.0)
        run_job(mock)
        assert outcomes(mock) == [(200, "")]

    def test_an_app_of_another_kind_is_refused_with_what_to_give(self, mock):
        for app in (web.Application(), object(), lambda: None):
            with pytest.raises(ConfigError, match="pass a URL, or an ASGI or WSGI app"):
                mock.webhooks(app)


class TestAnAsyncTest:
    async def test_deliveries_to_an_app_are_awaited(self, mock):
        receiver = Receiver()
        mock.webhooks(receiver.starlette(), "/hook")
        mock.script(message("Paris"))
        await openai.AsyncOpenAI().responses.create(model="gpt-4.1", input="hi", background=True)
        mock.advance()
        mock.advance()
        assert [delivery.status for delivery in await mock.delivered()] == [200]
        assert receiver.told == [("response.completed", "Paris")]

    async def test_an_async_test_has_the_receiver_in_its_own_event_loop(self, mock):
        receiver, loops = Receiver(), []
        app = receiver.aiohttp()

        async def note(_: web.Application) -> None:
            loops.append(asyncio.get_running_loop())

        app.on_startup.append(note)
        async with TestServer(app) as server:
            mock.webhooks(str(server.make_url("/hook")), faults=["forged"])
            mock.script(message("Paris"))
            await openai.AsyncOpenAI().responses.create(model="gpt-4.1", input="hi", background=True)
            mock.advance()
            mock.advance()
            assert [delivery.status for delivery in await mock.delivered()] == [400, 200]
        assert loops == [asyncio.get_running_loop()]

    pytestmark = pytest.mark.asyncio


class TestAUrl:
    @pytest.mark.parametrize("instead_of", ["", "https://shop.example/hook"])
    def test_a_url_is_posted_to(self, mock, instead_of):
        receiver = Receiver()
        with served(receiver.flask()) as url:
            mock.webhooks(url, url=instead_of)
            run_job(mock)
            assert statuses(mock) == [200]
        assert receiver.told == [("response.completed", "Paris")]

    def test_a_url_that_redirects_is_not_followed(self, mock):
        app = Flask("redirecting")
        app.add_url_rule("/hook", view_func=lambda: ("", 302, {"Location": "/other"}), methods=["POST"])
        with served(app) as url:
            mock.webhooks(url)
            run_job(mock)
            assert statuses(mock) == [302]

    def test_a_url_where_nobody_listens_has_no_status(self, mock):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        mock.webhooks(f"http://127.0.0.1:{port}/hook")
        run_job(mock)
        (delivery,) = mock.deliveries
        assert delivery.status is None
        assert "cannot be reached" in delivery.error

    @pytest.mark.parametrize(
        ("stall", "seconds", "error"),
        [
            (SILENT, 0.3, "no answer within 0.3 s"),
            # On a busy machine the status may take a while.
            (STUCK, 1.5, "answered 200, did not end within 1.5 s"),
            (TRICKLING, 1.5, "answered 200, did not end within 1.5 s"),
            (TRICKLING_HEAD, 0.3, "no answer within 0.3 s"),
        ],
        ids=["silent", "stuck", "trickling", "trickling head"],
    )
    def test_a_url_that_never_ends_its_answer_is_given_up(self, mock, stall, seconds, error):
        with stalling(stall) as url:
            mock.webhooks(url, timeout=seconds)
            run_job(mock)
            assert outcomes(mock) == [(None, error)]

    def test_a_url_is_read_no_further_than_a_megabyte(self, mock):
        with stalling(ENDLESS) as url:
            mock.webhooks(url, timeout=30)
            run_job(mock)
            (delivery,) = mock.deliveries
        assert (delivery.status, delivery.error) == (200, "")

    @pytest.mark.parametrize("url", [f"http://{'a' * 70}.localhost/hook", "http://localhost:1/höök"])
    def test_a_url_that_cannot_be_encoded_is_an_attempt_that_failed(self, mock, url):
        mock.webhooks(url)
        run_job(mock)
        (delivery,) = mock.deliveries
        assert delivery.status is None
        assert "cannot be reached" in delivery.error

    @pytest.mark.parametrize("url", ["localhost:8000/hook", "ftp://localhost", "http://", "http://localhost:99999/"])
    def test_a_url_that_is_none_is_refused(self, mock, url):
        with pytest.raises(ConfigError, match="pass a URL like http://localhost:8000/hook"):
            mock.webhooks(url)


class TestRetries:
    def test_retries_follow_a_500_when_time_passes(self, mock):
        receiver = Receiver(500, 503)
        mock.webhooks(receiver.flask(), "/hook")
        run_job(mock)
        assert statuses(mock) == [500]
        mock.skip(5)
        assert statuses(mock) == [500, 503]
        mock.skip(300)
        assert statuses(mock) == [500, 503, 200]
        assert len({delivery.id for delivery in mock.deliveries}) == 1

    def test_retries_end_after_the_last_wait(self, mock):
        mock.webhooks(Receiver(*[500] * 20).flask(), "/hook")
        run_job(mock)
        mock.skip(100 * 3600)
        assert [delivery.attempt for delivery in mock.deliveries] == [*range(1, 10)]


class TestASecret:
    def test_a_secret_is_rotated_without_a_gap(self, mock):
        receiver = Receiver()
        hook = mock.webhooks(receiver.flask(), "/hook")
        hook.rotate(keep_old=True)
        run_job(mock)
        mock.skip(24 * 3600)
        run_job(mock)
        assert statuses(mock) == [200, 400]

    def test_a_secret_of_ones_own_signs(self, mock, monkeypatch):
        receiver = Receiver()
        secret = "whsec_" + "c2VjcmV0" * 4
        monkeypatch.setenv("OPENAI_WEBHOOK_SECRET", secret)
        assert mock.webhooks(receiver.flask(), "/hook", secret=secret).secret == secret
        run_job(mock)
        assert statuses(mock) == [200]


def test_a_webhook_can_go_wrong_later_and_be_removed(mock):
    receiver = Receiver()
    hook = mock.webhooks(receiver.flask(), "/hook")
    run_job(mock)
    hook.faults = ["doubled"]
    run_job(mock)
    hook.remove()
    run_job(mock)
    assert statuses(mock) == [200, 200, 200]
    with pytest.raises(ConfigError, match="was removed"):
        _ = hook.secret
