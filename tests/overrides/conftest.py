"""Exchanges to learn from."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import run_cli
from tests.support.learning import Learn
from tests.support.recordings import write_jsonl


@pytest.fixture
def learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Learn:
    """Learn from exchanges, return what the command printed; the file is contract.yaml."""
    monkeypatch.chdir(tmp_path)

    def learned(*exchanges: dict[str, Any]) -> str:
        file = write_jsonl(tmp_path, [{**exchange, "id": f"a.yaml#{n}"} for n, exchange in enumerate(exchanges, 1)])
        result = run_cli("learn", file.relative_to(tmp_path))
        assert result.exit_code == 0, result.output
        return result.stdout

    return learned
