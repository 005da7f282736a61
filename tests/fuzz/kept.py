"""Files that keep what runs have found, a case a line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any


def read_cases(file: Path) -> list[Any]:
    """Return the cases of a file."""
    cases: list[Any] = json.loads(file.read_text(encoding="utf-8"))
    return cases


def write_cases(file: Path, cases: Iterable[Any]) -> None:
    """Write the cases of a file anew."""
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
