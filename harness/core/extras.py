"""Packages that only an extra of this distribution brings, and the message when one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from harness.core.errors import ConfigError

DISTRIBUTION = "responses-harness"
"""The name of the installed package."""


class MissingExtra(ConfigError):
    """A package that is not installed."""

    section = "the-installation"


def missing_extra(needed_by: str, package: str, extra: str) -> ConfigError:
    """Describe a missing package: what needs it and how to install it."""
    return MissingExtra(f'{needed_by} needs {package}: pip install "{DISTRIBUTION}[{extra}]"')


def require_extra(needed_by: str, package: str, extra: str, *modules: str) -> None:
    """ConfigError unless the modules of a package, by default the one of its name, are installed."""
    if not all(find_spec(module) for module in modules or (package,)):
        raise missing_extra(needed_by, package, extra)
