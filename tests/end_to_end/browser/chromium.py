"""Runs a script of this folder with playwright-core in Chromium, and reads what it saw."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from harness.core.errors import ConfigError
from tests.clients.cells import Environment
from tests.clients.environments import prepared
from tests.support.processes import run

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PLAYWRIGHT = Environment("browser", npm=("playwright-core@1.65.1",))


def look_at(page: Path, script: str) -> Any:
    """What a script saw in a page; skips the test where there is no Chromium or no playwright-core.

    `HARNESS_SCREENSHOTS=FOLDER` keeps the pictures.
    """
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    try:
        modules = prepared(PLAYWRIGHT)
    except ConfigError as problem:
        pytest.skip(f"playwright-core cannot be installed: {problem}")
    folder = page.parent
    (folder / "node_modules").symlink_to(modules / "node_modules")
    shutil.copy(Path(__file__).with_name(script), folder)
    shots = Path(os.environ.get("HARNESS_SCREENSHOTS") or folder)
    settings = {"executable": CHROMIUM, "file": str(page), "shots": str(shots)}
    command = [str(modules / "bin" / "node"), script, json.dumps(settings)]
    ended = run(command, cwd=folder, timeout=100, check=True)
    return json.loads(ended.stdout.splitlines()[-1])
