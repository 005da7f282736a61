"""The sources of the page pass their checks, and the page that is committed is what they make."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.core.errors import ConfigError
from tests.clients.environments import ROOT, prepared
from tests.end_to_end.browser.chromium import MODULES
from tests.support.processes import run

pytestmark = pytest.mark.slow
BUILT = Path("harness") / "viewer" / "page.html"
Npm = Callable[[str], Path]
UNREACHABLE = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT")


@pytest.fixture(scope="module")
def npm(tmp_path_factory: pytest.TempPathFactory) -> Npm:
    """Run a script of a copy of `viewer/`, whose packages are installed; returns the folder above."""
    folder = tmp_path_factory.mktemp("built")
    try:
        programs = prepared(MODULES) / "bin"
    except ConfigError as problem:
        pytest.skip(f"Node cannot be installed: {problem}")
    sources = folder / "viewer"
    shutil.copytree(ROOT / "viewer", sources, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / BUILT).parent.mkdir(parents=True)
    environment = {**os.environ, "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    installed = run(["npm", "ci", "--no-audit", "--no-fund"], cwd=sources, env=environment, timeout=200)
    if any(reason in installed.stderr for reason in UNREACHABLE):
        pytest.skip("needs npm's registry")
    assert installed.returncode == 0, installed.stderr

    def run_script(name: str) -> Path:
        ended = run(["npm", "run", name], cwd=sources, env=environment, timeout=100)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return folder

    return run_script


def test_the_page_is_what_its_sources_make(npm: Npm) -> None:
    committed, built = (ROOT / BUILT).read_bytes(), (npm("build") / BUILT).read_bytes()
    assert built == committed, "harness/viewer/page.html is not built of viewer/: cd viewer && npm ci && npm run build"


@pytest.mark.parametrize("script", ["lint", "test"])
def test_the_sources_pass_their_linter_and_their_tests(npm: Npm, script: str) -> None:
    npm(script)
