"""The input of responses in a Foundry project, which is stricter about items than OpenAI's, and its conversations."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.api.http.dialects import AZURE_DIALECTS, FOUNDRY, is_preview_of_agents
from harness.api.project_types import NamedAgent
from harness.contract.phrasing import quote_and_join
from harness.contract.rule import (
    CREATE_RESPONSE,
    PATH_ID,
    Case,
    RuleScope,
    WorldView,
    after,
    assumed,
    recorded,
    reported,
    rule,
)
from harness.contract.rules.example_requests import (
    CALL,
    CREATE_PROJECT_CONVERSATION,
    HELPER_REFERENCE,
    ON_AZURE,
    ON_FOUNDRY,
    OUTPUT,
    PROJECT_PATH,
    VALID_BODY,
)
from harness.core.dates import CONTRACT_DATE, is_valid_on
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object, objects_in
from harness.foundry.agent_responses import ON_PREVIEW_OF_AGENTS, by_agent
from harness.foundry.resources import (
    INVALID_PAYLOAD,
    has_type,
    lacks,
    project_error,
    project_not_found,
    validation_detail,
    without_param,
)
from harness.items.kind import item_types
from harness.items.transcript import conversation_id

SCOPE = RuleScope(dialects=FOUNDRY)

USER_MESSAGE: Json = {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}
ANSWER_WITHOUT_TYPE: Json = {"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
WHOLE_ANSWER: Json = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hello.", "annotations": []}],
}


def _is_message(item: Any, *roles: str) -> bool:
    return isinstance(item, dict) and item.get("type", "message") == "message" and item.get("role") in roles


@rule(
    INVALID_PAYLOAD,
    reported("https://github.com/microsoft/agent-framework/issues/2926: the whole body", "2025-12-17"),
    reported("https://github.com/microsoft/agent-framework/issues/3003: the whole body", "2025-12-22"),
    reported("https://github.com/Azure/azure-sdk-for-python/issues/44493: without an agent, too", "2025-12"),
    reported("public notes of a live probe with each role: the final version of agents takes both", "2026-07"),
    assumed("that a message that lacks only one of them gets the error for that one"),
    when="input[]",
    rejects=[by_agent(input=[USER_MESSAGE, ANSWER_WITHOUT_TYPE], on=ON_PREVIEW_OF_AGENTS)],
    accepts=[
        by_agent(input=[USER_MESSAGE, WHOLE_ANSWER, USER_MESSAGE], on=ON_PREVIEW_OF_AGENTS),
        by_agent(input=[{"role": "assistant", "content": "Hello."}], on=ON_PREVIEW_OF_AGENTS),
        by_agent(input=[USER_MESSAGE, ANSWER_WITHOUT_TYPE]),
    ],
    since="2025-12-17",
    fix="Send the parts of an answer as they came: a message with `type`, a text with `annotations`.",
)
def answer_incomplete(request: Request) -> Iterator[Json]:
    """In the version before agents were final, an assistant's parts need `annotations`, and their message a `type`."""
    if not is_preview_of_agents(request):
        return
    details: list[Json] = []
    for index, item in enumerate(request.body["input"]):
        if _is_message(item, "assistant") and isinstance(item.get("content"), list):
            details += _find_missing(item, f"/input/{index}")
    if details:
        yield {"details": [_is_no_string("/input"), *details]}


def _is_no_string(place: str) -> Json:
    return validation_detail(has_type("array", "string"), place)


def _find_missing(item: Json, place: str) -> list[Json]:
    """Return what an assistant's message lacks, in the service's words; empty for a complete message."""
    untyped = [] if "type" in item else [_is_missing("type", place)]
    unannotated = [
        _is_missing("annotations", f"{place}/content/{index}")
        for index, part in enumerate(item["content"])
        if isinstance(part, dict) and part.get("type") == "output_text" and "annotations" not in part
    ]
    return [*untyped, _is_no_string(f"{place}/content"), *unannotated] if untyped or unannotated else []


def _is_missing(name: str, place: str) -> Json:
    return validation_detail(lacks(name), place)


_BARE_ANSWER: Json = {"type": "message", **ANSWER_WITHOUT_TYPE}


@rule(
    project_error(400, "Invalid payload: Required property 'annotations' is missing"),
    reported("https://github.com/zendev-sh/goai/pull/152: at /openai/v1/responses", "2026-08-20"),
    reported("https://github.com/aaif-goose/goose/pull/11263: of Foundry", "2026-08-15"),
    reported("https://github.com/NousResearch/hermes-agent/pull/67667: of both", "2026-07-19"),
    assumed("the form of the error, which no report quotes, and that it has no `param`"),
    when="input[]",
    mentions="output_text",
    dialects=AZURE_DIALECTS,
    rejects=[Case({**VALID_BODY, "input": [USER_MESSAGE, _BARE_ANSWER, USER_MESSAGE]}, on=ON_AZURE)],
    accepts=[
        Case({**VALID_BODY, "input": [USER_MESSAGE, WHOLE_ANSWER, USER_MESSAGE]}, on=ON_AZURE),
        # Recorded 2026-08-10 and 2026-08-19 of ruby_llm: a message without `type` needs none.
        Case({**VALID_BODY, "input": [USER_MESSAGE, ANSWER_WITHOUT_TYPE, USER_MESSAGE]}, on=ON_AZURE),
        Case({**VALID_BODY, "input": [USER_MESSAGE, _BARE_ANSWER, USER_MESSAGE]}, on=ON_AZURE, as_of="2026-07-18"),
        {"input": [USER_MESSAGE, _BARE_ANSWER, USER_MESSAGE]},
    ],
    since="2026-07-19",
    fix="Send each `output_text` back with its `annotations`, an empty list if it has none.",
)
def annotations_missing(request: Request) -> bool:
    """On Azure and in a project the text of an assistant's message with `type` needs `annotations`, OpenAI's does not."""
    if is_preview_of_agents(request):
        return False
    answers = [item for item in request.body["input"] if _is_message(item, "assistant") and "type" in item]
    parts = [part for item in answers for part in objects_in(item.get("content"))]
    return any(part.get("type") == "output_text" and "annotations" not in part for part in parts)


NULL_STATUS: Json = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}", "status": None}


@rule(
    without_param(INVALID_PAYLOAD),
    reported("https://github.com/microsoft/agent-framework/pull/4626: the whole body", "2026-03-11"),
    reported("https://github.com/microsoft/agent-framework/issues/4576: accepted until the day before", "2026-03-10"),
    reported("https://github.com/microsoft/agent-framework/issues/4701: of a function call, null", "2026-03-14"),
    when="input[]",
    items="function_call",
    rejects=[Case({**VALID_BODY, "input": [USER_MESSAGE, NULL_STATUS, OUTPUT]}, on=ON_FOUNDRY)],
    accepts=[
        Case({**VALID_BODY, "input": [USER_MESSAGE, CALL, OUTPUT]}, on=ON_FOUNDRY),
        Case({**VALID_BODY, "input": [USER_MESSAGE, NULL_STATUS, OUTPUT]}, on=ON_FOUNDRY, as_of="2026-03-09"),
        {**VALID_BODY, "input": [USER_MESSAGE, NULL_STATUS, OUTPUT]},
    ],
    since="2026-03-10",
    fix="Leave `status` out of a call, or send it as it came.",
)
def call_status_null(request: Request) -> Iterator[Json]:
    """The `status` of a function call cannot be null in a project."""
    details = [
        {**detail, "details": []}
        for index, item in enumerate(request.body["input"])
        if isinstance(item, dict) and item.get("type") == "function_call" and item.get("status", "") is None
        for detail in _is_no_status(f"/input/{index}/status")
    ]
    if details:
        yield {"details": [{**_is_no_string("/input"), "details": []}, *details]}


