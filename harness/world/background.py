"""Background responses and runs: queued, advanced step by step, cancelled. The states of a background response:

    queued -> in_progress -> completed, incomplete or failed, as its turn ends (`World.finish`)
    queued, in_progress -> cancelled, by `cancel_response`
    a streamed one ends when its stream is made

An `automatic` World advances a response before each time that it is read.
"""

from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.world.store import PendingResponse, StoredResponse
from harness.world.world import World


def enqueue_response(world: World, pending: PendingResponse) -> Json:
    """Store a background response as queued and return it."""
    id = pending.initial_response["id"]
    queued = {**pending.initial_response, "status": "queued"}
    world.store.responses[id] = StoredResponse(queued, pending.own_input, pending.previous.extend(*pending.own_input))
    world.store.pending[id] = pending
    return queued


def advance_pending(world: World, id: str | None) -> list[Json]:
    """Advance a background response or a run by one step, or all of them without `id`; returns their objects.

    ConfigError if nothing in progress has this `id`.
    """
    # Runs are named by themselves, though their events are kept with the thread.
    threads = {run: thread for thread, stored in world.store.threads.items() for run in stored.pending_events}
    under_way = [*world.store.pending, *threads]
    if id is not None and id not in under_way:
        known = ", ".join(under_way) or "none"
        raise ConfigError(
            f"advance: no background response or run of this key is in progress with the id {id}; {known} is."
        )
    moved = [id] if id else under_way
    return [
        advance_run(world, threads[moving], moving) if moving in threads else _advance_response(world, moving)
        for moving in moved
    ]


def advance_run(world: World, thread_id: str, run_id: str) -> Json:
    """Advance a run by one step and return it in its new state."""
    thread = world.store.threads[thread_id]
    run = thread.advance_run(run_id)
    world.store.threads[thread_id] = thread
    return run


def _advance_response(world: World, id: str) -> Json:
    stored = world.store.responses[id]
    if stored.response["status"] == "in_progress":
        return world.finish(world.store.pending.pop(id))
    running = {**stored.response, "status": "in_progress"}
    world.store.responses[id] = stored._replace(response=running)
    return running


def cancel_response(world: World, id: str) -> Json:
    """Cancel a background response, without output; one that has ended stays unchanged."""
    stored = world.store.responses[id]
    if world.store.pending.pop(id, None):
        world.store.responses[id] = stored = stored._replace(response={**stored.response, "status": "cancelled"})
        world.tell_webhooks(stored.response)
    return stored.response
