"""A cassette is readable, gives back what travelled byte for byte, and is understood by plain vcrpy, and we by it."""

import json
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from vcr.persisters.filesystem import FilesystemPersister
from vcr.serializers import yamlserializer

from harness.cassettes.format.interaction import CASSETTE_FORMAT, CassetteHeader, Interaction
from harness.cassettes.format.readable_yaml import dump_yaml
from harness.cassettes.format.serializer import JSON_STYLES, dump_cassette, parse_cassette, validate_cassette
from harness.cassettes.format.untrusted import NotARecording, UnreadableRecording, parse_yaml_documents
from harness.contract.rule import LEVELS
from harness.contract.schema import schemas_directory
from harness.verify.read_files import read_recording as recordings
from tests.support.recordings import JSON, STREAM, URI, compact, over_http, socket, sse, streamed
from tests.support.slow import slow_except_every
from tools.rule_evidence.cassettes import CASSETTES as EVIDENCE
from tools.rule_evidence.cassettes import FURTHER_MEMBERS, PUBLISHED_MEMBERS, Origin

CASSETTES = sorted(EVIDENCE.rglob("*.yaml"))
HEADER = CassetteHeader("2026-09-21", "azure", "OpenAI/JS", "6.1.0", "recorded", "call_needs_output")
REQUEST = {"model": "gpt-4.1", "input": "Is it 18 °C? 😀"}
ANSWER = {"id": "resp_1", "output": [{"type": "message", "n": 1.0}]}
STYLES = ({}, {"separators": (",", ":")}, {"indent": 2}, {"indent": 4})


def text_of(*interactions: Interaction) -> str:
    return dump_cassette(HEADER, interactions)


def again(*interactions: Interaction) -> tuple[Interaction, ...]:
    return parse_cassette(text_of(*interactions), "it").interactions


def test_it_is_read_like_a_page():
    assert text_of(over_http(REQUEST, ANSWER), streamed(b'data: {"a":1}\n', b"\n", cut=True)) == (
        """\
version: 1
harness:
  recorded: '2026-09-21'
  dialect: azure
  sdk: OpenAI/JS
  sdk_version: '6.1.0'
  evidence: recorded
  probe: call_needs_output
  scrubber: 1
  format: 1
interactions:
- request:
    method: POST
    uri: https://api.openai.com/v1/responses
    headers:
      content-type: [application/json]
    body: |-
      {
        "model": "gpt-4.1",
        "input": "Is it 18 °C? 😀"
      }
  response:
    status: {code: 200, message: OK}
    headers:
      content-type: [application/json]
    body:
      string: |-
        {
          "id": "resp_1",
          "output": [
            {
              "type": "message",
              "n": 1.0
            }
          ]
        }
  wire:
    request: compact
    answer: compact
    arrivals:
    - [0.25, 53]
- request:
    method: POST
    uri: https://api.openai.com/v1/responses
    headers:
      content-type: [application/json]
    body: null
  response:
    status: {code: 200, message: OK}
    headers:
      content-type: [text/event-stream; charset=utf-8]
    body:
      string: |+
        data: {"a":1}

  wire:
    arrivals:
    - [0.1, 14]
    - [0.2, 1]
    cut: true
"""
    )


def test_the_header_comes_back():
    assert parse_cassette(text_of(over_http({}, {})), "it").header == HEADER


@pytest.mark.parametrize(
    "body",
    [
        compact(REQUEST),
        *(json.dumps(REQUEST, ensure_ascii=False, **style).encode() for style in STYLES),
        *(json.dumps(REQUEST, **style).encode() for style in STYLES),
        json.dumps(REQUEST, indent=2).encode() + b"\n",
        *(b'{"a": 1e2, "b": 1.50}', b'{"a":1,"a":2}', b'{"a":NaN}', b'{"lone":"\\ud83d"}', b"[1,2]", b"{broken"),
        b'{"unlikely":"\xc2\x85 \xe2\x80\xa8 \xef\xbb\xbf \x7f"}',
        *(b"null", b"12", b"09", b"1.5e3", b"yes", b"~", "\x85".encode(), "a\u2028b".encode()),
        *(b"  indented", b"a\n\n\n", b"a \nb\t\n", b"\r\n", b"\xff\x00binary", b"[" * 3000, b""),
    ],
    ids=lambda body: repr(body[:24]),
)
def test_bodies_come_back_byte_for_byte(body):
    one = Interaction("POST", URI, JSON, body, 200, JSON, ((0.5, body),) if body else ())
    assert again(one) == (one,)


