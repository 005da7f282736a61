"""Messages between processes come whole and in order, each with its connection, and nobody waits for who does not read."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from harness.cluster.workers.channel import CONNECTION, STRAY, Channel, ChannelClosed, Message, open_channel

Ends = tuple[Channel, Channel]


@pytest.fixture
def ends() -> Iterator[Ends]:
    both = open_channel()
    yield both
    for end in both:
        end.close()


def receive(end: Channel, count: int, other: Channel) -> list[Message]:
    """So many messages, which the other end sends on as there is room."""
    messages: list[Message] = []
    while len(messages) < count:
        other.flush()
        messages += end.receive()
    return messages


def test_messages_come_in_order(ends: Ends) -> None:
    first, second = ends
    for number in range(100):
        first.send(STRAY, b"%d" % number)
    assert [(message.kind, message.data) for message in receive(second, 100, first)] == [
        (STRAY, b"%d" % number) for number in range(100)
    ]


def test_both_ends_send(ends: Ends) -> None:
    first, second = ends
    first.send(STRAY, b"to the second")
    second.send(STRAY, b"to the first")
    assert second.receive() == [Message(STRAY, b"to the second")]
    assert first.receive() == [Message(STRAY, b"to the first")]


def test_nothing_is_received_before_something_has_come(ends: Ends) -> None:
    assert ends[0].receive() == []


@pytest.mark.parametrize("size", [0, 1, 5_000_000], ids=str)
def test_a_message_of_any_size_comes_whole(ends: Ends, size: int) -> None:
    first, second = ends
    first.send(STRAY, b"x" * size)
    first.send(STRAY, b"behind")
    assert first.has_unsent == (size > 1_000_000)
    assert [len(message.data) for message in receive(second, 2, first)] == [size, 6]
    assert not first.has_unsent


def test_a_connection_comes_with_its_message(ends: Ends) -> None:
    first, second = ends
    pairs = [socket.socketpair() for _ in range(5)]
    first.send(STRAY, b"none")
    for number, (_, theirs) in enumerate(pairs):
        first.send(CONNECTION, b"%d" % number, theirs.detach())
    stray, *messages = receive(second, 6, first)
    assert stray.connection is None
    for (ours, _), message in zip(pairs, messages, strict=True):
        assert message.connection
        with ours, message.connection as connection:
            connection.sendall(b"connection " + message.data)
            assert ours.recv(100) == b"connection " + message.data


def test_a_connection_that_is_sent_is_closed_here(ends: Ends) -> None:
    ours, theirs = socket.socketpair()
    ends[0].send(CONNECTION, b"", descriptor := theirs.detach())
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    [message] = ends[1].receive()
    assert message.connection
    message.connection.close()
    assert ours.recv(1) == b""
    ours.close()


def test_a_connection_that_waits_is_closed_with_its_end(ends: Ends) -> None:
    ours, theirs = socket.socketpair()
    ends[0].send(STRAY, b"x" * 5_000_000)
    ends[0].send(CONNECTION, b"", theirs.detach())
    ends[0].close()
    assert ours.recv(1) == b""
    ours.close()


def test_the_end_of_the_other_process_is_noticed(ends: Ends) -> None:
    first, second = ends
    second.close()
    with pytest.raises(ChannelClosed):
        first.receive()
    with pytest.raises(ChannelClosed):
        first.send(STRAY, b"x")


def test_what_was_sent_before_the_end_is_received(ends: Ends) -> None:
    first, second = ends
    first.send(STRAY, b"last words")
    first.close()
    assert [message.data for message in second.receive()] == [b"last words"]
    with pytest.raises(ChannelClosed):
        second.receive()
