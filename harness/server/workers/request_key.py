"""The key of the World that a request belongs to, as its first bytes say it."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any
from urllib.parse import unquote

from harness.api.http.body import parse_query
from harness.api.http.dialects import AZURE, OPENAI, parse_api_path
from harness.core.exchange import EMPTY_MAPPING
from harness.server.api_key import key_of, opens_world
from harness.server.mock_api import CONTROL_ROOT

HEAD_END = b"\r\n\r\n"
LARGEST_HEAD = 64 * 1024
_KEY_HEADER = re.compile(rb"\r\n(authorization|api-key):([^\r]*)", re.IGNORECASE)


class KeyReader:
    """Finds the keys of requests to a server that knows only these `keys` (None: all) and this `dialect` (None: all)."""

    def __init__(self, dialect: str | None, keys: Container[str] | None) -> None:
        self._dialect = dialect
        self._keys = keys

    def read(self, head: bytes) -> str:
        """The key of a request by the bytes of its head; empty when it belongs to no World."""
        lines = head.partition(HEAD_END)[0]
        parts = lines.partition(b"\r\n")[0].decode("latin-1").split(" ")
        found = _KEY_HEADER.findall(lines)
        headers = {name.decode().lower(): value.decode("latin-1").strip(" \t") for name, value in found}
        path, _, query = parts[1].partition("?") if len(parts) > 1 else ("", "", "")
        return self.find(unquote(path), headers, parse_query(query.encode("latin-1"))) if path else ""

    def find(self, path: str, headers: Mapping[str, str], query: Mapping[str, Any] = EMPTY_MAPPING) -> str:
        """The key of a request by its path, its headers and its query."""
        if path.startswith(f"{CONTROL_ROOT}/"):
            dialect = AZURE if "api-key" in headers else OPENAI
        else:
            dialect = parse_api_path(path, self._dialect).dialect
        key = key_of(headers, dialect, query)
        return key if key is not None and opens_world(key, dialect, self._keys) else ""