def test_chunks_come_back_as_they_were_cut():
    raw = sse({"type": "a", "delta": "é"}, {"type": "b"})
    cuts = [0, 1, 36, 38, len(raw)]
    one = streamed(*(raw[start:end] for start, end in pairwise(cuts)), cut=True)
    assert again(one) == (one,)


def test_a_websocket_is_preserved_as_its_frames():
    one = replace(socket(("client", {"type": "response.create"}), ("server", {"type": "error", "n": [1]})), cut=True)
    text = text_of(one, over_http({}, {}))
    assert parse_cassette(text, "it").interactions == (over_http({}, {}), one)
    assert "from: client" in text


@given(st.binary(max_size=40), st.text(max_size=40), st.lists(st.integers(1, 9), max_size=6))
def test_whatever_travels_comes_back(raw, text, cuts):
    data, chunks, at = text.encode("utf-8", "replace"), [], 0
    for number, size in enumerate(cuts):
        if data[at : at + size]:
            chunks.append((float(number), data[at : at + size]))
        at += size
    one = Interaction("POST", URI, {"x-request-id": "a"}, raw, 200, STREAM, tuple(chunks))
    if not raw.startswith((b"\x1f\x8b", b"\x28\xb5")):
        assert again(one) == (one,)


class TestPlainVcrpy:
    def test_reads_ours(self, tmp_path: Path):
        text = text_of(over_http(REQUEST, ANSWER), streamed(b"data: 1\n\n"), socket(("client", {})))
        (file := tmp_path / "it.yaml").write_text(text, encoding="utf-8")
        requests, responses, *_ = FilesystemPersister.load_cassette(file, yamlserializer)
        assert json.loads(requests[0].body) == REQUEST
        assert json.loads(responses[0]["body"]["string"]) == ANSWER
        assert responses[1]["body"]["string"] == b"data: 1\n\n"
        assert responses[0]["status"] == {"code": 200, "message": "OK"}

    def test_plain_vcrpy_is_read_by_us(self):
        text = (Path(__file__).parent.parent / "test_weather.yaml").read_text(encoding="utf-8")
        cassette = parse_cassette(text, "it")
        assert cassette.header is None
        assert [interaction.status for interaction in cassette.interactions] == [200, 200]
        assert json.loads(cassette.interactions[0].body)["model"] == "gpt-4.1"
        assert cassette.interactions[0].chunks[0][0] == 0.0
        assert "content-length" not in cassette.interactions[0].answer_headers


def test_recordings_of_other_forms_are_read_too():
    text = """
interactions:
- request: {method: POST, uri: 'https://api.openai.com/v1/responses', body: {model: m}}
  response: {status: {code: 200}, headers: {}, body: [{type: a, n: 1}, {other: 2}]}
- request: {method: POST, uri: 'https://api.openai.com/v1/responses', body: [!!binary eyJh, '": 1}']}
  response: {status: {code: 200}, headers: {content-type: [application/json]}, body: [1]}
"""
    first, second = parse_cassette(text, "it").interactions
    assert first.body == b'{"model":"m"}'
    assert first.answer == b'event: a\ndata: {"type":"a","n":1}\n\ndata: {"other":2}\n\n'
    assert (second.body, second.answer) == (b'{"a": 1}', b"[1]")


FORMAT, NEXT_FORMAT, ARRIVAL = "  format: 1", CASSETTE_FORMAT + 1, "    - [0.25, 53]"


