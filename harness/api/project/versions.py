"""Shared parts of a project's named resources: versions and merge patches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any

from harness.core.exchange import Json


@dataclass(slots=True)
class Versioned:
    """A named resource and its versions by name, oldest first.

    `default` is the version that the bare name refers to, `last_number` the last number assigned by the service;
    `packages` holds the bytes of versions, `uploaded` names those whose bytes came as files.
    """

    id: str = ""
    created_at: int = 0
    updated_at: int = 0
    default: str = ""
    last_number: int = 0
    versions: dict[str, Json] = field(default_factory=dict)
    packages: dict[str, bytes] = field(default_factory=dict)
    uploaded: set[str] = field(default_factory=set)

    @property
    def latest(self) -> Json:
        """The newest version."""
        return self.versions[next(reversed(self.versions))]

    def package(self, version: Any = None) -> bytes:
        """Return the bytes of a version, or of the default one if there is no such version."""
        return self.packages[version if version in self.packages else self.default]

    def add(self, now: int, made: Json) -> Json:
        """Add a version, the newest unless its name is known; the first one is the default."""
        name = made["version"]
        self.versions[name] = made
        self.created_at, self.updated_at = self.created_at or now, now
        self.default = self.default or name
        return made

    def remove(self, version: str) -> None:
        """Remove a version; if it was the default, the newest one takes its place."""
        self.versions.pop(version, None)
        self.packages.pop(version, None)
        if self.default == version and self.versions:
            self.default = self.latest["version"]


def named_id(kind: str, name: str) -> str:
    """Make a resource's id from its name; recorded: a recreated resource has the same id as before."""
    return f"{kind}_{sha1(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


def known_versions(table: Mapping[str, Versioned], name: str) -> Mapping[str, Json]:
    """Return the versions of a resource by name; empty for an unknown one."""
    return table[name].versions if name in table else {}


def merge_patch(target: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396) to a value: null removes a member, objects are merged."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged
