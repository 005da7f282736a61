"""One recorded exchange as bytes and times, and the header of its cassette.

Header names are lower case; bodies have no content and transfer encodings once they have been scrubbed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.core.errors import COMMAND
from harness.core.exchange import EMPTY_MAPPING

CASSETTE_FORMAT = 1
"""The format of cassettes that this harness writes, and the newest that it reads."""
SCRUBBER_VERSION = 1
"""The version of the rules that mask secrets and ids."""

RECORD_COMMAND = (COMMAND, "record", "--")
PYTEST_COMMAND = ("pytest", "--record=all")
"""The beginnings of commands that record a cassette, followed by a program or by tests."""

CLIENT, SERVER = "client", "server"
"""The sides that send frames."""

Chunk = tuple[float, bytes]
"""Seconds since the request was sent, and the data that arrived at that time."""
Frame = tuple[float, str, str]
"""Seconds since the connection was requested, the sender (client, server), and the text."""

_USER_AGENT = re.compile(r"(?P<name>.+?)[ /]v?(?P<version>\d[\w.+-]*)")


@dataclass(frozen=True, slots=True)
class Interaction:
    """One exchange over HTTP, or over a WebSocket if it has `frames`; without a status it is only a request.

    `uri` is the URL with its query; a WebSocket has the status 101. `cut` is true if the answer broke off. `origin` is
    the source of evidence (`tools.rule_evidence.cassettes.Origin`), `date` the time of the recording in its recorder's
    format. `notes` are other members that its recorder wrote: its `id`, its `provider`, and flags
    (`harness.cassettes.format.har_and_vcr.FLAG_MEMBERS`).
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
        """The body of the answer."""
        return b"".join(data for _, data in self.chunks)

    @property
    def is_stream(self) -> bool:
        """Whether the answer is a stream of server-sent events."""
        return "event-stream" in self.answer_headers.get("content-type", "")


@dataclass(frozen=True, slots=True)
class CassetteHeader:
    """The header of a cassette.

    `recorded` is a date (YYYY-MM-DD), `dialect` openai, azure or foundry, `sdk` and `sdk_version` the client that sent
    the requests, `evidence` a level of `harness.contract.rule.LEVELS`, `probe` the purpose of the recording, such as a
    rule's id, `command` the command that recorded it: `pytest --record=all TEST…`,
    `responses-harness record -- COMMAND`.
    """

    recorded: str = ""
    dialect: str = ""
    sdk: str = ""
    sdk_version: str = ""
    evidence: str = "recorded"
    probe: str = ""
    command: str = ""
    scrubber: int = SCRUBBER_VERSION
    format: int = CASSETTE_FORMAT


def find_client(interactions: Sequence[Interaction]) -> tuple[str, str]:
    """Return the client's name and version from the first `user-agent`: `("OpenAI/Python", "3.54.0")`; else empty.

    Scrubbed interactions have no such header.
    """
    agents = (_USER_AGENT.match(interaction.headers.get("user-agent", "")) for interaction in interactions)
    return next(((agent["name"], agent["version"]) for agent in agents if agent), ("", ""))
