"""The live API for `bench.recording`: sends a stream of CHUNKS chunks, the first after a delay.

python -m bench.slow PORT MILLISECONDS
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

CHUNKS = 10
APART = 0.01
"""The number of seconds between two chunks, so that each is a separate write."""


def app(wait: float) -> Starlette:
    async def told() -> AsyncIterator[bytes]:
        await asyncio.sleep(wait)
        for number in range(CHUNKS):
            yield b'data: {"type":"response.output_text.delta","delta":"%d"}\n\n' % number
            await asyncio.sleep(APART)

    async def create(request: Request) -> StreamingResponse:
        await request.body()
        return StreamingResponse(told(), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/responses", create, methods=["POST"])])


if __name__ == "__main__":
    uvicorn.run(app(float(sys.argv[2]) / 1e3), port=int(sys.argv[1]), log_level="critical")
