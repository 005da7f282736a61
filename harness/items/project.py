"""Items that only agents of a Foundry project emit: calls of its own tools, workflow steps, consent requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.api.project_types import MEMORY_TOOLS, PROJECT_TOOLS
from harness.core.errors import ScriptError
from harness.core.exchange import Json
from harness.core.text import show
from harness.items.calls import encode_arguments
from harness.items.examples import between_messages, typed
from harness.items.kind import Item, item, require_text
from harness.items.stream_elements import FinalMember

Builder = Callable[..., Item]
Arguments = Mapping[str, Any] | str
Output = Mapping[str, Any] | Sequence[Any] | str


def _pair(tool: str, doing: str, *tool_types: str) -> tuple[Builder, Builder]:
    """Make the builders of `<tool>_call` and `<tool>_call_output`; `doing` says what the service does."""

    def call(arguments: Arguments = "{}", *, call_id: str | None = None, off_schema: bool = False) -> Json:
        return {"arguments": encode_arguments(arguments), "call_id": call_id, "off_schema": off_schema}

    def result(output: Output = "", *, call_id: str | None = None) -> Json:
        return {"call_id": call_id, "output": _encode_output(output)}

    return _declare(tool, doing, tool_types, call, result)


def _named_pair(tool: str, doing: str, *tool_types: str) -> tuple[Builder, Builder]:
    """Make the builders for a call of a tool's function and for its result; both items have the function's `name`."""

    def call(name: str, arguments: Arguments = "{}", *, call_id: str | None = None, off_schema: bool = False) -> Json:
        own = {"arguments": encode_arguments(arguments), "call_id": call_id, "off_schema": off_schema}
        return {"name": require_text("name", name), **own}

    def result(name: str, output: Output = "", *, call_id: str | None = None) -> Json:
        return {"call_id": call_id, "name": require_text("name", name), "output": _encode_output(output)}

    return _declare(tool, doing, tool_types, call, result)


def _declare(
    tool: str, doing: str, tool_types: tuple[str, ...], call: Callable[..., Json], result: Callable[..., Json]
) -> tuple[Builder, Builder]:
    call.__name__, call.__doc__ = f"{tool}_call", f"The service {doing}; `arguments` is what the model gave it."
    result.__name__ = f"{tool}_call_output"
    result.__doc__ = (
        f"What a `{tool}_call` has returned; without a `call_id` it is that of the last such call of the turn."
    )
    named = {"name": "look"} if "name" in call.__annotations__ else {}
    members = {"call_id": "call_1", **named, "status": "completed"}
    pair = (
        typed(call.__name__, id="fc_1", arguments='{"query":"v2"}', **members),
        typed(result.__name__, id="fco_1", output="", **members),
    )
    return (
        item(
            "fc",
            FinalMember("arguments", ""),
            defaults={"arguments": "{}", "call_id": None},
            tool_types=tool_types,
            example=between_messages(*pair),
            dialects=(FOUNDRY,),
        )(call),
        item(
            "fco",
            FinalMember("output", "[]"),
            defaults={"call_id": None, "output": ""},
            result_of=call.__name__,
            dialects=(FOUNDRY,),
        )(result),
    )


def _encode_output(output: Output) -> str:
    """Encode a tool's result as the service shows it: a string, or JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


a2a_preview_call, a2a_preview_call_output = _named_pair("a2a_preview", "asks another agent", "a2a_preview", "a2a")
azure_ai_search_call, azure_ai_search_call_output = _pair("azure_ai_search", "searches an index", "azure_ai_search")
azure_function_call, azure_function_call_output = _named_pair(
    "azure_function", "calls a function in Azure", "azure_function"
)
bing_custom_search_preview_call, bing_custom_search_preview_call_output = _pair(
    "bing_custom_search_preview", "searches chosen sites", "bing_custom_search_preview"
)
bing_grounding_call, bing_grounding_call_output = _pair("bing_grounding", "searches the web", "bing_grounding")
browser_automation_preview_call, browser_automation_preview_call_output = _pair(
    "browser_automation_preview", "steers a browser", "browser_automation_preview", "browser_automation"
)
fabric_dataagent_preview_call, fabric_dataagent_preview_call_output = _pair(
    "fabric_dataagent_preview", "asks a data agent", "fabric_dataagent_preview"
)
openapi_call, openapi_call_output = _named_pair("openapi", "calls an operation of an API", "openapi")
sharepoint_grounding_preview_call, sharepoint_grounding_preview_call_output = _pair(
    "sharepoint_grounding_preview", "searches SharePoint", "sharepoint_grounding_preview"
)

