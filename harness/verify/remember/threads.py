"""Remembers assistants, threads, messages, runs and steps.

Objects that the recording uses but never created are presumed from then on; a presumed thread has one message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.api.resources.assistants import Thread
from harness.contract.check import check_answer
from harness.core.exchange import Json, Request
from harness.verify.remember.registry import remembers
from harness.world.world import World

THREAD_PATH, RUN_PATH = "/threads/{thread_id}", "/threads/{thread_id}/runs/{run_id}"
UNSEEN_ASSISTANT: Json = {"instructions": "unseen"}
"""An assistant that the recording uses but never created."""


def _get_thread(world: World, id: Any) -> Thread:
    return world.store.threads.setdefault(str(id), Thread({}, {"": {"id": ""}}))


def _thread_of_request(world: World, request: Request) -> Thread:
    return _get_thread(world, request.params["thread_id"])


def _listed_objects(answer: Json) -> list[Json]:
    """Return the objects in an answer: the elements of a list, else the answer itself."""
    data = answer.get("data") if answer.get("object") == "list" else [answer]
    objects = data if isinstance(data, list) else ()
    return [shown for shown in objects if isinstance(shown, dict) and isinstance(shown.get("id"), str)]


@remembers("GET /assistants", "POST /assistants", "GET /assistants/{assistant_id}", "POST /assistants/{assistant_id}")
def _remember_assistants(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.assistants.update((shown["id"], shown) for shown in _listed_objects(answer))


@remembers("POST /threads")
def _remember_thread_created(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        world.store.threads[id] = Thread(answer, _messages_without_ids((request.body or {}).get("messages")))


def _messages_without_ids(messages: Any) -> dict[str, Json]:
    """Build the messages that a thread is created with, keyed by index, as the answer does not show their ids."""
    return {str(number): {"id": str(number)} for number, _ in enumerate(messages or ())}


@remembers(f"GET {THREAD_PATH}", f"POST {THREAD_PATH}")
def _remember_thread(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _thread_of_request(world, request).object = answer


@remembers(
    f"GET {THREAD_PATH}/messages",
    f"POST {THREAD_PATH}/messages",
    f"GET {THREAD_PATH}/messages/{{message_id}}",
    f"POST {THREAD_PATH}/messages/{{message_id}}",
)
def _remember_messages(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _thread_of_request(world, request).messages.update((shown["id"], shown) for shown in _listed_objects(answer))


@remembers(f"DELETE {THREAD_PATH}/messages/{{message_id}}")
def _remember_message_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _thread_of_request(world, request).messages.pop(request.params["message_id"], None)


@remembers(
    "POST /threads/runs",
    f"GET {THREAD_PATH}/runs",
    f"POST {THREAD_PATH}/runs",
    f"GET {RUN_PATH}",
    f"POST {RUN_PATH}",
    f"POST {RUN_PATH}/cancel",
    f"POST {RUN_PATH}/submit_tool_outputs",
)
def _remember_runs(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """Store a run in its current state, and the objects in its stream; a run that does not conform is ignored."""
    body = request.body or {}
    if isinstance(assistant := body.get("assistant_id"), str):
        world.store.assistants.setdefault(assistant, UNSEEN_ASSISTANT)
    thread = _get_thread(world, request.params.get("thread_id") or answer.get("thread_id"))
    thread.messages.update(
        _messages_without_ids((body.get("thread") or {}).get("messages") or body.get("additional_messages"))
    )
    thread.runs.update((run["id"], run) for run in _listed_objects(answer) if check_answer("Run", run) is None)
    thread.apply_events(event for event in events if _has_thread_object(event))


def _has_thread_object(event: Json) -> bool:
    """Return whether an event carries a complete message or step."""
    data = event.get("data") if isinstance(event, dict) else None
    if not isinstance(data, dict):
        return False
    return data.get("object") in ("thread.message", "thread.run.step") and isinstance(data.get("id"), str)


@remembers(f"GET {RUN_PATH}/steps", f"GET {RUN_PATH}/steps/{{step_id}}")
def _remember_steps(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    steps = (step for step in _listed_objects(answer) if "run_id" in step)
    _thread_of_request(world, request).steps.update((step["id"], step) for step in steps)
