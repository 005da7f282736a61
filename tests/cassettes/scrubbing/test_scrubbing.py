"""Secrets planted at every position of a recording, in every encoding: none is left, and the gate sees all of them."""

import base64
import gzip
import json
import re
import string
import textwrap
import zlib
from collections.abc import Callable, Iterator
from urllib.parse import quote

import pytest
import yaml

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette, parse_cassette
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import known_secrets, scrub_interactions
from harness.cassettes.scrubbing.mask_text import Masker, Unsearchable
from harness.cassettes.scrubbing.masks import is_pseudonym, pseudonym
from tests.support.recordings import JSON, STREAM, URI, compact, over_http, socket, sse, streamed
from tests.support.slow import slow_except_every

FORMS = {
    "key": "sk-proj-AbCd1234EfGh5678IjKl_mnop-QRST",
    "old key": "sk-AbCd1234EfGh5678IjKlMnOpQrSt",
    "token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJlLXNpZw",
    "github": "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4",
    "aws": "AKIAIOSFODNN7EXAMPL3",
    "groq": "gsk_A1b2C3d4E5f6G7h8I9j0K1l2M3n4",
    "stripe": "sk_live_A1b2C3d4E5f6G7h8I9j0K1l2",
    "langsmith": "lsv2_pt_0123456789abcdef0123456789abcdef_0123456789",
    "bot": "123456789:AAbCcDdEeFfGgHhIiJjKkLlMmNnOoPpQq00",
    "mail": "jane.doe@corp-mail.com",
    "organization": "org-A1b2C3d4E5f6G7h8I9j0K1l2",
    "project": "proj_A1b2C3d4E5f6G7h8I9j0K1l2",
    "user": "user-A1b2C3d4E5f6G7h8I9j0K1l2",
}
"""What can be told by its form."""
VALUES = {
    "azure key": ("api-key", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
    "opaque token": ("authorization", "Bearer opaque-Token.Without/Form+0"),
    "cookie": ("cookie", "session=Cr1sp-C00kie-Val"),
    "organization slug": ("openai-organization", "acme-robotics-gmbh"),
    "account": ("chatgpt-account-id", "7f9c24e8-3b12-4fef-91e0-55a1c0ffee00"),
    "key of a gateway": ("x-gateway-token", 'qu"ote\\d-välue-9'),
}
"""What can only be told by the header that sent it."""
KNOWN = {name: value.rpartition("=" if name == "cookie" else " ")[2] for name, (_, value) in VALUES.items()}
HEADERS = dict(VALUES.values()) | JSON
SECRETS = FORMS | KNOWN


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda secret: f"it is {secret} .",
    "after a line break": lambda secret: f"one\n{secret}\ntwo",
    "JSON": lambda secret: json.dumps({"note": f"use {secret}", "list": [secret]}),
    "a name in JSON": lambda secret: json.dumps({secret: 1}),
    "JSON in JSON": lambda secret: json.dumps({"arguments": json.dumps({"inner": f"\n{secret}"})}),
    "escaped JSON": lambda secret: f'{{"note": "{escaped(secret)}"}}',
    "lines of JSON": lambda secret: f'{{"a": 1}}\n{json.dumps({"note": secret})}\n',
    "percent": lambda secret: f"https://x.test/?a={quote(f'({secret})', safe='')}&b=1",
    "percent twice": lambda secret: quote(quote(f"({secret})", safe=""), safe=""),
    "base64": lambda secret: base64.b64encode(f"my {secret} .".encode()).decode(),
    "base64 in a sentence": lambda secret: f"see {base64.b64encode(secret.encode()).decode()} there",
    "base64url": lambda secret: base64.urlsafe_b64encode(f"ÿþý~~?? {secret} >>".encode()).decode().rstrip("="),
    "data URL": lambda secret: f"data:text/plain;base64,{base64.b64encode(f'a {secret}'.encode()).decode()}",
    "base64 in lines": lambda secret: "\n".join(
        textwrap.wrap(base64.b64encode(f"{'-' * 70} {secret} {'-' * 70}".encode()).decode(), 76)
    ),
    "base64 twice": lambda secret: base64.b64encode(base64.b64encode(f" {secret} ".encode())).decode(),
    "base64 of gzip": lambda secret: base64.b64encode(gzip.compress(f" {secret} ".encode(), mtime=0)).decode(),
    "base64 of JSON": lambda secret: base64.b64encode(json.dumps({"k": f"\n{secret}"}).encode()).decode(),
    "hexadecimal": lambda secret: f" {secret} ".encode().hex(),
    "stream": lambda secret: f"event: x\ndata: {json.dumps({'type': 'x', 'text': secret})}\n\n",
}


def halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def deltas(text: str) -> list[dict[str, str]]:
    first, second = halves(text)
    parts = ("Well, ", first, second, "…")
    return [{"type": "response.output_text.delta", "item_id": "msg_1", "delta": part} for part in parts]


def in_bytes(planted: str, size: int) -> Interaction:
    raw = sse({"type": "response.completed", "text": planted})
    return streamed(*(raw[number : number + size] for number in range(0, len(raw), size)))


def refused(planted: str) -> Interaction:
    error = {"message": f"Incorrect API key provided: {planted}.", "type": "x", "param": None, "code": None}
    return over_http({}, {"error": error}, status=401, reason="Unauthorized")


def zipped(planted: str) -> Interaction:
    raw = gzip.compress(compact({"text": planted}))
    return over_http({}, chunks=((0.1, raw),), answer_headers=JSON | {"content-encoding": "gzip"})


def zipped_stream(planted: str) -> Interaction:
    squeeze = zlib.compressobj(wbits=31)
    parts = [squeeze.compress(sse(event)) + squeeze.flush(zlib.Z_SYNC_FLUSH) for event in deltas(planted)]
    text = tuple((float(number), part) for number, part in enumerate([*parts, squeeze.flush()]))
    return over_http({}, chunks=text, answer_headers=STREAM | {"content-encoding": "gzip"})


FILES, FORM = "https://api.openai.com/v1/files", {"content-type": "multipart/form-data; boundary=b"}


def form(planted: str) -> Interaction:
    body = f'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n{planted}\r\n--b--\r\n'
    return Interaction("POST", FILES, FORM, body.encode(), 200)


def upload(file: bytes, name: str = "a.png", field: str = "vision") -> Interaction:
    """Return a form with a file that is no text, and a field beside it."""
    head = f'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\n{field}\r\n--b\r\n'
    head += f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: image/png\r\n\r\n'
    body = b"%s\x89PNG\xff\xfe%s\xff\r\n--b--\r\n" % (head.encode(), file)
    return Interaction("POST", FILES, FORM, body, 200)


def named(planted: str) -> Interaction:
    return upload(b"", name=planted.replace("\n", "%0A").replace('"', "%22"))


def zipped_request(planted: str) -> Interaction:
    headers, body = JSON | {"content-encoding": "gzip"}, gzip.compress(compact({"input": planted}))
    return Interaction("POST", URI, headers, body, 200)


def arguments(planted: str) -> Interaction:
    """JSON in JSON, told in small pieces."""
    text = json.dumps({"a": json.dumps({"b": planted})})
    kind = {"type": "response.function_call_arguments.delta", "item_id": "fc_1"}
    return streamed(*(sse({**kind, "delta": text[number : number + 12]}) for number in range(0, len(text), 12)))


