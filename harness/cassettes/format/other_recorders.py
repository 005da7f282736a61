"""What recorders of any language write: from a file's plain data to exchanges, one form for all of them.

Known are vcrpy, pytest-recording, ruby's and R's VCR, betamax, go-vcr, php-vcr, ExVCR, ReqCassette, EasyVCR and Scotch
(`interactions`, or a list of `request` and `response`), HAR 1.2 and Polly.JS, WireMock, nock, httpmock, okreplay,
talkback, Azure's test proxy, cassettes with `requests` beside `responses`, and exchanges as flat objects with `method`,
`url_path`, `request`, `status`, `response` or `events`. They differ in names more than in shape, so names are compared
without case, `_` and `-`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple
from urllib.parse import urlencode

from harness.api.decoding import decode_base64
from harness.cassettes.format.untrusted_text import Malformed, parse_json
from harness.core.exchange import EMPTY_MAPPING, Json


class RecorderEntry(NamedTuple):
    """One recorded exchange as its recorder wrote it.

    `asked` and `said` are the bodies: bytes, a text, a JSON value, or None. `status` is 0 where none was recorded.
    `extra` is the whole of a flat object, whose other members say more, else what a cassette says of where the exchange is
    from: its `origin`, the `provider` that our own recorder names, and whether the answer was `cut`.
    """

    method: str
    url: str
    headers: dict[str, str]
    request_body: Any
    status: int
    answer_headers: dict[str, str]
    answer_body: Any
    date: str = ""
    extra: Mapping[str, Any] = EMPTY_MAPPING
    reason: str = ""


RequestAnswerPair = tuple[Any, Any]
"""The request and the answer of one exchange, each a mapping with names in lower case."""

_CASSETTE_LISTS = ("interactions", "httpinteractions")
_LIST_MEMBERS = (*_CASSETTE_LISTS, "entries", "mappings")
_REQUEST_MEMBERS = frozenset({"request", "req", "requesturi"})
_VCR_BODY_MEMBERS = frozenset({"string", "base64string", "parsedbody", "rawgzip"})
_BASE64_MEMBERS = ("base64body", "bodyblob", "base64string")
_JSON_MEMBERS = ("parsedbody", "jsonbody", "bodyjson", "json")
_HAR_BODY_MEMBERS = ("content", "postdata")


def parse_recorder_entries(document: Any) -> Iterator[RecorderEntry | Malformed] | None:
    """The exchanges of one document, in order, each that cannot be read as what is wrong with it.

    None when the document is no recording; Malformed when it is one without exchanges.
    """
    if isinstance(document, list):
        known = any(isinstance(one, dict) and _find_pair(_normalize_names(one)) for one in document)
        return _parse_each("entry ", document) if known else None
    if not isinstance(document, dict):
        return None
    outer = _normalize_names(document)
    if isinstance(log := outer.get("log"), dict) and "entries" in log:
        return _parse_each("log.entries", log["entries"])
    for name in _LIST_MEMBERS:
        if name in outer and _is_exchange_list(name, outer[name]):
            return _parse_each(name, outer[name], provider_from_header(document))
    if isinstance(outer.get("requests"), list) and isinstance(outer.get("responses"), list):
        pairs = zip_longest(outer["requests"], outer["responses"])
        return _parse_each("requests", [{"request": request, "response": response} for request, response in pairs])
    alone = _find_pair(outer)
    return _parse_each("", [document]) if alone and isinstance(alone[1], dict) else None


def _is_exchange_list(name: str, found: Any) -> bool:
    """Whether these are exchanges, and not what another kind of file calls by the same name."""
    if not found:
        return name in _CASSETTE_LISTS and not isinstance(found, dict)
    return isinstance(found, list) and any(
        isinstance(one, dict) and _normalize_names(one).keys() & _REQUEST_MEMBERS for one in found
    )


def provider_from_header(document: Json) -> Json:
    """Who answered, as the header of a cassette of our own says: `{"provider": "azure"}`, or nothing."""
    header = document.get("harness")
    return {"provider": header["dialect"]} if isinstance(header, dict) and "dialect" in header else {}


def _parse_each(name: str, found: Any, extra: Mapping[str, Any] = EMPTY_MAPPING) -> Iterator[RecorderEntry | Malformed]:
    if not isinstance(found, list):
        raise Malformed(f"{name} is {_describe_type(found)}, not a list of exchanges")
    return (_try_parse_entry(f"{name}[{index}]" if name else "", one, extra) for index, one in enumerate(found))


def _try_parse_entry(where: str, found: Any, extra: Mapping[str, Any]) -> RecorderEntry | Malformed:
    try:
        read = parse_recorder_entry(found)
        return read._replace(extra={**extra, **read.extra}) if extra else read
    except Malformed as problem:
        return Malformed(f"{where}: {problem}" if where else str(problem))


def parse_recorder_entry(found: Any) -> RecorderEntry:
    """One exchange; Malformed says what it lacks."""
    if not isinstance(found, dict):
        raise Malformed(f"it is {_describe_type(found)}, not an exchange")
    pair = _find_pair(outer := _normalize_names(found))
    if pair is None:
        raise Malformed("it has no request with a method and an address")
    request, response = pair
    if not isinstance(response, dict):
        raise Malformed("its request has no answer")
    dates = (outer.get(name) for name in ("recordedat", "starteddatetime", "recorded"))
    return RecorderEntry(
        str(request["method"]).upper(),
        _url_with_query(request),
        normalize_headers(_first_present(request, "headers", "header")),
        _extract_body(request, "requestbody"),
        _parse_status(_first_present(response, "statuscode", "code", "status")),
        normalize_headers(_first_present(response, "headers", "header")),
        _extract_body(response, "responsebody"),
        next((date for date in dates if isinstance(date, str)), ""),
        found if _flat_pair(outer) else _cassette_extras(outer),
        _reason_phrase(response.get("status")),
    )


def _cassette_extras(outer: Json) -> Json:
    """What a cassette says of an exchange, beside the exchange itself."""
    wire = outer.get("wire")
    cut = {"cut": True} if isinstance(wire, dict) and wire.get("cut") is True else {}
    return cut | {name: outer[name] for name in ("origin",) if name in outer}


def _reason_phrase(status: Any) -> str:
    """The words beside the number of a status, where a recorder keeps them."""
    told = status.get("message") if isinstance(status, dict) else None
    return told if isinstance(told, str) else ""


def _find_pair(outer: Json) -> RequestAnswerPair | None:
    """Request and answer of an exchange of any form; None when it has none."""
    found = next((pair for form in _PAIR_READERS if (pair := form(outer))), None)
    return found if found and _is_request(found[0]) else None


def _is_request(request: Json) -> bool:
    return isinstance(request.get("method"), str) and isinstance(_first_present(request, *_URL_MEMBERS), str)


_URL_MEMBERS = ("uri", "url", "urlpath", "urlpattern", "path")


def _flat_pair(outer: Json) -> RequestAnswerPair | None:
    url = _first_present(outer, "urlpath", "url", "uri")
    if url is None or "method" not in outer:
        return None
    request = {name: outer[name] for name in ("method", "query") if name in outer}
    said = {"status": outer.get("status"), "headers": outer.get("responseheaders")}
    return (
        {**request, "url": url, "headers": outer.get("requestheaders"), "jsonbody": outer.get("request")},
        {**said, "jsonbody": _first_present(outer, "events", "response")},
    )


def _nested_pair(outer: Json) -> RequestAnswerPair | None:
    for ask, tell in (("request", "response"), ("req", "res"), ("when", "then")):
        if isinstance(outer.get(ask), dict):
            return _strip_name_prefixes(_normalize_names(outer[ask])), _strip_name_prefixes(
                _normalize_names(outer.get(tell))
            )
    return None


def _strip_name_prefixes(message: Any) -> Any:
    """A message whose names some recorders begin with what it is: `RequestHeaders`, `request_body`."""
    if not isinstance(message, dict):
        return message
    return {name.removeprefix("request").removeprefix("response"): value for name, value in message.items()} | message


def _test_proxy_pair(outer: Json) -> RequestAnswerPair | None:
    if "requesturi" not in outer:
        return None
    request = {name[7:]: value for name, value in outer.items() if name.startswith("request")}
    response = {name[8:]: value for name, value in outer.items() if name.startswith("response")}
    return request, {**response, "statuscode": outer.get("statuscode")}


def _nock_pair(outer: Json) -> RequestAnswerPair | None:
    if not all(isinstance(outer.get(name), str) for name in ("scope", "path")):
        return None
    request = {**outer, "uri": outer["scope"] + outer["path"], "headers": outer.get("reqheaders")}
    said = {"status": outer.get("status"), "headers": _first_present(outer, "rawheaders", "headers")}
    return request, {**said, "body": outer.get("response")}


_PAIR_READERS: tuple[Callable[[Json], RequestAnswerPair | None], ...] = (
    _test_proxy_pair,
    _nock_pair,
    _flat_pair,
    _nested_pair,
)


def _normalize_names(found: Any) -> Any:
    """A mapping with its names in one spelling; anything else as it is."""
    if not isinstance(found, dict):
        return found
    return {str(name).lower().replace("_", "").replace("-", ""): value for name, value in found.items()}


def _first_present(found: Json, *names: str) -> Any:
    return next((found[name] for name in names if found.get(name) is not None), None)


def _describe_type(found: Any) -> str:
    names = {type(None): "null", dict: "a mapping", list: "a list", str: "a text", bool: "a boolean"}
    return names.get(type(found), "a number")


def _url_with_query(request: Json) -> str:
    url = str(_first_present(request, *_URL_MEMBERS))
    more = _first_present(request, "querystring", "queryparam", "query")
    pairs = _name_value_pairs(more) if not isinstance(more, str) else []
    query = (
        more.lstrip("?") if isinstance(more, str) else urlencode([(name, _value_text(value)) for name, value in pairs])
    )
    return url if not query or "?" in url else f"{url}?{query}"


def _parse_status(found: Any) -> int:
    """The number of `200`, `"200 OK"` or `{"code": 200}`; 0 when there is none."""
    if isinstance(found, dict):
        found = _first_present(_normalize_names(found), "code", "statuscode")
    digits = str(found).split(" ")[0]
    return int(digits) if digits.isdecimal() and len(digits) == 3 else 0


def normalize_headers(found: Any) -> dict[str, str]:
    """Headers by their names in lower case, from a mapping, pairs, `name` and `value`, or a flat list of both."""
    kept: dict[str, str] = {}
    for name, value in ((name.lower(), value) for name, value in _name_value_pairs(found)):
        kept[name] = f"{kept[name]}, {_value_text(value)}" if name in kept else _value_text(value)
    return kept


def _name_value_pairs(found: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(found, dict):
        return [(str(name), value) for name, value in found.items()]
    if not isinstance(found, list):
        return []
    if all(isinstance(one, str) for one in found):
        return list(zip(found[::2], found[1::2], strict=False))
    named = (_normalize_names(one) for one in found if isinstance(one, dict))
    listed = [(str(_first_present(one, "name", "key")), one.get("value")) for one in named]
    return listed + [(str(one[0]), one[1]) for one in found if isinstance(one, list) and len(one) == 2]


def _value_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value_text, value))
    if isinstance(value, dict):
        return _value_text(_first_present(_normalize_names(value), "equalto", "value", "string"))
    return value.decode("latin-1") if isinstance(value, bytes) else "" if value is None else str(value)


def _extract_body(message: Json, own: str) -> Any:
    """The body of a request or an answer, without what its recorder wrapped it in."""
    for name in _JSON_MEMBERS:
        if message.get(name) is not None:
            return message[name]
    for name in _BASE64_MEMBERS:
        if isinstance(message.get(name), str):
            return decode_base64(message[name])
    for name in _HAR_BODY_MEMBERS:
        if isinstance(message.get(name), dict) and "mimeType" in message[name]:
            return _har_body(_normalize_names(message[name]))
    found = _first_present(message, own, "body", "content", "bodypatterns")
    if isinstance(found, list) and found is message.get("bodypatterns"):
        return (
            _first_present(_normalize_names(found[0]), "equaltojson", "equalto")
            if found and isinstance(found[0], dict)
            else None
        )
    return _unwrap_body(found)


def _har_body(content: Json) -> Any:
    """HAR's `content` and `postData`: a text, in base64 when it says so, or the fields of a form."""
    text = content.get("text")
    if text is None and content.get("params"):
        return urlencode([(name, _value_text(value)) for name, value in _name_value_pairs(content["params"])])
    if not isinstance(text, str) or content.get("encoding") != "base64":
        return text
    return b"".join(map(decode_base64, _polly_pieces(text)))


def _polly_pieces(text: str) -> list[str]:
    """The pieces of a compressed body, which Polly.JS keeps as a list within the text."""
    try:
        pieces = parse_json(text.encode()) if text.startswith("[") else [text]
    except Malformed:
        pieces = [text]
    return [piece for piece in pieces if isinstance(piece, str)]


def _unwrap_body(found: Any) -> Any:
    """`{"string": …}`, `{"base64_string": …}`, `{"raw_gzip": …}` and their like; a JSON value stays what it is."""
    inner = _normalize_names(found) if isinstance(found, dict) else {}
    if not inner.keys() & _VCR_BODY_MEMBERS or inner.keys() - _VCR_BODY_MEMBERS - {"encoding"}:
        return found
    if inner.get("parsedbody") is not None:
        return inner["parsedbody"]
    for name in ("base64string", "rawgzip"):
        if isinstance(inner.get(name), str):
            return decode_base64(inner[name])
    return inner.get("string")
