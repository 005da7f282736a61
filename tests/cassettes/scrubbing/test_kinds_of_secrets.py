"""Kinds of secrets × positions of a recording × encodings: none is left, and the gate sees those that were not scrubbed."""

import base64
import html
import json
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote, urlencode

import pytest

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette, parse_cassette
from harness.cassettes.recording.matching import Replay
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.cassettes.scrubbing.mask_text import Masker
from tests.support.recordings import JSON, over_http, sse, streamed
from tests.support.slow import slow_except, slow_except_every
from tests.support.texts.planted_secrets import KEYS, KINDS, NAMES, VALUE_OF_NAME


def wrap_at_escapes(text: str) -> str:
    """Base64 in lines, whose ends were escaped and left so."""
    encoded = base64.b64encode(f"{'-' * 50}\n{text}\n{'-' * 50}".encode()).decode()
    return "it is\\n" + "\\n".join(encoded[number : number + 64] for number in range(0, len(encoded), 64)) + "\\n"


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda text: text,
    "JSON": lambda text: json.dumps({"note": text}),
    "escaped JSON": lambda text: json.dumps(json.dumps(text))[1:-1],
    "after a literal line break": lambda text: f"one\\n{text}\\ntwo",
    "percent": lambda text: quote(text, safe=""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 in lines with literal breaks": wrap_at_escapes,
    "base64 after a literal line break": lambda text: f"one\\n{base64.b64encode(text.encode()).decode()}\\ntwo",
    "base64 of UTF-16": lambda text: base64.b64encode(text.encode("utf-16")).decode(),
    "base64 of UTF-16 without a mark": lambda text: base64.b64encode(text.encode("utf-16-be")).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "HTML": lambda text: f"<p>{html.escape(text)}</p>",
    "HTML, all escaped": lambda text: "".join(f"&#{ord(character)};" for character in text),
}


def halves(text: str, secret: str) -> tuple[str, str]:
    cut = text.index(secret) + len(secret) // 2 if secret in text else len(text) // 2
    return text[:cut], text[cut:]


