"""Scrubs interactions: drops headers that are not on a list, and masks secrets in everything else (`mask_text`)."""

import base64
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from harness.api.http.bodies import undo_encodings
from harness.cassettes.format.interaction import Chunk, Frame, Interaction
from harness.cassettes.scrubbing.encodings import decode_string, find_strings, is_json
from harness.cassettes.scrubbing.mask_text import Masker, Unsearchable
from harness.cassettes.scrubbing.masks import KnownValues, mask
from harness.cassettes.scrubbing.secrets_without_prefix import find_pieces
from harness.core.secret_prefixes import SECRET_HEADERS

ALLOWED_HEADERS = frozenset(
    {
        *("content-type", "accept", "openai-beta", "openai-version", "openai-processing-ms", "x-request-id"),
        *("retry-after", "retry-after-ms", "x-should-retry", "apim-request-id", "x-ms-region"),
    }
)
"""Headers that are kept in a cassette, in lower case."""
ALLOWED_HEADER_PREFIX = "x-ratelimit-"
"""The prefix of further headers that are kept."""
SHORTEST_SECRET = 8
"""The minimum length of a secret that is masked everywhere; a shorter value may occur by chance."""
CONTENT_ENCODINGS = frozenset({"identity", "gzip", "x-gzip", "deflate", "br", "zstd"})
"""Content encodings that can be decoded, one at a time."""