def _is_no_status(place: str) -> list[Json]:
    """Return why a null is no status, in the service's words, which escape the quotes of each value."""
    unequal = [
        validation_detail(f'const: Expected "\\u0022{status}\\u0022"', place)
        for status in ("in_progress", "completed", "incomplete")
    ]
    return [validation_detail(has_type("null", "string"), place), *unequal]


TYPES_UNTIL_SUMMER = (
    *("apply_patch_call", "apply_patch_call_output", "code_interpreter_call", "compaction", "computer_call"),
    *("computer_call_output", "custom_tool_call", "custom_tool_call_output", "file_search_call", "function_call"),
    *("function_call_output", "image_generation_call", "item_reference", "local_shell_call"),
    *("local_shell_call_output", "mcp_approval_request", "mcp_approval_response", "mcp_call", "mcp_list_tools"),
    *("message", "reasoning", "shell_call", "shell_call_output", "web_search_call"),
)
"""The types of items that a project listed in an error from 2026-02-12 to 2026-05-19."""
LONGER_LIST_SINCE = "2026-09-02"


def known_types(as_of: str) -> Sequence[str]:
    """Return the types of items that a project lists in an error on a day."""
    return sorted(item_types()) if is_valid_on(as_of, LONGER_LIST_SINCE, "") else TYPES_UNTIL_SUMMER


@rule(
    bad_request("Invalid value: ''. Supported values are: {values}.", "input[{number}]", "invalid_value"),
    recorded("Azure/azure-sdk-assets, a Java client: a system message, then a user's", "2026-02-12"),
    reported("public notes of a live probe with each role, alone and before others", "2026-07-08"),
    reported("https://github.com/langchain-ai/langchain/issues/35688: without an agent, too", "2026-03-09"),
    reported("https://github.com/openclaw/openclaw/issues/84109", "2026-05-19"),
    reported("https://github.com/vercel/ai/issues/20180: the longer list", "2026-09-02"),
    assumed("that `param` counts from one: it was input[1] whenever the first item was at fault"),
    when="input[]",
    rejects={
        f"Invalid value: ''. Supported values are: {quote_and_join(known_types(CONTRACT_DATE), 'and')}.": Case(
            {"model": "gpt-4o", "input": [{"role": "developer", "content": "Be brief."}, USER_MESSAGE]}, on=ON_FOUNDRY
        ),
        f"Invalid value: ''. Supported values are: {quote_and_join(TYPES_UNTIL_SUMMER, 'and')}.": after(
            CREATE_PROJECT_CONVERSATION,
            by_agent(
                conversation="{0.id}",
                input=[{"role": "system", "content": "Be brief."}, USER_MESSAGE],
                as_of="2026-02-12",
            ),
        ),
    },
    accepts=[
        by_agent(input=[USER_MESSAGE, USER_MESSAGE]),
        by_agent(input=[{"type": "message", "role": "system", "content": "Hi."}, USER_MESSAGE]),
    ],
    since="2026-02-12",
    fix='Send `"type": "message"`, which OpenAI needs for no role.',
)
def instruction_without_type(request: Request, world: WorldView) -> Iterator[Json]:
    """A message with the role `system` or `developer` needs a `type`; others do not."""
    if is_preview_of_agents(request):
        return
    for number, item in enumerate(request.body["input"], 1):
        if _is_message(item, "system", "developer") and "type" not in item:
            yield {"number": number, "values": quote_and_join(known_types(world.as_of), "and")}


SEARCH_OF_ANOTHER: Json = {
    "type": "web_search_call",
    "id": f"ws_{'0' * 50}",
    "status": "completed",
    "action": {"type": "search", "query": "x"},
    "agent_reference": {**HELPER_REFERENCE, "name": "scout", "version": "1"},
}
HOSTED_ITEMS = (
    *("web_search_call", "file_search_call", "code_interpreter_call", "mcp_list_tools", "mcp_call"),
    "fabric_dataagent_preview_call",
)
"""Items of tools that a project runs, as named in reports of their refusal."""


