"""Stored responses and conversations: they must exist, be continuable, and allow what is asked of them."""

from collections.abc import Iterator

from harness.api.http.dialects import OPENAI
from harness.contract.phrasing import exclusive_parameters
from harness.contract.rule import Case, RuleScope, WorldView, after, assumed, documented, recorded, reported, rule
from harness.contract.rules.example_requests import ADD_ITEM, ASK, CREATE_CONVERSATION, HI
from harness.contract.rules.request.input_items.content import BY_CONVERSATION_ID, BY_ITEM_ID, BY_RESPONSE_ID
from harness.contract.rules.request.model import is_missing_model
from harness.contract.rules.request.shape import PROBE_ADDRESS, PROBE_DATE
from harness.core.account import Organization
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json, Request

SCOPE = RuleScope(area="state")


@rule(
    exclusive_parameters("'pre..._id' or 'conversation'", ""),
    reported(PROBE_ADDRESS, PROBE_DATE),
    reported("public report of another origin", "2026"),
    when="previous_response_id",
    reads="conversation",
    rejects=[{"previous_response_id": "resp_x", "conversation": "conv_x"}],
    fix="Continue a response or a conversation, not both.",
)
def previous_response_and_conversation(request: Request) -> bool:
    """`previous_response_id` and `conversation` exclude each other, which is checked before any look-up."""
    return request.body.get("previous_response_id") is not None and request.body.get("conversation") is not None


@rule(
    ApiError(404, "Conversation with id '{id}' not found."),
    reported(PROBE_ADDRESS, PROBE_DATE),
    reported("public report of another origin", "2025-10-27"),
    when="conversation",
    rejects={"conv_x": {"conversation": "conv_x"}, "conv_y": {"conversation": {"id": "conv_y"}}},
    accepts=[
        after(CREATE_CONVERSATION, {"conversation": "{0.id}"}),
        after(CREATE_CONVERSATION, {"conversation": {"id": "{0.id}"}, "store": False}),
    ],
    fix="Create it first: conversations are never made by naming them.",
)
def conversation_not_found(world: WorldView, conversation: str | None) -> Iterator[Json]:
    """`conversation` must name a conversation of this key."""
    if conversation is not None and conversation not in world.store.conversations:
        yield {"id": conversation}


@rule(
    ApiError(404, "Conversation with id '{id}' not found."),
    recorded("microsoft/agent-framework: read before it was made, deleted twice; without the status", "2025-10"),
    assumed("that the status is the one that create answers with"),
    on=BY_CONVERSATION_ID,
    rejects={
        "conv_x": "GET /conversations/conv_x",
        "conv_y": Case({"items": []}, on="POST /conversations/conv_y/items"),
        "{0.id}": after(CREATE_CONVERSATION, "DELETE /conversations/{0.id}", "DELETE /conversations/{0.id}"),
    },
    accepts=[
        after(CREATE_CONVERSATION, "GET /conversations/{0.id}"),
        after(CREATE_CONVERSATION, "GET /conversations/{0.id}/items"),
    ],
    fix="Use the id the API gave; a deleted conversation is gone.",
)
def conversation_path_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The id in the path must name a conversation of this key."""
    id = request.params["conversation_id"]
    if id not in world.store.conversations:
        yield {"id": id}


@rule(
    ApiError(404, "Item with id '{id}' not found in conversation."),
    recorded("microsoft/agent-framework: the id doubled by whoever recorded it, without the status", "2025-10"),
    assumed("that the status is the one of a conversation that is not found"),
    on=BY_ITEM_ID,
    rejects={
        "msg_x": after(CREATE_CONVERSATION, "GET /conversations/{0.id}/items/msg_x"),
        "{1.data.0.id}": after(
            CREATE_CONVERSATION, ADD_ITEM, *["DELETE /conversations/{0.id}/items/{1.data.0.id}"] * 2
        ),
    },
    accepts=[after(CREATE_CONVERSATION, ADD_ITEM, "GET /conversations/{0.id}/items/{1.data.0.id}")],
    fix="Use an id from the list of the conversation's items.",
)
def conversation_item_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The item must be in the conversation; being stored elsewhere is not enough."""
    id = request.params["item_id"]
    if all(item.get("id") != id for item in world.store.conversations[request.params["conversation_id"]].items):
        yield {"id": id}