POSITIONS: dict[str, Callable[[str], Interaction]] = {
    "header of a request": lambda planted: over_http({}, {}, headers=JSON | {"openai-beta": planted}),
    "unknown header": lambda planted: over_http({}, {}, headers=JSON | {"x-what": planted}),
    "header of an answer": lambda planted: over_http({}, {}, answer_headers=JSON | {"x-request-id": planted}),
    "query": lambda planted: over_http({}, {}, uri=f"{URI}?note={quote(planted, safe='')}"),
    "path": lambda planted: over_http({}, {}, uri=f"{FILES}/{quote(planted, safe='')}/content"),
    "request": lambda planted: over_http({"input": [{"role": "user", "content": planted}]}, {}),
    "member of a request": lambda planted: over_http({"metadata": {planted: "1"}}, {}),
    "fragment": lambda planted: over_http({}, {}, uri=f"{URI}#{quote(planted, safe='')}"),
    "form": form,
    "field beside a file": lambda planted: upload(b"", field=planted),
    "name of a file": named,
    "file": lambda planted: upload(planted.encode()),
    "compressed request": zipped_request,
    "answer": lambda planted: over_http({}, {"output": [{"content": [{"text": planted}]}]}),
    "error": refused,
    "reason": lambda planted: over_http({}, {}, reason=planted),
    "compressed answer": zipped,
    "event": lambda planted: streamed(sse({"type": "response.completed", "response": {"output": planted}})),
    "event over chunks": lambda planted: in_bytes(planted, 7),
    "deltas": lambda planted: streamed(*(sse(event) for event in deltas(planted))),
    "JSON in JSON in deltas": arguments,
    "deltas over chunks": lambda planted: streamed(b"".join(sse(event) for event in deltas(planted))),
    "compressed deltas": zipped_stream,
    "frame of a client": lambda planted: socket(("client", {"type": "response.create", "input": planted})),
    "frame of a server": lambda planted: socket(("server", {"type": "response.completed", "text": planted})),
    "frames with deltas": lambda planted: socket(*(("server", event) for event in deltas(planted))),
}

PLANTED = [
    pytest.param(position, encoding, marks=() if column % len(POSITIONS) == row % len(ENCODINGS) else pytest.mark.slow)
    for row, position in enumerate(POSITIONS)
    for column, encoding in enumerate(ENCODINGS)
]
"""Every position in every encoding; quick is each of both once."""


CARRIER = Interaction("GET", "https://api.openai.com/v1/models", HEADERS, status=200)
"""Another request of the same recording, which sends the secrets that have no form."""


def left(one: Interaction, secret: str, planted: str) -> bool:
    """Return whether a secret can still be found in what a client would get."""
    texts = [one.uri, one.reason, str(one.headers), str(one.answer_headers)]
    texts += [str(one.body, "utf-8", "replace"), answer := one.answer.decode()]
    frames = [text for _, _, text in one.frames]
    texts += [*frames, "".join(delta_texts(answer)), "".join(json.loads(frame).get("delta", "") for frame in frames)]
    spellings = {secret, planted, json.dumps(secret)[1:-1], json.dumps(planted)[1:-1], quote(planted, safe="")}
    return any(spelling in text for spelling in spellings for text in texts)


def delta_texts(stream: str) -> Iterator[str]:
    for line in stream.splitlines():
        if line.startswith("data: {"):
            yield json.loads(line[6:]).get("delta", "")


@pytest.mark.parametrize(("position", "encoding"), PLANTED, ids=lambda value: str(value).replace(" ", "-"))
def test_no_planted_secret_is_left(position, encoding):
    planted = {name: ENCODINGS[encoding](secret) for name, secret in SECRETS.items()}
    interactions = [CARRIER, *map(POSITIONS[position], planted.values())]
    clean = scrub_interactions(interactions)
    text = dump_cassette(CassetteHeader(), clean)
    _, *written = parse_cassette(text, "it").interactions
    assert [name for name, text in zip(SECRETS, written, strict=True) if left(text, SECRETS[name], planted[name])] == []
    assert [name for name, secret in SECRETS.items() if secret in text] == []
    assert secrets_in(text, known_secrets(interactions)) == ()


SEEN = [position for position in POSITIONS if position not in ("unknown header", "compressed request")]


