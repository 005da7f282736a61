"""Where the Python files of a project name a cassette: in marks, and elsewhere."""

from pathlib import Path

import pytest

from harness.pytest_plugin.unplayed import ProjectSources

TESTS = """
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.cassette("module")]

class TestShop:
    @pytest.mark.cassette("openai/shared.yaml")
    async def test_a(self): ...

@pytest.mark.cassette("openai/shared")
@pytest.mark.parametrize("x", [1])
def test_b(x): ...
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "test_shop.py").write_text(TESTS)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "other.py").write_text("pytest.mark.cassette('module')")
    return tmp_path


@pytest.mark.parametrize(("name", "marks"), [("module", 1), ("openai/shared", 2), ("shar", 0), ("modules", 0)])
def test_marks_are_counted_by_the_name_of_the_cassette(root: Path, name: str, marks: int) -> None:
    file = root / f"cassettes/{name}.yaml"
    assert (ProjectSources(root).count_marks(file), ProjectSources(root).is_named_elsewhere(file)) == (marks, False)


@pytest.mark.parametrize("quoted", ['"openai/shared"', "'shared.yml'", '"cassettes/openai/shared.yaml"'])
def test_a_name_outside_of_marks_is_noticed(root: Path, quoted: str) -> None:
    (root / "conftest.py").write_text(f"SHARED = {quoted}")
    assert ProjectSources(root).is_named_elsewhere(root / "cassettes/openai/shared.yaml")


def test_files_of_other_languages_and_large_ones_are_not_read(root: Path) -> None:
    (root / "shop.test.ts").write_text('replay("module")')
    (root / "data.py").write_text("'module'" + " " * (1 << 20))
    assert not ProjectSources(root).is_named_elsewhere(root / "cassettes/module.yaml")
