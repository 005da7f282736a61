"""`verify` on recordings of what a Foundry project has: a request is judged by what the recording has shown before."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.recordings import judged
from tests.support.slow import slow_except_every
from tests.verify.foundry import AT, call, proxy_file

OPTIONS = {"user_profile_enabled": True, "chat_summary_enabled": True}
STORE = {
    "object": "memory_store",
    "id": "memstore_1",
    "created_at": AT,
    "updated_at": AT,
    "name": "m",
    "description": "",
    "metadata": {},
    "definition": {"kind": "default", "chat_model": "c", "embedding_model": "e", "options": OPTIONS},
}
CONNECTION = {
    "name": "c",
    "id": "/connections/c",
    "type": "AzureOpenAI",
    "target": "t",
    "isDefault": True,
    "credentials": {"type": "ApiKey"},
    "metadata": {},
}
DEPLOYMENT = {"name": "d", "type": "ModelDeployment", "modelName": "m"}
MEMORY = {"memory_id": "mem_1", "updated_at": AT, "scope": "s", "content": "c", "kind": "user_profile"}


MAKE_STORE = call("POST /memory_stores", {"name": "m", "definition": STORE["definition"]}, STORE)


@pytest.mark.parametrize(
    "entries",
    [
        (
            call("GET /connections", None, {"value": [CONNECTION]}),
            call("POST /connections/c/getConnectionWithCredentials", None, CONNECTION),
        ),
        (call("GET /deployments", None, {"value": [DEPLOYMENT]}), call("GET /deployments/d", None, DEPLOYMENT)),
        (
            MAKE_STORE,
            call("POST /memory_stores/m:update_memories", {"scope": "s"}, {"update_id": "u", "status": "queued"}, 202),
            call("GET /memory_stores/m/updates/u", None, {"update_id": "u", "status": "queued"}),
        ),
        (
            MAKE_STORE,
            call("POST /memory_stores/m/items", {"scope": "s", "content": "c"}, MEMORY),
            call("GET /memory_stores/m/items/mem_1", None, MEMORY),
        ),
    ],
    ids=["connections", "deployments", "updates of a memory", "memories"],
)
def test_what_is_shown_is_known_from_then_on(tmp_path: Path, entries: tuple[dict[str, Any], ...]) -> None:
    report = judged(tmp_path, proxy_file(tmp_path, *entries))[1]
    assert report["requests"]["accepted"] == len(entries)


@pytest.mark.parametrize("answer", [{}, {"value": 5}, {"value": [5, {"name": 5}, {}]}, {"name": 5}, None, []])
@pytest.mark.parametrize(
    "path",
    slow_except_every(
        2, ["/connections", "/deployments", "/memory_stores/m", "/connections/c", "/memory_stores/m/items/x"]
    ),
)
def test_odd_answers_teach_nothing(tmp_path: Path, path: str, answer: Any) -> None:
    report = judged(tmp_path, proxy_file(tmp_path, MAKE_STORE, call(f"GET {path}", None, answer)))[1]
    assert report["requests"]["judged"] == 2
