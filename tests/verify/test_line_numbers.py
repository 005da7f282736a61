"""On which line of a file each recorded exchange begins."""

import json
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from harness.cassettes.format.interaction import CLIENT, CassetteHeader, Frame, Interaction
from harness.cassettes.format.serializer import dump_cassette
from harness.verify.read_files import read_numbered
from harness.verify.report_cases import find_record_lines
from tests.support.recordings import HI, over_http, recorded, write_jsonl

ASKED = {"model": "gpt-4.1", "input": "- a\n- b\n\nsockets:\n- c"}
SPOKEN: Frame = (0.0, CLIENT, json.dumps({"type": "response.create", **ASKED}))


def exchange_lines(file: Path) -> list[str]:
    """Return the beginning of each line that is named."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [lines[number - 1].strip()[:10] for number in find_record_lines(file)]


def test_a_cassette_of_ours(tmp_path: Path) -> None:
    socket = Interaction("GET", "https://api.openai.com/v1/responses", status=101, frames=(SPOKEN,))
    file = tmp_path / "it.yaml"
    interactions = [over_http(ASKED, {"a": "x"}), over_http(ASKED, {"b": 1}), socket, socket]
    file.write_text(dump_cassette(CassetteHeader(dialect="openai"), interactions), encoding="utf-8")
    assert len(find_record_lines(file)) == max(number for number, _ in read_numbered(file)) == 4
    assert [line.startswith("- ") for line in exchange_lines(file)] == [True] * 4


@pytest.mark.parametrize("name", ["interactions", "http_interactions"])
@pytest.mark.parametrize("deep", [False, True])
def test_a_cassette_of_another_recorder(tmp_path: Path, name: str, deep: bool) -> None:
    class Deep(yaml.SafeDumper):
        def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
            super().increase_indent(flow, indentless and not deep)

    one = {"request": {"method": "POST", "uri": "https://a", "body": "x\n- y\n"}, "response": {"list": [1, 2]}}
    file = tmp_path / "it.yml"
    file.write_text(
        yaml.dump({"first": [1, 2], name: [one, deepcopy(one)], "version": 1, "z": [3]}, Dumper=Deep, sort_keys=False)
    )
    assert exchange_lines(file) == ["- request:", "- request:"]


def test_lines_of_json(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path, recorded(HI, HI))
    file.write_text("\n" + file.read_text().replace("\n", "\n\n"))
    assert find_record_lines(file) == [2, 4]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, b'{"interactions": [\n{},\n{}]}') for name in ("a.json", "a.har", "a.yaml.gz")),
        ("a.yaml", b"interactions:\n- \xff\xfe"),
        ("none.yaml", None),
    ],
)
def test_other_files_have_no_line_numbers(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content:
        (tmp_path / name).write_bytes(content)
    assert find_record_lines(tmp_path / name) == []
