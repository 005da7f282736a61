"""Packages of skills: a zip with a `SKILL.md`, whose header has the skill's name and description."""

import re
import zlib
from collections.abc import Iterable
from io import BytesIO

SKILL_FILE = "SKILL.md"
LARGEST_SKILL_FILE = 1 << 20
"""The largest SKILL.md, in bytes, whose description is read."""
_HEADER_LINE = re.compile(r"^(\w+):[ \t]*(.*?)[ \t]*$", re.M)
_DEFAULT_DATE = (1980, 1, 1, 0, 0, 0)


def zip_files(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of files by path, with the same bytes each time."""
    from zipfile import ZipFile, ZipInfo  # slower to import than everything else here

    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for path, data in files:
            archive.writestr(ZipInfo(path, _DEFAULT_DATE), data)
    return made.getvalue()


def read_skill_file(package: bytes) -> str:
    """Return the SKILL.md of a package, with Unix line ends; empty without one."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(BytesIO(package)) as archive:
            found = [entry for entry in archive.infolist() if entry.filename.rpartition("/")[2] == SKILL_FILE]
            with archive.open(min(found, key=lambda entry: len(entry.filename))) as file:
                return file.read(LARGEST_SKILL_FILE).decode("utf-8", "replace").replace("\r", "")
    except (BadZipFile, ValueError, NotImplementedError, RuntimeError, OSError, EOFError, zlib.error):
        return ""


def read_header(package: bytes) -> dict[str, str]:
    """Return the header of a package's SKILL.md, strings by name; empty without one."""
    head = read_skill_file(package).partition("---\n")[2].partition("\n---")[0]
    return {name: value.strip("\"'") for name, value in _HEADER_LINE.findall(head)}
