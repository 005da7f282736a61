"""The address of the live API, and the environment that redirects a command to a proxy in front of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from harness.api.http.dialects import API_ROOTS, AZURE, FOUNDRY, OPENAI, parse_api_path
from harness.api.http.providers import provider_of_host, root_of
from harness.core.errors import ConfigError

BASE_URL_VARIABLE = "OPENAI_BASE_URL"
AZURE_VARIABLE = "AZURE_OPENAI_ENDPOINT"
PROJECT_VARIABLES = ("AZURE_AI_PROJECT_ENDPOINT", "FOUNDRY_PROJECT_ENDPOINT", "PROJECT_ENDPOINT")
"""The environment variables with a project's endpoint, as read by samples and frameworks."""
_ROOT_ADVICE = "Pass the API's root, such as https://api.openai.com/v1"


class Upstream(NamedTuple):
    """The API behind a URL: `origin` is `https://api.openai.com`, `root` the path of its root (`/v1`).

    `has_explicit_root` says whether the URL contains the root, or only the host (and in Foundry the project).
    """

    origin: str
    root: str
    dialect: str
    has_explicit_root: bool

    def to_api_path(self, path: str) -> str:
        """Translate a path to one of the API, replacing the root of a gateway with `/v1`."""
        own = root_of(f"{self.root}/") is None and f"{path}/".startswith(f"{self.root}/")
        return API_ROOTS[OPENAI] + path[len(self.root) :] if own else path


def parse_upstream(url: str) -> Upstream:
    """Parse the URL of an API; ConfigError if it is invalid."""
    parts = _split_checked(url)
    path = parts.path.rstrip("/")
    if path.endswith(("/responses", "/chat/completions")):
        raise ConfigError(f"--upstream {url}: this is an endpoint. {_ROOT_ADVICE}.")
    host = parts.hostname or ""
    dialect = provider_of_host(host, f"{path}/") or parse_api_path(f"{path}/responses").dialect
    below = {OPENAI: API_ROOTS[OPENAI], AZURE: API_ROOTS[AZURE], FOUNDRY: f"{path}{API_ROOTS[AZURE]}"}[dialect]
    named = bool(path) if dialect == OPENAI else path.endswith(("/v1", "/openai"))
    return Upstream(f"{parts.scheme}://{parts.netloc}", path if named else below, dialect, named)


def _split_checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url.strip())
        fault = "" if parts.port != 0 else "port 0 is none"
    except ValueError as problem:
        raise ConfigError(f"--upstream {url}: {problem}. {_ROOT_ADVICE}.") from problem
    if parts.username or parts.password:
        raise ConfigError(
            f"--upstream: the URL contains a password. Leave it out; the command's own key is sent. {_ROOT_ADVICE}."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        fault = "this is no http:// or https:// URL"
    elif parts.query or parts.fragment:
        fault = "it has a query or a fragment"
    if fault:
        raise ConfigError(f"--upstream {url}: {fault}. {_ROOT_ADVICE}.")
    return parts


def unreachable_advice(setting: str, why: str) -> str:
    """Return advice for an unreachable API and this reason; `setting` is the option or variable with its address."""
    if "CERTIFICATE_VERIFY_FAILED" in why:
        return "Name the file of its certificates in SSL_CERT_FILE."
    return f"Is {setting} right, and is the API up?"


def redirected_environment(behind: Upstream, here: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the changes to a command's environment that redirect it to `here` (`http://127.0.0.1:8765`).

    They change every variable with the API's origin, and those that its SDKs read. `OPENAI_BASE_URL` is not set in
    addition to an Azure endpoint unless its URL names a base URL: the SDK for Node rejects both together.
    """
    moved = {
        name: here + value[len(behind.origin) :]
        for name, value in environment.items()
        if _leads_to(value, behind.origin)
    }
    own: dict[str, str] = {}
    if behind.dialect != AZURE or (behind.has_explicit_root and behind.root.endswith("/v1")):
        own[BASE_URL_VARIABLE] = here + behind.root
    if behind.dialect == AZURE:
        own[AZURE_VARIABLE] = here
    if behind.dialect == FOUNDRY:
        own |= dict.fromkeys(PROJECT_VARIABLES, here + behind.root.removesuffix(API_ROOTS[AZURE]))
    host = urlsplit(here).hostname or ""
    direct = {name: ",".join(filter(None, [host, environment.get(name)])) for name in ("NO_PROXY", "no_proxy")}
    return {**moved, **own, **direct}


def _leads_to(value: str, origin: str) -> bool:
    return value.lower().startswith(origin.lower()) and value[len(origin) :][:1] in ("", "/")
