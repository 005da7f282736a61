"""Calls of a Foundry project's tools, which the service executes itself, and their results.

Recorded 2026-02 to 2026-06, except for `azure_function` and `browser_automation_preview`, which
azure-ai-agentserver-responses 2.4 types alike: neither arguments nor output are streamed in pieces, and an output is
announced as an empty list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness.api.http.dialects import FOUNDRY
from harness.core.exchange import Json
from harness.items.calls import encode_arguments
from harness.items.examples import between_messages, typed
from harness.items.kind import Item, item, require_text
from harness.items.stream_grammar import FinalMember

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
    told = {"call_id": "call_1", **named, "status": "completed"}
    pair = (
        typed(call.__name__, id="fc_1", arguments='{"query":"v2"}', **told),
        typed(result.__name__, id="fco_1", output="", **told),
    )
    return (
        item(
            "fc",
            FinalMember("arguments", ""),
            defaults={"arguments": "{}", "call_id": None},
            tool_types=tool_types,
            examples={call.__name__: between_messages(*pair)},
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
