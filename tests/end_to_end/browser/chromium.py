"""Runs a script of this folder with playwright-core in Chromium, and reads what it saw; makes the page that it looks at."""

import fcntl
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from harness.core.errors import ConfigError
from tests.clients.cells import Environment
from tests.clients.environments import ROOT, prepared
from tests.support.processes import run

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MODULES = Environment("browser", npm=("playwright-core@1.65.1", "axe-core@4.14.1"))
SECONDS = 200
"""How long a script may run: an idle machine needs 20, beside other browsers it is several times slower."""


class EveryPage:
    """What holds for every page; `seen` is what a reader saw of it."""

    def test_the_page_loads_nothing_has_no_error_and_runs_no_script_of_a_body(self, seen: Any) -> None:
        assert (seen["problems"], seen["injected"], seen["title"]) == ([], [], "responses-harness")

    def test_the_page_is_accessible_at_every_width_in_both_themes(self, seen: Any) -> None:
        assert seen["axe"] == []


def look_at(page: Path, script: str, **settings: str) -> Any:
    """Return what a script saw in a page; skips the test where there is no Chromium or no playwright-core.

    `HARNESS_SCREENSHOTS=FOLDER` keeps the pictures.
    """
    if CHROMIUM is None:
        pytest.skip("needs chromium")
    try:
        modules = prepared(MODULES)
    except ConfigError as problem:
        pytest.skip(f"playwright-core cannot be installed: {problem}")
    folder = page.parent
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(modules / "node_modules")
    for source in Path(__file__).parent.glob("*.mjs"):
        shutil.copy(source, folder)
    keep = os.environ.get("HARNESS_SCREENSHOTS", "")
    shots = {"shots": keep or str(folder), "keep": keep}
    told = {"executable": CHROMIUM, "file": str(page), **shots, **settings}
    ended = run([str(modules / "bin" / "node"), script, json.dumps(told)], cwd=folder, timeout=SECONDS)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


def report_stories(folder: Path, options: str = "", others: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Run `stories.py`, and others by name, in a folder as a project with options of pytest; return its report."""
    for name, source in others.items():
        (folder / name).write_text(source, encoding="utf-8")
    shutil.copy(Path(__file__).with_name("stories.py"), folder / "test_stories.py")
    command = [sys.executable, "-m", "pytest", "test_stories.py", *others, "--harness-report=report.html"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": options, "CI": ""}
    ended = run(command, cwd=folder, env=environment)
    page = folder / "report.html"
    assert page.exists(), ended.stdout + ended.stderr
    return page


def look_once(folders: pytest.TempPathFactory, name: str, look: Callable[[Path], Any]) -> Any:
    """Return what `look` returned of a new folder; the workers of one run of pytest look only once."""
    root = folders.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    seen = root / f"{name}.json"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not seen.exists():
            seen.write_text(json.dumps(look(folders.mktemp(name))), encoding="utf-8")
    return json.loads(seen.read_text(encoding="utf-8"))
