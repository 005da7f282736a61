"""The members of what Azure OpenAI and a Foundry project answer, in order, each with its days: data for its neighbours.

Recorded by the clients of the SDKs from 2025-11 to 2026-07. A project passes the events of a stream on, with a response
as the model has it; all it answers as JSON, and each item, it writes itself, member by member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from harness.api.project.tools import TOOL_ORDER

REWRITTEN = "2026-02-13"
"""The day since which a project answers in its present form: on the day before some regions did, others did not."""
BEFORE = "2026-02-12"


class Member(NamedTuple):
    """A member of an object: the first and last day of it, and whether it is shown when it is null."""

    name: str
    since: str = ""
    until: str = ""
    shows_null: bool = True


def _always(*names: str, since: str = "", until: str = "") -> tuple[Member, ...]:
    """Members that are always there."""
    return tuple(Member(name, since, until) for name in names)


def _if_set(*names: str, since: str = "", until: str = "") -> tuple[Member, ...]:
    """Members that are left out when they are null."""
    return tuple(Member(name, since, until, shows_null=False) for name in names)


PROJECT_RESPONSE = (
    *_always("metadata"),
    *_always("top_logprobs", since=REWRITTEN),
    *_always("temperature", "top_p"),
    *_always("user", until=BEFORE),
    *_if_set("user", "safety_identifier", "prompt_cache_key", since=REWRITTEN),  # their place is typed
    *_always("service_tier"),
    *_always("top_logprobs", until=BEFORE),
    *_if_set("prompt_cache_retention", since=REWRITTEN),
    *_if_set("previous_response_id"),
    *_always("model", "reasoning", "background"),
    *_if_set("max_output_tokens", "max_tool_calls"),
    *_always("text", "tools", "tool_choice"),
    *_if_set("prompt"),
    *_always("truncation", "id", "object", "status", "created_at"),
    *_if_set("completed_at", since=REWRITTEN),
    *_always("error", "incomplete_details", "output", "instructions"),
    *_if_set("usage"),
    *_always("parallel_tool_calls"),
    *_always("conversation", until=BEFORE),
    *_if_set("conversation", since=REWRITTEN),
    *_if_set("agent"),
    *_always("agent_reference", since=REWRITTEN),
    *_if_set("agent_session_id"),
    *_if_set("content_filters", since="2026-05-22"),
)
"""A response as JSON, by a model or a prompt agent."""
NOT_LISTED = frozenset({"prompt_cache_retention", "text", "completed_at", "content_filters"})
LISTED_RESPONSE = (
    *(member for member in PROJECT_RESPONSE if member.name not in NOT_LISTED),
    *_always("structured_inputs", until=BEFORE),
)
"""A response in the list of a project's responses. Recorded 2026-01-30 and 2026-04-14."""
WORKFLOW_RESPONSE = (
    *_always("metadata"),
    *_always("temperature", "top_p", "user", until=BEFORE),
    *_always("service_tier"),
    *_if_set("previous_response_id"),
    *_always("model"),
    *_always("background", since=REWRITTEN),
    *_always("tools"),
    *_always("tool_choice", until=BEFORE),
    *_always("truncation", "id", "object", "status", "created_at"),
    *_always("completed_at", since=REWRITTEN),
    *_always("error", "incomplete_details", "output", "instructions"),
    *_if_set("output_text", "usage", until=BEFORE),
    *_always("parallel_tool_calls"),
    *_if_set("conversation"),
    *_if_set("agent"),
    *_always("agent_reference", since=REWRITTEN),
    *_always("structured_inputs", until=BEFORE),
    *_if_set("output_text", "usage", since=REWRITTEN),
)
"""A response of a workflow agent, as JSON and in a stream. Recorded 2025-11-03 and 2026-02-26."""
HOSTED_RESPONSE = (
    *_always("id", "object", "output", "created_at", "agent_reference", "status"),
    *_if_set("completed_at"),
    *_always("response_id", "model", "agent_session_id", "background"),
    *_if_set("error", "incomplete_details"),  # assumed: the reason has to be somewhere
)
"""A response of a hosted agent, as JSON and, assumed, in a stream. Recorded 2026-07."""
RESPONSE_OF_KIND: Mapping[str, Sequence[Member]] = {"workflow": WORKFLOW_RESPONSE, "hosted": HOSTED_RESPONSE}
"""The responses of agents that write them themselves, by the agent's kind."""
VALUES_OF_KIND: Mapping[str, Mapping[str, object]] = {
    "workflow": {
        "temperature": None,
        "top_p": None,
        "user": None,
        "service_tier": "auto",
        "model": "",
        "tools": [],
        "tool_choice": "auto",
        "truncation": "auto",
        "instructions": "",
        "structured_inputs": {},
    },
    "hosted": {"model": ""},
}
"""What such a response says whatever the request was."""

NOT_IN_AZURE = frozenset({"access_programs", "billing"})
"""Members of OpenAI's response that Azure OpenAI has not."""
NOT_IN_PROJECT_STREAM = NOT_IN_AZURE | {"tool_usage"}
"""Those that a response in the stream of a project has not. Recorded up to 2026-06-26."""

