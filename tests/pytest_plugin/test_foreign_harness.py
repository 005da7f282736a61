"""A project with a module or package `harness` of its own: its run is left in peace, and a line says why the mock is off."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import SECONDS
from tests.support.slow import slow_except

ROOT = Path(__file__).parents[2]
OWN = "WHO = 'mine'\n"
TEST = "from harness import WHO\ndef test_it(): assert WHO == 'mine'\n"
HEADER = "responses-harness is off: `harness` is "
LAYOUTS = {
    "module": {"harness.py": OWN, "conftest.py": "", "test_it.py": TEST},
    "package": {"harness/__init__.py": OWN, "conftest.py": "", "tests/test_it.py": TEST},
    "beside the tests": {"tests/harness.py": OWN, "tests/conftest.py": "import harness", "tests/test_it.py": TEST},
    "pythonpath": {
        "lib/harness/__init__.py": OWN,
        "tests/test_it.py": TEST,
        "pytest.ini": "[pytest]\npythonpath = lib",
    },
    "src": {"src/harness/__init__.py": OWN, "tests/test_it.py": TEST, "pytest.ini": "[pytest]\npythonpath = src"},
    "tests in it": {"tests/harness/__init__.py": OWN, "tests/harness/test_it.py": TEST},
    "broken": {"harness.py": "1 / 0", "test_it.py": "def test_it(): ..."},
}
"""The files of projects."""
OPTIONS = ("-p", "responses_harness_pytest", "-p", "no:cacheprovider")


def run_pytest(folder: Path, files: dict[str, str], *, module: bool = False) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder as a user does, with the plugin found by its entry point and nothing else of the project."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    start = f"import sys; sys.path[:] = [{'chr(46), ' if module else ''}{str(ROOT)!r}, *filter(None, sys.path)]; "
    start += "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    environment = {"PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-P", "-c", start, *OPTIONS],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )


@pytest.mark.parametrize("files", slow_except([0], LAYOUTS))
def test_its_run_is_left_in_peace(tmp_path: Path, files: str) -> None:
    done = run_pytest(tmp_path, LAYOUTS[files])
    assert done.returncode == 0, done.stdout + done.stderr
    assert HEADER in done.stdout.replace("\n", " ")
    assert "rename that file or folder" in done.stdout


@pytest.mark.slow
def test_it_is_so_when_the_folder_is_on_the_path_first(tmp_path: Path) -> None:
    assert run_pytest(tmp_path, LAYOUTS["package"], module=True).returncode == 0


def test_a_test_that_asks_for_the_mock_is_reported(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, {"harness.py": OWN, "test_it.py": "def test_it(mock): ..."})
    assert done.returncode == 1
    assert done.stdout.count(HEADER) >= 2


def test_what_only_the_mock_can_do_fails_with_the_reason(tmp_path: Path) -> None:
    """A cassette that nobody plays would let its test ask the live API."""
    test = """import pytest
@pytest.fixture(scope="session")
def app(mock_server): ...
def test_session(app): ...
@pytest.mark.cassette("weather")
def test_played(): ...
"""
    done = run_pytest(tmp_path, {"harness.py": OWN, "test_it.py": test})
    assert "2 errors" in done.stdout, done.stdout
    assert done.stdout.count(HEADER) >= 3


@pytest.mark.slow
def test_a_marker_cassette_of_the_projects_own_is_left_alone(tmp_path: Path) -> None:
    files = {
        "harness.py": OWN,
        "pytest.ini": "[pytest]\nmarkers = cassette(name): mine",
        "test_it.py": "import pytest\n@pytest.mark.cassette('weather')\ndef test_it(): ...",
    }
    assert run_pytest(tmp_path, files).returncode == 0


@pytest.mark.parametrize("setting", slow_except([0], ["addopts = --harness-report=out.html", "harness_env = session"]))
def test_a_setting_that_needs_the_mock_ends_the_run_with_the_reason(tmp_path: Path, setting: str) -> None:
    done = run_pytest(tmp_path, {"harness.py": OWN, "test_it.py": TEST, "pytest.ini": f"[pytest]\n{setting}"})
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert HEADER in done.stderr


@pytest.mark.slow
def test_helpers_of_that_name_inside_of_a_package_do_no_harm(tmp_path: Path) -> None:
    files = {
        "tests/__init__.py": "",
        "tests/harness/__init__.py": OWN,
        "tests/test_it.py": "from tests.harness import WHO\ndef test_it(mock): assert WHO == 'mine'\n",
    }
    done = run_pytest(tmp_path, files)
    assert (done.returncode, HEADER in done.stdout) == (0, False), done.stdout


@pytest.mark.slow
def test_one_that_is_found_too_late_is_named_with_the_way_out(tmp_path: Path) -> None:
    files = {"deep/er/harness.py": OWN, "deep/er/test_it.py": TEST}
    done = run_pytest(tmp_path, files)
    assert done.returncode == 2
    said = " ".join(done.stdout.split())
    assert "is the one of responses-harness" in said
    assert "-p no:responses_harness" in said
