"""Checks that servers sharing a prefix of a store agree on the release and on everything that affects an answer."""

from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import orjson

import harness
from harness.contract.schema import schemas_directory

PACKAGES = (Path(harness.__file__).parent, Path(__file__).parent)


class ServerRecord(NamedTuple):
    """The version of the harness, a digest of its code, and a server's settings by option name."""

    version: str
    code: str
    settings: Mapping[str, str]

    def encode(self, epoch: str) -> bytes:
        """Encode the record for the store.

        `epoch` distinguishes a store from the same store after it has lost its data.
        """
        return orjson.dumps({**self._asdict(), "epoch": epoch}, option=orjson.OPT_SORT_KEYS)

    def difference(self, stored: bytes) -> str:
        """Describe in a sentence how a stored record differs; empty if it does not."""
        try:
            other = orjson.loads(stored)
            version, code, settings = other["version"], other["code"], dict(other["settings"])
        except (ValueError, KeyError, TypeError):
            return "its record of servers is not one of this program."
        if version != self.version:
            return f"servers of harness {version} use it, this one is {self.version}."
        # The same version may be another build, as between two releases; its answers may differ.
        if code != self.code:
            return f"servers of another build of harness {version} use it."
        names = sorted(name for name in {*settings, *self.settings} if settings.get(name) != self.settings.get(name))
        return f"its servers were started with other values of {', '.join(names)}." if names else ""


def digest_settings(settings: Mapping[str, object]) -> dict[str, str]:
    """Return options by name for comparison between servers: files by content, others by value."""
    return {f"--{name}": _digest(value) if isinstance(value, Path) else str(value) for name, value in settings.items()}


def _digest(file: Path) -> str:
    return blake2b(file.read_bytes(), digest_size=8).hexdigest()


@cache
def digest_code() -> str:
    """Digest the harness's own files: two builds may answer differently even under the same version."""
    digest = blake2b(digest_size=8)
    for file in own_files():
        digest.update(file.read_bytes())
    return digest.hexdigest()


def own_files() -> list[Path]:
    """List the files that affect an answer: code, facts and scripts of both packages, and the schemas."""
    schemas = schemas_directory()
    files = {file for kind in ("*.json", "*.yaml") for file in schemas.rglob(kind)}
    for kind in ("*.py", "*.json", "*.lua"):
        files.update(file for package in PACKAGES for file in package.rglob(kind))
    return sorted(files)
