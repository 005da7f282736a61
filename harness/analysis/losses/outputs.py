"""What came of calls: one output each, always the same."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from harness.analysis.history import Asked, Past, call_of, named, output_of
from harness.analysis.loss import Facts, loss
from harness.analysis.losses.examples import ASK, DEPLOY, SAY, TEXT, THEN, assistant, call, output
from harness.analysis.losses.text import doubled
from harness.contract.rule import Case, after
from harness.core.exchange import Json
from harness.core.loose_json import as_string, objects_in
from harness.core.shorten import quote
from harness.items import mcp_approval_request

NOTHING = ("None", "null", "undefined", "[object Object]")
_LISTED = re.compile(r"""\[\{\s*['"]""")
_PARTS = [{"type": "input_text", "text": "v2 is live"}]
_APPROVE: Json = {"type": "mcp_approval_response", "approval_request_id": "{0.output.0.id}", "approve": True}


def _later(said: Any, first: Any = "v2 is live") -> Case:
    """A second request that says something else of a call than the first did."""
    return after(
        {"input": [ASK]},
        {"input": [ASK, call(), output(said=first)]},
        {"input": [ASK, call(), output(said=said), assistant(TEXT), THEN]},
        turns=[DEPLOY, SAY],
    )


@loss(
    message="{what}, sent in exchange {said} as {was}, {how}: {now}",
    fix="Keep outputs as they were sent first, as the text or the parts that they were.",
    loses=[
        _later(""),
        _later("None"),
        _later("v2 is livev2 is live"),
        _later(str(_PARTS), _PARTS),
        _later(json.dumps(_PARTS), _PARTS),
    ],
    keeps=[
        _later("v2 is live"),
        _later(_PARTS),
        _later("[output left out]"),
        _later("v2 is live since noon"),
        _later("v2 is live", ""),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output(), output("call_9")]},
            {"input": [ASK, call(), output(said="")]},
            turns=[DEPLOY],
        ),
        after(
            *({"input": [ASK, *before]} for before in ([], [call(), output()], [], [call(), output(said="")])),
            turns=[DEPLOY, SAY, DEPLOY],
        ),
    ],
)
def output_altered(asked: Asked, past: Past) -> Iterator[Facts]:
    """The output of a call is empty, doubled, or a printed value, where the same call's output was a text before.

    Another text may stand for it: old outputs are shortened by right, and late ones replaced.
    """
    yield from (facts for facts in _changed(asked, past) if facts["how"])


@loss(
    message="{what}, sent in exchange {said} as {was}, is another text now: {now}",
    fix="Keep outputs as they were sent first, unless they are shortened on purpose.",
    strict=True,
    loses=[_later("[output left out]"), _later("v2 is live since noon")],
    keeps=[_later("v2 is live"), _later(_PARTS)],
)
def output_replaced(asked: Asked, past: Past) -> Iterator[Facts]:
    """The output of a call is another text than before; a placeholder is a habit of long conversations."""
    yield from (facts for facts in _changed(asked, past) if not facts["how"])


def _changed(asked: Asked, past: Past) -> Iterator[Json]:
    for at, item in asked.given:
        if (id := output_of(item)) and len(past.by_call.get(id, ())) == 1 and "output" in item:
            sent = past.outputs.get(id, ())
            now, before = _value(item), [_value(one) for _, one in sent]
            if sent and now not in before:
                shown = {"was": quote(before[-1]), "now": quote(now), "how": _spoiled(before[-1], now)}
                yield {"at": f"{at}.output", "said": sent[-1][0], "what": named(item), **shown}


def _value(item: Json) -> str:
    """An output as text: what its parts say, else its JSON."""
    said = item.get("output")
    parts = list(objects_in(said))
    if parts and all(part.get("type") in ("input_text", "output_text") for part in parts):
        return "".join(as_string(part.get("text")) for part in parts)
    return said if isinstance(said, str) else json.dumps(said, sort_keys=True)


def _spoiled(was: str, now: str) -> str:
    if not was.strip() or was in NOTHING:
        return ""
    if not now.strip() or now in NOTHING:
        return "is empty now"
    if doubled(was, now):
        return "is doubled now"
    printed = _LISTED.match(now) and was[:20] in now and not _LISTED.match(was)
    return "is the print of a list now" if printed else ""


@loss(
    message="{what} answers what was said in exchange {said} a second time",
    fix="Answer each call once: in the request after it, and never again.",
    loses=[
        after(
            {"input": [ASK]},
            {"previous_response_id": "{0.id}", "input": [output()]},
            {"previous_response_id": "{1.id}", "input": [output()]},
            turns=[DEPLOY],
        ),
        after({"input": [ASK]}, {"input": [ASK, call(), output(), output(said="v2 is up")]}, turns=[DEPLOY]),
        after(
            {"input": [ASK]},
            {"previous_response_id": "{0.id}", "input": [_APPROVE]},
            {"previous_response_id": "{1.id}", "input": [_APPROVE]},
            turns=[mcp_approval_request("prod", "deploy", {"ref": "v2"})],
        ),
    ],
    keeps=[
        after({"input": [ASK]}, *[{"previous_response_id": "{0.id}", "input": [output()]}] * 2, turns=[DEPLOY]),
        after({"input": [ASK]}, *[{"input": [ASK, call(), output()]}] * 2, turns=[DEPLOY]),
        after(
            {"input": [ASK]},
            {"input": [ASK, call(), output()]},
            {"input": [ASK, call(), output(), call(), output()]},
            turns=[DEPLOY, DEPLOY],
        ),
    ],
)
def output_twice(asked: Asked, past: Past) -> Iterator[Facts]:
    """One call is answered twice in one transcript; so is one request for approval."""
    calls = Counter(filter(None, map(call_of, asked.items)))
    answers = Counter(filter(None, map(output_of, asked.held)))
    for at, item in asked.given:
        if (id := output_of(item)) in past.by_call:
            answers[id] += 1
            said = past.by_call[id][-1]
            if answers[id] > max(1, calls[id]) and not said.item.get("async"):
                yield {"at": at, "said": said.number, "what": named(item)}
