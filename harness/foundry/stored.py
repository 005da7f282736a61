"""What a project adds to OpenAI's stored objects: lists of all, ids of conversations, files that may be searched."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from posixpath import splitext

from harness.api.http.dialects import FOUNDRY, user_of
from harness.api.operations import operation
from harness.contract.rule import CREATE_RESPONSE, Case, WorldView, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import CREATE_PROJECT_CONVERSATION, ON_FOUNDRY, PROJECT_PATH, upload
from harness.contract.rules.stored.vector_stores import STORE_PATH
from harness.core.errors import ApiError
from harness.core.exchange import Answer, Json, Request
from harness.core.tables import TableKind, declare_table
from harness.foundry.access import OWNERS
from harness.foundry.agent_responses import AGENT_BODY
from harness.foundry.errors import project_error, project_not_found
from harness.foundry.project_input import USER_MESSAGE
from harness.foundry.resources import agent_page
from harness.items.transcript import conversation_id
from harness.world.api_call import ApiCall

AREA = "project_input"
ORIGINS: TableKind[Json] = declare_table("azure_members", is_bounded=True)
"""What an answer in Azure's dialects says of the request for a response, by the response's id."""
LIST_RESPONSES = "GET /responses"


@operation("GET", "/responses", project_only=True)
def list_responses(call: ApiCall) -> Answer:
    """List the stored responses of a Foundry project, newest first unless `order=asc`.

    Recorded 2026-01-30 and 2026-04-14, also with a `conversation_id`; Microsoft's client for .NET can also filter by
    `agent_name` or `agent_id`, `name:version`. A request on behalf of a user only lists that user's responses.
    """
    listed = [stored.response for stored in call.store.responses.values() if _is_asked_for(stored.response, call)]
    return Answer(200, agent_page(listed, call.query))


def _is_asked_for(response: Json, call: ApiCall) -> bool:
    id, query = response["id"], call.query
    agent = call.store.table(ORIGINS).get(id, {}).get("agent") or {"name": "", "version": ""}
    conversation = (response.get("conversation") or {}).get("id", "")
    values = {
        "agent_name": agent["name"],
        "agent_id": f"{agent['name']}:{agent['version']}",
        "conversation_id": conversation,
    }
    is_own = call.store.table(OWNERS).get(id, "") == user_of(call.request)
    return is_own and all(query.get(name) in (None, "", value) for name, value in values.items())


@operation("GET", "/conversations", project_only=True)
def list_conversations(call: ApiCall) -> Answer:
    """List the conversations of a Foundry project, newest first unless `order=asc`. Recorded 2026-02-12."""
    shown = [
        {name: conversation.object[name] for name in ("id", "object", "metadata", "created_at")}
        for conversation in call.store.conversations.values()
    ]
    return Answer(200, agent_page(shown, call.query))


UNKNOWN_CONVERSATION = f"conv_{'0' * 50}"
_CONVERSATION_ID = re.compile(r"conv_([A-Za-z0-9]{48}|[A-Za-z0-9]{50})")
"""The ids of conversations: those of projects have 50 characters, others 48 (recorded 2025-12 to 2026-06)."""


@rule(
    on=(CREATE_RESPONSE, "* /conversations/{conversation_id}*"),
    dialects=FOUNDRY,
    error=project_not_found("Conversation '{id}' not found"),
    source=[
        recorded("Azure/azure-sdk-assets, .NET, ConversationsTests.ConversationOperationsWork: read", "2026-02-12"),
        assumed("that all requests with an id of a conversation are told so"),
    ],
    rejects={
        f"Conversation '{UNKNOWN_CONVERSATION}' not found": Case(
            None, on=f"GET !{PROJECT_PATH}/openai/v1/conversations/{UNKNOWN_CONVERSATION}"
        )
    },
    accepts=[
        after(CREATE_PROJECT_CONVERSATION, Case(None, on=f"GET !{PROJECT_PATH}/openai/v1/conversations/{{0.id}}")),
        after(CREATE_PROJECT_CONVERSATION, Case({**AGENT_BODY, "conversation": "{0.id}"}, on=ON_FOUNDRY)),
    ],
    fix="Create it first: conversations are never made by naming them.",
)
def project_conversation_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A named conversation must exist; a project has its own message for this."""
    body = request.body if isinstance(request.body, dict) else {}
    id = request.params.get("conversation_id") or conversation_id(body)
    if isinstance(id, str) and _CONVERSATION_ID.fullmatch(id) and id not in world.store.conversations:
        yield {"id": id}


MOST_ITEMS = 20
"""The maximum number of items that a request may add to a conversation."""
_ITEMS_PATH = f"!{PROJECT_PATH}/openai/v1/conversations/{{0.id}}/items"


