"""What a recorder took down: one exchange as it travelled, and the header of the cassette it stands in.

A take is bytes and times, whatever the client: HTTP, a stream in the chunks in which it arrived, or a WebSocket. Header
names are lower case; bodies are without content and transfer encodings once they have been scrubbed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.core.exchange import EMPTY_MAPPING

CASSETTE_FORMAT = 1
"""The format of cassettes that this harness writes, and the newest that it reads."""
SCRUBBER_VERSION = 1
"""What of a recording is left out, and how ids are renamed; raised when either changes."""

CLIENT, SERVER = "client", "server"
"""Who sent a frame."""

Chunk = tuple[float, bytes]
"""Seconds since the request was sent, and what arrived then."""
Frame = tuple[float, str, str]
"""Seconds since the connection was asked for, who sent it (client, server), and its text."""

_USER_AGENT = re.compile(r"(?P<name>.+?)[ /]v?(?P<version>\d[\w.+-]*)")


@dataclass(frozen=True, slots=True)
class Interaction:
    """One exchange as it travelled; without a status, chunks and frames it is a request alone.

    `uri` is the whole address with its query, `cut` says that the answer broke off. With `frames` it is a WebSocket: `uri`
    is where it connected to, `status` 101. `origin` says in evidence where it is known from (`harness.verify.evidence`),
    `date` when it was recorded, if its recorder says so. `notes` are what another recorder says of it besides: its `id`,
    its `provider`, and flags (`harness.cassettes.format.other_recorders.FLAG_MEMBERS`).
    """

    method: str
    uri: str
    headers: Mapping[str, str] = field(default_factory=lambda: EMPTY_MAPPING)
    body: bytes = b""
    status: int = 0
    answer_headers: Mapping[str, str] = field(default_factory=lambda: EMPTY_MAPPING)
    chunks: tuple[Chunk, ...] = ()
    cut: bool = False
    frames: tuple[Frame, ...] = ()
    reason: str = ""
    origin: Mapping[str, Any] = field(default_factory=lambda: EMPTY_MAPPING)
    date: str = ""
    notes: Mapping[str, Any] = field(default_factory=lambda: EMPTY_MAPPING, compare=False)

    @property
    def answer(self) -> bytes:
        """The whole body of the answer."""
        return b"".join(data for _, data in self.chunks)

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of server-sent events."""
        return "event-stream" in self.answer_headers.get("content-type", "")


@dataclass(frozen=True, slots=True)
class CassetteHeader:
    """What a cassette says of itself.

    `recorded` is a date (YYYY-MM-DD), `dialect` openai, azure or foundry, `sdk` and `sdk_version` the client that sent
    the requests, `evidence` how an exchange is known (a level of `harness.contract.rule.LEVELS`), `probe` what was
    asked for, say a rule's id.
    """

    recorded: str = ""
    dialect: str = ""
    sdk: str = ""
    sdk_version: str = ""
    evidence: str = "recorded"
    probe: str = ""
    scrubber: int = SCRUBBER_VERSION
    format: int = CASSETTE_FORMAT


def find_client(interactions: Sequence[Interaction]) -> tuple[str, str]:
    """Name and version of the client that sent the first request that says so: `("OpenAI/Python", "3.54.0")`.

    Only before scrubbing: the headers that tell are not kept.
    """
    agents = (_USER_AGENT.match(interaction.headers.get("user-agent", "")) for interaction in interactions)
    return next(((agent["name"], agent["version"]) for agent in agents if agent), ("", ""))
