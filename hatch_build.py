"""Builds the description of the package: the README, whose links lead to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)(\[[^\]]*\]\()(?![a-z]+:|#)([^)\s]+)")


class Description(MetadataHookInterface):
    """Adds the README to the metadata, since an index shows it without the files beside it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Make each relative link absolute: to the page of its file, for a picture to its bytes."""
        repository = metadata["urls"]["Repository"]

        def to_repository(link: re.Match[str]) -> str:
            return f"{link[1]}{link[2]}{repository}/{'raw' if link[1] else 'blob'}/main/{link[3]}"

        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": _LINK.sub(to_repository, text)}
