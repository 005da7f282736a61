"""Generates JSON Schemas from the SDK's types: one self-contained schema per root, with short and stable names.

`openai` and pydantic are imported only by `generate`: at run time the schemas are files.
"""

import json
import typing
from collections.abc import Mapping, Set
from functools import cache
from importlib import import_module, metadata
from typing import Any

from harness.contract.compile_schema import DRAFT
from harness.contract.schema import with_definitions
from harness.core.errors import SchemaError, missing_extra
from harness.core.exchange import Json

REQUEST_TYPES: Mapping[str, str] = {
    "CreateResponse": "responses.response_create_params:ResponseCreateParamsNonStreaming",
    "InputTokenCount": "responses.input_token_count_params:InputTokenCountParams",
    "CompactResponse": "responses.response_compact_params:ResponseCompactParams",
    "RetrieveResponse": "responses.response_retrieve_params:ResponseRetrieveParamsNonStreaming",
    "ListInputItems": "responses.input_item_list_params:InputItemListParams",
    "CreateConversation": "conversations.conversation_create_params:ConversationCreateParams",
    "UpdateConversation": "conversations.conversation_update_params:ConversationUpdateParams",
    "CreateConversationItems": "conversations.item_create_params:ItemCreateParams",
    "ListFiles": "file_list_params:FileListParams",
    "CreateVectorStore": "vector_store_create_params:VectorStoreCreateParams",
    "UpdateVectorStore": "vector_store_update_params:VectorStoreUpdateParams",
    "ListVectorStores": "vector_store_list_params:VectorStoreListParams",
    "SearchVectorStore": "vector_store_search_params:VectorStoreSearchParams",
    "CreateVectorStoreFile": "vector_stores.file_create_params:FileCreateParams",
    "UpdateVectorStoreFile": "vector_stores.file_update_params:FileUpdateParams",
    "ListVectorStoreFiles": "vector_stores.file_list_params:FileListParams",
    "CreateVectorStoreFileBatch": "vector_stores.file_batch_create_params:FileBatchCreateParams",
    "CreateUpload": "upload_create_params:UploadCreateParams",
    "CompleteUpload": "upload_complete_params:UploadCompleteParams",
    "CreateContainer": "container_create_params:ContainerCreateParams",
    "ListContainers": "container_list_params:ContainerListParams",
    "ListContainerFiles": "containers.file_list_params:FileListParams",
    "CreateWebhookEndpoint": "webhooks.webhook_create_params:WebhookCreateParams",
    "UpdateWebhookEndpoint": "webhooks.webhook_update_params:WebhookUpdateParams",
    "ListWebhookEndpoints": "webhooks.webhook_list_params:WebhookListParams",
    "RotateWebhookSecret": "webhooks.webhook_rotate_secret_params:WebhookRotateSecretParams",
    "CreateThread": "beta.thread_create_params:ThreadCreateParams",
    "CreateMessage": "beta.threads.message_create_params:MessageCreateParams",
    "CreateRun": "beta.threads.run_create_params:RunCreateParamsNonStreaming",
    "CreateThreadAndRun": "beta.thread_create_and_run_params:ThreadCreateAndRunParamsNonStreaming",
    "SubmitToolOutputs": "beta.threads.run_submit_tool_outputs_params:RunSubmitToolOutputsParamsNonStreaming",
    "CreateAssistant": "beta.assistant_create_params:AssistantCreateParams",
    "UpdateAssistant": "beta.assistant_update_params:AssistantUpdateParams",
    "UpdateThread": "beta.thread_update_params:ThreadUpdateParams",
    "UpdateMessage": "beta.threads.message_update_params:MessageUpdateParams",
    "UpdateRun": "beta.threads.run_update_params:RunUpdateParams",
    "ListAssistants": "beta.assistant_list_params:AssistantListParams",
    "ListMessages": "beta.threads.message_list_params:MessageListParams",
    "ListRuns": "beta.threads.run_list_params:RunListParams",
    "ListRunSteps": "beta.threads.runs.step_list_params:StepListParams",
    "RetrieveRunStep": "beta.threads.runs.step_retrieve_params:StepRetrieveParams",
    "ResponsesClientEvent": "responses.responses_client_event_param:ResponsesClientEventParam",
}
"""Closed roots: the API refuses unknown members. A `…NonStreaming` type accepts any boolean as `stream`."""

