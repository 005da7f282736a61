"""The same exchange as many recorders write it, by the recorder's name."""

import base64
import gzip
import json
import zlib
from typing import Any

from harness.cassettes.format.recorded import Recorded

URL = "https://api.openai.com/v1/responses?include[]=a&include[]=b"
ASKED = {"model": "gpt-4.1", "input": "Größe?", "stream": False}
SAID = {"id": "resp_1", "object": "response", "created_at": 1760000000, "output": []}
DATE = "Thu, 09 Apr 2026 00:57:33 GMT"
SENT = json.dumps(ASKED)
GOT = json.dumps(SAID)
ASKED_IN = {"Content-Type": ["application/json"]}
SAID_IN = {"Content-Type": ["application/json"], "Date": [DATE]}
NAMED_IN = [{"name": "Content-Type", "value": "application/json"}]
NAMED_OUT = [*NAMED_IN, {"name": "Date", "value": DATE}]
PAIRS_OUT = [["Content-Type", "application/json"], ["Date", DATE]]
RAW_OUT = ["Content-Type", "application/json", "Date", DATE]
TEXTS_IN = {"Content-Type": "application/json"}
MATCHED_IN = {"Content-Type": {"equalTo": "application/json"}}
TEXTS_OUT = {**TEXTS_IN, "Date": DATE}
ZIPPED = gzip.compress(GOT.encode())
HALVES = (GOT[:9].encode(), GOT[9:].encode())
DEFLATE = {"Content-Encoding": ["deflate"]}
CHUNKED = {"Transfer-Encoding": ["chunked"]}