@rule(
    project_error(400, "The provided data does not match the expected schema", "/"),
    reported("https://github.com/microsoft/agent-framework/issues/5338: the whole body", "2026-04-17"),
    reported("https://github.com/microsoft/agent-framework/issues/5410", "2026-04"),
    reported("a public guide to hand-offs between agents", "2026"),
    when="input[]",
    rejects=[by_agent(input=[USER_MESSAGE, SEARCH_OF_ANOTHER])],
    accepts=[
        Case({**VALID_BODY, "input": [USER_MESSAGE, SEARCH_OF_ANOTHER]}, on=ON_FOUNDRY),
        by_agent(input=[USER_MESSAGE, {**SEARCH_OF_ANOTHER, "agent_reference": HELPER_REFERENCE}]),
        by_agent(input=[{**WHOLE_ANSWER, "agent_reference": SEARCH_OF_ANOTHER["agent_reference"]}, USER_MESSAGE]),
    ],
    since="2026-04-17",
    fix="Pass on the messages of another agent, and leave out the items of its tools.",
)
def foreign_tool_item(request: Request, agent: NamedAgent | None) -> bool:
    """Items of one agent's tools cannot be input for another agent."""
    name = agent.named.get("name") if agent and isinstance(agent.named, dict) else None
    hosted = [item for item in objects_in(request.body["input"]) if item.get("type") in HOSTED_ITEMS] if name else ()
    return any(as_object(item.get("agent_reference")).get("name") not in (None, name) for item in hosted)


_THOUGHT: Json = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAABpZm9yZWlnbg=="}


@rule(
    project_error(400, "The provided data does not match the expected schema", "/"),
    reported("https://github.com/NousResearch/hermes-agent/pull/59981: of a project, the message", "2026-07-07"),
    reported(
        "https://github.com/corsairdev/corsair/pull/438: without it accepted, with a made-up id 404", "2026-07-09"
    ),
    reported("https://github.com/NousResearch/hermes-agent/issues/63257: with its id accepted", "2026-07-12"),
    assumed("that `param` is that of the other errors with these words"),
    when="input[]",
    items="reasoning",
    rejects=[Case({**VALID_BODY, "model": "gpt-5", "input": [USER_MESSAGE, _THOUGHT, USER_MESSAGE]}, on=ON_FOUNDRY)],
    accepts=[
        Case(
            {**VALID_BODY, "model": "gpt-5", "input": [USER_MESSAGE, {**_THOUGHT, "id": "rs_1"}, USER_MESSAGE]},
            on=ON_FOUNDRY,
        ),
        # Recorded 2026 of ruby_llm, and https://github.com/NousResearch/hermes-agent/pull/101243: no project, no id.
        Case({**VALID_BODY, "model": "gpt-5", "input": [USER_MESSAGE, _THOUGHT, USER_MESSAGE]}, on=ON_AZURE),
        Case(
            {**VALID_BODY, "model": "gpt-5", "input": [USER_MESSAGE, _THOUGHT, USER_MESSAGE]},
            on=ON_FOUNDRY,
            as_of="2026-07-06",
        ),
    ],
    since="2026-07-07",
    fix="In a project, send reasoning back with its `id`, as it came; Azure OpenAI and OpenAI do not need it.",
)
def reasoning_without_id(request: Request) -> bool:
    """Reasoning that is sent back to a project must have its `id`, even with its ciphertext."""
    if is_preview_of_agents(request):
        return False
    return any(item.get("type") == "reasoning" and not item.get("id") for item in objects_in(request.body["input"]))


