"""A recording as the code of a script, in three forms."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest

from harness.cassettes.format.interaction import CassetteHeader
from harness.cassettes.format.serializer import dump_cassette
from harness.core.exchange import Json
from harness.verify.script_code import SCRIPT_FORMS, write_script
from harness.world.mock import Mock
from harness.world.scripting.document import parse_document
from harness.world.scripting.load import load_script_file
from tests.support.command_line import run_cli
from tests.support.recordings import HI, error, over_http, response, sse, streamed
from tests.verify.tapes import CALL, EMBEDDINGS, posted, said, script


class TestCode:
    SEARCH: ClassVar[Json] = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "x"}}
    TAPE = (
        over_http(HI, response(CALL)),
        over_http(HI, error("Busy.", code="server_is_overloaded"), status=503),
        over_http(HI, response(said('It\'s "so"\nand so.\u2028'), said("Two."))),
        over_http(HI, response({**SEARCH, "status": "completed"})),
        over_http(HI, response()),
        streamed(sse({"type": "response.output_text.delta", "delta": "He"}), cut=True),
        posted("/embeddings", EMBEDDINGS),
        posted("/moderations", None, status=500),
        posted("/threads/runs", {}),
    )

    @pytest.mark.parametrize("form", ["python", "yaml"])
    def test_is_a_script_file_that_says_the_same(self, form: str, tmp_path: Path) -> None:
        recorded = script(*self.TAPE)
        file = tmp_path / f"tape.{'py' if form == 'python' else 'yaml'}"
        file.write_text(write_script(recorded, form), encoding="utf-8")  # type: ignore[arg-type]
        own, loaded = Mock(), Mock()
        parse_document(recorded.document).apply(own)
        load_script_file(file).apply(loaded)
        assert self.turns(loaded) == self.turns(own)
        assert len(self.turns(own)) == 6
        assert [(path.path, path.answers) for path in loaded.world.routed] != []
        assert {path.path for path in loaded.world.routed} == {path.path for path in own.world.routed}
        assert file.read_text().splitlines()[1].startswith("# not played: POST /v1/threads/runs: ")

    @staticmethod
    def turns(mock: Mock) -> list[Any]:
        return [turn if isinstance(turn, list) else [turn] for _, turn in mock.world.script.unused]

    def test_in_python_is_written_by_the_builders(self, tmp_path: Path) -> None:
        text = write_script(script(*self.TAPE), "python")
        assert 'function_call("f", {"x": 1}, call_id="call_1"),' in text
        assert 'http_error(503, "Busy.", type="invalid_request_error", code="server_is_overloaded"),' in text
        assert "    empty(),\n" in text
        assert 'cut(message(["He"]), after=1),' in text
        (tmp_path / "it.py").write_text(text, encoding="utf-8")
        assert len(runpy.run_path(str(tmp_path / "it.py"))["script"]) == 6

    def test_as_json_is_what_the_control_plane_takes(self) -> None:
        document = orjson.loads(write_script(script(*self.TAPE), "json"))
        assert parse_document(document).apply(Mock())["turns"] == 6


class TestTheCommand:
    @pytest.fixture
    def tape(self, tmp_path: Path) -> Path:
        recorded = [over_http(HI, response(said("Hello."))), posted("/threads/runs", {})]
        (file := tmp_path / "tape.yaml").write_text(dump_cassette(CassetteHeader(), recorded), encoding="utf-8")
        return file

    @pytest.mark.parametrize("form", SCRIPT_FORMS)
    def test_prints_a_script(self, tape: Path, form: str) -> None:
        ended = run_cli("cassettes", tape, "--to-script", form)
        assert (ended.exit_code, "Hello." in ended.stdout) == (0, True)
        assert "not played: POST /v1/threads/runs" in ended.output

    def test_refuses_what_it_cannot_print(self, tape: Path) -> None:
        for paths, form, why in (
            ([tape], "yml", "--to-script yml: Did you mean 'yaml'?"),
            ([tape.parent], "yaml", "--to-script: pass the path of one cassette file."),
            ([], "yaml", "--to-script: pass the path of one cassette file."),
        ):
            ended = run_cli("cassettes", *paths, "--to-script", form)
            assert (ended.exit_code, why in ended.output) == (2, True), ended.output
