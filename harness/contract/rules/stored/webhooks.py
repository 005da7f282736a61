"""Webhook endpoints in the path of a request."""

from __future__ import annotations

from collections.abc import Iterator

from harness.contract.rule import Case, WorldView, after, assumed, rule
from harness.contract.rules.example_requests import CREATE_WEBHOOK
from harness.core.errors import ApiError
from harness.core.exchange import Json, Request


@rule(
    on="*{webhook_endpoint_id}*",
    error=ApiError(404, "No webhook endpoint found with id '{id}'.", "webhook_endpoint_id"),
    source=assumed("that it is said as of other objects of a project"),
    rejects={
        "No webhook endpoint found with id 'we_x'.": Case(on="GET /webhook_endpoints/we_x"),
        "No webhook endpoint found with id '{0.id}'.": after(
            CREATE_WEBHOOK,
            Case(on="DELETE /webhook_endpoints/{0.id}"),
            Case({}, on="POST /webhook_endpoints/{0.id}/rotate_secret"),
        ),
    },
    accepts=[
        after(CREATE_WEBHOOK, Case(on="GET /webhook_endpoints/{0.id}")),
        after(CREATE_WEBHOOK, Case({"name": "other"}, on="POST /webhook_endpoints/{0.id}")),
    ],
    fix="Use the id that the API gave, with a key of the same project.",
)
def webhook_endpoint_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The id in the path must name a webhook endpoint of this key."""
    id = request.params["webhook_endpoint_id"]
    if world.webhooks is None or id not in world.webhooks.endpoints:
        yield {"id": id}