class TestEditedByHand:
    def test_json_keeps_its_form(self):
        text = text_of(over_http(REQUEST, ANSWER)).replace("gpt-4.1", "gpt-5")
        assert parse_cassette(text, "it").interactions[0].body == compact({**REQUEST, "model": "gpt-5"})

    def test_json_that_is_none_any_more_stands_as_it_is(self):
        text = text_of(over_http(REQUEST, ANSWER)).replace('"model": "gpt-4.1",', '"model": gpt')
        assert parse_cassette(text, "it").interactions[0].body.startswith(b'{\n  "model": gpt')

    @pytest.mark.parametrize(
        ("old", "new", "chunks"),
        [
            ("data: 2", "data: 2 and more", [b"data: 1\n", b"data: 2 ", b"and more\n\n"]),
            ("        data: 2\n", "", [b"data: 1\n", b"\n"]),
        ],
        ids=["longer", "shorter"],
    )
    def test_a_stream_that_became_longer_ends_in_a_longer_chunk_and_a_shorter_one_has_fewer(self, old, new, chunks):
        text = text_of(streamed(b"data: 1\n", b"data: 2\n", b"\n")).replace(old, new)
        assert [data for _, data in parse_cassette(text, "it").interactions[0].chunks] == chunks

    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            (FORMAT, f"  format: {NEXT_FORMAT}", f"its format is {NEXT_FORMAT}, and this harness reads"),
            (FORMAT, "  format: one", "harness.format: expected a whole number: the format of the cassette."),
            (f"{FORMAT}\n", "", "harness: without `format`; expected the header: format, recorded,"),
            ("  recorded: '2026-09-21'", "  recorded: 5", "harness.recorded: expected the day of the recording"),
            ("  dialect: azure", "  dialect: sk-secret", "harness.dialect: expected openai, azure or foundry."),
            ("  dialect: azure", "  dialekt: azure", "harness: with `dialekt`; expected the header: format"),
            ("version: 1\n", "", "the file: without `version`; expected a cassette with version, harness"),
            (ARRIVAL, "    - [soon, 53]", "interactions[0].wire.arrivals[0][0]: expected seconds"),
            (ARRIVAL, "    - 0.25", "interactions[0].wire.arrivals[0]: expected a pair of seconds and bytes"),
            (ARRIVAL, "    - [0.25, 53, 1]", "interactions[0].wire.arrivals[0]: expected a pair of"),
            ("answer: compact", "answer: tight", "interactions[0].wire.answer: expected compact, compact ascii,"),
            ("  wire:", "  wires:", "interactions[0]: with `wires`; expected an exchange: request and response"),
            ("    method: POST\n", "", "interactions[0].request: without `method`; expected a request: method, uri"),
            ("string: |-", "text: |-", "interactions[0].response.body: with `text`; without `string`; expected"),
            ("body: |-\n      {", "body:\n      {", "interactions[0].request.body: expected a text, JSON indented"),
            ("sockets:", "other:", "the file: with `other`; expected a cassette"),
            ("sockets:", "sockets: [1]\n#", "sockets[0]: expected a connection: uri, headers and frames"),
            ("from: client", "from: me", "sockets[0].frames[0].from: expected client or server."),
            (
                "    text: |-",
                "    texts: |-",
                "sockets[0].frames[0]: without `text`; with `texts`; expected a message:",
            ),
        ],
    )
    def test_what_is_wrong_is_reported_with_its_place_and_what_is_expected_there(self, old, new, says):
        text = text_of(over_http(REQUEST, ANSWER), socket(("client", {"a": 1})))
        assert old in text
        with pytest.raises(UnreadableRecording) as caught:
            parse_cassette(text.replace(old, new).partition("\n#")[0], "it")
        assert says in str(caught.value)
        assert "sk-secret" not in str(caught.value)
        assert str(caught.value).startswith("it: ")
        assert re.search(r"Record it again, or fix that place\.$|Update it, or record it again\.$", str(caught.value))

    def test_yaml_that_is_none_is_named_by_its_line(self):
        with pytest.raises(UnreadableRecording, match=r"it: line .*: not YAML"):
            parse_cassette(text_of(over_http(REQUEST, ANSWER)).replace("interactions:", "interactions: ["), "it")


