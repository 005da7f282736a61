"""Starter adapters, which `responses-harness examine --init` writes: they pass, and mark where a user's own client goes."""

import os
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from harness.core.errors import COMMAND, ConfigError
from harness.report.replace_file import explain_write_errors, open_replacement

STARTERS: Mapping[str, str] = {"python": "my_adapter.py", "js": "my_adapter.mjs"}
"""The file name for each language, here and in the target folder."""
_HERE = Path(__file__).parent


def write_starter(folder: Path, language: str) -> Path:
    """Write the adapter for a language into a folder, creating that if necessary, and return the file.

    ConfigError if the file exists, which is kept, or cannot be written.
    """
    file = folder / STARTERS[language]
    if os.path.lexists(file):
        raise ConfigError(
            f"--init {folder}: {file} already exists and is kept. Choose another folder, or move it away."
        )
    with explain_write_errors(f"--init {folder}", "Pass a folder that you may write to"):
        folder.mkdir(parents=True, exist_ok=True)
        with open_replacement(file) as out:
            out.write((_HERE / file.name).read_bytes())
    return file


def starter_command(file: Path) -> str:
    """Return the command that examines with the written adapter, from the folder where `--init` was run."""
    if file.suffix == ".mjs":
        return f"{COMMAND} examine --command {quote(f'node {quote(str(file))}')}"
    command = f"{COMMAND} examine {file.stem}:MyAdapter"
    return command if file.parent == Path() else f"cd {quote(str(file.parent))} && {command}"
