"""`responses-harness manual`: prints a section of the manual's page "Troubleshooting", which messages name."""

from typing import Annotated

import typer

from harness.cli.support.app import print_text, require_known
from harness.core.errors import COMMAND


def manual(
    section: Annotated[
        str, typer.Argument(metavar="SECTION", help="The section that a message names; default: list all.")
    ] = "",
) -> None:
    """Print what the manual says about a message: its cause and its fix.

    Without a section, the sections are listed.
    """
    from harness.report.manual import SECTIONS, read_section

    if not section:
        print_text("\n".join(SECTIONS))
        return
    print_text(read_section(require_known("section", section, SECTIONS, f"{COMMAND} manual")))