def test_the_gate_names_the_line_of_a_known_value():
    first, *more = secrets_in("a: 1\nb: it is 4gHx0Pq7 .\n", ["4gHx0Pq7"])
    assert first == "line 2: the value of a key, a token or an account"
    assert not any(place.startswith("line ") for place in more)


def test_the_gate_names_the_exchange_of_a_key_that_is_spread_over_texts():
    texts = [{"text": FORMS["key"][:20]}, {"text": FORMS["key"][20:]}]
    assert "exchange 2: a key that is spread over several texts" in secrets_in(
        yaml.safe_dump({"interactions": [{}, {"response": texts}]})
    )


def test_the_gate_does_not_say_a_name_that_is_secret():
    assert [place.partition(":")[0] for place in secrets_in(f"a: {{{FORMS['key']}: {FORMS['key']}}}")] == [
        *("line 1", "a.(a name)", "a.(…)"),
    ]


@pytest.mark.parametrize("position", slow_except_every(4, SEEN))
def test_the_gate_sees_what_was_not_scrubbed_and_never_says_it(position):
    for name, secret in SECRETS.items():
        dirty = POSITIONS[position](f"it is {secret} .")
        places = secrets_in(dump_cassette(CassetteHeader(), [take_plain(dirty)]), KNOWN.values())
        assert places, name
        assert not any(secret in place for place in places), name


def take_plain(one: Interaction) -> Interaction:
    """Return what a recorder that forgot to scrub, but not to decode, would write."""
    clean = scrub_interactions(
        [Interaction("GET", "/", status=200, answer_headers=one.answer_headers, chunks=one.chunks)]
    )
    if "content-encoding" not in one.answer_headers:
        return one
    raw = zlib.decompressobj(31).decompress(one.answer)
    return Interaction(one.method, one.uri, one.headers, one.body, 200, clean[0].answer_headers, ((0.0, raw),))


def test_headers_are_preserved_by_name():
    sent = {"content-type": "application/json", "accept": "*/*"}
    got = {"x-request-id": "req_1", "x-ratelimit-limit-requests": "5"}
    more_sent = {"user-agent": "x", "authorization": "Bearer sk-12345678"}
    more_got = {"set-cookie": "a=b", "cf-ray": "1", "date": "now"}
    (clean,) = scrub_interactions([over_http({}, {}, headers=sent | more_sent, answer_headers=got | more_got)])
    assert (clean.headers, clean.answer_headers) == (sent, got)


def test_an_id_becomes_the_same_other_id_everywhere():
    id = "resp_bea7c4bf3d44bdfb006ab13b81a94602014275b3ca7edf822c"
    first = over_http({"input": f"see {id}"}, {"id": id})
    second = over_http({"previous_response_id": id, "input": json.dumps({"id": id})}, uri=f"{URI}/{id}")
    clean = scrub_interactions([first, second])
    other = json.loads(clean[0].answer)["id"]
    assert other != id
    assert (len(other), other[:5]) == (len(id), "resp_")
    assert set(other[5:]) <= set("0123456789abcdef")
    assert json.loads(clean[0].body)["input"] == f"see {other}"
    assert json.loads(clean[1].body) == {"previous_response_id": other, "input": json.dumps({"id": other})}
    assert clean[1].uri.endswith(f"/responses/{other}")


@pytest.mark.parametrize(
    "id",
    [
        *("call_cXMPFlto0nfGG1I4MA6V9bVb", "file-A1b2C3d4E5f6G7h8I9j0K1l2", "7f9c24e8-3b12-4fef-91e0-55a1c0ffee00"),
        *("0123456789012345", "org-abc12345"),
    ],
)
def test_a_pseudonym_has_length_prefix_and_alphabet_and_is_its_own(id):
    other = pseudonym(id)
    assert other != id
    assert [len(part) for part in re.split("[-_]", other)] == [len(part) for part in re.split("[-_]", id)]
    assert pseudonym(other) == other
    assert (is_pseudonym(other), is_pseudonym(id)) == (True, False)


