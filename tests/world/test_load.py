"""Files that cannot be read as a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.script_files import complaint


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no.yaml", "cannot be read: No such file or directory. Pass the path of a script file."),
        ("a.py", "cannot be read: it is not UTF-8. Pass the path of a script file."),
        ("a.json", "not a script. The name of a script file ends in .py, .yaml, .yml."),
    ],
    ids=["a missing file", "another encoding", "another kind"],
)
def test_what_is_no_script_file_is_told(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\xfe")
    assert complaint(tmp_path / name) == f"{name}: {says}"