ANSWER_TYPES: Mapping[str, str] = {
    "Response": "responses:Response",
    "ResponseDeleted": "conversations:ConversationDeletedResource",
    "ResponseStreamEvent": "responses:ResponseStreamEvent",
    "ResponseItem": "responses:ResponseItem",
    "ResponseInputItem": "responses:ResponseInputItem",
    "ResponseItemList": "responses:ResponseItemList",
    "CompactedResponse": "responses:CompactedResponse",
    "InputTokenCountResponse": "responses:InputTokenCountResponse",
    "Conversation": "conversations:Conversation",
    "ConversationDeleted": "conversations:ConversationDeletedResource",
    "ConversationItem": "conversations:ConversationItem",
    "ConversationItemList": "conversations:ConversationItemList",
    "ConversationItemDeleted": "conversations:Conversation",
    "FileObject": "file_object:FileObject",
    "FileList": "file_object:FileObject[]",
    "FileDeleted": "file_deleted:FileDeleted",
    "VectorStore": "vector_store:VectorStore",
    "VectorStoreList": "vector_store:VectorStore[]",
    "VectorStoreDeleted": "vector_store_deleted:VectorStoreDeleted",
    "VectorStoreSearchResults": "vector_store_search_response:VectorStoreSearchResponse[]",
    "VectorStoreFile": "vector_stores.vector_store_file:VectorStoreFile",
    "VectorStoreFileList": "vector_stores.vector_store_file:VectorStoreFile[]",
    "VectorStoreFileDeleted": "vector_stores.vector_store_file_deleted:VectorStoreFileDeleted",
    "VectorStoreFileContent": "vector_stores.file_content_response:FileContentResponse[]",
    "VectorStoreFileBatch": "vector_stores.vector_store_file_batch:VectorStoreFileBatch",
    "Upload": "upload:Upload",
    "UploadPart": "uploads:UploadPart",
    "Container": "container_create_response:ContainerCreateResponse",
    "ContainerList": "container_list_response:ContainerListResponse[]",
    "ContainerDeleted": "file_deleted:FileDeleted",
    "ContainerFile": "containers:FileCreateResponse",
    "ContainerFileList": "containers:FileListResponse[]",
    "ContainerFileDeleted": "file_deleted:FileDeleted",
    "WebhookEndpoint": "webhooks:WebhookEndpoint",
    "WebhookEndpointWithSecret": "webhooks:WebhookEndpointWithSecret",
    "WebhookEndpointList": "webhooks:WebhookEndpointList",
    "WebhookEndpointDeleted": "webhooks:DeletedWebhookEndpoint",
    "WebhookEventTypeList": "webhooks:WebhookEventTypeList",
    "ModelDeleted": "model_deleted:ModelDeleted",
    "Error": "shared:ErrorObject",
    "Thread": "beta:Thread",
    "ThreadDeleted": "beta:ThreadDeleted",
    "Message": "beta.threads:Message",
    "MessageDeleted": "beta.threads:MessageDeleted",
    "Run": "beta.threads:Run",
    "RunStep": "beta.threads.runs:RunStep",
    "Assistant": "beta:Assistant",
    "AssistantDeleted": "beta:AssistantDeleted",
    "AssistantStreamEvent": "beta:AssistantStreamEvent",
    "AssistantList": "beta:Assistant[]",
    "MessageList": "beta.threads:Message[]",
    "RunList": "beta.threads:Run[]",
    "RunStepList": "beta.threads.runs:RunStep[]",
    "ResponsesServerEvent": "responses:ResponsesServerEvent",
}
"""Open roots: the API adds members at any time; `Type[]` is a page of a list.

The SDK has no `ResponseDeleted`, `ContainerDeleted` and `ContainerFileDeleted`; overlays define them.
"""

_LOW_PRIORITY_PREFIXES = ("openai__types__beta__", "openai__types__vector_store")
"""Prefixes of the types of the Assistants API and of vector stores."""
_DROPPED_KEYWORDS = ("title", "description", "default", "discriminator")


@cache
def generate() -> Mapping[str, Json]:
    """Generate each root's schema from the installed SDK. ConfigError without `openai`, SchemaError without a type.

    It takes a second; the result is cached and must not be changed. A name in `$defs` is the same type in all roots: an
    answer's type with the name of a request's is `answer__Name`.
    """
    _forget_equal_types()
    requests = _generate_roots(REQUEST_TYPES, closed=True)
    reserved = {name for body in requests.values() for name in body.get("$defs", {})}
    return {**requests, **_generate_roots(ANSWER_TYPES, closed=False, reserved=reserved)}


def _forget_equal_types() -> None:
    """Clear the caches of `typing`, so that the SDK's unions keep their order."""
    # `list[float | str]` would be the cached `list[str | float]`, which compares equal.
    for clear in getattr(typing, "_cleanups", ()):
        clear()


def _generate_roots(types: Mapping[str, str], *, closed: bool, reserved: Set[str] = frozenset()) -> dict[str, Json]:
    adapter = _import_name("pydantic", "TypeAdapter")
    adapters = [(root, "validation", adapter(_import_sdk_type(root, types[root]))) for root in types]
    by_root, shared = adapter.json_schemas(adapters)
    raw = {name: strip_prose(body, closed=closed) for name, body in shared.get("$defs", {}).items()}
    names = {name: f"answer__{short}" if short in reserved else short for name, short in short_names(raw).items()}
    definitions = {names[name]: rename_references(raw[name], names) for name in sorted(raw, key=names.__getitem__)}
    bodies = {root: rename_references(strip_prose(body, closed=closed), names) for (root, _), body in by_root.items()}
    return {
        root: _root_schema(bodies[root], definitions, opened=types[root].endswith("NonStreaming")) for root in types
    }


