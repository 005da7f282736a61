"""Where the live API is: its address taken apart, and the environment that leads a command to somebody in front of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from harness.api.dialects import AZURE, FOUNDRY, OPENAI, ROOTS, address
from harness.api.providers import provider, root_of
from harness.core.errors import ConfigError

BASE_URL = "OPENAI_BASE_URL"
ENDPOINT = "AZURE_OPENAI_ENDPOINT"
PROJECTS = ("AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT")
_GIVE = "Give the API's root, say https://api.openai.com/v1"


class Upstream(NamedTuple):
    """The API behind a URL: `origin` is `https://api.openai.com`, `root` the path at which it begins (`/v1`).

    `named` says whether the URL named the root, or only the host (and in Foundry the project).
    """

    origin: str
    root: str
    dialect: str
    named: bool

    def known(self, path: str) -> str:
        """A path as the API has it: what is below a gateway's own root is below `/v1`."""
        own = root_of(f"{self.root}/") is None and f"{path}/".startswith(f"{self.root}/")
        return ROOTS[OPENAI] + path[len(self.root) :] if own else path


def upstream(url: str) -> Upstream:
    """The API at a URL; ConfigError says what is wrong with one that cannot be it."""
    parts = _parts(url)
    path = parts.path.rstrip("/")
    if path.endswith(("/responses", "/chat/completions")):
        raise ConfigError(f"--upstream {url}: this is one endpoint. {_GIVE}.")
    host = parts.hostname or ""
    dialect = provider(host, f"{path}/") or address(f"{path}/responses").dialect
    below = {OPENAI: ROOTS[OPENAI], AZURE: ROOTS[AZURE], FOUNDRY: f"{path}{ROOTS[AZURE]}"}[dialect]
    named = bool(path) if dialect == OPENAI else path.endswith(("/v1", "/openai"))
    return Upstream(f"{parts.scheme}://{parts.netloc}", path if named else below, dialect, named)


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        fault = "" if parts.port != 0 else "port 0 is none"
    except ValueError as problem:
        raise ConfigError(f"--upstream {url}: {problem}. {_GIVE}.") from problem
    if parts.username or parts.password:
        raise ConfigError(f"--upstream: it holds a password. Leave it out, the command's own key is sent. {_GIVE}.")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        fault = "this is no http:// or https:// URL"
    elif parts.query or parts.fragment:
        fault = "it has a query or a fragment"
    if fault:
        raise ConfigError(f"--upstream {url}: {fault}. {_GIVE}.")
    return parts


def way_to(asked: str, why: str) -> str:
    """What to do when the API could not be reached for this reason; `asked` is where its address was given."""
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return "Name the file of its certificates in SSL_CERT_FILE."
    return f"Is {asked} right, and is the API up?"


def environment(behind: Upstream, here: str, given: Mapping[str, str]) -> dict[str, str]:
    """What leads a command to `here` (`http://127.0.0.1:8765`) instead: changes to its environment `given`.

    Every variable that leads to the API's origin, and those that its SDKs read. `OPENAI_BASE_URL` is not set beside an
    Azure endpoint that nobody asked for as a base URL: the SDK for Node refuses both.
    """
    moved = {name: here + value[len(behind.origin) :] for name, value in given.items() if _leads(value, behind.origin)}
    own: dict[str, str] = {}
    if behind.dialect != AZURE or (behind.named and behind.root.endswith("/v1")):
        own[BASE_URL] = here + behind.root
    if behind.dialect == AZURE:
        own[ENDPOINT] = here
    if behind.dialect == FOUNDRY:
        own |= dict.fromkeys(PROJECTS, here + behind.root.removesuffix(ROOTS[AZURE]))
    host = urlsplit(here).hostname or ""
    direct = {name: ",".join(filter(None, [host, given.get(name)])) for name in ("NO_PROXY", "no_proxy")}
    return {**moved, **own, **direct}


def _leads(value: str, origin: str) -> bool:
    return value.lower().startswith(origin.lower()) and value[len(origin) :][:1] in ("", "/")
