"""Parses the plain data of any recorder's file into `Interaction`s.

Supported are vcrpy, pytest-recording, ruby's and R's VCR, betamax, go-vcr, php-vcr, ExVCR, ReqCassette, EasyVCR and
Scotch (`interactions`, or a list of `request` and `response`), HAR 1.2 and Polly.JS, WireMock, nock, httpmock,
okreplay, talkback, Azure's test proxy, cassettes with `requests` beside `responses`, and flat objects with `method`,
`url_path`, `request`, `status`, `response` or `events`. They differ in names more than in structure, so names are
compared without case, `_` and `-`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from harness.cassettes.format.interaction import Interaction
from harness.cassettes.format.messages import (
    decode_proxy_body,
    encode_body,
    first_present,
    headers_of,
    member_text,
    name_value_pairs,
    normalize_names,
    unwrap_body,
)
from harness.core.errors import Malformed
from harness.core.exchange import EMPTY_MAPPING, Json
from harness.core.json_values import as_object, as_string, pick

FLAG_MEMBERS = ("no_request", "cut", "sanitized", "sequence_gaps", "transcribed", "socket", "inferred")
"""Members of a flat object that become flags of the exchange if true."""
_NOTED_MEMBERS = ("id", "provider", *FLAG_MEMBERS)

RequestAnswerPair = tuple[Any, Any]
"""The request and the answer of one exchange, as objects with normalized names."""
PairReader = Callable[[Json], RequestAnswerPair | None]

_CASSETTE_LISTS = ("interactions", "httpinteractions")
_LIST_MEMBERS = (*_CASSETTE_LISTS, "entries", "mappings")
_REQUEST_MEMBERS = frozenset({"request", "req", "requesturi"})
_URL_MEMBERS = ("uri", "url", "urlpath", "urlpattern", "path")


def parse_interactions(document: Any) -> Iterator[Interaction | Malformed] | None:
    """Parse the exchanges of one document, in order; an invalid exchange is returned as its Malformed.

    None if the document is not a recording; raises Malformed if it is one but has no list of exchanges.
    """
    if isinstance(document, list):
        # A list may be anything, so at least one entry must look like an exchange.
        known = any(isinstance(entry, dict) and _find_pair(normalize_names(entry)) for entry in document)
        return _parse_each("entry ", document) if known else None
    if not isinstance(document, dict):
        return None
    members = normalize_names(document)
    if isinstance(log := members.get("log"), dict) and "entries" in log:
        return _parse_each("log.entries", log["entries"], frees=True)
    for name in _LIST_MEMBERS:
        if name in members and _is_exchange_list(name, members[name]):
            return _parse_each(name, members[name], provider_from_header(document))
    if isinstance(members.get("requests"), list) and isinstance(members.get("responses"), list):
        # If one list is longer, its last entries are reported as incomplete rather than ignored.
        pairs = zip_longest(members["requests"], members["responses"])
        return _parse_each("requests", [{"request": request, "response": response} for request, response in pairs])
    pair = _find_pair(members)
    return _parse_each("", [document]) if pair and isinstance(pair[1], dict) else None


def _is_exchange_list(name: str, value: Any) -> bool:
    """Return whether these are exchanges, as other kinds of files use the same member names."""
    if not value:
        return name in _CASSETTE_LISTS and not isinstance(value, dict)
    return isinstance(value, list) and any(
        isinstance(entry, dict) and normalize_names(entry).keys() & _REQUEST_MEMBERS for entry in value
    )


def provider_from_header(document: Json) -> Json:
    """Return the provider in the header of a cassette of this harness, as `{"provider": "azure"}`, or nothing."""
    header = as_object(document.get("harness"))
    return {"provider": header["dialect"]} if "dialect" in header else {}


def _parse_each(
    name: str, entries: Any, notes: Mapping[str, Any] = EMPTY_MAPPING, *, frees: bool = False
) -> Iterator[Interaction | Malformed]:
    """Parse each entry; with `frees` what was parsed leaves the document, so that a large one is in memory only once."""
    if not isinstance(entries, list):
        raise Malformed(f"{name} is {_describe_type(entries)}, not a list of exchanges")
    return _parse_entries(name, entries, notes, frees)


def _parse_entries(
    name: str, entries: list[Any], notes: Mapping[str, Any], frees: bool
) -> Iterator[Interaction | Malformed]:
    for index, entry in enumerate(entries):
        if frees:
            entries[index] = None
        yield _try_parse(f"{name}[{index}]" if name else "", entry, notes)


def _try_parse(place: str, entry: Any, notes: Mapping[str, Any]) -> Interaction | Malformed:
    try:
        interaction = parse_interaction(entry)
        return replace(interaction, notes={**notes, **interaction.notes}) if notes else interaction
    except Malformed as problem:
        return Malformed(f"{place}: {problem}" if place else str(problem))


def parse_interaction(entry: Any) -> Interaction:
    """Parse one exchange, with bodies still encoded as recorded; Malformed names what is missing."""
    if not isinstance(entry, dict):
        raise Malformed(f"it is {_describe_type(entry)}, not an exchange")
    members = normalize_names(entry)
    reader, pair = _read_pair(members)
    if pair is None or not _is_request(pair[0]):
        raise Malformed("it has no request with a method and an address")
    request, response = pair
    if not isinstance(response, dict):
        raise Malformed("its request has no answer")
    headers, answer_headers = (headers_of(first_present(message, "headers", "header")) for message in pair)
    body = unwrap_body(response, "responsebody")
    dates = (members.get(name) for name in ("recordedat", "starteddatetime", "recorded"))
    flat = reader is _flat_pair
    return Interaction(
        str(request["method"]).upper(),
        _url_with_query(request),
        headers,
        encode_body(unwrap_body(request, "requestbody"), headers),
        _parse_status(first_present(response, "statuscode", "code", "status")),
        answer_headers,
        () if body is None else ((0.0, encode_body(body, answer_headers)),),
        not flat and as_object(members.get("wire")).get("cut") is True,
        reason=as_string(as_object(response.get("status")).get("message")),
        origin=_parse_origin(entry.get("origin") if flat else members.get("origin")),
        date=next((date for date in dates if isinstance(date, str)), ""),
        notes=pick(entry, *_NOTED_MEMBERS) if flat else EMPTY_MAPPING,
    )


def _parse_origin(origin: Any) -> Mapping[str, Any]:
    return origin if isinstance(origin, dict) else EMPTY_MAPPING if origin is None else {"where": str(origin)}


def _find_pair(members: Json) -> RequestAnswerPair | None:
    """Return the request and the answer of an exchange of any form; None without a request."""
    _, pair = _read_pair(members)
    return pair if pair and _is_request(pair[0]) else None


def _read_pair(members: Json) -> tuple[PairReader | None, RequestAnswerPair | None]:
    """Return the reader that recognizes the form of an exchange, and the pair it read."""
    return next(((reader, pair) for reader in _PAIR_READERS if (pair := reader(members))), (None, None))


def _is_request(request: Json) -> bool:
    return isinstance(request.get("method"), str) and isinstance(first_present(request, *_URL_MEMBERS), str)


def _flat_pair(members: Json) -> RequestAnswerPair | None:
    url = first_present(members, "urlpath", "url", "uri")
    if url is None or "method" not in members:
        return None
    request = pick(members, "method", "query")
    response = {"status": members.get("status"), "headers": members.get("responseheaders")}
    return (
        {**request, "url": url, "headers": members.get("requestheaders"), "jsonbody": members.get("request")},
        {**response, "jsonbody": first_present(members, "events", "response")},
    )


def _nested_pair(members: Json) -> RequestAnswerPair | None:
    for request, response in (("request", "response"), ("req", "res"), ("when", "then")):
        if isinstance(members.get(request), dict):
            sides = (normalize_names(members.get(name)) for name in (request, response))
            first, second = map(_strip_name_prefixes, sides)
            return first, second
    return None


_PREFIXED = re.compile("request|response")


def _strip_name_prefixes(message: Any) -> Any:
    """Remove the prefix that some recorders put before a message's names: `RequestHeaders`, `request_body`."""
    if not isinstance(message, dict) or not any(map(_PREFIXED.match, message)):
        return message
    return {name.removeprefix("request").removeprefix("response"): value for name, value in message.items()} | message


