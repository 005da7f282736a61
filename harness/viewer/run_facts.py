"""Collects facts about a run from its environment: the command, the commit, the versions of packages."""

import platform
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.report.report import RunFacts

PACKAGES = (
    *("responses-harness", "openai", "openai-agents", "pytest", "agent-framework", "langchain-openai", "pydantic-ai"),
    *("litellm", "llama-index", "azure-ai-projects", "semantic-kernel"),
)
"""Packages whose versions are reported if they are installed."""
_COMMIT_LENGTH = 8


def collect_facts(source: str, root: Path, began: float, seconds: float, command: Sequence[str] = ()) -> RunFacts:
    """Collect the facts of a run that began at `began` (unix seconds); `root` is a folder in its checkout."""
    words = command or [Path(sys.argv[0]).name.replace("__main__.py", "harness"), *sys.argv[1:]]
    return RunFacts(source, shlex.join(words), began, round(seconds, 3), find_commit(root), _versions())


def find_commit(folder: Path) -> str:
    """Return the branch and the commit of a checkout, as `main@aa138ea0`; empty outside of one."""
    try:
        git = next(
            parent / ".git" for parent in (folder.resolve(), *folder.resolve().parents) if (parent / ".git").exists()
        )
        if git.is_file():  # a worktree's `.git` is a file that names the folder
            git = (git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref:"):
            return head[:_COMMIT_LENGTH]
        name = head.removeprefix("ref:").strip()
        return f"{name.removeprefix('refs/heads/')}@{_resolve(git, name)[:_COMMIT_LENGTH]}"
    except (OSError, StopIteration, UnicodeDecodeError):
        return ""


def relative_path(file: str, root: str) -> str:
    """Return a file's path relative to a folder if it is below it, otherwise unchanged."""
    is_below = bool(file and root) and Path(file).is_relative_to(root)
    return Path(file).relative_to(root).as_posix() if is_below else file


def _resolve(git: Path, name: str) -> str:
    common = git / "commondir"
    shared = (git / common.read_text(encoding="utf-8").strip()).resolve() if common.is_file() else git
    loose = shared / name
    if loose.is_file():
        return loose.read_text(encoding="utf-8").strip()
    packed = (shared / "packed-refs").read_text(encoding="utf-8").splitlines()
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
