"""The lower bound: a Starlette application that reads the request and sends prepared bytes.

    python -m bench.bare PORT ANSWERS.json

It sends a stream as one chunk.
"""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from bench.wire import PATH, Captured


async def in_one_chunk(body: bytes) -> AsyncIterator[bytes]:
    yield body


def application(answers: Mapping[str, Captured]) -> Starlette:
    plain, stream = answers["json"], answers["stream"]
    body, events = plain.body.encode(), stream.body.encode()

    async def answer(request: Request) -> Response:
        if (await request.json()).get("stream"):
            return StreamingResponse(in_one_chunk(events), headers=stream.headers)
        return Response(body, headers=plain.headers)

    return Starlette(routes=[Route(PATH, answer, methods=["POST"])])


def main() -> None:
    port, path = sys.argv[1:3]
    answers = {kind: Captured(**fields) for kind, fields in json.loads(Path(path).read_text()).items()}
    uvicorn.run(
        application(answers), port=int(port), loop="uvloop", http="httptools", access_log=False, log_level="warning"
    )


if __name__ == "__main__":
    main()