def test_a_pseudonym_keeps_no_character_after_the_prefix():
    ids = [f"call_{letter}BCDEFGHIJKLMNOPQRSTUVWX" for letter in string.ascii_letters]
    kept = [id for id in ids if pseudonym(id)[5] == id[5]]
    assert len(kept) < len(ids) / 4


@pytest.mark.parametrize(
    "body",
    [
        {
            "input": "call_emergencyServices2 run_integrationTests24",
            "tools": [{"name": "get_weatherForecastV2ForCity"}],
        },
        {"output": [{"arguments": json.dumps({"organization": "UN", "user_id": "42", "email": "none"})}]},
    ],
    ids=["names of tools and words are no ids", "the model says it of accounts"],
)
def test_what_is_no_secret_stays(body):
    (clean,) = scrub_interactions([over_http(body, body)])
    assert json.loads(clean.body) == json.loads(clean.answer) == body


def test_what_was_not_secret_is_byte_for_byte_the_same():
    body = b'{ "a" : "caf\\u00e9 \\u2028",\n\t"b":[1.0,1e5,"x@example.com"], "c":"\xc3\xa9" }'
    raw = sse({"type": "a", "delta": "x"}, {"type": "b"}) + b": ping\r\n\r\ndata: [DONE]\n\n"
    interactions = [over_http(answer={}), streamed(raw[:10], raw[10:])]
    interactions[0] = Interaction("POST", interactions[0].uri, JSON, body, 200)
    clean = scrub_interactions(interactions)
    assert clean[0].body == body
    assert clean[1].chunks == interactions[1].chunks


def test_chunks_stay_cut_where_they_were():
    key = FORMS["old key"]
    raw = sse({"type": "a", "text": f"x {key} y"}, {"type": "b", "text": "é"})
    take_ = streamed(raw[:40], raw[40:45], raw[45:])
    (clean,) = scrub_interactions([take_])
    assert [len(data) for _, data in clean.chunks] == [len(data) for _, data in take_.chunks]
    assert key.encode() not in clean.answer


def test_chunks_move_with_a_text_that_became_another_length():
    planted = ENCODINGS["base64 of gzip"](FORMS["mail"])
    raw = sse({"type": "a"}, {"type": "b", "text": planted}, {"type": "c"})
    parts = raw.split(b"\n\n")
    (clean,) = scrub_interactions([streamed(*(part + b"\n\n" for part in parts[:-1]))])
    assert [data.count(b"data:") for _, data in clean.chunks] == [1, 1, 1]
    assert clean.chunks[0][1] == sse({"type": "a"})
    assert clean.chunks[2][1] == sse({"type": "c"})


def test_a_compressed_stream_keeps_its_times():
    (clean,) = scrub_interactions([zipped_stream("word")])
    assert [time for time, _ in clean.chunks] == [0.0, 1.0, 2.0, 3.0]


def test_what_names_an_account_in_the_api_goes():
    tools = [{"headers": {"X-Pass": "abc", "Accept": "json"}}]
    (clean,) = scrub_interactions(
        [over_http({"organization": "acme", "safety_identifier": "jane", "tools": tools}, {})]
    )
    tools = [{"headers": {"X-Pass": "xxx", "Accept": "json"}}]
    assert json.loads(clean.body) == {"organization": "xxxx", "safety_identifier": "xxxx", "tools": tools}


@pytest.mark.parametrize(
    ("uri", "left"),
    [
        ("https://acme.openai.azure.com/openai/v1/responses", "https://xxxx.openai.azure.com/openai/v1/responses"),
        (
            "https://acme.services.ai.azure.com/api/projects/moon/openai/v1/responses",
            "https://xxxx.services.ai.azure.com/api/projects/xxxx/openai/v1/responses",
        ),
        ("https://me:pass@gw.test/v1/responses?code=abc&a=b#x", "https://gw.test/v1/responses?code=xxx&a=b"),
        (f"{URI}?include=reasoning", f"{URI}?include=reasoning"),
    ],
)
def test_addresses(uri, left):
    assert scrub_interactions([over_http({}, {}, uri=uri)])[0].uri == left


