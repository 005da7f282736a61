"""The provider of a recorded exchange (OpenAI, Azure OpenAI, Azure AI Foundry), and its path below the API's root.

Hosts and forms of paths are those of the clients and of recorded traffic, 2025-03 to 2026-09.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

PROVIDERS = ("openai", "azure", "foundry")
PROVIDER_HOSTS = {
    "api.openai.com": "openai",
    "openai.azure.com": "azure",
    "openai.azure.us": "azure",
    "cognitiveservices.azure.com": "azure",
    "cognitiveservices.azure.us": "azure",
    "services.ai.azure.com": "azure",
    "api.azureml.ms": "foundry",
}
"""The provider of a host and its subdomains; with the path of a Foundry project, an Azure host is `foundry`."""
PROVIDER_HEADERS = {
    "apim-request-id": "azure",
    "x-ms-region": "azure",
    "openai-version": "openai",
    "openai-processing-ms": "openai",
}
"""Headers of answers that identify the provider when a recording hides the host, most reliable first.

Azure repeats those of OpenAI.
"""

_PROJECTS = "/api/projects/"
_PROJECT = rf"{_PROJECTS}[^/]+"
_WORKSPACE = r"/agents/v1\.0/subscriptions/[^/]+/resourceGroups/[^/]+/providers/[^/]+/workspaces/[^/]+"
_API_ROOT = re.compile(
    rf"/v1(?=/)|(?:{_PROJECT}(?:/(?:agents/[^/]+/endpoint|applications/[^/]+)/protocols)?)?/openai(?:/v1|/deployments/[^/]+)?(?=/)"
    rf"|(?:{_PROJECT}|{_WORKSPACE})(?=/(?:assistants|threads)(?:/|$))"
)
_OPENAI_MODEL = re.compile(r"(?:ft:)?(?:gpt-(?!oss)|chatgpt-|o[0-9]|codex-|computer-use-)")
_PLACEHOLDER_HOST = re.compile(
    r"[<{*\[%]|^\w*(?:sanitized|redacted|placeholder)|(?:^|\.)example\.(?:com|org|net)$", re.I
)


def root_of(path: str) -> str | None:
    """Return the root of the API in a path: `/v1`, `/openai`; None for a path of an unknown form."""
    found = _API_ROOT.match(path)
    return found[0] if found else None


def path_below_root(path: str) -> str | None:
    """Return the path below the API's root in OpenAI's form (`/responses/resp_1`); None for a path of an unknown form."""
    root = root_of(path)
    return None if root is None else path[len(root) :].rstrip("/") or None


def provider_of_host(host: str, path: str) -> str:
    """Return the provider at a host: openai, azure, foundry, or `""` for any other."""
    labels = host.lower().split(".")
    parents = (".".join(labels[index:]) for index in range(len(labels)))
    return _foundry_by_path(next((PROVIDER_HOSTS[name] for name in parents if name in PROVIDER_HOSTS), ""), path)


def is_host_hidden(host: str) -> bool:
    """Return whether a recording omits the host or has a placeholder for it."""
    return not host or bool(_PLACEHOLDER_HOST.search(host))


def provider_by_headers(path: str, headers: Mapping[str, str]) -> str:
    """Return the provider by the headers of its answer; `""` if unknown. Only Foundry has the paths of projects."""
    if path.startswith(_PROJECTS):
        return "foundry"
    return next((PROVIDER_HEADERS[name] for name in PROVIDER_HEADERS if name in headers), "")


def guess_provider(path: str, request: Any, answer: Any) -> str:
    """Guess the provider by the model and the path."""
    models = [body.get("model") for body in (answer, request) if isinstance(body, dict)]
    if path_below_root(path) is None or not any(
        isinstance(model, str) and _OPENAI_MODEL.match(model) for model in models
    ):
        return ""
    # Only Azure reports content filters.
    filtered = isinstance(answer, dict) and "content_filters" in answer
    return _foundry_by_path("openai" if path.startswith("/v1/") and not filtered else "azure", path)


def _foundry_by_path(provider: str, path: str) -> str:
    return "foundry" if provider == "azure" and path.startswith(_PROJECTS) else provider


def split_url(url: str) -> tuple[str, str, str]:
    """Split a recorded URL into host, path and query; the host may be missing or a placeholder."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return "", "", ""
    path = parts.path
    # Recorders that hide the host leave `host/path` or a placeholder instead.
    if not parts.netloc and not path.startswith("/"):
        before, slash, below = path.partition("/")
        host, path = (before if "." in before and not is_host_hidden(before) else ""), slash + below
    return host, path, parts.query
