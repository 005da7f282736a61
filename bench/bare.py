"""The lower bound: a Starlette application that reads the request and sends prepared bytes.

    python -m bench.bare PORT ANSWERS.json [--split]

`--split` sends one chunk per event, otherwise a stream is one chunk.
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


async def pieces(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def application(answers: Mapping[str, Captured], split: bool) -> Starlette:
    plain, stream = answers["json"], answers["stream"]
    body, whole = plain.body.encode(), stream.body.encode()
    chunks = [event + b"\n\n" for event in whole.split(b"\n\n")[:-1]] if split else [whole]

    async def answer(request: Request) -> Response:
        if (await request.json()).get("stream"):
            return StreamingResponse(pieces(chunks), headers=stream.headers)
        return Response(body, headers=plain.headers)

    return Starlette(routes=[Route(PATH, answer, methods=["POST"])])


def main() -> None:
    port, path = sys.argv[1:3]
    answers = {kind: Captured(**fields) for kind, fields in json.loads(Path(path).read_text()).items()}
    app = application(answers, split="--split" in sys.argv)
    uvicorn.run(app, port=int(port), loop="uvloop", http="httptools", access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