def _give_items(number: int) -> Case:
    return Case({"items": [USER_MESSAGE] * number}, on=f"POST {_ITEMS_PATH}")


@rule(
    on=("POST /conversations", "POST /conversations/{conversation_id}/items"),
    dialects=FOUNDRY,
    error=project_error(400, f"maxItems: Value should have at most {MOST_ITEMS} items", "/items"),
    source=[
        recorded("Azure/azure-sdk-assets, .NET, ConversationsTests.ConversationItemPaginationWorks", "2026-02-12"),
        assumed("that a conversation that is made with items is told so, too"),
    ],
    rejects=[after(CREATE_PROJECT_CONVERSATION, _give_items(MOST_ITEMS + 1))],
    accepts=[after(CREATE_PROJECT_CONVERSATION, _give_items(MOST_ITEMS))],
    fix="Add the items in several requests.",
)
def project_conversation_items(request: Request) -> Iterator[Json]:
    """A conversation accepts a limited number of items at a time; a project has its own message for this."""
    items = request.body.get("items") if isinstance(request.body, dict) else None
    if isinstance(items, list) and len(items) > MOST_ITEMS:
        yield {}


@rule(
    when="conversation",
    dialects=FOUNDRY,
    error=project_error(400, "Invalid conversation id '{id}', Malformed identifier.", "conversation"),
    source=[
        reported("https://github.com/microsoft-foundry/new-foundry-portal/issues/102: the message", "2026-02-16"),
        assumed("status, code and param; that an id of another length than those recorded is malformed"),
    ],
    rejects={
        "Invalid conversation id 'conv_c8e602556f95489dJutf5cqOk1Uqu', Malformed identifier.": Case(
            {**AGENT_BODY, "conversation": "conv_c8e602556f95489dJutf5cqOk1Uqu"}, on=ON_FOUNDRY
        )
    },
    accepts=[after(CREATE_PROJECT_CONVERSATION, Case({**AGENT_BODY, "conversation": {"id": "{0.id}"}}, on=ON_FOUNDRY))],
    since="2026-02-16",
    fix="Use the id of a conversation that the project made.",
)
def conversation_malformed(request: Request, world: WorldView) -> Iterator[Json]:
    """The id of a missing conversation must at least have the form of one."""
    named = request.body["conversation"]
    id = named.get("id") if isinstance(named, dict) else named
    if isinstance(id, str) and id and not _CONVERSATION_ID.fullmatch(id) and id not in world.store.conversations:
        yield {"id": id}


def _attach(name: str) -> Case:
    """Make an example that adds a file of this name to a project's vector store."""
    uploaded = upload("purpose=assistants", name=name)
    root = f"!{PROJECT_PATH}/openai/v1"
    return after(
        replace(uploaded, on=f"POST {root}/files"),
        Case({}, on=f"POST {root}/vector_stores"),
        Case({"file_id": "{0.id}"}, on=f"POST {root}/vector_stores/{{1.id}}/files"),
    )


SEARCHABLE_EXTENSIONS = (
    *(".c", ".cpp", ".cs", ".css", ".doc", ".docx", ".go", ".html", ".java", ".js", ".json", ".md", ".pdf", ".php"),
    *(".pptx", ".py", ".rb", ".sh", ".tex", ".ts", ".txt"),
)
"""The extensions of files that a project's vector stores accept."""


@rule(
    area="project_files",
    on=f"POST {STORE_PATH}/files",
    dialects=FOUNDRY,
    error=ApiError(
        400,
        "Files with extensions [{extension}] are not supported for retrieval. Supported file types include: "
        f"[{', '.join(SEARCHABLE_EXTENSIONS)}].",
        "file_id",
        "unsupported_file",
    ),
    source=[
        recorded("Azure/azure-sdk-assets, a Python client: the whole body", "2025-12-08"),
        assumed("that the other extensions it does not list are refused, too, and a name without one is not"),
    ],
    rejects={
        "Files with extensions [.csv] are not supported for retrieval. Supported file types include: "
        f"[{', '.join(SEARCHABLE_EXTENSIONS)}].": _attach("products.CSV")
    },
    accepts=[_attach("products.md"), _attach("products")],
    since="2025-12-08",
    fix="Convert the file, say to `.txt` or `.json`, or give it to the code interpreter.",
)
def file_not_searchable(request: Request, world: WorldView) -> Iterator[Json]:
    """A project's vector stores only accept files with certain extensions."""
    file = world.uploads.file(str(request.body.get("file_id")))
    extension = splitext(file.object["filename"])[1].lower() if file else ""
    if extension and extension not in SEARCHABLE_EXTENSIONS:
        yield {"extension": extension}