def answer_text(text: str) -> Interaction:
    return over_http({}, {"output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}]})


def tool_output(text: str) -> Interaction:
    return over_http({"input": [{"type": "function_call_output", "call_id": "call_1", "output": text}]}, {})


def arguments(text: str) -> Interaction:
    return over_http({}, {"output": [{"type": "function_call", "arguments": json.dumps({"it": text})}]})


def form(text: str) -> Interaction:
    body = urlencode({"note": text}).encode()
    headers = {"content-type": "application/x-www-form-urlencoded"}
    return Interaction("POST", "https://api.openai.com/v1/files", headers, body, 200)


def file(text: str) -> Interaction:
    body = f'--b\r\nContent-Disposition: form-data; name="file"; filename="a.env"\r\n\r\n{text}\r\n--b--\r\n'
    headers = {"content-type": "multipart/form-data; boundary=b"}
    return Interaction("POST", "https://api.openai.com/v1/files", headers, body.encode(), 200)


def in_chunks(text: str) -> Interaction:
    raw = sse({"type": "response.completed", "text": text})
    return streamed(raw[: len(raw) // 2], raw[len(raw) // 2 :])


WHOLE: dict[str, Callable[[str], Interaction]] = {
    "answer": answer_text,
    "tool output": tool_output,
    "arguments": arguments,
    "name in JSON": lambda text: over_http({"metadata": {text: "1"}}, {}),
    "header": lambda text: over_http({}, {}, headers=JSON | {"openai-beta": text}),
    "query": lambda text: over_http({}, {}, uri=f"https://api.openai.com/v1/responses?note={quote(text, safe='')}"),
    "form": form,
    "file": file,
    "event over chunks": in_chunks,
}
"""Where a text stands whole."""


def as_deltas(first: str, second: str) -> Interaction:
    event = {"type": "response.output_text.delta", "item_id": "m"}
    return streamed(*(sse({**event, "delta": half}) for half in (first, second)))


def as_parts(first: str, second: str) -> Interaction:
    parts = [{"type": "input_text", "text": half} for half in (first, second)]
    return over_http({"input": [{"role": "user", "content": parts}]}, {})


def as_items(first: str, second: str) -> Interaction:
    return over_http({"input": [{"type": "function_call_output", "output": half} for half in (first, second)]}, {})


def as_streamed_parts(first: str, second: str) -> Interaction:
    events = []
    for index, text in enumerate((first, second)):
        place = {"item_id": "m", "content_index": index}
        events.append({"type": "response.output_text.delta", "delta": text, **place})
        events.append({"type": "response.output_text.done", "text": text, **place})
    return streamed(*map(sse, events))


SPLIT: dict[str, Callable[[str, str], Interaction]] = {
    "two deltas": as_deltas,
    "two parts": as_parts,
    "two items": as_items,
    "two streamed parts": as_streamed_parts,
}
"""Where the halves of a text stand."""

CELLS = [
    pytest.param(position, encoding, marks=() if column % len(WHOLE) == row else pytest.mark.slow)
    for row, position in enumerate(WHOLE)
    for column, encoding in enumerate(ENCODINGS)
]
"""Every encoding in every position; quick is each encoding in one of them."""


def everything_in(one: Interaction) -> str:
    headers, bodies = f"{one.headers}\n{one.answer_headers}", (one.body + b"\n" + one.answer).decode("utf-8", "replace")
    return f"{one.uri}\n{headers}\n{bodies}".replace("+", " ")


def is_left(one: Interaction, secret: str, planted: str) -> bool:
    """Return whether a line of a secret, or the text that it was planted in, is still to be found."""
    text = everything_in(one)
    lines = [line for line in secret.splitlines() if len(line) > 5]
    return any(form in text for form in (planted, json.dumps(planted)[1:-1], quote(planted, safe=""), *lines))


@pytest.mark.parametrize(("position", "encoding"), CELLS, ids=lambda value: str(value).replace(" ", "-"))
def test_no_kind_is_left(position, encoding):
    place = [*WHOLE].index(position) + [*ENCODINGS].index(encoding)
    kinds = [*KINDS][place % 3 :: 3]  # each kind in each position and each encoding
    planted = {kind: ENCODINGS[encoding](KINDS[kind][0].format(KINDS[kind][1])) for kind in kinds}
    clean = scrub_interactions(map(WHOLE[position], planted.values()))
    text = dump_cassette(CassetteHeader(), clean)
    written = parse_cassette(text, "it").interactions
    masked = zip(kinds, written, strict=True)
    assert [kind for kind, one in masked if is_left(one, KINDS[kind][1], planted[kind])] == []
    assert secrets_in(text) == ()


def test_a_key_in_escapes_within_a_text_is_masked_and_other_escapes_stay():
    key = next(secret for _, secret in KEYS.values())
    escaped = "".join(f"\\u{ord(character):04x}" for character in key)
    key_left, other = scrub_interactions([tool_output(f"it is {escaped}"), tool_output("a \\u00e9tude")])
    assert not is_left(key_left, key, escaped)
    assert "a \\\\u00e9tude" in everything_in(other)


@pytest.mark.parametrize("position", SPLIT)
@pytest.mark.parametrize("share", slow_except([0], range(8)))
def test_no_half_of_a_split_secret_is_left(position, share):
    kinds = dict([*(KINDS if position == "two deltas" else KEYS).items()][share::8])
    cut = {kind: halves(around.format(secret), secret) for kind, (around, secret) in kinds.items()}
    dirty = [SPLIT[position](*halves) for halves in cut.values()]
    clean = scrub_interactions(dirty)
    left = []
    for (kind, (_, secret)), masked in zip(kinds.items(), clean, strict=True):
        edges = [max(half.splitlines(), key=len) for half in halves(secret, secret)]
        left += [kind] if all(edge in everything_in(masked) for edge in edges) else []
    assert left == []
    assert secrets_in(dump_cassette(CassetteHeader(), clean)) == ()
    texts = [dump_cassette(CassetteHeader(), [interaction]) for interaction in dirty]
    assert [kind for kind, text in zip(kinds, texts, strict=True) if not secrets_in(text)] == []


@pytest.mark.parametrize("kind", slow_except_every(4, KINDS))
def test_the_gate_sees_every_kind(kind):
    around, secret = KINDS[kind]
    places = secrets_in(dump_cassette(CassetteHeader(), [tool_output(around.format(secret))]))
    assert places
    assert not any(secret in place for place in places)


@pytest.mark.parametrize("name", slow_except_every(8, NAMES))
def test_the_value_of_a_revealing_name_is_masked(name):
    value = {name: VALUE_OF_NAME, "nested": [{name: VALUE_OF_NAME}], "note": "stays"}
    for dirty in (over_http(value, {}), tool_output(json.dumps(value)), arguments(json.dumps(value))):
        assert secrets_in(dump_cassette(CassetteHeader(), [dirty]))
        (clean,) = scrub_interactions([dirty])
        assert VALUE_OF_NAME not in everything_in(clean)
        assert "stays" in everything_in(clean)


@pytest.mark.parametrize(
    "value",
    [
        {"env": [{"name": "DB_PASSWORD", "value": "hunter2-and-more"}]},
        {"headers": [["content-type", "text/plain"], ["authorization", "hunter2-and-more"]]},
        {"cookies": {"sid": "hunter2-and-more"}},
        {"name": "smtp", "password": "hunter2-and-more"},
    ],
)
def test_a_value_beside_its_name_is_masked(value):
    clean = Masker().mask_text(json.dumps(value))
    assert "hunter2" not in clean
    assert json.loads(clean).keys() == value.keys()


def test_words_after_a_complete_key_stay():
    _, key = KINDS["OpenAI"]
    (clean,) = scrub_interactions([as_parts(f"my key is {key}", "Hello, what is the weather?")])
    assert b"Hello, what is the weather?" in clean.body
    assert key.encode() not in clean.body


@pytest.mark.slow
def test_a_request_with_secrets_is_replayed():
    requests = {kind: tool_output(around.format(secret)) for kind, (around, secret) in KINDS.items()}
    text = dump_cassette(CassetteHeader(), scrub_interactions(requests.values()))
    replay = Replay(parse_cassette(text, "it").interactions)
    assert [kind for kind in requests if not isinstance(replay.play(requests[kind]), Interaction)] == []


@pytest.mark.parametrize("coding", slow_except([], ["utf-16", "utf-16-le", "utf-16-be"]))
def test_no_kind_is_left_in_a_file_of_utf16(coding):
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.env"\r\n\r\n'
    left = []
    for kind, (around, secret) in KINDS.items():
        body = head + around.format(secret).encode(coding) + b"\r\n--b--\r\n"
        one = replace(file(""), body=body)
        (clean,) = scrub_interactions([one])
        longest = max(secret.splitlines(), key=len)
        wide = longest.encode("utf-16-be" if coding == "utf-16-be" else "utf-16-le")
        assert wide in body
        left += [kind] if wide in clean.body or not secrets_in(dump_cassette(CassetteHeader(), [one])) else []
    assert left == []


def test_how_many_are_planted():
    assert len(KINDS) * (len(CELLS) + 1) + len(KEYS) * (len(SPLIT) - 1) == 35088
    assert len(NAMES) * 3 == 258
