"""The shutdown days of the table: those that the installed SDK announces, written by the sync."""

import shutil
from functools import cache
from pathlib import Path

import orjson
import pytest

from harness.api.model_facts import MODELS_FILE
from tools.schemas import shutdowns
from tools.schemas.shutdowns import check_shutdowns, write_shutdowns

read_announced = cache(shutdowns.read_announced)


@pytest.fixture(autouse=True)
def _the_sdk_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutdowns, "read_announced", read_announced)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return Path(shutil.copy(MODELS_FILE, tmp_path))


def spoil(table: Path, name: str, day: str) -> None:
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace(f'"{name}": ["2026-12-11"', f'"{name}": ["{day}"'), encoding="utf-8")


def test_the_table_has_every_day_that_the_sdk_announces() -> None:
    assert list(check_shutdowns()) == []
    assert len(read_announced()) >= 72


def test_days_are_those_of_a_name_not_of_its_family() -> None:
    announced = read_announced()
    assert (announced["gpt-4o"], announced["gpt-4o-2024-05-13"]) == ("2027-01-14", "2026-10-23")


def test_another_day_is_a_problem_until_it_is_written(table: Path) -> None:
    spoil(table, "gpt-5", "2026-12-10")
    told = (
        "model_facts.json has 2026-12-10 for gpt-5, the SDK announces 2026-12-11; run `python -m tools.schemas --sync`"
    )
    assert list(check_shutdowns(table)) == [told]
    assert write_shutdowns(table)
    assert list(check_shutdowns(table)) == []
    day, replacement, *sources = orjson.loads(table.read_bytes())["shutdowns"]["gpt-5"]
    assert (day, replacement) == ("2026-12-11", "gpt-6.1-sol")
    assert [source.split()[0] for source in sources] == ["documented", "documented"]


def test_what_is_right_stays_byte_for_byte(table: Path) -> None:
    assert not write_shutdowns(table)
    assert table.read_bytes() == MODELS_FILE.read_bytes()