def test_the_end_of_a_cut_recording_is_searched_too():
    raw = b'event: a\ndata: {"type":"a","delta":"my ' + FORMS["key"].encode()
    (clean,) = scrub_interactions([streamed(raw, cut=True)])
    assert FORMS["key"].encode() not in clean.answer
    assert clean.cut


BASIC = f"Basic {base64.b64encode(b'jane:correct-horse').decode()}"


@pytest.mark.parametrize(
    ("secret", "headers", "secrets"),
    [("swordfish-9", {}, ["swordfish-9", "short"]), ("correct-horse", {"proxy-authorization": BASIC}, [])],
    ids=["a configured value", "a password of basic access"],
)
def test_values_are_secret_wherever_they_occur(secret, headers, secrets):
    one = over_http({"input": f"the word is {secret}"}, {}, headers=JSON | headers)
    assert secret.encode() not in scrub_interactions([one], secrets)[0].body


def test_binary_bodies_are_searched_for_keys_and_known_values():
    raw = b"\x89PNG\xff\xfe" + FORMS["old key"].encode() + b"\x00" + KNOWN["azure key"].encode()
    made = Interaction("POST", FILES, {}, raw, 200, JSON, ((0.0, b"\xff" + raw),))
    clean = scrub_interactions([CARRIER, made])[1]
    assert FORMS["old key"].encode() not in clean.body + clean.answer
    assert KNOWN["azure key"].encode() not in clean.body + clean.answer
    assert clean.body.startswith(b"\x89PNG\xff\xfe")
    assert secrets_in(dump_cassette(CassetteHeader(), [made]), KNOWN.values())
    assert not secrets_in(dump_cassette(CassetteHeader(), [clean]), KNOWN.values())


@pytest.mark.parametrize(
    ("member", "headers"), [("body", "headers"), ("chunks", "answer_headers")], ids=["request", "answer"]
)
def test_what_cannot_be_decoded_is_refused(member, headers):
    raw = b"\x28\xb5\x2f\xfd damaged"
    value = raw if member == "body" else ((0.1, raw),)
    made = Interaction("POST", "/v1/responses", **{member: value, headers: {"content-encoding": "zstd"}})
    with pytest.raises(Unsearchable, match=r"exchange 1: the (request|answer) has an encoding .*'zstd'.*identity"):
        scrub_interactions([made])


def test_a_damaged_compressed_stream_is_refused():
    damaged = ((0.1, b"\x1f\x8bnot gzip at all"),)
    with pytest.raises(Unsearchable, match="exchange 1: the answer"):
        scrub_interactions([over_http({}, chunks=damaged, answer_headers=STREAM | {"content-encoding": "gzip"})])


@pytest.mark.parametrize("coding", ["xz", "gzip, br"])
def test_what_is_in_an_encoding_of_no_known_name_is_refused_unless_it_is_text(coding):
    packed = over_http({}, chunks=((0.1, b"\xfd7zXZ\x00 packed"),), answer_headers=JSON | {"content-encoding": coding})
    with pytest.raises(Unsearchable, match=f"exchange 1: the answer has an encoding .*{coding!r}"):
        scrub_interactions([packed])
    plain = over_http({}, {"a": 1}, answer_headers=JSON | {"content-encoding": coding})
    assert scrub_interactions([plain])[0].answer == plain.answer


def test_bytes_that_are_no_text_stay():
    image = bytes((number * 7919) >> 3 & 255 for number in range(200_000))
    (clean,) = scrub_interactions([upload(image)])
    assert clean.body == upload(image).body


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress], ids=["gzip", "zlib"])
def test_a_compressed_file_is_compressed_again(pack):
    complete = upload(b"PACKED").body.replace(b"\x89PNG\xff\xfePACKED\xff", pack(f"my {FORMS['key']}".encode()))
    (clean,) = scrub_interactions([Interaction("POST", FILES, {}, complete, 200)])
    file = clean.body.split(b"\r\n\r\n")[-1]
    assert file.endswith(b"\r\n--b--\r\n")
    assert zlib.decompressobj(47).decompress(file) == b"my " + Masker().mask_text(FORMS["key"]).encode()


