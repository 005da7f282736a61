"""The members of answers of Azure OpenAI and of a Foundry project, in order, each with its days, and who writes by them.

Recorded by the clients of the SDKs from 2025-11 to 2026-07. A project passes the events of a stream on, with the
response as the model returned it; everything that it answers as JSON, and each item, it writes itself, member by
member.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import repeat
from typing import Any, NamedTuple

import orjson

from harness.api.project_types import PROJECT_DEFAULTS, TOOL_ORDER
from harness.api.resources.files import MODEL_PURPOSES
from harness.core.dates import is_valid_on
from harness.core.exchange import Json
from harness.core.json_values import omit, pick

REWRITTEN = "2026-02-13"
"""The first day of a project's present form of answers: on the day before, only some regions had it."""
BEFORE = "2026-02-12"


class Member(NamedTuple):
    """A member of an object: its first and last day, and whether it is shown when null."""

    name: str
    since: str = ""
    until: str = ""
    shows_null: bool = True


def _always(*names: str, since: str = "", until: str = "") -> tuple[Member, ...]:
    return tuple(Member(name, since, until) for name in names)


def _if_set(*names: str, since: str = "", until: str = "") -> tuple[Member, ...]:
    """Members that are left out when null."""
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
    *_if_set("content_filters", since="2026-05-21"),
    *_if_set("input_transformations"),  # assumed: what was withheld must be somewhere
)
"""A response as JSON, of a model or a prompt agent."""
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
    *_if_set("error", "incomplete_details"),  # assumed: the reason must be somewhere
)
"""A response of a hosted agent, as JSON and, assumed, in a stream. Recorded 2026-07."""
RESPONSE_OF_KIND: Mapping[str, Sequence[Member]] = {"workflow": WORKFLOW_RESPONSE, "hosted": HOSTED_RESPONSE}
"""The responses of agents that write their own, by the agent's kind."""
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
"""The values of such a response that do not depend on the request."""

NOT_IN_AZURE = frozenset({"access_programs", "billing"})
"""Members of OpenAI's response that Azure OpenAI lacks."""
NOT_IN_PROJECT_STREAM = NOT_IN_AZURE | {"tool_usage"}
"""The members that a response in a project's stream lacks. Recorded up to 2026-06-26."""

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
"""A project's answers to operations, by the schema of the answer; all others are as OpenAI's."""
ITEM_LIST = _always("data", "first_id", "last_id", "has_more", "object")
"""A list of items, when read. Recorded 2025-11-24 for those of a conversation."""
MODEL_FILE = _always("status", "bytes", "purpose", "filename", "id", "created_at", "object")
"""A file made for a model (MODEL_PURPOSES), which is created with status 201. Recorded 2026-02-26."""
OBJECT_VALUES: Mapping[str, Mapping[str, object]] = {"ResponseDeleted": {"object": "response"}}

ITEM_HEAD = ("type", "id", "created_by", "agent_reference", "response_id")
HOSTED_ITEM_END = ("response_id", "agent_reference")
"""The last members of a hosted agent's item. Recorded 2026-07-01."""
OLD_ITEM_HEAD = ("type", "id", "status")
OLD_ITEM_END = ("created_by",)
"""The first members of an item; before 2026-02-13, those at both of its ends."""
CREATED_BY_SINCE = "2026-01-30"
"""The first recorded day of `created_by` in an item; absent on 2025-12-16."""
PARTITION = "partition_key"
"""An additional member of items in the list of responses: where the response is stored, which the ids also contain."""
LISTED_ITEM_HEAD, OLD_LISTED_ITEM_HEAD = (*ITEM_HEAD, PARTITION), ("type", "id", "created_by", PARTITION, "status")
"""The first members of such an item, now and before REWRITTEN."""
ADDED_MEMBERS: Mapping[str, Mapping[str, object]] = {"web_search_call": {"action": {}}}
"""Additional members of an item in `output_item.added`, by its type. Recorded 2026-06-26."""
EVENT_WITHOUT: Mapping[str, str] = {"response.function_call_arguments.done": "name"}
"""The member that an event lacks, by its type. Recorded 2026-03-12."""
OWN_EVENT_ORDER = ("type", "sequence_number", "item_id", "output_index", "content_index")
"""The first members of an event in the stream of an agent that writes its own."""
REASONING_ORDER = ("effort", "summary", "generate_summary", "context")
NULL_CONTEXT_SINCE, CONTEXT_SINCE = "2026-06-19", "2026-06-26"
"""The first recorded days of `context` in `reasoning`, first as null and then with a value; absent on 2026-05-28.

Other members of `reasoning` are left out of JSON when null.
"""
USAGE_WITHOUT = ("cache_write_tokens", "cache_write_tokens_details")
"""A detail of the input that a project's usage lacks. Recorded up to 2026-07-01."""
DEFAULT_RETENTION = "in_memory"
"""The `prompt_cache_retention` of every model if the request has none. Recorded 2026-05-22 to 2026-07-01."""
CATEGORY_ORDER = (
    *("sexual", "hate", "violence", "self_harm", "jailbreak"),
    *("protected_material_text", "protected_material_code", "filtered", "severity", "detected"),
)
"""The order of a filter's results, and of the members of each, as JSON. Recorded 2026-07-01."""
CALL_ORDER = ("call_id", "name", "arguments", "output")
"""The first members of the calls of a project's own tools and of their outputs."""

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
"""The order of the members of items (after ITEM_HEAD), parts, annotations, tools and formats by type.

Their null members are left out, except those in NULLS.
"""
NULLS: Mapping[str, str] = {"code_interpreter_call": "outputs", "image_generation_call": "result"}
"""The member that is shown even when null, by the object's type."""
NESTED = ("content", "annotations", "container", "user_location", "format")
"""The members of an object that hold other typed objects."""
ITEM, FILE, STORE, STORED_FILE = "ConversationItem", "FileObject", "VectorStore", "VectorStoreFile"
COMPACTED = "CompactedResponse"
_ELEMENTS = {
    "ConversationItemList": ITEM,
    "ResponseItemList": ITEM,
    "FileList": FILE,
    "VectorStoreList": STORE,
    "VectorStoreFileList": STORED_FILE,
}
"""The element schema of each list schema."""