_SECRET_HEADER = re.compile(
    r"key|token|secret|auth|cookie|session|account|organi[sz]ation|project|password|credential|signature"
)
_SECRET_QUERY = re.compile(r"key|token|secret|sig|signature|code|password|auth", re.I)
_ID_MEMBER = re.compile(r"(?:.*_)?ids?|(?:x|apim)-request-id")
_ID = re.compile(r"(?:[a-z]{2,16}[_-])?(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def scrub_interactions(interactions: Iterable[Interaction], secrets: Iterable[str] = ()) -> tuple[Interaction, ...]:
    """Return the interactions without secrets and with decoded bodies; `secrets` are known values, such as keys.

    Scrubbing is idempotent. Raises Unsearchable for a body whose encoding cannot be decoded.
    """
    scrubber, recorded = Scrubber(secrets), tuple(interactions)
    for interaction in recorded:
        scrubber.learn_secrets(interaction)
    plain = [decode_bodies(interaction, number) for number, interaction in enumerate(recorded, 1)]
    for interaction in plain:
        scrubber.learn_ids(interaction)
    return tuple(scrubber.scrub(interaction).interaction for interaction in plain)


class Scrubbed(NamedTuple):
    """An interaction without secrets, its decoded texts, and the texts without anything to mask."""

    interaction: Interaction
    texts: Sequence[str] = ()
    unchanged: Collection[str] = ()


class Scrubber:
    """Scrubs interactions, with the secrets and ids of all from which it has learned."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = KnownValues(known_secrets((), secrets))
        self._ids: set[str] = set()

    def learn_secrets(self, interaction: Interaction) -> list[str]:
        """Learn the secrets in the headers and the URL of an interaction, and return those that are new."""
        return self._secrets.add(known_secrets([interaction]))

    def learn_ids(self, plain: Interaction) -> list[str]:
        """Learn the ids in an interaction with decoded bodies, and return those that are new."""
        new = {*_find_ids([plain])} - self._ids
        self._ids |= new
        return [*new]

    def scrub(self, plain: Interaction) -> Scrubbed:
        """Scrub an interaction with decoded bodies."""
        masker = Masker(self._secrets, self._ids, KnownValues(find_pieces(plain)))
        return Scrubbed(_scrub_interaction(plain, masker), masker.texts, masker.unchanged)


def known_secrets(interactions: Iterable[Interaction], secrets: Iterable[str] = ()) -> list[str]:
    """List the values that are secret wherever they occur, longest first: `secrets`, those of headers and queries."""
    found = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
    for interaction in interactions:
        for headers in (interaction.headers, interaction.answer_headers):
            found.update(*(_header_secrets(name, headers[name]) for name in headers))
        found.update(_query_secrets(interaction.uri))
    return sorted(found, key=lambda secret: (-len(secret), secret))


def _header_secrets(name: str, value: str) -> Iterator[str]:
    """Yield the secret values of a header; for cookies, each value without its attributes."""
    if name == "sec-websocket-protocol":  # how browsers send a key: `openai-insecure-api-key.sk-…`
        protocols = (protocol.strip().partition(".") for protocol in value.split(","))
        yield from (
            secret for kind, _, secret in protocols if _SECRET_HEADER.search(kind) and len(secret) >= SHORTEST_SECRET
        )
    if _is_allowed_header(name) or not (name in SECRET_HEADERS or _SECRET_HEADER.search(name)):
        return
    words = [value.strip(), value.strip().rpartition(" ")[2]]
    if "cookie" in name:
        crumbs = (part.partition("=")[2].strip() for part in re.split(r"[;,]\s*", value))
        words = [crumb for crumb in crumbs if not crumb.startswith("/") and " " not in crumb]
    elif value.lower().startswith("basic "):
        words += base64.b64decode(words[1] + "==", validate=False).decode("latin-1").split(":")
    yield from (word for word in words if len(word) >= SHORTEST_SECRET)


def _query_secrets(uri: str) -> Iterator[str]:
    parts = urlsplit(uri)
    yield from (
        value for name, value in parse_qsl(parts.query) if _is_secret_query(name) and len(value) >= SHORTEST_SECRET
    )
    if parts.password and len(parts.password) >= SHORTEST_SECRET:
        yield parts.password


def _is_secret_query(name: str) -> bool:
    return bool(_SECRET_QUERY.search(name)) and not name.startswith("include")


def _is_allowed_header(name: str) -> bool:
    return name in ALLOWED_HEADERS or name.startswith(ALLOWED_HEADER_PREFIX)


def decode_bodies(interaction: Interaction, number: int) -> Interaction:
    """Decode the content encodings of an interaction's bodies; the times of the chunks are kept."""
    body = _decode_content(interaction.body, interaction.headers)
    chunks = _decode_chunks(interaction)
    if body is None or chunks is None:
        coding = (interaction.headers if body is None else interaction.answer_headers).get(
            "content-encoding", "unknown"
        )
        what = "request" if body is None else "answer"
        raise Unsearchable(
            f"exchange {number}: the {what} has an encoding that cannot be decoded here ({coding!r}), so it cannot be "
            "searched for secrets. Record with `Accept-Encoding: identity` or gzip, or install the library for it."
        )
    return replace(interaction, body=body, chunks=chunks)


def _decode_chunks(interaction: Interaction) -> tuple[Chunk, ...] | None:
    body, coding = interaction.answer, interaction.answer_headers.get("content-encoding", "")
    if coding in ("", "identity") and body[:2] != b"\x1f\x8b":
        return interaction.chunks
    # A stream is inflated chunk by chunk, so that the times of its events are kept.
    if coding in ("gzip", "x-gzip") and interaction.is_stream:
        return _inflate_chunks(interaction.chunks)
    plain = _decode_content(body, interaction.answer_headers)
    return None if plain is None else (((interaction.chunks[-1][0], plain),) if interaction.chunks else ())


def _decode_content(raw: bytes, headers: Mapping[str, str]) -> bytes | None:
    """Decode a body's content encodings; None if one cannot be decoded, or is unknown and the result is not text."""
    plain = undo_encodings(raw, headers)
    codings = [coding.strip().lower() for coding in headers.get("content-encoding", "identity").split(",")]
    if plain is None or (len(codings) == 1 and codings[0] in CONTENT_ENCODINGS):
        return plain
    try:
        plain.decode()
    except UnicodeDecodeError:
        return None
    return plain


def _inflate_chunks(chunks: Sequence[Chunk]) -> tuple[Chunk, ...] | None:
    """Decompress the chunks of a stream, each as far as possible."""
    inflate = zlib.decompressobj(31)
    try:
        inflated = [(seconds, inflate.decompress(data)) for seconds, data in chunks]
    except zlib.error:
        return None
    return tuple((seconds, data) for seconds, data in inflated if data)


def _find_ids(interactions: Iterable[Interaction]) -> Iterator[str]:
    for interaction in interactions:
        yield from (part for part in urlsplit(interaction.uri).path.split("/") if _ID.fullmatch(part))
        for headers in (interaction.headers, interaction.answer_headers):
            yield from (
                headers[name] for name in headers if _ID_MEMBER.fullmatch(name) and _ID.fullmatch(headers[name])
            )
        for text in _all_texts(interaction):
            yield from _find_ids_in_json(text)


def _all_texts(interaction: Interaction) -> Iterator[str]:
    for body in (interaction.body, interaction.answer):
        text = body.decode("utf-8", "replace")
        yield text
        yield from (line[5:].strip() for line in text.splitlines() if line.startswith("data:"))
    yield from (text for _, _, text in interaction.frames)


def _find_ids_in_json(text: str) -> Iterator[str]:
    if not is_json(text):
        return
    for start, end, path, named in find_strings(text):
        name = next((step for step in reversed(path) if isinstance(step, str)), "")
        if not named and _ID_MEMBER.fullmatch(name):
            id = decode_string(text[start:end])
            if _ID.fullmatch(id):
                yield id


def _scrub_interaction(interaction: Interaction, masker: Masker) -> Interaction:
    return replace(
        interaction,
        uri=_scrub_url(interaction.uri, masker),
        headers=_scrub_headers(interaction.headers, masker),
        body=masker.mask_bytes(interaction.body, inner=False),
        answer_headers=_scrub_headers(interaction.answer_headers, masker),
        chunks=_scrub_chunks(interaction.chunks, masker),
        frames=_scrub_frames(interaction, masker),
        reason=masker.mask_text(interaction.reason),
    )


def _scrub_headers(headers: Mapping[str, str], masker: Masker) -> dict[str, str]:
    return {name: masker.mask_text(headers[name]) for name in headers if _is_allowed_header(name)}


def _scrub_url(uri: str, masker: Masker) -> str:
    parts = urlsplit(uri)
    query = "&".join(_mask_parameter(parameter) for parameter in parts.query.split("&")) if parts.query else ""
    host = parts.netloc.rpartition("@")[2]
    return masker.mask_text(urlunsplit((parts.scheme, host, parts.path, query, "")))


def _mask_parameter(text: str) -> str:
    name, equals, value = text.partition("=")
    return f"{name}{equals}{mask(value)}" if _is_secret_query(name) else text


def _scrub_frames(interaction: Interaction, masker: Masker) -> tuple[Frame, ...]:
    clean = masker.mask_events([text for _, _, text in interaction.frames])
    return tuple((seconds, by, text) for (seconds, by, _), text in zip(interaction.frames, clean, strict=True))


def _scrub_chunks(chunks: Sequence[Chunk], masker: Masker) -> tuple[Chunk, ...]:
    """Mask an answer as a whole, since a secret may span two chunks, and split it at the old boundaries."""
    body = b"".join(data for _, data in chunks)
    old, new = _mask_pieces(body, masker)
    if old == new:
        return tuple(chunks)
    ends = _move_chunk_ends(list(accumulate(len(data) for _, data in chunks)), old, new)
    clean = b"".join(new)
    cut = ((seconds, clean[start:end]) for (seconds, _), start, end in zip(chunks, [0, *ends], ends, strict=False))
    return tuple((seconds, data) for seconds, data in cut if data)


def _mask_pieces(body: bytes, masker: Masker) -> tuple[list[bytes], list[bytes]]:
    """Mask the lines of a stream, or any other answer in one piece; return the pieces before and after."""
    try:
        lines = body.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return [body], [masker.mask_bytes(body, inner=False)]
    if not any(line.startswith("data:") for line in lines):
        return [body], [masker.mask_bytes(body, inner=False)]
    return [line.encode() for line in lines], [line.encode() for line in masker.mask_stream_lines(lines)]


def _move_chunk_ends(ends: Sequence[int], old: Sequence[bytes], new: Sequence[bytes]) -> list[int]:
    """Move the ends of chunks to the masked pieces: within the same piece, at the same distance from its start."""
    starts = list(zip(accumulate(map(len, old), initial=0), accumulate(map(len, new), initial=0), strict=True))
    moved, piece = list[int](), 0
    for end in ends:
        while piece < len(old) and starts[piece + 1][0] < end:
            piece += 1
        before, after = starts[min(piece, len(old) - 1)]
        moved.append(after + min(end - before, len(new[min(piece, len(new) - 1)])))
    return [*moved[:-1], sum(map(len, new))]
