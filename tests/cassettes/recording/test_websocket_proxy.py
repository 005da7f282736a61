"""WebSockets that pass a recorder."""

import json
import time
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.sync.server import ServerConnection

from harness.faults import cut
from harness.items import message
from tests.support.servers.live_server import Front, recorded
from tests.support.servers.plain_server import over_sockets

AUTH = {"Authorization": "Bearer sk-live"}
CREATE = json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"})
ENDS = ("response.completed", "error")


def opened(front: Front, path: str = "/v1/responses", **headers: str) -> ClientConnection:
    url = f"ws{front.origin.removeprefix('http')}{path}"
    return connect(url, additional_headers=headers or AUTH, proxy=None)


def events(wire: ClientConnection) -> list[Any]:
    """Return the events up to the one that ends an answer."""
    found = []
    for text in wire:
        found.append(json.loads(text))
        if found[-1]["type"] in ENDS:
            break
    return found


class TestAConnection:
    def test_messages_pass_both_ways_and_are_recorded(self, live, front, world):
        world.script(message(["Hel", "lo."]), message("Bye."))
        with opened(front) as wire:
            wire.send(CREATE)
            first = events(wire)
            wire.send(CREATE.encode())
            second = events(wire)
        (interaction,) = front.interactions()
        assert (interaction.uri, interaction.status, interaction.cut) == (f"{live}/v1/responses", 101, False)
        assert [text for _, by, text in interaction.frames if by == "client"] == [CREATE, CREATE]
        assert [json.loads(text) for _, by, text in interaction.frames if by == "server"] == [*first, *second]
        seconds = [time for time, _, _ in interaction.frames]
        assert seconds == sorted(seconds)

    def test_a_connection_that_is_open_is_preserved_as_far_as_it_came(self, front, world):
        world.script(message("Hello."))
        with opened(front) as wire:
            wire.send(CREATE)
            text = events(wire)
            (interaction,) = front.recording.in_progress().values()
            assert (interaction.status, interaction.cut, len(interaction.frames)) == (101, True, 1 + len(text))
        assert not front.interactions()[0].cut

    def test_a_connection_ends_as_the_api_ends_it(self, front, world):
        with opened(front) as wire:
            world.skip(3601)
            wire.send(CREATE)
            events(wire)
            with pytest.raises(ConnectionClosedOK) as closed:
                wire.recv(5)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1000
        assert not front.interactions()[0].cut

    def test_breaks_off_where_the_api_breaks_off(self, front, world):
        world.script(cut(message("Once upon a time"), after=3))
        with opened(front) as wire:
            wire.send(CREATE)
            with pytest.raises(ConnectionClosedError):
                events(wire)
        (interaction,) = front.interactions()
        assert interaction.cut
        assert len(interaction.frames) == 1 + 3

    def test_a_connection_that_is_refused_is_refused_alike(self, front, world):
        with pytest.raises(InvalidStatus) as refused, opened(front, Authorization="Basic x"):
            pass
        (interaction,) = front.interactions()
        assert refused.value.response.status_code == interaction.status == 401
        assert refused.value.response.body == interaction.answer
        assert not interaction.cut

    @pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"])
    def test_a_connection_to_an_api_that_is_not_there_says_so(self, url):
        with recorded(url) as front:
            with pytest.raises(InvalidStatus) as refused, opened(front):
                pass
            assert refused.value.response.status_code == 418
            assert b"cannot be reached" in (refused.value.response.body or b"")
            assert (front.recording.interactions, len(front.recording.problems)) == ([], 1)


class TestAnApiThatIsSilent:
    @pytest.mark.parametrize("count", [0, 2])
    def test_while_it_owes_an_answer_is_left(self, count):
        def talk(wire: ServerConnection) -> None:
            wire.recv()
            for _ in range(count):
                wire.send('{"type": "response.created"}')
            wire.recv()

        with over_sockets(talk) as url, recorded(url, timeout=0.3) as front:
            with opened(front) as wire:
                wire.send(CREATE)
                with pytest.raises(ConnectionClosedError):
                    events(wire)
            (interaction,) = front.interactions()
        assert (interaction.cut, len(interaction.frames)) == (True, 1 + count)
        (problem,) = front.recording.problems
        assert "sent nothing for 0.3 s. What came before is recorded as cut" in problem

    def test_between_answers_is_waited_for(self):
        def talk(wire: ServerConnection) -> None:
            for _ in wire:
                wire.send('{"type": "response.completed"}')

        with over_sockets(talk) as url, recorded(url, timeout=0.2) as front:
            with opened(front) as wire:
                time.sleep(0.6)
                for _ in range(2):
                    wire.send(CREATE)
                    assert events(wire)
                    time.sleep(0.6)
            (interaction,) = front.interactions()
        assert (interaction.cut, len(interaction.frames)) == (False, 4)
        assert not front.recording.problems
