"""Wrong requests: one to three things changed in a right one, mostly in its body."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from harness.api.http.bodies import parse_body
from harness.api.http.dialects import API_ROOTS
from tests.contract.evidence.samples.mutate import Stock, mutate
from tests.contract.evidence.samples.requests import NAMED, REQUESTS
from tests.fuzz.sent import SOCKET, Sent

HEADERS = (
    *("authorization", "api-key", "content-type", "openai-beta", "openai-organization", "openai-project"),
    *("x-ms-client-request-id", "x-stainless-retry-count", "idempotency-key", "accept", "content-length"),
)
HEADER_VALUES = (
    *("", " ", "x", "Bearer", "Bearer ", "Bearer sk-", "Bearer x", "Basic eDp4", "bearer sk-harness-example"),
    *("é", "\t", "application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data"),
    *("assistants=v1", "multipart/form-data; boundary=", "multipart/form-data; boundary=x"),
    *('multipart/form-data; boundary="é"', "assistants=v2", "responses_multi_agent=v1", "x" * 9_000, "\xff"),
    *("0", "-1"),
)
QUERY = (
    *("limit", "order", "after", "before", "include", "stream", "starting_after", "api-version", "purpose", "filter"),
    *("include_obfuscation", "", "x", "é"),
)
QUERY_VALUES = (
    *("", "0", "-1", "1", "101", "1e3", "9" * 400, "true", "TRUE", "asc", "x", "é", "\0", "preview", "2025-04"),
)
SEGMENTS = (
    *("x", "", "..", "%00", "é", "resp_", "resp_1", "conv_1", "msg_x", "'", "{x}", "0", "x" * 300, " ", "a b"),
    "\n",
)
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "", "x")
ROOTS = (*API_ROOTS.values(), "/openai", "/api/projects/p", "/openai/deployments/gpt-4.1", "/v2", "")
FIELDS = (
    *(b"file", b"file[x]", b"file[", b"file[]", b"purpose", b"purpose[x]", b"expires_after", b"expires_after[seconds]"),
    *(b"expires_after[anchor]", b"expires_after[x]", b"", b"\xc3\xa9", b"\xff", b"a[b][c]", b"x"),
)
FILE_NAMES = (b"", b"; filename=", b'; filename="\xff"')
HEADS = (b"x: y", b"", b"x")
NOISE = (
    *(b"\x00", b"\xff", b"{", b"}", b"[", b'"', b",", b":", b"\\", b"1e999", b"NaN", b"\\ud800"),
    *(b"\r\n--x\r\n", b"null"),
)


LARGEST_BODY = 1 << 20
"""Bytes beyond which a body is not stretched: what a greater one costs is measured by `bench.worst_cases`."""


def mutated(sent: Sent, chance: Random, stock: Stock) -> Sent:
    """Return a right request with one to three things changed."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        ways, weights = WAYS_IF_FORM if _is_form(sent) else WAYS_IF_JSON
        changed = chance.choices(ways, weights)[0](sent, chance, stock)
        sent = sent if len(changed.body) > LARGEST_BODY else changed
    return sent


def stock_of(seeds: Sequence[Sent]) -> Stock:
    """Return what values are taken from: the bodies of right requests, and the samples."""
    bodies = [body for seed in seeds[:50] if not _is_form(seed) and isinstance(body := parse_body(seed.body)[0], dict)]
    return Stock([*bodies, *REQUESTS], [*NAMED, "x"])


def _is_form(sent: Sent) -> bool:
    return "multipart" in sent.headers.get("content-type", "")


def _change_member(sent: Sent, chance: Random, stock: Stock) -> Sent:
    try:
        body = json.loads(sent.body or b"{}")
    except (ValueError, RecursionError):
        return _change_bytes(sent, chance, stock)
    return replace(sent, body=json.dumps(mutate(body, chance, stock).body).encode())


def _change_bytes(sent: Sent, chance: Random, stock: Stock) -> Sent:
    place = chance.randint(0, len(sent.body))
    kept = chance.choice((place, place, place + 1, place + 20, len(sent.body)))
    return replace(sent, body=sent.body[:place] + chance.choice((b"", *NOISE)) + sent.body[kept:])


def _change_query(sent: Sent, chance: Random, stock: Stock) -> Sent:
    name, value = chance.choice((*QUERY, *sent.query)), chance.choice(QUERY_VALUES)
    return replace(sent, query={**sent.query, name: chance.choice((value, value, [value], []))})


def _change_header(sent: Sent, chance: Random, stock: Stock) -> Sent:
    name = chance.choice((*HEADERS, *sent.headers))
    headers = {**sent.headers, name: chance.choice(HEADER_VALUES)}
    if chance.random() < 0.3:
        del headers[name]
    return replace(sent, headers=headers)


def _change_path(sent: Sent, chance: Random, stock: Stock) -> Sent:
    steps = sent.path.split("/")
    place = chance.randrange(len(steps))
    value = chance.choice(SEGMENTS)
    steps[place : place + chance.randint(0, 1)] = chance.choice(([value], [value], [f"{steps[place]}{value}"], []))
    return replace(sent, path="/".join(steps))


def _change_method(sent: Sent, chance: Random, stock: Stock) -> Sent:
    return sent if sent.method == SOCKET else replace(sent, method=chance.choice(METHODS))


def _change_dialect(sent: Sent, chance: Random, stock: Stock) -> Sent:
    root = next((root for root in sorted(ROOTS, key=len, reverse=True) if sent.path.startswith(root)), "")
    versioned = {**sent.query, "api-version": chance.choice(("2025-04-01-preview", "v1", "preview", "x"))}
    path = f"{chance.choice(ROOTS)}{sent.path.removeprefix(root)}"
    return replace(sent, path=path, query=versioned if chance.random() < 0.5 else sent.query)


def _change_field(sent: Sent, chance: Random, stock: Stock) -> Sent:
    """Return a form with another name, with a part more or less, without a file name, or with another value."""
    name = chance.choice(FIELDS)
    parts = sent.body.split(b"--x")
    place = chance.randrange(len(parts))
    changes: tuple[Callable[[], bytes], ...] = (
        lambda: re.sub(rb'name="[^"]*"', lambda _: b'name="%b"' % name, sent.body, count=chance.randint(1, 2)),
        lambda: b"--x".join(parts[:place] + parts[place + 1 :]),
        lambda: b"--x".join([*parts[:place], parts[place], *parts[place:]]),
        lambda: re.sub(rb'; filename="[^"]*"', lambda _: chance.choice(FILE_NAMES), sent.body),
        lambda: re.sub(rb"\r\n\r\n[^\r]*", lambda _: b"\r\n\r\n" + chance.choice(NOISE), sent.body, count=1),
        lambda: re.sub(rb"content-disposition: [^\r]*", lambda _: chance.choice(HEADS), sent.body, count=1),
        lambda: b'--x\r\ncontent-disposition: form-data; name="%b"\r\n\r\n1\r\n' % name + sent.body,
    )
    return replace(sent, body=chance.choice(changes)())


WAYS_IF_JSON = (
    (_change_member, _change_bytes, _change_query, _change_header, _change_path, _change_method, _change_dialect),
    (75, 3, 5, 4, 5, 2, 6),
)
WAYS_IF_FORM = ((_change_field, *WAYS_IF_JSON[0][1:]), WAYS_IF_JSON[1])