class TestTheSchema:
    def test_the_schema_accepts_what_is_written(self):
        binary = Interaction("POST", URI, JSON, b"\xff", 200, JSON, ((0.0, b"\xff"),))
        full = socket(("client", {"a": 1}), ("server", {"b": 2}))
        origin = {"level": "reported", "where": "https://example.org/1", "date": "2026", "organization": {"zdr": True}}
        cut = streamed(b"data: 1\n\n", cut=True)
        interactions = [over_http(REQUEST, ANSWER), cut, binary, replace(full, cut=True, origin=origin)]
        validate_cassette(next(parse_yaml_documents(text_of(*interactions))))
        validate_cassette(next(parse_yaml_documents(dump_cassette(CassetteHeader(), ()))))

    @pytest.mark.parametrize("file", slow_except_every(8, CASSETTES), ids=lambda file: file.stem)
    def test_the_schema_accepts_every_cassette_of_ours(self, file: Path):
        validate_cassette(next(parse_yaml_documents(file.read_text(encoding="utf-8"))))

    def test_knows_each_member_of_the_header_each_spelling_and_each_level_and_says_what_belongs_in_each_place(self):
        schema = json.loads((schemas_directory() / "cassette.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(schema)
        defined = schema["$defs"]
        assert set(defined["header"]["properties"]) == {field.name for field in fields(CassetteHeader)}
        assert defined["spelling"]["enum"] == [*JSON_STYLES]
        assert defined["header"]["properties"]["evidence"]["enum"] == [*LEVELS]
        assert set(defined["origin"]["properties"]) == {field.name for field in fields(Origin)}
        assert defined["origin"]["properties"]["published"]["items"]["enum"] == [*PUBLISHED_MEMBERS, *FURTHER_MEMBERS]
        assert [place for place, part in places(schema) if not ("description" in part or "$ref" in part)] == []


def places(schema: dict[str, Any], place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema."""
    yield place, schema
    for name in ("properties", "$defs"):
        for member, child in schema.get(name, {}).items():
            yield from places(child, f"{place}/{member}")
    for part in (schema.get("items"), schema.get("additionalProperties"), *schema.get("prefixItems", ())):
        if isinstance(part, dict):
            yield from places(part, f"{place}/*")


def test_an_origin_comes_back_with_its_exchange_and_its_socket():
    origin = {"level": "reported", "where": "https://example.org/1", "date": "2026-03", "published": ["status", "type"]}
    interactions = (
        replace(over_http(REQUEST, ANSWER), origin=origin),
        replace(socket(("client", {"a": 1})), origin=origin),
    )
    text = text_of(*interactions)
    assert again(*interactions) == interactions
    assert "- origin:\n    level: reported\n    where: https://example.org/1\n" in text


def test_what_came_at_once_has_no_times():
    one = replace(over_http(REQUEST, ANSWER), chunks=((0.0, compact(ANSWER)),))
    assert "arrivals" not in text_of(one)
    assert again(one) == (one,)


@pytest.mark.parametrize("text", ["", "a: 1", "just words", "[1]"])
def test_other_files_are_no_cassettes(text):
    with pytest.raises(NotARecording, match="it: it has no recorded exchanges"):
        parse_cassette(text, "it")


def test_verify_reads_it_with_what_its_header_says(tmp_path):
    file = tmp_path / "it.yaml"
    here = "http://127.0.0.1:1/openai/v1/responses"
    interactions = [over_http(REQUEST, ANSWER, uri=here), streamed(sse({"type": "a"}), uri=here, cut=True)]
    file.write_text(dump_cassette(HEADER, interactions), encoding="utf-8")
    first, second = recordings(file)
    assert (first.provider, first.request, first.answer) == ("azure", REQUEST, ANSWER)
    assert second.events == [{"type": "a"}]
    assert "cut" in second.flags
    assert "transcribed" not in first.flags


ODD = [
    *("\n", "\n\n", " ", "  ", "---", "...", "#", ": ", "- ", "|"),
    *("\t", "\r", "\x85", "\u2028", "\ufeff", "\x00", "\x7f", "a", "é", "\U0001f600", "\ufffe", "\U0010ffff"),
]
TEXTS = st.lists(st.sampled_from(ODD) | st.text(max_size=3)).map("".join)


class PlainDumper(yaml.SafeDumper):
    """PyYAML as it is, asked for blocks."""

    def write_block(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, "|")


PlainDumper.add_representer(str, PlainDumper.write_block)


@given(TEXTS)
def test_a_text_is_preserved(text):
    assert yaml.safe_load(dump_yaml({"a": {"b": text}, "c": [text, 1]})) == {"a": {"b": text}, "c": [text, 1]}


@given(TEXTS.map(lambda text: f"a{text}\nb\n\n"))
def test_a_block_is_that_of_pyyaml(text):
    ours, theirs = (dump(["x", {"y": text}]) for dump in (dump_yaml, dump_plain))
    if "y: |" in ours:
        assert ours.replace("\n  y: ", "\n  'y': ").split("|", 1)[1] == theirs.split("|", 2)[-1]


def dump_plain(value):
    return yaml.dump(value, Dumper=PlainDumper, allow_unicode=True, width=1 << 20)