def _test_proxy_pair(members: Json) -> RequestAnswerPair | None:
    if "requesturi" not in members:
        return None
    request = {name[7:]: value for name, value in members.items() if name.startswith("request")}
    response = {name[8:]: value for name, value in members.items() if name.startswith("response")}
    request, response = (
        {**side, "body": decode_proxy_body(side.get("body"), headers_of(side.get("headers")))}
        for side in (request, response)
    )
    return request, {**response, "statuscode": members.get("statuscode")}


def _nock_pair(members: Json) -> RequestAnswerPair | None:
    if not all(isinstance(members.get(name), str) for name in ("scope", "path")):
        return None
    request = {**members, "uri": members["scope"] + members["path"], "headers": members.get("reqheaders")}
    response = {"status": members.get("status"), "headers": first_present(members, "rawheaders", "headers")}
    return request, {**response, "body": members.get("response")}


_PAIR_READERS: tuple[PairReader, ...] = (_test_proxy_pair, _nock_pair, _flat_pair, _nested_pair)


def _describe_type(value: Any) -> str:
    names = {type(None): "null", dict: "a mapping", list: "a list", str: "a text", bool: "a boolean"}
    return names.get(type(value), "a number")


def _url_with_query(request: Json) -> str:
    url = str(first_present(request, *_URL_MEMBERS))
    parameters = first_present(request, "querystring", "queryparam", "query")
    if isinstance(parameters, str):
        query = parameters.lstrip("?")
    else:
        query = urlencode([(name, member_text(value)) for name, value in name_value_pairs(parameters)])
    return url if not query or "?" in url else f"{url}?{query}"


def _parse_status(status: Any) -> int:
    """Parse the number in `200`, `"200 OK"` or `{"code": 200}`; 0 for anything else."""
    if isinstance(status, dict):
        status = first_present(normalize_names(status), "code", "statuscode")
    digits = str(status).split(" ")[0]
    return int(digits) if digits.isdecimal() and len(digits) == 3 else 0
