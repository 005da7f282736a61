"""Reads the sections of the manual's page "Troubleshooting", which messages name."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import get_args

from harness.core.errors import SchemaError, Section

SECTIONS: tuple[str, ...] = get_args(Section)
_PACKAGE = Path(__file__).parents[1]
_LINK = re.compile(r"\[([^]]+)\]\([^)]+\)")


def read_section(section: str) -> str:
    """Read a section of the page: its tables become lists, and its links text, since a reader may lack the other pages."""
    return _read_sections()[section]


def sections_in(rows: Iterable[tuple[str, str]]) -> Mapping[str, str]:
    """Read the sections that the rows of causes name, by the text of the row: `responses-harness manual scripts`."""
    named = {text for label, text in rows if label == "manual"}
    return {text: read_section(name) for text in sorted(named) if (name := text.rpartition(" ")[2]) in SECTIONS}


@cache
def _read_sections() -> Mapping[str, str]:
    """Read the page, inside an installed package or next to it in a checkout."""
    places = (_PACKAGE / "troubleshooting.md", _PACKAGE.parent / "docs/troubleshooting.md")
    page = next((place for place in places if place.is_file()), None)
    if page is None:
        raise SchemaError(f"no manual in {places[0]}: reinstall responses-harness")
    parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.M)
    return {
        re.sub(r"[^\w-]+", "-", head.lower()).strip("-"): f"{head}\n\n{_as_text(text)}"
        for head, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def _as_text(markdown: str) -> str:
    text = re.sub(r"^\|(?: message |---).*\n", "", markdown.strip(), flags=re.M)
    text = re.sub(r"^\| (.*?) \| (.*?) \| (.*?) \|$", r"\1\n  cause    \2\n  fix      \3\n", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", _LINK.sub(r"\1", text)).strip()