def show_members(value: Json, members: Sequence[Member], day: str) -> Json:
    """Show the members that an object has on a day, in order."""
    return {
        name: value[name]
        for name, shows_null in _names_on(tuple(members), day)
        if name in value and (shows_null or value[name] is not None)
    }


@lru_cache(maxsize=64)
def _names_on(members: tuple[Member, ...], day: str) -> tuple[tuple[str, bool], ...]:
    return tuple((member.name, member.shows_null) for member in members if is_valid_on(day, member.since, member.until))


def show_object(schema: str, value: Json, day: str, is_read: bool, render_item: Callable[[Json], Json]) -> Json:
    """Show an operation's answer of this schema as a project does; other objects stay unchanged.

    `is_read` says whether the operation only reads; `render_item` shows an item.
    """
    if schema == ITEM:
        return render_item(value)
    if element := _ELEMENTS.get(schema):
        shown = [render_item(inner) if element == ITEM else _show(element, inner, day) for inner in value["data"]]
        value = {**value, "data": shown}
        if element == ITEM and is_read:
            return show_members(value, ITEM_LIST, day)
    return _show(schema, value, day)


def _show(schema: str, value: Json, day: str) -> Json:
    if schema == FILE and value["purpose"] in MODEL_PURPOSES:
        return show_members(value, MODEL_FILE, day)
    if schema in (STORE, STORED_FILE) and value["status"] == "in_progress":
        value = {**value, "usage_bytes": 0}  # recorded 2026-03-09 and 2026-03-31
    if schema == COMPACTED:
        value = {**value, "usage": show_usage(value["usage"])}
    if value.get("attributes") == {}:
        value = {**value, "attributes": None}
    members = OBJECTS.get(schema)
    return show_members({**value, **OBJECT_VALUES.get(schema, {})}, members, day) if members else value


def show_usage(usage: Json) -> Json:
    """Show the usage of a response or a compaction, without the detail that a project does not count."""
    details = omit(usage["input_tokens_details"], *USAGE_WITHOUT)
    return {**usage, "input_tokens_details": details}


def show_item(item: Json, day: str) -> Json:
    """Show an item; the members that name its agent and response are optional."""
    shaped = shape(item if item["type"] in SHAPES else pick(item, *CALL_ORDER) | item, day)
    if day < REWRITTEN:
        ends = (*OLD_ITEM_HEAD, *OLD_ITEM_END)
        middle = {name: value for name, value in shaped.items() if name not in ends}
        return pick(shaped, *OLD_ITEM_HEAD) | middle | pick(shaped, *OLD_ITEM_END)
    rest = omit(shaped, *ITEM_HEAD)
    # Recorded: a `status` that the type does not place stands at the end.
    if "status" in rest and "status" not in SHAPES.get(str(item.get("type")), ()):
        rest["status"] = rest.pop("status")
    return pick(shaped, *ITEM_HEAD) | rest


def shape(value: Any, day: str) -> Any:
    """Order an item, a part, a tool or a list of these by type; since 2026-02-13 without null members."""
    if isinstance(value, list):
        return [*map(shape, value, repeat(day))]
    if not isinstance(value, dict):
        return value
    type = value.get("type")
    if not isinstance(type, str) or not (type in SHAPES or type in PROJECT_DEFAULTS):
        return value
    # Twice, so that defaults stand behind the members that are there, and do not replace them.
    full = {**value, **PROJECT_DEFAULTS.get(type, {}), **value}
    order = SHAPES.get(type, ())
    null, shown = NULLS.get(type), {}
    for name, member in (pick(full, *order) | full).items():
        if member and name in NESTED:
            shown[name] = [*map(shape, member, repeat(day))] if isinstance(member, list) else shape(member, day)
        elif member is not None or name == null or day < REWRITTEN:
            shown[name] = member
    return shown


_EXACT = 2**53
"""The limit up to which floats hold whole numbers exactly."""


def write_numbers(value: Any) -> Any:
    """Convert floats without a fraction to integers throughout a JSON value, as a project writes them."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) <= _EXACT else value
    if not isinstance(value, dict | list):
        return value
    with suppress(orjson.JSONEncodeError):  # an integer beyond 64 bits
        if b".0" not in orjson.dumps(value):
            return value
    if isinstance(value, list):
        return [write_numbers(element) for element in value]
    return {
        name: write_numbers(member) if isinstance(member, float | dict | list) else member
        for name, member in value.items()
    }
