"""Adapters to begin with, as `harness examine --init` writes them: they pass, and say where one's own client goes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from harness.core.errors import ConfigError
from harness.report.replace_file import explain_write_errors, open_replacement

STARTERS: Mapping[str, str] = {"python": "my_adapter.py", "js": "my_adapter.mjs"}
"""The file of each language, here and where it is written."""
_HERE = Path(__file__).parent


def write_starter(folder: Path, language: str) -> Path:
    """Write the adapter of a language into a folder, which is made; its file.

    ConfigError when there is one already, which is kept, or when none can be written.
    """
    file = folder / STARTERS[language]
    if os.path.lexists(file):
        raise ConfigError(
            f"--init {folder}: {file} is there already and is kept. Give another folder, or move it away."
        )
    with explain_write_errors(f"--init {folder}", "Give a folder that you may write to"):
        folder.mkdir(parents=True, exist_ok=True)
        with open_replacement(file) as out:
            out.write((_HERE / file.name).read_bytes())
    return file


def starter_command(file: Path) -> str:
    """Write the command that examines with a written adapter, from where `--init` was given."""
    if file.suffix == ".mjs":
        return f"harness examine --command {quote(f'node {quote(str(file))}')}"
    command = f"harness examine {file.stem}:MyAdapter"
    return command if file.parent == Path() else f"cd {quote(str(file.parent))} && {command}"
