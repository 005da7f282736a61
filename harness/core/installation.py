"""What is installed: the distribution, its command and its extras, and the error when one of these is missing."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urlsplit

from harness.core.errors import ConfigError

DISTRIBUTION = "responses-harness"
"""The name of the installed package."""
COMMAND = DISTRIBUTION
"""The name of the command in messages, however it was called: another vendor's CLI may be the `harness` of a reader."""


class MissingExtra(ConfigError):
    """A package that is not installed."""

    section = "the-installation"


def missing_extra(needed_by: str, package: str, extra: str) -> ConfigError:
    """Return the error for a missing package; it says what needs the package and how to install it."""
    return MissingExtra(f"{needed_by} needs {package}: {install_command(extra)}")


def require_extra(needed_by: str, package: str, extra: str, *modules: str) -> None:
    """Raise ConfigError unless the modules of a package are installed; the default is the module of the same name."""
    if not all(find_spec(module) for module in modules or (package,)):
        raise missing_extra(needed_by, package, extra)


def install_command(extra: str) -> str:
    """Return the command that adds an extra, from where this distribution was installed: its name, folder, file or URL."""
    from importlib.metadata import PackageNotFoundError, distribution  # late: only for an error

    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:  # imported from a folder
        return f'pip install "{DISTRIBUTION}[{extra}]"'
    installer = "uv pip" if (installed.read_text("INSTALLER") or "").strip() == "uv" else "pip"
    origin = json.loads(installed.read_text("direct_url.json") or "{}")
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    return f'{installer} install {editable}"{_requirement(origin, extra)}"'


def _requirement(origin: dict[str, Any], extra: str) -> str:
    """Return the requirement of an extra; `origin` is the record of what was installed, empty for an index."""
    url, folder = origin.get("url", ""), origin.get("subdirectory", "")
    if url.startswith("file:") and "vcs_info" not in origin:
        path = re.sub(r"^/(?=[A-Za-z]:)", "", unquote(urlsplit(url).path))  # /C:/Users is C:/Users
        return f"{path}{folder and f'/{folder}'}[{extra}]"
    if vcs := origin.get("vcs_info"):
        named = url.replace("file:///", "file://localhost/")  # which the syntax of requirements asks for
        url = f"{vcs['vcs']}+{named}@{vcs['commit_id']}"
    return f"{DISTRIBUTION}[{extra}]{url and f' @ {url}'}{folder and f'#subdirectory={folder}'}"
