"""Replaces files atomically, so that a full disk or an interruption never leaves a partial file."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from harness.core.errors import ConfigError

WRITE_ERROR_FIXES = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space",
    errno.EFBIG: "Raise the limit on the size of a file (`ulimit -f`)",
}
"""What to do if the system refuses to write more."""
_LONGEST_PREFIX = 100
"""Characters of a file's name that the name of its temporary neighbour begins with."""


@contextmanager
def open_replacement(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that replaces the one at `path` when the block ends; if that fails (OSError), the old file stays.

    Anything but a regular file, for example a pipe, is written directly. A link is kept and its target replaced.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with target.open("wb") as out:
            yield out
        return
    number, beside = tempfile.mkstemp(prefix=f".{target.name[:_LONGEST_PREFIX]}.", dir=target.parent)
    try:
        with os.fdopen(number, "wb") as out:
            yield out
            out.flush()
            # The data must be on disk before the rename, or a crash could leave an empty file.
            os.fsync(out.fileno())
        os.chmod(beside, _file_mode(target))
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


@contextmanager
def explain_write_errors(name: str, fix: str) -> Iterator[None]:
    """Raise ConfigError, saying why a file cannot be written, for an OSError in the block."""
    try:
        yield
    except OSError as problem:
        fix = WRITE_ERROR_FIXES.get(problem.errno or 0, fix)
        raise ConfigError(f"{name}: cannot be written: {describe_write_error(problem)}. {fix}.") from problem


def describe_write_error(problem: OSError) -> str:
    """Describe why a file could not be written."""
    return "the disk is full" if problem.errno == errno.ENOSPC else problem.strerror or str(problem)


def _file_mode(path: Path) -> int:
    """Return the permissions of the file that is replaced, or the default ones of a new file."""
    try:
        return path.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
