"""`responses-harness manual`: prints a section of the manual's page "Troubleshooting", which messages name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, get_args

import typer

from harness.cli.support.app import print_text, require_known
from harness.core.errors import COMMAND, SchemaError, Section

_PACKAGE = Path(__file__).parents[1]


def manual(
    section: Annotated[
        str, typer.Argument(metavar="SECTION", help="The section that a message names; default: list.")
    ] = "",
) -> None:
    """Print what the manual says about a message: its cause, and the way out.

    Without a section, the sections are listed.
    """
    sections = get_args(Section)
    if not section:
        print_text("\n".join(sections))
        return
    print_text(read_section(require_known("section", section, sections, f"{COMMAND} manual")))


def read_section(section: str) -> str:
    """Read a section of the page, inside an installed package or next to it in a checkout; its tables become lists."""
    places = (_PACKAGE / "troubleshooting.md", _PACKAGE.parent / "docs/troubleshooting.md")
    page = next((place for place in places if place.is_file()), None)
    if page is None:
        raise SchemaError(f"no manual in {places[0]}: reinstall responses-harness")
    parts = re.split(r"^## (.+)\n", page.read_text(encoding="utf-8"), flags=re.M)
    texts = {
        re.sub(r"[^\w-]+", "-", head.lower()).strip("-"): (head, text)
        for head, text in zip(parts[1::2], parts[2::2], strict=True)
    }
    head, text = texts[section]
    text = re.sub(r"^\|(?: message |---).*\n", "", text.strip(), flags=re.M)
    text = re.sub(r"^\| (.*?) \| (.*?) \| (.*?) \|$", r"\1\n  cause    \2\n  way out  \3\n", text, flags=re.M)
    return f"{head}\n\n{text.strip()}"
