"""Head and body of an answer leave in one write, in order, and nothing is held back for long."""

import asyncio

import pytest

from harness.fast_path.joined_writes import FLUSH_SIZE, JoinedWrites


class Wire:
    """A transport that notes what it is told."""

    def __init__(self):
        self.told = []

    def write(self, data):
        self.told.append(data)

    def close(self):
        self.told.append("closed")

    def is_closing(self):
        return "closed" in self.told


@pytest.fixture
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def wire():
    return Wire()


def turn(loop):
    loop.run_until_complete(asyncio.sleep(0))


def test_writes_of_one_turn_go_out_together(loop, wire):
    cork = JoinedWrites(wire, loop)
    cork.write(b"head")
    cork.write(b"body")
    assert wire.told == []
    turn(loop)
    cork.write(b"next")
    turn(loop)
    assert wire.told == [b"headbody", b"next"]


def test_much_is_written_at_once(loop, wire):
    cork = JoinedWrites(wire, loop)
    cork.write(b"head")
    cork.write(b"x" * FLUSH_SIZE)
    assert [len(part) for part in wire.told] == [FLUSH_SIZE + 4]
    turn(loop)
    assert len(wire.told) == 1


def test_what_has_gathered_goes_out_before_the_end(loop, wire):
    cork = JoinedWrites(wire, loop)
    cork.write(b"last words")
    cork.close()
    turn(loop)
    assert wire.told == [b"last words", "closed"]


def test_all_else_is_the_transports_own(loop, wire):
    assert JoinedWrites(wire, loop).is_closing() is False


def test_nothing_is_written_to_a_client_that_has_gone_meanwhile(loop, wire):
    cork = JoinedWrites(wire, loop)
    cork.write(b"head")
    wire.close()
    turn(loop)
    assert wire.told == ["closed"]