BROWSERS = "realtime, openai-insecure-api-key.opaque-value-0, openai-project.moon-shot"
COOKIES = "sid=Cr1sp-C00kie; Path=/; Secure, other=0123456789; Max-Age=10"


@pytest.mark.parametrize(
    ("members", "known"),
    [
        ({"headers": {"sec-websocket-protocol": BROWSERS}}, ["opaque-value-0", "moon-shot"]),
        ({"answer_headers": {"set-cookie": COOKIES}}, ["Cr1sp-C00kie", "0123456789"]),
    ],
    ids=["what a browser sends as a subprotocol", "cookies of an answer"],
)
def test_values_in_headers_are_known(members, known):
    assert known_secrets([Interaction("GET", "/", **members)]) == known


DEEP = f"%{'25' * 21}40"


def test_wrapped_too_deeply_is_refused():
    with pytest.raises(Unsearchable, match="more than 16 encodings"):
        Masker().mask_text(DEEP)


@pytest.mark.parametrize("text", [f"a: '{DEEP}'", "a: ["], ids=["wrapped too deeply", "not YAML"])
def test_a_file_that_cannot_be_looked_through_does_not_pass(text):
    assert secrets_in(text)[0].startswith("the file: it cannot be looked through")


def test_ciphertexts_are_left_alone():
    text = f"gAAAAABo{'-sk-abcdefghijkl' * 8}"
    assert Masker().mask_text(text) == text


@pytest.mark.parametrize(
    "position", slow_except_every(4, [place for place in POSITIONS if place not in ("header of an answer", "path")])
)
def test_scrubbing_twice_changes_nothing_more(position):
    clean = scrub_interactions([POSITIONS[position](encode(FORMS["key"])) for encode in ENCODINGS.values()])
    assert scrub_interactions(clean) == clean


def test_how_many_were_planted():
    assert len(SECRETS) * len(PLANTED) == 9386


@pytest.mark.parametrize(
    ("before", "secret", "after"),
    [
        ("GROQ_API_KEY=", "0123456789abcdefABCDEF01", "\nHOME=/root"),
        ('password: "', "S3cretPassw0rd-long", '"'),
        ("Protocol=https;AccountKey=", "AbCdEfGhIjKlMnOpQrStUv0123456789+/==", ";EndpointSuffix=core"),
        ('{"a line": "a\nb", "cookies": {"sid": "', "hunter2-and-more", '"}}'),
        ("password=", "a1b2c3", ""),
        ("api_key=", "abcdef12", ""),
        ("api_key=", "AbcdefghijklmnopqrsT", ""),
        ("auth_token=", "abcdef123456", ""),
        ("aws_secret_access_key = ", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLE00", ""),
    ],
)
def test_the_value_of_a_revealing_name_is_hidden(before: str, secret: str, after: str) -> None:
    hidden = f"{before}{'x' * len(secret)}{after}"
    assert Masker().mask_text(f"{before}{secret}{after}") == Masker().mask_text(hidden) == hidden


@pytest.mark.parametrize(
    "name",
    [
        *("hf_model_search_tool", "npm_install_package_version_2", "fw_update_firmware_version_2_now"),
        *("pk-based-lookup-table", "ASIA-PACIFIC-region", "dapi_function_name_long_version_2x"),
        *("max_tokens: 1234567890123456", "token: aVeryLongWordWithoutDigits"),
        *("password=a1b2c", "password=swordfish", "api_key=abcdef1", "auth_token=abcdef12345"),
        "api_key=AbcdefghijklmnopqrT",
    ],
)
def test_names_of_tools_and_words_stay(name: str) -> None:
    assert Masker().mask_text(name) == name
