"""The sections of the manual's page "Troubleshooting"."""

from __future__ import annotations

from typing import Literal

Section = Literal[
    "no-request-came",
    "a-request-was-refused",
    "an-expected-refusal-did-not-come",
    "a-request-could-not-be-answered",
    "turns-are-left",
    "something-was-lost",
    "the-client-hung-up",
    "another-key",
    "the-live-api",
    "scripts",
    "options-and-files",
    "recordings",
    "a-shared-store",
    "the-installation",
    "another-server",
    "a-webhook",
    "how-the-client-asks",
    "a-claim-does-not-hold",
]
"""The headings of the page as URL fragments."""


def name_section(section: Section) -> str:
    """Return the location of a section in the manual."""
    return f"docs/troubleshooting.md#{section}"


def add_section(text: str, section: Section) -> str:
    """Append a line with the manual's section to a message that ends a run."""
    return f"{text}\nmanual: {name_section(section)}"
