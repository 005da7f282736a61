"""The page that is committed is what its sources make, with the releases of the lock file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from tests.clients.environments import ROOT, prepared
from tests.end_to_end.browser.chromium import MODULES
from tests.support.processes import run

pytestmark = pytest.mark.slow
BUILT = Path("harness") / "viewer" / "page.html"
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT")


def test_the_page_is_what_its_sources_make(tmp_path: Path) -> None:
    try:
        programs = prepared(MODULES) / "bin"
    except ConfigError as problem:
        pytest.skip(f"Node cannot be installed: {problem}")
    sources = tmp_path / "viewer"
    shutil.copytree(ROOT / "viewer", sources, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (tmp_path / BUILT).parent.mkdir(parents=True)
    environment = {**os.environ, "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    installed = run(["npm", "ci", "--no-audit", "--no-fund"], cwd=sources, env=environment, timeout=200)
    if any(reason in installed.stderr for reason in UNREACHABLE):
        pytest.skip("needs npm's registry")
    assert installed.returncode == 0, installed.stderr
    run(["npm", "run", "build"], cwd=sources, env=environment, timeout=100, check=True)
    committed, built = (ROOT / BUILT).read_bytes(), (tmp_path / BUILT).read_bytes()
    assert built == committed, "harness/viewer/page.html is not built of viewer/: cd viewer && npm ci && npm run build"
