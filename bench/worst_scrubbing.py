"""`python -m bench.worst_scrubbing [WORDS…]`: what scrubbing large bodies costs; a line per case, MiB → ms, and growth.

Each body is searched like a recording's, with everything that it encodes. WORDS select the cases whose names contain
one.
"""

import base64
import gzip
import json
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

from bench.worst_bodies import Build, Load
from bench.worst_cases import measure
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_text import Masker

MIB = 1 << 20
SIZES = (MIB // 2, MIB, 2 * MIB, 4 * MIB)
PROSE = "The weather in Paris is fine today, and the train leaves at 10:42 from platform 7. "
KEY = "sk-" + "proj-" + "a1B2" * 12


def text_of(piece: str) -> Callable[[int], bytes]:
    return lambda size: (piece * (size // len(piece) + 1))[:size].encode()


def noise(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def event(delta: str) -> str:
    return f"data: {json.dumps({'type': 'response.output_text.delta', 'item_id': 'msg_1', 'delta': delta})}\n\n"


BODIES: Mapping[str, Callable[[int], bytes]] = {
    "prose": text_of(PROSE),
    "prose in lines": text_of(PROSE + "\n"),
    "one word": text_of("a"),
    "digits": text_of("1234567890"),
    "upper-case letters": text_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"),
    "punctuation": text_of("-_./+=:;"),
    "names and values": text_of("name: value\nport=5432\n"),
    "secrets": text_of(f"{KEY} and password: hunter2-and-more\n"),
    "quotes and backslashes": text_of('\\"'),
    "begin marks": text_of("-----BEGIN PRIVATE KEY-----\n"),
    "addresses": text_of("jane.doe@corp-mail.com https://u:p@a.test/b?c=d "),
    "at signs": text_of("a@"),
    "percent": lambda size: quote(PROSE * (size // 120 + 1), safe="").encode()[:size],
    "entities": text_of("&lt;b&gt;x&#65;"),
    "escapes": text_of("\\u0041\\u00e9"),
    "hexadecimal": lambda size: noise(size // 2).hex().encode(),
    "base64": lambda size: base64.b64encode(noise(size * 3 // 4)),
    "base64 of text": lambda size: base64.b64encode(text_of(PROSE)(size * 3 // 4)),
    "base64 in lines": lambda size: base64.encodebytes(noise(size * 3 // 4)),
    "base32": lambda size: base64.b32encode(noise(size * 5 // 8)),
    "bytes": noise,
    "UTF-16": lambda size: text_of(PROSE)(size // 2).decode().encode("utf-16"),
    "gzip of text": lambda size: gzip.compress(base64.b64encode(noise(size * 3 // 4))),
    "JSON, many members": lambda size: json.dumps({f"name_{i}": "value" for i in range(size // 22)}).encode(),
    "JSON, many items": lambda size: json.dumps([{"type": "message", "text": PROSE}] * (size // 125)).encode(),
    "JSON, one text": lambda size: json.dumps({"output": text_of(PROSE)(size).decode()}).encode(),
    "JSON in a text": lambda size: json.dumps({"arguments": json.dumps([PROSE] * (size // 95))}).encode(),
    "JSON in texts, deep": lambda size: nested(size, 6),
    "stream of one text": lambda size: "".join(event(f"word{i} ") for i in range(size // 85)).encode(),
    "stream of letters": lambda size: (event("a") * (size // 80)).encode(),
    "form": lambda size: b'--b\r\ncontent-disposition: form-data; name="f"\r\n\r\n%b\r\n--b--\r\n' % noise(size),
}


def nested(size: int, depth: int) -> bytes:
    """Nest JSON within strings of JSON."""
    # Each level doubles the backslashes, so the text inside must be short.
    text = json.dumps([PROSE.replace('"', "")] * (size // 100))
    for _ in range(depth):
        text = json.dumps(text) if len(text) < size else text
    return text[: 2 * size].encode()


def scrubbed(make: Callable[[int], bytes]) -> Build:
    def build(size: int) -> Load:
        data = make(size)
        return Load(len(data), lambda: Masker().mask_bytes(data))

    return build


def searched(make: Callable[[int], bytes]) -> Build:
    """Build the final search for leaks in the whole text of a cassette."""

    def build(size: int) -> Load:
        text = make(size).decode("latin-1")
        return Load(len(text), lambda: secrets_in(text))

    return build


def main(words: Sequence[str]) -> None:
    cases = {name: scrubbed(make) for name, make in BODIES.items()}
    cases |= {
        f"search: {name}": searched(BODIES[name]) for name in ("prose in lines", "base64", "secrets", "punctuation")
    }
    print(f"{'case':30} KiB and ms of CPU at four sizes, growth; ! where it is steep")
    for name, build in cases.items():
        if not words or any(word in name for word in words):
            print(measure(name, build, SIZES, dear_ms=None), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