def based(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def vcr(request: Any = SENT, body: Any = None, answer: dict[str, Any] | None = None, **headers: list[str]) -> Any:
    """Return an exchange as vcrpy writes it."""
    said = {"headers": {**SAID_IN, **headers}, "body": {"string": GOT if body is None else body}}
    return {
        "request": {"method": "POST", "uri": URL, "headers": ASKED_IN, "body": request},
        "response": {"status": {"code": 200, "message": "OK"}, **said, **(answer or {})},
    }


def interactions(*several: Any, **more: Any) -> Any:
    return {"interactions": list(several), "version": 1, **more}


def texts(request: Any, response: Any) -> Any:
    """Return an exchange of a recorder that keeps a text of each header."""
    return [{"request": {"url": URL, "headers": TEXTS_IN, **request}, "response": {"headers": TEXTS_OUT, **response}}]


def har(content: Any, **response: Any) -> Any:
    request = {"method": "POST", "url": URL, "headers": NAMED_IN, "postData": {"mimeType": "j", "text": SENT}}
    answer = {"status": 200, "headers": NAMED_OUT, "content": {"mimeType": "application/json", **content}, **response}
    return {"log": {"version": "1.2", "entries": [{"request": request, "response": answer, "_webSocketMessages": []}]}}


NOCK = {
    "scope": "https://api.openai.com:443",
    "method": "POST",
    "path": "/v1/responses?include[]=a&include[]=b",
    "reqheaders": TEXTS_IN,
    "body": ASKED,
    "status": 200,
    "response": SAID,
    "rawHeaders": RAW_OUT,
}
PROXIED = {
    "RequestUri": URL,
    "RequestMethod": "POST",
    "RequestHeaders": TEXTS_IN,
    "RequestBody": ASKED,
    "StatusCode": 200,
    "ResponseHeaders": TEXTS_OUT,
    "ResponseBody": SAID,
}
VARIANTS: dict[str, Any] = {
    "vcrpy": interactions(vcr()),
    "vcrpy, bytes": interactions(vcr(SENT.encode(), GOT.encode())),
    "vcrpy, not ASCII": interactions(vcr(json.dumps(ASKED, ensure_ascii=False).encode())),
    "vcrpy, a body in base64": interactions(vcr(answer={"body": {"base64_string": based(GOT.encode())}})),
    "vcrpy, the client's text as content": interactions(
        vcr(answer={"status": None, "status_code": 200, "body": None, "content": GOT})
    ),
    "vcrpy, parsed bodies": interactions(
        {
            "request": {"method": "post", "uri": URL, "headers": ASKED_IN, "parsed_body": ASKED},
            "response": {"status": {"code": 200}, "headers": SAID_IN, "parsed_body": SAID},
        }
    ),
    "vcrpy, bodies as data": interactions(vcr(ASKED, answer={"body": SAID})),
    "vcrpy, gzip": interactions(vcr(body=ZIPPED, **{"Content-Encoding": ["gzip"]})),
    "vcrpy, gzip that no header tells": interactions(vcr(body=ZIPPED)),
    "vcrpy, gzip in two members": interactions(vcr(body=gzip.compress(HALVES[0]) + gzip.compress(HALVES[1]))),
    "vcrpy, deflate": interactions(vcr(body=zlib.compress(GOT.encode()), **DEFLATE)),
    "vcrpy, deflate without a frame": interactions(vcr(body=zlib.compress(GOT.encode(), wbits=-15), **DEFLATE)),
    "vcrpy, decoded under the old header": interactions(vcr(**{"Content-Encoding": ["br"]})),
    "vcrpy, deflate decoded under the old header": interactions(vcr(**DEFLATE)),
    "vcrpy, in chunks": interactions(
        vcr(body=f"5\r\n{GOT[:5]}\r\n{len(GOT) - 5:x};x=y\r\n{GOT[5:]}\r\n0\r\n\r\n", **CHUNKED)
    ),
    "vcrpy, joined under the old header": interactions(vcr(**CHUNKED)),
    "requests beside responses": {"requests": [vcr()["request"]], "responses": [vcr()["response"]]},
    "ruby": {
        "http_interactions": [
            {
                "request": {"method": "post", "uri": URL, "body": {"string": SENT}, "headers": ASKED_IN},
                "response": {
                    "status": {"code": 200, "message": "OK"},
                    "headers": SAID_IN,
                    "body": {"encoding": "ASCII-8BIT", "base64_string": based(GOT.encode())},
                },
                "recorded_at": DATE,
            }
        ],
        "recorded_with": "VCR 6.3.1",
    },
    "R": interactions(vcr(answer={"status": 200, "body": {"raw_gzip": based(ZIPPED)}})),
    "go-vcr": {
        "version": 2,
        "interactions": [
            {
                "id": 0,
                "request": {"method": "POST", "url": URL, "headers": ASKED_IN, "body": SENT, "form": {}},
                "response": {"status": "200 OK", "code": 200, "headers": SAID_IN, "body": GOT, "duration": "1s"},
            }
        ],
    },
    "go-vcr, status alone": interactions(vcr(answer={"status": "200 OK", "body": GOT})),
    "php-vcr": texts({"method": "POST", "body": SENT}, {"status": {"code": "200"}, "body": GOT}),
    "EasyVCR": [
        {
            "Request": {"Method": "POST", "Uri": URL, "RequestHeaders": TEXTS_IN, "Body": SENT},
            "Response": {"Status": {"Code": 200}, "ResponseHeaders": TEXTS_OUT, "Body": GOT},
        }
    ],
    "ExVCR": texts(
        {"method": "post", "request_body": SENT, "body": ""}, {"status_code": 200, "body": GOT, "type": "ok"}
    ),
    "ReqCassette": interactions(
        {
            "request": {
                "method": "POST",
                "uri": URL.partition("?")[0],
                "query_string": URL.partition("?")[2],
                "headers": ASKED_IN,
                "body_type": "json",
                "body_json": ASKED,
            },
            "response": {"status": 200, "headers": SAID_IN, "body_type": "blob", "body_blob": based(GOT.encode())},
        }
    ),
    "HAR": har({"text": GOT}),
    "HAR, base64": har({"text": based(GOT.encode()), "encoding": "base64"}),
    "Polly.JS, compressed": har(
        {"text": json.dumps([based(ZIPPED[:20]), based(ZIPPED[20:])]), "encoding": "base64"}, bodySize=1
    ),
    "WireMock": {
        "mappings": texts(
            {"method": "POST", "headers": MATCHED_IN, "bodyPatterns": [{"equalToJson": SENT}]},
            {"status": 200, "jsonBody": SAID},
        )
    },
    "nock": [NOCK],
    "nock, compressed": [
        {**NOCK, "body": SENT, "response": [ZIPPED[:30].hex(), ZIPPED[30:].hex()], "rawHeaders": PAIRS_OUT}
    ],
    "test proxy": {"Entries": [PROXIED], "Variables": {}},
    "test proxy, lines": {
        "Entries": [{**PROXIED, "RequestBody": [SENT[:7], SENT[7:]], "ResponseBody": [based(ZIPPED)]}]
    },
    "flat": {
        "method": "post",
        "url": URL,
        "request_headers": TEXTS_IN,
        "request": ASKED,
        "status": 200,
        "response_headers": TEXTS_OUT,
        "response": SAID,
    },
}
EXPECTED = Recorded(
    id="{file}#1",
    file="{file}",
    method="POST",
    host="api.openai.com",
    path="/v1/responses",
    query={"include": ["a", "b"]},
    headers={"content-type": "application/json"},
    request=ASKED,
    raw=None,
    status=200,
    answer_headers={"content-type": "application/json", "date": DATE},
    answer=SAID,
    events=None,
    provider="openai",
    date="2026-04-09T00:57:33+00:00",
    flags=frozenset(),
)
