"""Operations that a background response does not allow while it is pending, or after its end."""

from collections.abc import Iterator

from harness.contract.rule import Case, WorldView, after, assumed, documented, reported, rule
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

BACKGROUND: Json = {"background": True}
BACKGROUND_GUIDE = "https://developers.openai.com/api/docs/guides/background"
FOUNDRY_SOURCE = documented("Microsoft Foundry: server text for the same path", "2026")
_READ = Case(on="GET /responses/{0.id}")
_CANCEL = Case(on="POST /responses/{0.id}/cancel")
_ENDED_PHRASES = {"completed": "a completed response", "failed": "a failed response"}


@rule(
    bad_request("Cannot cancel a synchronous response."),
    reported("public tests of three origins that meet it live", "2026"),
    FOUNDRY_SOURCE,
    on="POST /responses/{response_id}/cancel",
    rejects=[after({"input": "hi"}, _CANCEL)],
    accepts=[after(BACKGROUND, _CANCEL)],
    fix="Only a response made with `background: true` can be cancelled.",
)
def cancel_synchronous(request: Request, world: WorldView) -> Iterator[Json]:
    """Only a background response can be cancelled; its status is checked afterwards."""
    if not world.store.responses[request.params["response_id"]].response.get("background"):
        yield {}


@rule(
    bad_request("Cannot cancel {what}.", "response_id"),
    reported("public tests of two origins that meet it live", "2026"),
    FOUNDRY_SOURCE,
    documented(f"{BACKGROUND_GUIDE}: cancelling twice gives the same response again", "2026"),
    on="POST /responses/{response_id}/cancel",
    rejects={"a completed response": after(BACKGROUND, _READ, _READ, _CANCEL)},
    accepts=[after(BACKGROUND, _READ, _CANCEL), after(BACKGROUND, _CANCEL, _CANCEL)],
    fix="Check the status first; cancelling twice is harmless.",
)
def cancel_ended(request: Request, world: WorldView) -> Iterator[Json]:
    """A response that has ended by itself cannot be cancelled; cancelling a cancelled one has no effect."""
    id = request.params["response_id"]
    status = world.store.responses[id].response["status"]
    if id not in world.store.pending and status != "cancelled":
        yield {"what": _ENDED_PHRASES.get(status, "a response in terminal state")}


@rule(
    bad_request("Cannot delete an in-flight response."),
    FOUNDRY_SOURCE,
    assumed("that this API has the error of Foundry"),
    on="DELETE /responses/{response_id}",
    rejects=[after(BACKGROUND, _READ, "DELETE /responses/{0.id}")],
    accepts=[
        after(BACKGROUND, _CANCEL, "DELETE /responses/{0.id}"),
        after(BACKGROUND, _READ, _READ, "DELETE /responses/{0.id}"),
    ],
    fix="Cancel it first, or wait until it has ended.",
)
def delete_in_flight(request: Request, world: WorldView) -> Iterator[Json]:
    """A response cannot be deleted while it is in progress."""
    if request.params["response_id"] in world.store.pending:
        yield {}


@rule(
    bad_request("This response cannot be streamed because it was not created with background=true.", param="stream"),
    reported("public reports of two origins", "2026"),
    FOUNDRY_SOURCE,
    on="GET /responses/{response_id}",
    rejects=[after({"input": "hi"}, "GET /responses/{0.id}?stream=true")],
    accepts=[after({"input": "hi"}, "GET /responses/{0.id}?stream=false")],
    fix="Only a response made with `background: true` can be streamed again; read this one without `stream`.",
)
def stream_needs_background(request: Request, world: WorldView) -> Iterator[Json]:
    """Only a background response can be streamed after its creation."""
    if request.query.get("stream") and not world.store.responses[request.params["response_id"]].response.get(
        "background"
    ):
        yield {}


@rule(
    bad_request(
        "This response cannot be streamed because it was not created with stream=true or the stream TTL has expired.",
        param="stream",
    ),
    FOUNDRY_SOURCE,
    documented(f"{BACKGROUND_GUIDE}: only one made with stream=true can be streamed later", "2026"),
    on="GET /responses/{response_id}",
    rejects=[after(BACKGROUND, "GET /responses/{0.id}?stream=true")],
    accepts=[after({**BACKGROUND, "stream": True}, "GET /responses/{0.id}?stream=true&starting_after=2")],
    fix="Create the response with `stream: true` as well.",
)
def stream_needs_stream(request: Request, world: WorldView) -> Iterator[Json]:
    """A background response can be streamed again only if it was created as a stream."""
    stored = world.store.responses[request.params["response_id"]]
    if request.query.get("stream") and stored.events is None:
        yield {}


@rule(
    bad_request("Encrypted content cannot be requested for persisted responses.", "include"),
    reported(
        "https://github.com/pydantic/pydantic-ai/issues/6611: gpt-5.6-sol, taken with `store: false`", "2026-07-20"
    ),
    reported("public notes of four more origins that met it live, one with gpt-6-astra, one on Foundry", "2026-09"),
    on="GET /responses/{response_id}",
    rejects=[after(BACKGROUND, "GET /responses/{0.id}?include=reasoning.encrypted_content")],
    accepts=[
        after(BACKGROUND, "GET /responses/{0.id}?include=message.output_text.logprobs"),
        after({**BACKGROUND, "store": False}, "GET /responses/{0.id}?include=reasoning.encrypted_content"),
    ],
    fix="Read the response without it: the API keeps its reasoning, and `previous_response_id` continues it.",
)
def encrypted_content_persisted(request: Request, world: WorldView) -> Iterator[Json]:
    """The encrypted reasoning of a stored response cannot be read later."""
    stored = world.store.responses[request.params["response_id"]].response
    if "reasoning.encrypted_content" in (request.query.get("include") or ()) and stored.get("store") is not False:
        yield {}
