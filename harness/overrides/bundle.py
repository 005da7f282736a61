"""Writes a bundle of disagreements for the maintainers: one exchange per kind, without secrets, as JSON lines.

`responses-harness verify` reads such a bundle and reproduces the disagreements.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from harness.api.http.dialects import API_ROOTS
from harness.cassettes.scrubbing.mask_text import Masker
from harness.contract.overrides import normalize_path, violation_path
from harness.core.exchange import Json
from harness.core.secrets import redact
from harness.overrides.observe import Seen


def render_bundle(disagreements: Iterable[Seen]) -> str:
    """Render a bundle: a line for the first exchange of each kind, by verdict, recorded error and the mock's rule."""
    masker, first = Masker(), dict[bytes, Seen]()
    for seen in disagreements:
        violated = seen.violation
        rule = violated and (violated.rule.id, normalize_path(violation_path(violated.facts, violated.error.param)))
        first.setdefault(orjson.dumps([seen.verdict, seen.error, rule]), seen)
    entries = (_share_exchange(seen, number) for number, seen in enumerate(first.values(), 1))
    return "".join(f"{masker.mask_text(orjson.dumps(redact(entry)).decode())}\n" for entry in entries)


def _share_exchange(seen: Seen, number: int) -> Json:
    error = {name: value for name, value in seen.error.items() if name != "status"}
    request = seen.request
    return {
        "id": f"shared-{number}#1",
        "provider": request.dialect,
        "method": request.method,
        "url_path": f"{API_ROOTS[request.dialect]}{request.path}",
        "recorded_at": seen.date or None,
        "request": request.body,
        "status": seen.error["status"],
        "response": {"error": error} if error else None,
    }
