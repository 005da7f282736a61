"""Runs a test file as a user of the extra `openai` does: without the HTTP libraries that only this project's tests have."""

import sys
from pathlib import Path

from tests.support.processes import run

_CONFTEST = """
import sys

class OnlyWhatIsInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"httpx", "requests", "aiohttp"}:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, OnlyWhatIsInstalled())
"""


def run_as_user(folder: Path, text: str) -> str:
    """Run the text of a test file in a folder; returns what pytest printed."""
    (folder / "conftest.py").write_text(_CONFTEST)
    (folder / "test_written.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_written.py"]
    done = run(command, cwd=folder, timeout=120)
    return f"{done.stdout}{done.stderr}"