def _root_schema(body: Json, definitions: Json, *, opened: bool) -> Json:
    head: Json = {"$schema": DRAFT}
    if "$ref" in body:
        head["title"] = body["$ref"].removeprefix("#/$defs/")
        body = definitions[head["title"]]
    if body.get("type") == "array":
        body = _list_page_schema(body)
    if opened:
        body = body | {"properties": body["properties"] | {"stream": _drop_const(body["properties"]["stream"])}}
    return with_definitions(head | body, definitions)


def _list_page_schema(data: Json) -> Json:
    """Build the schema of a list object of the API, given the schema of its `data`."""
    text = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    members = {"object": {"const": "list", "type": "string"}, "data": data, "first_id": text, "last_id": text}
    return {
        "properties": {**members, "has_more": {"type": "boolean"}},
        "required": ["object", "data", "has_more"],
        "type": "object",
    }


def _drop_const(stream: Json) -> Json:
    if "anyOf" in stream:
        return {"anyOf": [_drop_const(branch) for branch in stream["anyOf"]]}
    return {name: value for name, value in stream.items() if name != "const"}


def strip_prose(node: Any, *, closed: bool) -> Any:
    """Strip titles and descriptions from a schema; `closed` forbids unknown members wherever members are listed."""
    if isinstance(node, list):
        return [strip_prose(part, closed=closed) for part in node]
    if not isinstance(node, dict):
        return node
    bare: Json = {}
    for name, value in node.items():
        if name in ("properties", "$defs"):
            bare[name] = {key: strip_prose(part, closed=closed) for key, part in value.items()}
        elif name in ("enum", "const", "required"):
            bare[name] = value
        elif name not in _DROPPED_KEYWORDS and (name, value) != ("additionalProperties", True):
            bare["anyOf" if name == "oneOf" else name] = strip_prose(value, closed=closed)
    if closed and "properties" in bare:
        bare.setdefault("additionalProperties", False)
    return bare


def short_names(definitions: Json) -> dict[str, str]:
    """Choose a short name for each definition: its class name if unique, else its shortest unambiguous suffix.

    Pydantic qualifies clashing classes with their module (`openai__types__responses__tool__Mcp`). Those with equal
    bodies share one name, and types of _LOW_PRIORITY_PREFIXES do not get the plain name if another type has it.
    """
    names = {name: name.rpartition("__")[2] for name in definitions}
    while True:
        bodies = {name: json.dumps(rename_references(definitions[name], names)) for name in definitions}
        split = {name: _pick_suffix(name, bodies, names) for name in sorted(names)}
        if split == names:
            return names
        names = split


def _pick_suffix(name: str, bodies: Mapping[str, str], names: Mapping[str, str]) -> str:
    plain = name.rpartition("__")[2]
    rivals = [
        namesake for namesake in names if namesake.rpartition("__")[2] == plain and bodies[namesake] != bodies[name]
    ]
    if names[name] != plain or not rivals:
        return names[name]
    if not name.startswith(_LOW_PRIORITY_PREFIXES) and all(
        rival.startswith(_LOW_PRIORITY_PREFIXES) for rival in rivals
    ):
        return plain
    parts = name.split("__")
    suffixes = ("__".join(parts[-count:]) for count in range(2, len(parts) + 1))
    return next(suffix for suffix in suffixes if not any(rival.endswith(f"__{suffix}") for rival in rivals))


def rename_references(node: Any, names: Mapping[str, str]) -> Any:
    """Rename the references in a schema."""
    if isinstance(node, list):
        return [rename_references(part, names) for part in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        return node | {"$ref": "#/$defs/" + names[node["$ref"].removeprefix("#/$defs/")]}
    return {key: rename_references(part, names) for key, part in node.items()}


def _import_name(module: str, name: str) -> Any:
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise missing_extra("this command", str(error.name), "openai") from None


def _import_sdk_type(root: str, path: str) -> Any:
    module, _, name = path.partition(":")
    _import_name("openai", "__version__")
    try:
        found = _import_name(f"openai.types.{module}", name.removesuffix("[]"))
        return list.__class_getitem__(found) if name.endswith("[]") else found
    except (ImportError, AttributeError):
        raise SchemaError(
            f"openai {sdk_version()} has no openai.types.{path}: correct {root} in tools/schemas/from_sdk.py"
        ) from None


def sdk_version() -> str:
    """Return the version of the installed `openai`. ConfigError without it."""
    _import_name("openai", "__version__")
    return metadata.version("openai")