@rule(
    bad_request("Item already in conversation", "items", "item_already_in_conversation"),
    recorded("vllm-project/agentic-api: a message, with the id of one there", "2026-09-25"),
    assumed("that a reference to one is accepted: no report says so"),
    on="POST /conversations/{conversation_id}/items",
    when="items",
    rejects=[
        after(
            CREATE_CONVERSATION,
            ADD_ITEM,
            Case({"items": [{**HI, "id": "{1.data.0.id}"}]}, on="POST /conversations/{0.id}/items"),
        )
    ],
    accepts=[
        after(
            CREATE_CONVERSATION,
            ADD_ITEM,
            CREATE_CONVERSATION,
            Case({"items": [{**HI, "id": "{1.data.0.id}"}] * 2}, on="POST /conversations/{2.id}/items"),
        )
    ],
    fix="Leave out items that the conversation has.",
)
def item_already_in_conversation(request: Request, world: WorldView) -> bool:
    """An item can be added once to a conversation, except that one request may have it several times."""
    given = (item.get("id") for item in request.body["input"] if item.get("type") != "item_reference")
    added = {id for id in given if id in world.store.items}
    conversation = world.store.conversations[request.params["conversation_id"]]
    return any(item.get("id") in added for item in conversation.items) if added else False


@rule(
    bad_request(
        "Another process is currently operating on this conversation. Please retry in a few seconds.",
        "conversation",
        "conversation_locked",
    ),
    reported("public reports of three origins", "2026"),
    when="conversation",
    rejects=[
        after(CREATE_CONVERSATION, Case({"conversation": "{0.id}"}, account=Organization(locked=frozenset(["{0.id}"]))))
    ],
    accepts=[
        after(
            CREATE_CONVERSATION,
            {"conversation": "{0.id}", "background": True},
            "POST /responses/{1.id}/cancel",
            {"conversation": "{0.id}"},
        )
    ],
    fix="Wait until the running response of the conversation is done.",
)
def conversation_locked(world: WorldView, conversation: str | None) -> bool:
    """A conversation accepts one response at a time; a background response occupies it until that has ended."""
    return bool(
        conversation
        and (
            conversation in world.account.locked
            or any(run.conversation == conversation for run in world.store.pending.values())
        )
    )


@rule(
    ApiError(404, "Prompt with id '{id}' not found."),
    reported(PROBE_ADDRESS, PROBE_DATE),
    when="prompt",
    reads="world.account",
    rejects={"pmpt_x": {"prompt": {"id": "pmpt_x"}}},
    accepts=[Case({"prompt": {"id": "pmpt_x"}}, account=Organization(prompts=frozenset(["pmpt_x"])))],
    fix="Use a prompt of this project: `mock.organization(prompts={'pmpt_…'})`.",
)
def prompt_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`prompt.id` must name a stored prompt; checked after the conversation and before the previous response."""
    prompt = request.body.get("prompt")
    if prompt and prompt["id"] not in world.account.prompts:
        yield {"id": prompt["id"]}


@rule(
    bad_request(
        "Previous response cannot be used for this organization due to Zero Data Retention.",
        "previous_response_id",
        "unsupported_parameter",
    ),
    reported("public reports of three origins", "2026"),
    when="previous_response_id",
    reads="world.account",
    rejects=[Case({"previous_response_id": "resp_x"}, account=Organization(zdr=True))],
    fix="Send the whole transcript as `input`, with `include: ['reasoning.encrypted_content']`.",
)
def previous_response_zdr(request: Request, world: WorldView) -> bool:
    """An organization with Zero Data Retention stores nothing that could be continued."""
    return world.account.zdr and request.body.get("previous_response_id")


@rule(
    bad_request("Previous response with id '{id}' not found.", "previous_response_id", "previous_response_not_found"),
    recorded("0xPlaygrounds/rig"),
    reported(PROBE_ADDRESS, PROBE_DATE),
    reported("public report of another origin", "2025-10-27"),
    when="previous_response_id",
    rejects={"resp_0": {"previous_response_id": "resp_0"}, "resp_1": {"input": [], "previous_response_id": "resp_1"}},
    accepts=[after(ASK, {"previous_response_id": "{0.id}"})],
    fix="Chain only to responses made with `store: true` by the same key and not deleted since.",
)
def previous_response_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """`previous_response_id` must name a response that this key has stored.

    A response made with `store: false` or deleted since is unknown here. The status is 400, not 404.
    """
    id = request.body.get("previous_response_id")
    if id is not None and id not in world.store.responses:
        yield {"id": id}


@rule(
    ApiError(404, "Response with id '{id}' not found."),
    recorded("openai/openai-dotnet: deleted, or made with store false", "2025-11-10"),
    on=BY_RESPONSE_ID,
    rejects={
        "resp_x": "GET /responses/resp_x",
        "resp_y": "POST /responses/resp_y/cancel",
        "{0.id}": after({"store": False}, "GET /responses/{0.id}"),
    },
    accepts=[after(ASK, "GET /responses/{0.id}")],
    fix="Only stored responses can be read; `store: false` keeps none.",
)
def response_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The id in the path must name a response that this key has stored."""
    id = request.params["response_id"]
    if id not in world.store.responses:
        yield {"id": id}


