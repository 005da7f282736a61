"""A World is freed with its last reference, at once: nothing in it refers back to it."""

import gc
from collections.abc import Iterator
from typing import Any
from weakref import ref

import pytest

from harness.items import function_call, message
from harness.server.mock_api import MockApi
from harness.world.world import World
from tests.support.in_process import KEY, post, send, user
from tests.support.tools import functions

HEADERS = {"authorization": f"Bearer {KEY}", "content-type": "application/json"}
FORM = b"""--b\r
content-disposition: form-data; name="purpose"\r
\r
user_data\r
--b\r
content-disposition: form-data; name="file"; filename="a.txt"\r
\r
Paris\r
--b--\r
"""


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def read_through(api: MockApi, path: str, body: Any, **headers: str) -> Any:
    """Return an answer of which all events were read."""
    answer = post(api, body, f"/v1{path}", **headers)
    for _ in answer.events or ():
        pass
    return answer


def ask(api: MockApi, **members: Any) -> Any:
    return read_through(
        api, "/responses", {"model": "gpt-4.1", "input": "hi", "tools": functions("weather"), **members}
    )


def upload(api: MockApi) -> None:
    uploaded = read_through(api, "/files", FORM, **{"content-type": "multipart/form-data; boundary=b"})
    assert uploaded.status == 200
    read_through(api, "/vector_stores", {"file_ids": [uploaded.body["id"]]})


def background(api: MockApi) -> None:
    queued = ask(api, background=True)
    send(api, f"GET /v1/responses/{queued.body['id']}")


def run_of_a_thread(api: MockApi) -> None:
    beta = {"openai-beta": "assistants=v2"}
    made = read_through(api, "/assistants", {"model": "gpt-4.1"}, **beta)
    run = {"assistant_id": made.body["id"], "thread": {"messages": [user("hi")]}}
    assert read_through(api, "/threads/runs", run, **beta).status == 200


def unanswered(api: MockApi) -> None:
    while ask(api).status == 200:
        pass


USES = {
    "nothing": lambda _: None,
    "an answer": ask,
    "a stream": lambda api: ask(api, stream=True),
    "a refusal": lambda api: ask(api, colour="blue"),
    "an unknown response": lambda api: ask(api, previous_response_id="resp_none"),
    "invalid JSON": lambda api: read_through(api, "/responses", b"{"),
    "an unknown path": lambda api: read_through(api, "/nowhere", {}),
    "a conversation": lambda api: read_through(api, "/conversations", {"items": []}),
    "uploads": upload,
    "a background response": background,
    "a run": run_of_a_thread,
    "a request without a turn": unanswered,
}


@pytest.mark.parametrize("use", USES)
def test_a_world_is_freed_when_it_is_closed(use: str) -> None:
    api = MockApi()
    mock = api.open(KEY)
    mock.script(message("one"), function_call("weather", {}), message("three"))
    mock.when(input="else").script(message("four"))
    mock.mcp("docs", {"search": "found"})
    USES[use](api)
    world = ref(mock.world)
    assert isinstance(world(), World)
    del mock
    api.close(KEY)
    assert world() is None
