"""Every method of the unmodified SDK for what the mock speaks, in each of its six ways: a method that is new shows here.

The ways: the plain method, `with_raw_response` and `with_streaming_response`, each of both clients.
"""

import inspect
import re
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import openai
import pytest

from harness.world.mock import Mock
from tests.clients.stage import ASK, Stage
from tests.end_to_end.clients.openai.sdk_surface import CALLS
from tests.support.slow import slow_except_every

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # the SDK calls all of the Assistants API deprecated
    pytest.mark.harness(unused="allow"),
]

SDK = openai.OpenAI(api_key="none", base_url="http://localhost")
SPOKEN = (
    *("responses", "conversations", "beta.responses", "beta.assistants", "beta.threads"),
    *("containers", "uploads", "models"),
)
RAW, STREAMING = "with_raw_response", "with_streaming_response"


def methods(resource: Any, name: str) -> Iterator[str]:
    """Yield the public methods of a resource and of those within it, by their dotted names."""
    for member, value in inspect.getmembers_static(type(resource)):
        if member.startswith("_") or member in (RAW, STREAMING):
            continue
        if inspect.isfunction(value):
            yield f"{name}.{member}"
        else:
            yield from methods(getattr(resource, member), f"{name}.{member}")


def of(client: Any, method: str, way: str) -> Any:
    """Return a method of a client in one of its ways; None when the SDK has it not."""
    resource, _, name = method.partition(",")[0].rpartition(".")
    try:
        return attrgetter(".".join(filter(None, (resource, way, name))))(client)
    except AttributeError:
        return None


def which(way: str) -> list[str]:
    return [method for method in CALLS if of(SDK, method, way)]


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_the_table_has_every_method_of_the_sdk(kind: type[Any]) -> None:
    client = kind(api_key="none", base_url="http://localhost")
    had = {method for name in SPOKEN for method in methods(attrgetter(name)(client), name)}
    assert had - {method.partition(",")[0] for method in CALLS} == set()


@pytest.fixture
def stage(mock: Mock, client: openai.OpenAI) -> Stage:
    return Stage(mock, client)


def judge(method: str, result: Any) -> None:
    """What a method gave is of the type and has the content that the table says."""
    kind, _, holds = CALLS[method]
    first = result[0] if isinstance(result, list) else result
    assert re.fullmatch(kind, type(first).__name__.partition("[")[0])
    assert holds(result), result


class TestTheClient:
    @pytest.mark.parametrize("method", slow_except_every(8, which("")))
    def test_plain(self, client: openai.OpenAI, stage: Stage, method: str) -> None:
        judge(method, read_all(of(client, method, "")(**CALLS[method].arguments(stage))))

    @pytest.mark.parametrize("method", which(RAW))
    @pytest.mark.slow
    def test_raw(self, client: openai.OpenAI, stage: Stage, method: str) -> None:
        raw = of(client, method, RAW)(**CALLS[method].arguments(stage))
        assert (raw.status_code, raw.headers["openai-version"]) == (200, "2020-10-01")
        judge(method, read_all(raw.parse()))

    @pytest.mark.parametrize("method", slow_except_every(4, which(STREAMING)))
    def test_streaming(self, client: openai.OpenAI, stage: Stage, method: str) -> None:
        with of(client, method, STREAMING)(**CALLS[method].arguments(stage)) as raw:
            assert raw.status_code == 200
            judge(method, read_all(raw.parse()))


@pytest.mark.asyncio
class TestTheAsyncClient:
    @pytest.mark.parametrize("method", slow_except_every(6, which("")))
    async def test_plain(self, async_client: openai.AsyncOpenAI, stage: Stage, method: str) -> None:
        judge(method, await later(of(async_client, method, "")(**CALLS[method].arguments(stage))))

    @pytest.mark.parametrize("method", which(RAW))
    @pytest.mark.slow
    async def test_raw(self, async_client: openai.AsyncOpenAI, stage: Stage, method: str) -> None:
        raw = await of(async_client, method, RAW)(**CALLS[method].arguments(stage))
        assert (raw.status_code, raw.headers["openai-version"]) == (200, "2020-10-01")
        judge(method, await later(raw.parse()))

    @pytest.mark.parametrize("method", which(STREAMING))
    @pytest.mark.slow
    async def test_streaming(self, async_client: openai.AsyncOpenAI, stage: Stage, method: str) -> None:
        async with of(async_client, method, STREAMING)(**CALLS[method].arguments(stage)) as raw:
            assert raw.status_code == 200
            judge(method, await later(raw.parse()))


def read_all(result: Any) -> Any:
    """Return a result as it is; of a list, a stream or a connection all that it gives."""
    if hasattr(result, "__enter__"):
        with result as inner:
            return _talk(inner) if hasattr(inner, "recv") else list(inner)
    return list(result) if hasattr(result, "iter_pages") else result


def _talk(connection: Any) -> list[Any]:
    connection.response.create(**ASK)
    events = []
    while not events or events[-1].type != "response.completed":
        events.append(connection.recv())
    return events


async def later(result: Any) -> Any:
    """Return the same of the async client."""
    if inspect.isawaitable(result) and not hasattr(result, "__aenter__") and not hasattr(result, "__aiter__"):
        result = await result
    if hasattr(result, "__aenter__"):
        async with result as inner:
            return await _talk_later(inner) if hasattr(inner, "recv") else [event async for event in inner]
    return [event async for event in result] if hasattr(result, "__aiter__") else result


async def _talk_later(connection: Any) -> list[Any]:
    await connection.response.create(**ASK)
    events = []
    while not events or events[-1].type != "response.completed":
        events.append(await connection.recv())
    return events
