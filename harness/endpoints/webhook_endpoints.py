"""`/webhook_endpoints`: create, list, retrieve, update and delete receivers of events, and rotate their secrets."""

from harness.api.operations import Cursors, operation
from harness.api.pages import page
from harness.contract.schema import load
from harness.core.exchange import Answer, Json
from harness.world.api_call import ApiCall
from harness.world.webhooks import WebhookEndpoint

PATH = "/webhook_endpoints"
ENDPOINT_PATH = f"{PATH}/{{webhook_endpoint_id}}"


def _render(endpoint: WebhookEndpoint, *, with_secret: bool = False) -> Json:
    """Render an endpoint, with its secret only if that is new."""
    return {
        "id": endpoint.id,
        "object": "webhook_endpoint",
        "created_at": endpoint.created_at,
        "updated_at": endpoint.updated_at,
        "name": endpoint.name,
        "url": endpoint.url,
        "event_types": list(endpoint.events),
        **({"signing_secret": endpoint.secret} if with_secret else {}),
        "signing_secret_hint": f"whsec_…{endpoint.secret[-4:]}",
    }


@operation("POST", PATH, body="CreateWebhookEndpoint", answer="WebhookEndpointWithSecret")
def create(call: ApiCall) -> Answer:
    """Create an endpoint; the answer contains its secret."""
    made = call.world.open_webhooks().register(call.members, call.world.tick())
    return Answer(200, _render(made, with_secret=True))


@operation(
    "GET",
    PATH,
    query="ListWebhookEndpoints",
    answer="WebhookEndpointList",
    cursors=Cursors("webhook endpoint", lambda request, world: world.open_webhooks().endpoints),
)
def list_endpoints(call: ApiCall) -> Answer:
    """List the endpoints, newest first, including those of the test."""
    endpoints = call.world.open_webhooks().endpoints.values()
    return Answer(200, page(list(map(_render, endpoints)), call.query))


@operation("GET", ENDPOINT_PATH, answer="WebhookEndpoint")
def retrieve(call: ApiCall) -> Answer:
    """Retrieve an endpoint, without its secret."""
    return Answer(200, _render(call.world.open_webhooks().endpoints[call.params["webhook_endpoint_id"]]))


@operation("POST", ENDPOINT_PATH, body="UpdateWebhookEndpoint", answer="WebhookEndpoint")
def update(call: ApiCall) -> Answer:
    """Change the name, the URL or the events of an endpoint."""
    id, body = call.params["webhook_endpoint_id"], call.members
    return Answer(200, _render(call.world.open_webhooks().update(id, body, call.world.tick())))


@operation("DELETE", ENDPOINT_PATH, answer="WebhookEndpointDeleted")
def delete(call: ApiCall) -> Answer:
    """Delete an endpoint; its scheduled events are not delivered any more."""
    id = call.params["webhook_endpoint_id"]
    del call.world.open_webhooks().endpoints[id]
    return Answer(200, {"id": id, "object": "webhook_endpoint.deleted", "deleted": True})


@operation("POST", f"{ENDPOINT_PATH}/rotate_secret", body="RotateWebhookSecret", answer="WebhookEndpointWithSecret")
def rotate_secret(call: ApiCall) -> Answer:
    """Replace an endpoint's secret; if the body says so, the old one also signs for a day."""
    keep = bool(call.members.get("keep_old_secret_active_for_24_hours"))
    id, now = call.params["webhook_endpoint_id"], call.world.tick()
    return Answer(200, _render(call.world.open_webhooks().rotate(id, now, keep_old=keep), with_secret=True))


@operation("GET", "/webhook_event_types", answer="WebhookEventTypeList")
def list_event_types(call: ApiCall) -> Answer:
    """List the event types that an endpoint can subscribe to; the mock only sends those of responses."""
    known = load("CreateWebhookEndpoint")["properties"]["event_types"]["items"]["enum"]
    return Answer(200, {"object": "list", "data": known})
