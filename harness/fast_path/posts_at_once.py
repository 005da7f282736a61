"""Answers POSTs that come whole in the turn of the event loop in which they come, without a task and without ASGI.

Everything else goes through ASGI: large and slow requests, other methods, upgrades, HTTP/1.0, answers that are long, delayed
or cut, and clients that do not read what they get.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import time
from typing import Any, NamedTuple

from harness.core.edge import EdgeRecord
from harness.core.exchange import Answer
from harness.fast_path.whole_answers import encode_whole
from harness.fast_path.whole_posts import PostHead, PostReader


class Awaited(NamedTuple):
    """An answer that is still to come: `read` returns it when `done` has ended."""

    done: asyncio.Future[Any]
    read: Callable[[], Answer]


AnswerPost = Callable[[str, Mapping[str, str], bytes, EdgeRecord], Answer | Awaited | None]
"""Answers a POST by its path, headers and body, with the record of its edge; None if only ASGI can."""
SendMade = Callable[..., Awaitable[None]]
"""Sends an answer by way of ASGI."""


class ReadyAnswer(NamedTuple):
    """An answer that can be written now: its status, and in parts what follows the first headers of every answer.

    `end` is where the request ends among the bytes that have come.
    """

    end: int
    status: int
    rest: tuple[bytes, ...]
    edge: EdgeRecord


class LateAnswer(NamedTuple):
    """An answer that is still to come, or to be sent in parts, by an ASGI app."""

    end: int
    head: PostHead
    app: Callable[..., Awaitable[None]]
    edge: EdgeRecord


class PostsAtOnce:
    """Answers the POSTs of all connections of a server; `send_made` sends the answers that cannot be written at once."""

    def __init__(self, answer_post: AnswerPost, send_made: SendMade) -> None:
        self._answer_post = answer_post
        self._send_made = send_made
        self._reader = PostReader()

    def answer(self, data: bytes, start: int, connection: int) -> ReadyAnswer | LateAnswer | None:
        """Answer the whole POST that begins at `start`; None for anything else, and where only ASGI can answer.

        `connection` is the number of the connection that it came over.
        """
        if (post := self._reader.read(data, start)) is None:
            return None
        head, body, end = post
        edge = EdgeRecord(time(), connection)
        try:
            answer = self._answer_post(head.path, head.headers, body, edge)
            if answer is None:
                return None
            if isinstance(answer, Awaited):
                return LateAnswer(end, head, partial(self._send_awaited, answer), edge)
            encoded = encode_whole(answer)
        except Exception as problem:
            return LateAnswer(end, head, partial(_raise, problem), edge)
        if encoded is None:
            return LateAnswer(end, head, partial(self._send_made, answer), edge)
        return ReadyAnswer(end, answer.status, encoded, edge)

    async def _send_awaited(self, awaited: Awaited, *asgi: Any) -> None:
        await asyncio.wait([awaited.done])
        await self._send_made(awaited.read(), *asgi)


async def _raise(problem: Exception, *_: object) -> None:
    """Fail, so that the server reports it."""
    raise problem
