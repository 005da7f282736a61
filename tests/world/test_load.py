"""Files that cannot be read as a script."""

from __future__ import annotations

from pathlib import Path

from tests.support.script_files import complaint


class TestFiles:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        assert complaint(tmp_path / "no.yaml") == (
            "no.yaml: cannot be read: No such file or directory. Give the path of a script file."
        )

    def test_a_file_in_another_encoding(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_bytes(b"\xff\xfe")
        assert complaint(tmp_path / "a.py") == "a.py: cannot be read: it is not UTF-8. Give the path of a script file."

    def test_a_file_of_another_kind(self, tmp_path: Path) -> None:
        assert complaint(tmp_path / "a.json") == (
            "a.json: not a script. The name of a script file ends in .py, .yaml, .yml."
        )
