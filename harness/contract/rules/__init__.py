"""All rules, by precedence: the API reports only the first error, so the order of AREAS is part of the contract.

Measured with pairs of faults (public probe, 2026-08-30): the key, the transport, the schema of the body field by field,
stored state, the transcript, an empty input, the model's features. Within an area, source order is precedence.
"""

from collections.abc import Mapping

from harness.contract.rule import RULES
from harness.core.errors import RegistrationError
from harness.core.registry import import_modules

MODULES = (
    *("http.access", "http.azure", "http.transport", "http.beta", "http.websocket"),
    *("request.shape", "request.answer", "request.model", "request.reasoning_and_sampling", "request.capability"),
    *("request.account_limits", "request.input_items.content", "request.input_items.media"),
    *("request.input_items.images", "request.input_items.references", "request.input_items.reasoning"),
    *("request.input_items.pairing", "request.input_items.input"),
    *("request.tool_definitions.function_schemas", "request.tool_definitions.names"),
    *("request.tool_definitions.tools", "request.tool_definitions.hosted", "request.tool_definitions.drawing"),
    *("request.tool_definitions.deferred", "stored.responses", "stored.threads", "stored.uploads", "stored.files"),
    *("stored.containers", "stored.vector_stores", "stored.missing_objects"),
)
"""The modules that declare rules; rules of one area in order of precedence."""

AREAS = (
    *("access", "gateway", "transport", "beta"),
    *("preview", "agents", "agent_sessions", "agent_tools", "agent_responses", "project_input"),
    *("resources", "resource_bodies", "websocket", "multi_agent"),
    *("shape", "length", "content", "ids", "media", "model", "tools", "text"),
    *("user_identity", "state", "lifecycle", "threads", "runs"),
    *("references", "reasoning", "pairing", "input", "configuration_updates", "compaction_triggers"),
    *("research", "sampling", "effort", "capability", "caching", "hosted", "reserved"),
    *("uploads", "files", "vector_stores", "project_files", "containers", "objects", "parted_uploads"),
    *("deferred", "limits", "filtered"),
)
"""All areas, in order of precedence; some are those of the package `harness.foundry`."""

CONTINUATION_RULES = (
    "previous_response_and_conversation",
    "conversation_not_found",
    "previous_response_zdr",
    "previous_response_not_found",
)
"""The rules in `state` about objects that a request only reads; also for operations without a model's answer."""

SHARED_RULES: Mapping[str, tuple[str, ...]] = {
    # An unanswered call fails to compact: https://github.com/openai/openai-agents-python/issues/2317 (2026-01-16), and so
    # does a response that is not stored: https://github.com/openai/openai-agents-python/issues/2333 (2026-01-19).
    # Assumed: a file that does not exist cannot be read, for a summary as for an answer.
    "POST /responses/compact": (
        *("media", "model", *CONTINUATION_RULES, "references", "reasoning", "pairing"),
        "input_file_not_found",
    ),
    # Assumed: a request that cannot become a prompt cannot be counted.
    "POST /responses/input_tokens": (
        *("media", "model", "tools", "text"),
        *(*CONTINUATION_RULES, "references", "reasoning", "pairing", "input_file_not_found"),
    ),
    # Assumed: a call may be stored before its output; only items that cannot be stored are refused.
    "POST /conversations": ("media", "item_not_found"),
    "POST /conversations/{conversation_id}/items": ("media", "item_not_found"),
    # Assumed: an unreadable event is refused like an unreadable body.
    "WS /responses": ("body_syntax", "body_unicode", "body_duplicate_key", "body_not_object"),
    # No model runs, so the input may be empty.
    "WS /responses (generate: false)": tuple(area for area in AREAS if area not in ("websocket", "input")),
}
"""The rules of `POST /responses`, by area or id, that also apply to other operations."""

ITEMS_MEMBER: Mapping[str, str] = {
    "POST /conversations": "items",
    "POST /conversations/{conversation_id}/items": "items",
}
"""The member with the items in operations that share rules about `input`, unless it is `input`."""


def sort_rules() -> None:
    """Put all rules in order of precedence, after another package has declared its own."""
    if unknown := {rule.area for rule in RULES.values()}.difference(AREAS):
        raise RegistrationError(
            f"rules of {', '.join(sorted(unknown))}: add the area to AREAS, at its place of precedence"
        )
    ordered = sorted(RULES.items(), key=lambda named: AREAS.index(named[1].area))
    RULES.clear()
    RULES.update(ordered)


import_modules(__name__, MODULES)
sort_rules()
