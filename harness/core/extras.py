"""Packages that come with an extra of this distribution, and the error when one is missing."""

from __future__ import annotations

from importlib.util import find_spec

from harness.core.errors import ConfigError

DISTRIBUTION = "responses-harness"
"""The name of the installed package."""


class MissingExtra(ConfigError):
    """A package that is not installed."""

    section = "the-installation"


def missing_extra(needed_by: str, package: str, extra: str) -> ConfigError:
    """Return the error for a missing package; it says what needs the package and how to install it."""
    return MissingExtra(f'{needed_by} needs {package}: pip install "{DISTRIBUTION}[{extra}]"')


def require_extra(needed_by: str, package: str, extra: str, *modules: str) -> None:
    """Raise ConfigError unless the modules of a package are installed; the default is the module of the same name."""
    if not all(find_spec(module) for module in modules or (package,)):
        raise missing_extra(needed_by, package, extra)