UNKNOWN_CONVERSATION = f"conv_{'0' * 50}"
_CONVERSATION_ID = re.compile(r"conv_([A-Za-z0-9]{48}|[A-Za-z0-9]{50})")
"""The ids of conversations: those of projects have 50 characters, others 48 (recorded 2025-12 to 2026-06)."""


@rule(
    project_not_found("Conversation '{id}' not found"),
    recorded("Azure/azure-sdk-assets, .NET, ConversationsTests.ConversationOperationsWork: read", "2026-02-12"),
    assumed("that all requests with the id of a conversation get this error"),
    on=(CREATE_RESPONSE, "* /conversations/{conversation_id}*"),
    when=("conversation", PATH_ID),
    rejects={
        f"Conversation '{UNKNOWN_CONVERSATION}' not found": Case(
            None, on=f"GET !{PROJECT_PATH}/openai/v1/conversations/{UNKNOWN_CONVERSATION}"
        )
    },
    accepts=[
        after(CREATE_PROJECT_CONVERSATION, Case(None, on=f"GET !{PROJECT_PATH}/openai/v1/conversations/{{0.id}}")),
        after(CREATE_PROJECT_CONVERSATION, by_agent(conversation="{0.id}")),
    ],
    fix="Create it first: conversations are never made by naming them.",
)
def project_conversation_not_found(request: Request, world: WorldView) -> Iterator[Json]:
    """A named conversation must exist; a project has its own message for this."""
    body = as_object(request.body)
    id = request.params.get("conversation_id") or conversation_id(body)
    if isinstance(id, str) and _CONVERSATION_ID.fullmatch(id) and id not in world.store.conversations:
        yield {"id": id}


MOST_ITEMS = 20
"""The maximum number of items that a request may add to a conversation."""
_ITEMS_PATH = f"!{PROJECT_PATH}/openai/v1/conversations/{{0.id}}/items"


def _give_items(number: int) -> Case:
    return Case({"items": [USER_MESSAGE] * number}, on=f"POST {_ITEMS_PATH}")


@rule(
    project_error(400, f"maxItems: Value should have at most {MOST_ITEMS} items", "/items"),
    recorded("Azure/azure-sdk-assets, .NET, ConversationsTests.ConversationItemPaginationWorks", "2026-02-12"),
    assumed("that a conversation created with items gets the same error"),
    on=("POST /conversations", "POST /conversations/{conversation_id}/items"),
    rejects=[after(CREATE_PROJECT_CONVERSATION, _give_items(MOST_ITEMS + 1))],
    accepts=[after(CREATE_PROJECT_CONVERSATION, _give_items(MOST_ITEMS))],
    fix="Add the items in several requests.",
)
def project_conversation_items(request: Request) -> bool:
    """A conversation accepts a limited number of items at a time; a project has its own message for this."""
    items = as_object(request.body).get("items")
    return isinstance(items, list) and len(items) > MOST_ITEMS


@rule(
    project_error(400, "Invalid conversation id '{id}', Malformed identifier.", "conversation"),
    reported("https://github.com/microsoft-foundry/new-foundry-portal/issues/102: the message", "2026-02-16"),
    assumed("status, code and param; that an id of another length than those recorded is malformed"),
    when="conversation",
    rejects={"conv_c8e602556f95489dJutf5cqOk1Uqu": by_agent(conversation="conv_c8e602556f95489dJutf5cqOk1Uqu")},
    accepts=[after(CREATE_PROJECT_CONVERSATION, by_agent(conversation={"id": "{0.id}"}))],
    since="2026-02-16",
    fix="Use the id of a conversation that the project made.",
)
def conversation_malformed(request: Request, world: WorldView) -> Iterator[Json]:
    """The id of a missing conversation must at least have the form of one."""
    named = request.body["conversation"]
    id = named.get("id") if isinstance(named, dict) else named
    if isinstance(id, str) and id and not _CONVERSATION_ID.fullmatch(id) and id not in world.store.conversations:
        yield {"id": id}
