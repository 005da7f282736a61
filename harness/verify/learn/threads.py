"""What a recording teaches of assistants, threads, messages, runs and steps.

What the tape goes on with but never made is presumed to be there from then on, with something to read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.api.resources.threads import Thread
from harness.contract.check import check_answer
from harness.core.exchange import Json, Request
from harness.verify.learn.registry import Lesson
from harness.world.world import World

UNSEEN_ASSISTANT: Json = {"instructions": "unseen"}
"""An assistant that the tape never made."""


def _get_thread(world: World, id: Any) -> Thread:
    return world.store.threads.setdefault(str(id), Thread({}, {"": {"id": ""}}))


def _thread_of_request(world: World, request: Request) -> Thread:
    return _get_thread(world, request.params["thread_id"])


def _listed_objects(answer: Json) -> list[Json]:
    """The objects of an answer: those of a list, or itself."""
    data = answer.get("data") if answer.get("object") == "list" else [answer]
    objects = data if isinstance(data, list) else ()
    return [each for each in objects if isinstance(each, dict) and isinstance(each.get("id"), str)]


def _learn_assistants(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.assistants.update((each["id"], each) for each in _listed_objects(answer))


def _learn_assistant_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.assistants.pop(request.params["assistant_id"], None)


def _learn_thread_created(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    if isinstance(id := answer.get("id"), str):
        world.store.threads[id] = Thread(answer, _messages_without_ids((request.body or {}).get("messages")))


def _messages_without_ids(messages: Any) -> dict[str, Json]:
    """Messages that were given with a thread: their ids are not told."""
    return {str(number): {"id": str(number)} for number, _ in enumerate(messages or ())}


def _learn_thread(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _thread_of_request(world, request).object = answer


def _learn_thread_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    world.store.threads.pop(request.params["thread_id"], None)


def _learn_messages(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _thread_of_request(world, request).messages.update((each["id"], each) for each in _listed_objects(answer))


def _learn_message_deleted(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    _thread_of_request(world, request).messages.pop(request.params["message_id"], None)


def _learn_runs(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    """A run as it is now, and what its stream told; one that does not conform stays unknown."""
    body = request.body or {}
    if isinstance(assistant := body.get("assistant_id"), str):
        world.store.assistants.setdefault(assistant, UNSEEN_ASSISTANT)
    thread = _get_thread(world, request.params.get("thread_id") or answer.get("thread_id"))
    thread.messages.update(
        _messages_without_ids((body.get("thread") or {}).get("messages") or body.get("additional_messages"))
    )
    thread.runs.update((each["id"], each) for each in _listed_objects(answer) if check_answer("Run", each) is None)
    thread.apply_events(event for event in events if _has_thread_object(event))


def _has_thread_object(event: Json) -> bool:
    """Whether an event carries a whole message or step."""
    data = event.get("data") if isinstance(event, dict) else None
    if not isinstance(data, dict):
        return False
    return data.get("object") in ("thread.message", "thread.run.step") and isinstance(data.get("id"), str)


def _learn_steps(world: World, request: Request, answer: Json, events: Sequence[Json]) -> None:
    known = _listed_objects(answer)
    _thread_of_request(world, request).steps.update((each["id"], each) for each in known if "run_id" in each)


_THREAD, _RUN = "/threads/{thread_id}", "/threads/{thread_id}/runs/{run_id}"
LESSONS: Mapping[str, Lesson] = {
    **dict.fromkeys(("GET /assistants", "POST /assistants"), _learn_assistants),
    **dict.fromkeys((f"{method} /assistants/{{assistant_id}}" for method in ("GET", "POST")), _learn_assistants),
    "DELETE /assistants/{assistant_id}": _learn_assistant_deleted,
    "POST /threads": _learn_thread_created,
    f"GET {_THREAD}": _learn_thread,
    f"POST {_THREAD}": _learn_thread,
    f"DELETE {_THREAD}": _learn_thread_deleted,
    **dict.fromkeys((f"{method} {_THREAD}/messages" for method in ("GET", "POST")), _learn_messages),
    **dict.fromkeys((f"{method} {_THREAD}/messages/{{message_id}}" for method in ("GET", "POST")), _learn_messages),
    f"DELETE {_THREAD}/messages/{{message_id}}": _learn_message_deleted,
    "POST /threads/runs": _learn_runs,
    **dict.fromkeys((f"{method} {_THREAD}/runs" for method in ("GET", "POST")), _learn_runs),
    **dict.fromkeys(
        (f"GET {_RUN}", f"POST {_RUN}", f"POST {_RUN}/cancel", f"POST {_RUN}/submit_tool_outputs"), _learn_runs
    ),
    f"GET {_RUN}/steps": _learn_steps,
    f"GET {_RUN}/steps/{{step_id}}": _learn_steps,
}
"""By operation."""
