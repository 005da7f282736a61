"""`/models`: list, retrieve, and delete a fine-tuned one.

A key without a list of models has those whose defaults are known, and accepts other names too.
"""

from harness.api.http.dialects import OPENAI
from harness.api.model_facts import find_shutdown
from harness.api.operations import operation
from harness.contract.rules.request.model import is_missing_model
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall
from harness.world.world import CLOCK_START

SHUTDOWNS_SINCE = "2026-10-28"
"""The day on which 90 listed models had the `shutdown_date` of the deprecations page (reported, dev.to/max_bob)."""


@operation("GET", "/models")
def list_all(call: ApiCall) -> Answer:
    """List the models of the key, by name."""
    there = (name for name in call.world.models if not is_missing_model(name, call.world))
    names = sorted(there if call.world.account.models is None else call.world.account.models)
    return Answer(200, {"object": "list", "data": [_render_model(name, call) for name in names]})


@operation("GET", "/models/{model}")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve a model."""
    return Answer(200, _render_model(call.params["model"], call))


@operation("DELETE", "/models/{model}", answer="ModelDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete a model from the account's list."""
    name, account = call.params["model"], call.world.account
    listed = None if account.models is None else account.models - {name}
    call.world.organization(models=listed, deleted_models=account.deleted_models | {name})
    return Answer(200, {"id": name, "object": "model", "deleted": True})


def _render_model(name: str, call: ApiCall) -> Json:
    model = {"id": name, "object": "model", "created": CLOCK_START, "owned_by": "system"}
    if call.request.dialect != OPENAI or call.world.as_of < SHUTDOWNS_SINCE:
        return model
    shutdown = find_shutdown(name)
    return {**model, "shutdown_date": shutdown.day if shutdown else None}