CONSENTED_TYPES = ("mcp", *sorted(PROJECT_TOOLS))
"""The types of tools that may require the user's consent first."""
ACTION_STATUSES = ("completed", "failed", "cancelled", "in_progress")
SEARCH_STATUSES = ("in_progress", "searching", "completed", "incomplete", "failed")
_NO_TOKENS: Json = {"embedding_tokens": 0, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
_NO_DETAILS: Json = {"cached_tokens": None, "reasoning_tokens": None}


@item(
    "wfa",
    defaults={"parent_action_id": None, "previous_action_id": None},
    dialects=(FOUNDRY,),
    example=between_messages(
        typed("workflow_action", id="wfa_1", kind="SetVariable", action_id="set", status="completed")
    ),
)
def workflow_action(
    kind: str,
    action_id: str,
    *,
    parent_action_id: str | None = None,
    previous_action_id: str | None = None,
    status: str | None = None,
    holds: int = 0,
) -> Json:
    """Let a workflow take a step, for example `workflow_action("SendActivity", "greet", holds=1)`.

    A stream sends the next `holds` items of the turn while this one is in progress: they are what the step says.
    """
    if status is not None and status not in ACTION_STATUSES:
        raise ScriptError(f"status is {show(status)}. Use one of: {', '.join(ACTION_STATUSES)}.")
    own = {"kind": require_text("kind", kind), "action_id": require_text("action_id", action_id), "holds": holds}
    before = {"parent_action_id": parent_action_id, "previous_action_id": previous_action_id}
    return {**own, **before} if status is None else {**own, **before, "status": status}


@item(
    "oauth",
    status=False,
    dialects=(FOUNDRY,),
    tool_types=CONSENTED_TYPES,
    example=between_messages(
        typed(
            "oauth_consent_request",
            id="oauth_1",
            consent_link="https://consent.example.org/?code=1",
            server_label="crm",
        )
    ),
)
def oauth_consent_request(consent_link: str, server_label: str) -> Json:
    """Require the user to consent, at an `https` link, before a server can be called; after that the client asks again."""
    return {
        "consent_link": require_text("consent_link", consent_link),
        "server_label": require_text("server_label", server_label),
    }


@item(
    "fco",
    status=False,
    dialects=(FOUNDRY,),
    tool_types=("capture_structured_outputs",),
    example=between_messages(typed("structured_outputs", id="fco_1", output={"city": "Oslo"})),
)
def structured_outputs(output: Any) -> Json:
    """Let the model emit a value of the schema declared by the tool `capture_structured_outputs`."""
    return {"output": output}


@item(
    "memupdateo",
    dialects=(FOUNDRY,),
    tool_types=MEMORY_TOOLS,
    defaults={"error": None, "memories": [], "search_id": None, "superseded_by": None, "update_id": None},
    example=between_messages(typed("memory_search_call", id="memupdateo_1", memories=[], status="completed")),
)
def memory_search_call(
    memories: Sequence[str | Json] = (),
    *,
    status: str = "in_progress",
    search_id: str | None = None,
    update_id: str | None = None,
) -> Json:
    """Let the service search its memories of the user; a memory is a string, or an object with its `memory_item`.

    Recorded: it stays `in_progress` in a completed response, as an update of the memories follows.
    """
    if status not in SEARCH_STATUSES:
        raise ScriptError(f"status is {show(status)}. Use one of: {', '.join(SEARCH_STATUSES)}.")
    found = [{"memory_item": {"content": memory}} if isinstance(memory, str) else memory for memory in memories]
    details = {"input_tokens_details": _NO_DETAILS, "output_tokens_details": _NO_DETAILS}
    return {
        "error": None,
        "memories": found,
        "search_id": search_id,
        "status": status,
        "superseded_by": None,
        "update_id": update_id,
        "usage": {**_NO_TOKENS, **details},
    }


@item(
    "fc",
    FinalMember("arguments", ""),
    defaults={"arguments": "{}", "call_id": None},
    dialects=(FOUNDRY,),
    tool_types=("a2a_preview", "a2a"),
    example=between_messages(
        typed("remote_function_call", id="fc_1", call_id="call_1", label="helper", arguments="{}")
    ),
)
def remote_function_call(
    label: str, name: str | None = None, arguments: Mapping[str, Any] | str = "{}", *, call_id: str | None = None
) -> Json:
    """Let the service call a function of another agent, which `label` names: an older form of `a2a_preview_call`."""
    own = {"arguments": encode_arguments(arguments), "call_id": call_id, "label": require_text("label", label)}
    return own if name is None else {**own, "name": require_text("name", name)}
