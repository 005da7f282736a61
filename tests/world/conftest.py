"""What tests of script files share."""

from pathlib import Path

import pytest

from tests.support.script_files import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a script file and returns its path."""

    def written(text: str, name: str = "script.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written
