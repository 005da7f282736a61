"""Writes a bundle of disagreements for the maintainers: exchanges cut to what matters, without secrets, as JSON lines.

`harness verify` reads such a bundle and reproduces the disagreements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson

from harness.api.http.dialects import API_ROOTS
from harness.cassettes.scrubbing.mask_text import Masker
from harness.contract.body_places import normalize_path, split_path
from harness.contract.check import check
from harness.contract.overrides import violation_path
from harness.core.exchange import Json
from harness.core.text.redact import redact
from harness.overrides.observe import Seen
from harness.world.world import World

SHORT = 40
"""Strings longer than this are cut to this many characters, unless that makes the disagreement disappear."""


def render_bundle(disagreements: Iterable[Seen]) -> str:
    """Render a bundle, one line per exchange, with each kind of disagreement only once."""
    masker, lines, known = Masker(), dict[str, None](), set[str]()
    for number, seen in enumerate(disagreements, 1):
        entry = _share_exchange(seen, number)
        same = orjson.dumps([seen.verdict, seen.error, _violated(seen.violation), entry["request"]]).decode()
        if same not in known:
            known.add(same)
            lines[masker.mask_text(orjson.dumps(redact(entry)).decode())] = None
    return "".join(f"{line}\n" for line in lines)


def _share_exchange(seen: Seen, number: int) -> Json:
    error = {name: value for name, value in seen.error.items() if name != "status"}
    request = seen.request
    return {
        "id": f"shared-{number}#1",
        "provider": request.dialect,
        "method": request.method,
        "url_path": f"{API_ROOTS[request.dialect]}{request.path}",
        "recorded_at": seen.date or None,
        "request": cut_body(seen),
        "status": seen.error["status"],
        "response": {"error": error} if error else None,
    }


def cut_body(seen: Seen) -> Any:
    """Remove from a body what the disagreement does not depend on, as far as the mock can determine."""
    body = seen.request.body
    if not isinstance(body, dict):
        return body
    wanted = _violated(seen.violation)
    needed = {str(split_path(str(seen.error.get("param") or ""))[0:1] or ""), "model"}

    def still(candidate: Any) -> bool:
        world = World("share")
        if seen.date:
            world.as_of = min(seen.date, world.as_of)
        try:
            return _violated(check(seen.request._replace(body=candidate, raw=b""), world)) == wanted
        except Exception:
            return False

    if not still(body):  # the disagreement depends on earlier exchanges
        return _shorten(body, lambda _: True)
    cut = dict(body)
    for name in list(body):
        without = {member: value for member, value in cut.items() if member != name}
        if name not in needed and not _is_named(name, seen) and still(without):
            cut = without
    return _shorten(cut, still)


def _is_named(name: str, seen: Seen) -> bool:
    """Return whether the API's or the mock's error names a member."""
    texts = [str(seen.error.get("param")), str(seen.error.get("message"))]
    if seen.violation:
        texts += [str(seen.violation.error.param), seen.violation.error.message]
    return any(name in text for text in texts)


def _violated(violation: Any) -> str:
    if violation is None:
        return ""
    return f"{violation.rule.id} {normalize_path(violation_path(violation.facts, violation.error.param))}"


def _shorten(body: Json, still: Callable[[Any], bool]) -> Json:
    """Shorten the long strings in a body, one by one, wherever the disagreement remains."""
    for path, text in list(_long_texts(body, ())):
        changed = _with_text(body, path, f"{text[:SHORT]}…")
        if still(changed):
            body = changed
    return body


def _long_texts(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(value, str) and len(value) > SHORT and not value.startswith("data:"):
        yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner_value in inner:
        yield from _long_texts(inner_value, (*path, step))


def _with_text(value: Any, path: tuple[Any, ...], text: str) -> Any:
    if not path:
        return text
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, step: _with_text(value[step], rest, text)}
    return [*value[:step], _with_text(value[step], rest, text), *value[step + 1 :]]
