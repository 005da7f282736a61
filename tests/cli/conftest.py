"""What tests of `responses-harness serve` share."""

from pathlib import Path

import pytest


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A script file of two turns."""
    file = tmp_path / "script.yaml"
    file.write_text("script: [ {message: Paris it is.}, {message: Sure.} ]")
    return str(file)