_LIST = _always("object", "data", "has_more", "first_id", "last_id")
OBJECTS: Mapping[str, Sequence[Member]] = {
    "ResponseDeleted": _always("id", "object", "deleted"),
    "Conversation": (
        *_always("id", "object"),
        *_always("metadata", since=REWRITTEN),
        *_always("created_at"),
        *_always("metadata", until=BEFORE),
    ),
    "ConversationDeleted": _always("object", "deleted", "id"),
    "ConversationItemList": _LIST,
    "FileList": _LIST,
    "VectorStoreList": _LIST,
    "VectorStore": _always(
        *("id", "object", "name", "status", "usage_bytes", "created_at", "file_counts", "metadata", "expires_after"),
        *("expires_at", "last_active_at"),
    ),
    "VectorStoreFileList": _LIST,
    "VectorStoreFile": (
        *_always("id", "object", "usage_bytes", "created_at", "vector_store_id", "status", "last_error"),
        *_always("chunking_strategy"),
        *_if_set("attributes"),
    ),
}
"""What a project answers to an operation, by the schema of the answer; other answers are those of OpenAI."""
ITEM_LIST = _always("data", "first_id", "last_id", "has_more", "object")
"""A list of items that are read. Recorded 2025-11-24 of those of a conversation."""
MODEL_FILE = _always("status", "bytes", "purpose", "filename", "id", "created_at", "object")
"""A file that is made for a model (MODEL_PURPOSES), which is made with status 201. Recorded 2026-02-26."""
OBJECT_VALUES: Mapping[str, Mapping[str, object]] = {"ResponseDeleted": {"object": "response"}}

ITEM_HEAD = ("type", "id", "created_by", "agent_reference", "response_id")
HOSTED_ITEM_END = ("response_id", "agent_reference")
"""The members with which an item of a hosted agent ends. Recorded 2026-07-01."""
OLD_ITEM_HEAD = ("type", "id", "status")
OLD_ITEM_END = ("created_by",)
"""The members with which an item begins, before 2026-02-13 those at its two ends."""
CREATED_BY_SINCE = "2026-01-30"
"""The first recorded day of `created_by` in an item; absent on 2025-12-16."""
PARTITION = "partition_key"
"""What an item in the list of responses has besides: where its response is stored, as the ids of both say."""
LISTED_ITEM_HEAD, OLD_LISTED_ITEM_HEAD = (*ITEM_HEAD, PARTITION), ("type", "id", "created_by", PARTITION, "status")
"""How such an item begins, and how it began before REWRITTEN."""
ADDED_MEMBERS: Mapping[str, Mapping[str, object]] = {"web_search_call": {"action": {}}}
"""What an item has in `output_item.added`, by its type. Recorded 2026-06-26."""
EVENT_WITHOUT: Mapping[str, str] = {"response.function_call_arguments.done": "name"}
"""The member that an event has not, by its type. Recorded 2026-03-12."""
OWN_EVENT_ORDER = ("type", "sequence_number", "item_id", "output_index", "content_index")
"""How an event begins in the stream of an agent that writes it itself."""
REASONING_ORDER = ("effort", "summary", "generate_summary", "context")
NULL_CONTEXT_SINCE, CONTEXT_SINCE = "2026-06-19", "2026-06-26"
"""The first recorded days of a `context` of `reasoning`, which was null at first: absent on 2026-05-28. Other members of it
are left out of JSON when they are null."""
USAGE_WITHOUT = "cache_write_tokens"
"""A detail of the input that the usage of a project has not. Recorded up to 2026-07-01."""
DEFAULT_RETENTION = "in_memory"
"""The `prompt_cache_retention` of every model that a request did not choose. Recorded 2026-05-22 to 2026-07-01."""
FILTER_ORDER = ("blocked", "source_type", "content_filter_results", "content_filter_raw", "content_filter_offsets")
CATEGORY_ORDER = (
    *("sexual", "hate", "violence", "self_harm", "jailbreak"),
    *("protected_material_text", "protected_material_code", "filtered", "severity", "detected"),
)
"""The order of the results of a filter, and of the members of each, as JSON. Recorded 2026-07-01."""
CALL_ORDER = ("call_id", "name", "arguments", "output")
"""How the calls of a project's own tools and their outputs begin."""

SHAPES: Mapping[str, Sequence[str]] = {
    **TOOL_ORDER,
    "message": ("role", "content", "status", "phase"),
    "function_call": ("call_id", "name", "arguments", "status"),
    "code_interpreter_call": ("status", "container_id", "code", "outputs"),
    "file_search_call": ("status", "queries", "results"),
    "web_search_call": ("status", "action"),
    "mcp_list_tools": ("server_label", "tools"),
    "mcp_approval_request": ("server_label", "name", "arguments"),
    "mcp_call": ("server_label", "name", "arguments", "output", "error", "status", "approval_request_id"),
    "image_generation_call": (
        *("action", "background", "output_format", "quality", "revised_prompt", "size", "status", "result"),
    ),
    "workflow_action": ("kind", "action_id", "parent_action_id", "previous_action_id", "status"),
    "output_text": ("type", "text", "annotations", "logprobs"),
    "url_citation": ("type", "url", "start_index", "end_index", "title"),
    "file_citation": ("type", "file_id", "index", "filename"),
    "container_file_citation": ("type", "container_id", "file_id", "start_index", "end_index", "filename"),
    "auto": ("type", "file_ids"),
    "approximate": ("type", "country", "region", "city", "timezone"),
    "json_schema": ("type", "name", "description", "schema", "strict"),
    # Typed: the order of the API's own description, which all that was recorded follows.
    "reasoning": ("encrypted_content", "summary", "content", "status"),
    "computer_call": ("call_id", "action", "pending_safety_checks", "status"),
    "custom_tool_call": ("call_id", "name", "input"),
}
"""The order of the members of items (after ITEM_HEAD), parts, notes, tools and formats by their type.

Null members of these are left out, but those of NULLS.
"""
NULLS: Mapping[str, str] = {"code_interpreter_call": "outputs", "image_generation_call": "result"}
"""The member of an object that is shown when it is null, by the object's type."""
