"""Files and vector stores as the unmodified `OpenAI` and `AsyncOpenAI` use them."""

import io

import openai
import pytest

from harness.items import file_search_call, message
from tests.support.clients.programs import MODEL

FRANCE = b"Paris is the capital of France."


def asking(id: str) -> list[dict[str, object]]:
    return [{"role": "user", "content": [{"type": "input_file", "file_id": id}]}]


def test_a_file_is_uploaded_read_queried_and_deleted(mock, client):
    mock.script(message("A city."))
    file = client.files.create(file=("a.txt", FRANCE), purpose="user_data")
    assert (file.bytes, file.filename, file.status) == (len(FRANCE), "a.txt", "processed")
    assert client.files.retrieve(file.id) == file
    assert [file.id for file in client.files.list(purpose="user_data")] == [file.id]
    assert client.responses.create(model=MODEL, input=asking(file.id)).output_text == "A city."
    assert client.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError, match="No such File object: file-"):
        client.files.retrieve(file.id)
    with pytest.raises(openai.NotFoundError, match=rf"Files \[{file.id}\] were not found"):
        client.responses.create(model=MODEL, input=asking(file.id))


def test_what_was_uploaded_comes_back_byte_by_byte(client):
    data = b'{"n": 1}\n\x00\xff' * 20_000
    lasts = {"anchor": "created_at", "seconds": 3600}
    file = client.files.create(file=("a.jsonl", io.BytesIO(data)), purpose="batch", expires_after=lasts)
    assert file.expires_at == file.created_at + 3600
    assert client.files.content(file.id).read() == data


def test_a_vector_store_is_filled_polled_and_searched(mock, client):
    store = client.vector_stores.create(name="Capitals")
    attached = client.vector_stores.files.upload_and_poll(
        vector_store_id=store.id, file=("fr.txt", FRANCE), attributes={"lang": "en"}
    )
    assert (attached.status, attached.attributes) == ("completed", {"lang": "en"})
    assert client.vector_stores.retrieve(store.id).file_counts.completed == 1
    (hit,) = client.vector_stores.search(store.id, query="Which is the capital of France?")
    assert (hit.file_id, hit.content[0].text, hit.score) == (attached.id, FRANCE.decode(), 0.8333)
    (page,) = client.vector_stores.files.content(attached.id, vector_store_id=store.id)
    assert page.text == FRANCE.decode()
    results = [{"file_id": hit.file_id, "filename": hit.filename, "score": hit.score, "text": FRANCE.decode()}]
    mock.script([file_search_call("capital", results=results), message("Paris.")])
    tools = [{"type": "file_search", "vector_store_ids": [store.id]}]
    assert client.responses.create(model=MODEL, input="Which?", tools=tools).output_text == "Paris."


def test_a_batch_of_files_is_polled(mock, client):
    store = client.vector_stores.create(name="Two")
    ids = [mock.file(name, FRANCE) for name in ("a.txt", "b.txt")]
    batch = client.vector_stores.file_batches.create_and_poll(store.id, file_ids=ids)
    assert (batch.status, batch.file_counts.completed) == ("completed", 2)
    listed = client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id)
    assert {entry.id for entry in listed} == set(ids)


def test_stores_are_changed_listed_and_deleted(client):
    store = client.vector_stores.create(name="A", expires_after={"anchor": "last_active_at", "days": 7})
    assert client.vector_stores.update(store.id, name="B", metadata={"a": "b"}).name == "B"
    assert [store.name for store in client.vector_stores.list()] == ["B"]
    assert client.vector_stores.delete(store.id).deleted
    with pytest.raises(openai.NotFoundError, match="No vector store found with id"):
        client.vector_stores.retrieve(store.id)


@pytest.mark.asyncio
async def test_the_async_client_is_answered_alike(mock, async_client):
    mock.script(message("A city."))
    file = await async_client.files.create(file=("a.txt", FRANCE), purpose="user_data")
    store = await async_client.vector_stores.create(name="Capitals", file_ids=[file.id])
    polled = await async_client.vector_stores.files.poll(file.id, vector_store_id=store.id)
    assert (store.status, polled.status) == ("in_progress", "completed")
    hits = [hit async for hit in async_client.vector_stores.search(store.id, query="Paris")]
    assert [hit.filename for hit in hits] == ["a.txt"]
    assert (await async_client.responses.create(model=MODEL, input=asking(file.id))).output_text == "A city."