@rule(
    ApiError(404, "The model '{model}' does not exist", "model", "model_not_found"),
    reported("public fixtures and error tables of three origins, for this path", "2026"),
    on="* /models/{model}",
    rejects={
        "gpt-9": Case(on="GET /models/gpt-9", account=Organization(models=frozenset(["gpt-4.1"]))),
        "gpt-nonexistent": "GET /models/gpt-nonexistent",
        "gpt-4.1-mni": "GET /models/gpt-4.1-mni",
    },
    accepts=["GET /models/gpt-4.1", "GET /models/ft:gpt-4.1-mini:acme::9aBc", "GET /models"],
    fix="Use a name of `GET /models`, or set which exist: `mock.organization(models={…})`.",
)
def model_path_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """The name in the path must be that of a model this key may use; here the status is 404, without a full stop."""
    name, listed = request.params["model"], world.account.models
    # An unknown name may be a future model, but one a letter away from a known name is a typing error.
    is_slip = request.dialect == OPENAI and world.models.find_meant(name) is not None
    if name in world.account.deleted_models or (
        is_slip or is_missing_model(name, world) if listed is None else name not in listed
    ):
        yield {"model": name}


SCOPE = RuleScope(area="lifecycle")
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
    rejects=[after(ASK, _CANCEL)],
    accepts=[after(BACKGROUND, _CANCEL)],
    fix="Only a response made with `background: true` can be cancelled.",
)
def cancel_synchronous(request: Request, world: WorldView) -> bool:
    """Only a background response can be cancelled; its status is checked afterwards."""
    return not world.store.responses[request.params["response_id"]].response.get("background")


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
def delete_in_flight(request: Request, world: WorldView) -> bool:
    """A response cannot be deleted while it is in progress."""
    return request.params["response_id"] in world.store.pending


@rule(
    bad_request("This response cannot be streamed because it was not created with background=true.", param="stream"),
    reported("public reports of two origins", "2026"),
    FOUNDRY_SOURCE,
    on="GET /responses/{response_id}",
    rejects=[after(ASK, "GET /responses/{0.id}?stream=true")],
    accepts=[after(ASK, "GET /responses/{0.id}?stream=false")],
    fix="Only a response made with `background: true` can be streamed again; read this one without `stream`.",
)
def stream_needs_background(request: Request, world: WorldView) -> bool:
    """Only a background response can be streamed after its creation."""
    return bool(
        request.query.get("stream")
        and not world.store.responses[request.params["response_id"]].response.get("background")
    )


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
def stream_needs_stream(request: Request, world: WorldView) -> bool:
    """A background response can be streamed again only if it was created as a stream."""
    stored = world.store.responses[request.params["response_id"]]
    return bool(request.query.get("stream") and stored.events is None)


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
def encrypted_content_persisted(request: Request, world: WorldView) -> bool:
    """The encrypted reasoning of a stored response cannot be read later."""
    stored = world.store.responses[request.params["response_id"]].response
    return "reasoning.encrypted_content" in (request.query.get("include") or ()) and stored.get("store") is not False
