"""The methods of the SDK for what the mock speaks: how each is called, what it gives, and what must be in it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.clients.stage import ASK, HI, OUTPUTS, Answer, Stage

QUICK: Any = {"poll_interval_ms": 1}


class Call(NamedTuple):
    """A method's arguments, the type of what it gives (of the first thing of a list or a stream), and what it holds.

    `kind` is a pattern: the SDK renames types.
    """

    kind: str
    arguments: Callable[[Stage], Any]
    holds: Callable[[Any], bool]


def says_ok(it: Any) -> bool:
    return bool(it.output[-1].content[0].text == "ok")


def completed(events: Any) -> bool:
    """Return the stream of a response, as far as it is told."""
    return events[-1].type == "response.completed" and says_ok(events[-1].response)


def ended(events: Any) -> bool:
    """Return the stream of a run."""
    return bool(events[-1].event in ("thread.run.completed", "done"))


def deleted(it: Any) -> bool:
    return it.deleted is True


def tagged(it: Any) -> bool:
    return bool(it.metadata == {"a": "b"})


def one(things: Any) -> bool:
    return len(things) == 1 and bool(things[0].id)


def is_(status: str) -> Callable[[Any], bool]:
    return lambda it: it.status == status


def _responses(of: str) -> dict[str, Call]:
    """Return the methods that `responses` and `beta.responses` share; the types of the latter begin with `Beta`."""
    started, item = f"{of}ResponseCreatedEvent", f"{of}ResponseInputMessageItem"
    resumed = {"stream": True, "starting_after": 1}
    return {
        "create": Call(f"{of}Response", lambda s: ASK, says_ok),
        "create, streamed": Call(started, lambda s: {**ASK, "stream": True}, completed),
        "retrieve": Call(f"{of}Response", lambda s: {"response_id": s.response}, says_ok),
        "retrieve, streamed": Call(started, lambda s: {"response_id": s.streamed, "stream": True}, completed),
        "retrieve, resumed": Call(
            f"{of}ResponseInProgressEvent", lambda s: {"response_id": s.streamed, **resumed}, completed
        ),
        "delete": Call("NoneType", lambda s: {"response_id": s.response}, lambda it: it is None),
        "cancel": Call(f"{of}Response", lambda s: {"response_id": s.background}, is_("cancelled")),
        "compact": Call(f"{of}CompactedResponse", lambda s: ASK, lambda it: it.output[-1].type == "compaction"),
        "connect": Call(f"{started}|{of}ResponseWsCreated", lambda s: {}, completed),
        "input_items.list": Call(item, lambda s: {"response_id": s.response}, one),
        "input_tokens.count": Call(
            f"{of.replace('Beta', '')}InputTokenCountResponse", lambda s: ASK, lambda it: it.input_tokens > 0
        ),
    }


OF_RESPONSES = {
    **_responses(""),
    "parse": Call("ParsedResponse", lambda s: {**ASK, "text_format": Answer}, lambda it: it.output_parsed.word == "ok"),
    "stream": Call("ResponseCreatedEvent", lambda s: ASK, completed),
}
OF_CONVERSATIONS = {
    "create": Call("Conversation", lambda s: {"metadata": {"a": "b"}}, tagged),
    "retrieve": Call("Conversation", lambda s: {"conversation_id": s.conversation}, lambda it: bool(it.id)),
    "update": Call("Conversation", lambda s: {"conversation_id": s.conversation, "metadata": {"a": "b"}}, tagged),
    "delete": Call("ConversationDeletedResource", lambda s: {"conversation_id": s.conversation}, deleted),
    "items.create": Call(
        "ConversationItemList",
        lambda s: {"conversation_id": s.conversation, "items": [HI]},
        lambda it: it.data[0].content[0].text == "hi",
    ),
    "items.list": Call("Message", lambda s: {"conversation_id": s.conversation}, one),
    "items.retrieve": Call(
        "Message", lambda s: {"conversation_id": s.conversation, "item_id": s.item}, lambda it: it.role == "user"
    ),
    "items.delete": Call("Conversation", lambda s: {"conversation_id": s.conversation, "item_id": s.item}, bool),
}
OF_ASSISTANTS = {
    "create": Call("Assistant", lambda s: {"model": "gpt-4.1", "metadata": {"a": "b"}}, tagged),
    "retrieve": Call("Assistant", lambda s: {"assistant_id": s.assistant}, lambda it: it.name == "Ann"),
    "update": Call("Assistant", lambda s: {"assistant_id": s.assistant, "name": "Bo"}, lambda it: it.name == "Bo"),
    "list": Call("Assistant", lambda s: {"limit": 1 if s.assistant else 0}, one),
    "delete": Call("AssistantDeleted", lambda s: {"assistant_id": s.assistant}, deleted),
}


def run(s: Stage) -> Any:
    return {"run_id": s.run, "thread_id": s.thread}


def waiting(s: Stage) -> Any:
    return {"run_id": s.waiting, "thread_id": s.thread, "tool_outputs": OUTPUTS}


def on_thread(s: Stage) -> Any:
    return {"assistant_id": s.assistant, "thread_id": s.thread}


def alone(s: Stage) -> Any:
    return {"assistant_id": s.assistant, "thread": {"messages": [HI]}}


def message_path(s: Stage) -> Any:
    return {"message_id": s.message, "thread_id": s.thread}


OF_THREADS = {
    "create": Call("Thread", lambda s: {"metadata": {"a": "b"}}, tagged),
    "retrieve": Call("Thread", lambda s: {"thread_id": s.thread}, tagged),
    "update": Call(
        "Thread", lambda s: {"thread_id": s.thread, "metadata": {"c": "d"}}, lambda it: it.metadata == {"c": "d"}
    ),
    "delete": Call("ThreadDeleted", lambda s: {"thread_id": s.thread}, deleted),
    "create_and_run": Call("Run", alone, is_("queued")),
    "create_and_run, streamed": Call("ThreadCreated", lambda s: {**alone(s), "stream": True}, ended),
    "create_and_run_poll": Call("Run", lambda s: {**alone(s), **QUICK}, is_("completed")),
    "create_and_run_stream": Call("ThreadCreated", alone, ended),
    "messages.create": Call(
        "Message",
        lambda s: {"thread_id": s.thread, "role": "user", "content": "And?"},
        lambda it: it.content[0].text.value == "And?",
    ),
    "messages.retrieve": Call("Message", message_path, lambda it: it.content[0].text.value == "hi"),
    "messages.update": Call("Message", lambda s: {**message_path(s), "metadata": {"a": "b"}}, tagged),
    "messages.list": Call("Message", lambda s: {"thread_id": s.thread}, one),
    "messages.delete": Call("MessageDeleted", message_path, deleted),
    "runs.create": Call("Run", on_thread, is_("queued")),
    "runs.create, streamed": Call("ThreadRunCreated", lambda s: {**on_thread(s), "stream": True}, ended),
    "runs.create_and_poll": Call("Run", lambda s: {**on_thread(s), **QUICK}, is_("completed")),
    "runs.create_and_stream": Call("ThreadRunCreated", on_thread, ended),
    "runs.stream": Call("ThreadRunCreated", on_thread, ended),
    "runs.poll": Call("Run", lambda s: {"run_id": s.queued, "thread_id": s.thread, **QUICK}, is_("completed")),
    "runs.retrieve": Call("Run", run, is_("completed")),
    "runs.update": Call("Run", lambda s: {**run(s), "metadata": {"a": "b"}}, tagged),
    "runs.list": Call("Run", lambda s: {"thread_id": s.thread, "limit": 5 if s.run else 0}, one),
    "runs.cancel": Call("Run", lambda s: {"run_id": s.queued, "thread_id": s.thread}, is_("cancelling")),
    "runs.submit_tool_outputs": Call("Run", waiting, is_("queued")),
    "runs.submit_tool_outputs, streamed": Call(
        "ThreadRunStepCompleted", lambda s: {**waiting(s), "stream": True}, ended
    ),
    "runs.submit_tool_outputs_and_poll": Call("Run", lambda s: {**waiting(s), **QUICK}, is_("completed")),
    "runs.submit_tool_outputs_stream": Call("ThreadRunStepCompleted", waiting, ended),
    "runs.steps.list": Call("RunStep", run, one),
    "runs.steps.retrieve": Call("RunStep", lambda s: {**run(s), "step_id": s.step}, is_("completed")),
}

OF_CONTAINERS = {
    "create": Call("ContainerCreateResponse", lambda s: {"name": "data"}, is_("running")),
    "retrieve": Call(
        "ContainerRetrieveResponse", lambda s: {"container_id": s.container}, lambda it: it.name == "data"
    ),
    "list": Call("ContainerListResponse", lambda s: {"name": "data" if s.container else ""}, one),
    "delete": Call("NoneType", lambda s: {"container_id": s.container}, lambda it: it is None),
    "files.create": Call(
        "FileCreateResponse",
        lambda s: {"container_id": s.container, "file": ("a.txt", b"Paris")},
        lambda it: (it.bytes, it.source) == (5, "user"),
    ),
    "files.create, copied": Call(
        "FileCreateResponse",
        lambda s: {"container_id": s.container, "file_id": s.file},
        lambda it: it.bytes == 2 and it.path.endswith("a.jsonl"),
    ),
    "files.retrieve": Call(
        "FileRetrieveResponse",
        lambda s: {"file_id": s.container_file, "container_id": s.container},
        lambda it: it.path.startswith("/mnt/data/"),
    ),
    "files.list": Call(
        "FileListResponse", lambda s: {"container_id": s.container, "limit": len(s.container_file)}, one
    ),
    "files.delete": Call(
        "NoneType", lambda s: {"file_id": s.container_file, "container_id": s.container}, lambda it: it is None
    ),
    "files.content.retrieve": Call(
        ".*Binary.*|bytes", lambda s: {"file_id": s.container_file, "container_id": s.container}, lambda it: bool(it)
    ),
}
OF_UPLOADS = {
    "create": Call(
        "Upload",
        lambda s: {"bytes": 5, "filename": "a.txt", "mime_type": "text/plain", "purpose": "user_data"},
        is_("pending"),
    ),
    "cancel": Call("Upload", lambda s: {"upload_id": s.upload}, is_("cancelled")),
    "complete": Call(
        "Upload", lambda s: {"part_ids": [s.part], "upload_id": s.upload}, lambda it: it.file.filename == "a.txt"
    ),
    "parts.create": Call(
        "UploadPart", lambda s: {"upload_id": s.upload, "data": ("a", b"Paris")}, lambda it: it.id.startswith("part_")
    ),
    "upload_file_chunked": Call(
        "Upload",
        lambda s: {
            "file": b"Paris",
            "filename": "a.txt",
            "bytes": 5,
            "mime_type": "text/plain",
            "purpose": "user_data",
            "part_size": 2,
        },
        lambda it: it.file.bytes == 5,
    ),
}
FINE_TUNED = "ft:gpt-4.1-mini:acme::9aBc"
OF_MODELS = {
    "list": Call("Model", lambda s: {}, lambda it: len(it) > 10),
    "retrieve": Call("Model", lambda s: {"model": FINE_TUNED}, lambda it: it.id == FINE_TUNED),
    "delete": Call("ModelDeleted", lambda s: {"model": FINE_TUNED}, deleted),
}

CALLS: dict[str, Call] = {
    f"{resource}.{method}": call
    for resource, calls in {
        "responses": OF_RESPONSES,
        "conversations": OF_CONVERSATIONS,
        "beta.responses": _responses("Beta"),
        "beta.assistants": OF_ASSISTANTS,
        "beta.threads": OF_THREADS,
        "containers": OF_CONTAINERS,
        "uploads": OF_UPLOADS,
        "models": OF_MODELS,
    }.items()
    for method, call in calls.items()
}
"""By the method's name; behind a comma stands what is special about the call."""
