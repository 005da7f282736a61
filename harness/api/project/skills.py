"""Skills, in versions numbered by the service; the content of one is a zip with a `SKILL.md`.

Recorded 2026-05 to 2026-07: their members and order, and that a recreated one begins with version 1. Before that they
had no versions: recorded 2026-04-16 and 2026-04-17, with .NET.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from io import BytesIO

from harness.api.project.versions import Versioned, named_id
from harness.core.exchange import Json

VERSIONED_SKILLS_SINCE = "2026-05-28"
"""The first day on which skills are shown with versions (recorded, with .NET)."""
SKILL_FILE = "SKILL.md"
LARGEST_SKILL_FILE = 1 << 20
"""The largest SKILL.md, in bytes, whose description is read."""
_HEADER_LINE = re.compile(r"^(\w+):[ \t]*(.*?)[ \t]*$", re.M)
_HEADER_MEMBERS = {"license": "license", "compatibility": "compatibility", "allowed_tools": "allowed-tools"}
_DEFAULT_DATE = (1980, 1, 1, 0, 0, 0)


def add_skill(
    skill: Versioned, name: str, now: int, package: bytes, description: str, *, uploaded: bool = False
) -> Json:
    """Add a version of a skill with its package, which was `uploaded` or made from texts; returns the version."""
    skill.id = named_id("skill", name)
    skill.last_number += 1
    number = str(skill.last_number)
    skill.packages[number] = package
    if uploaded:
        skill.uploaded.add(number)
    made = {
        "id": f"{skill.id}:{number}",
        "skill_id": skill.id,
        "name": name,
        "version": number,
        "description": description,
        "created_at": now,
        "object": "skill.version",
    }
    return skill.add(now, made)


def render_skill(skill: Versioned, as_of: str) -> Json:
    """Render a skill with its default version, in its form on a day."""
    shown = skill.versions[skill.default]
    if as_of < VERSIONED_SKILLS_SINCE:
        old = {"object": "skill", "skill_id": skill.id, "has_blob": skill.default in skill.uploaded}
        return {**old, "name": shown["name"], "description": shown["description"], "metadata": {}}
    return {
        "id": skill.id,
        "name": shown["name"],
        "description": shown["description"],
        "created_at": skill.created_at,
        "default_version": skill.default,
        "latest_version": skill.latest["version"],
        "object": "skill",
    }


def write_package(name: str, content: Json) -> bytes:
    """Make the package of a skill whose content is in the request: a SKILL.md with its instructions."""
    lines = [f"name: {name}", f"description: {content.get('description', '')}"]
    lines += [f"{label}: {content[member]}" for member, label in _HEADER_MEMBERS.items() if content.get(member)]
    metadata = content.get("metadata")
    if isinstance(metadata, Mapping) and metadata:
        lines += ["metadata:", *(f"  {key}: {value}" for key, value in metadata.items())]
    text = "\n".join(["---", *lines, "---", "", str(content.get("instructions", ""))])
    return zip_files([(SKILL_FILE, text.encode("utf-8", "replace"))])


def zip_files(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of files by path, with the same bytes each time."""
    from zipfile import ZipFile, ZipInfo  # slower to import than everything else here

    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for path, data in files:
            archive.writestr(ZipInfo(path, _DEFAULT_DATE), data)
    return made.getvalue()


def package_of(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Make a package of uploaded files: the zip itself if that is the only one, otherwise a zip of them."""
    uploaded = list(files)
    if len(uploaded) == 1 and uploaded[0][1].startswith(b"PK"):
        return uploaded[0][1]
    return zip_files(uploaded)


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
