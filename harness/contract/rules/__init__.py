"""All rules, by precedence: the API reports only the first error, so the order of MODULES is part of the contract.

Measured with pairs of faults (public probe, 2026-08-30): the key, the transport, the schema of the body field by field,
stored state, the transcript, an empty input, the model's features. Within a module, source order is precedence.
"""

from collections.abc import Mapping

from harness.contract.rule import RULES
from harness.core.registry import import_modules

MODULES = (
    "http.access",
    "http.azure.gateway",
    "http.azure.deployments",
    "http.transport",
    "http.beta",
    "foundry.preview",
    "foundry.agents",
    "foundry.agent_sessions",
    "foundry.agent_tools",
    "foundry.agent_responses",
    "foundry.project_input",
    "foundry.resources",
    "foundry.resource_bodies",
    "http.websocket",
    "http.steering",
    "http.multi_agent",
    "request.shape",
    "request.length",
    "request.input_items.content",
    "request.input_items.ids",
    "request.input_items.media",
    "request.input_items.images",
    "request.models.model",
    "request.tool_definitions.function_schemas",
    "request.tool_definitions.tool_choice",
    "request.tool_definitions.tools",
    "request.text",
    "foundry.user_identity",
    "stored.state",
    "stored.lifecycle",
    "stored.threads",
    "stored.runs",
    "request.input_items.references",
    "request.input_items.reasoning",
    "request.input_items.pairing",
    "request.input_items.input",
    "request.input_items.configuration_updates",
    "request.input_items.compaction_triggers",
    "request.models.research",
    "request.models.sampling",
    "request.models.effort",
    "request.models.capability",
    "request.models.caching",
    "request.tool_definitions.hosted",
    "request.tool_definitions.drawing",
    "request.tool_definitions.reserved",
    "stored.uploads",
    "stored.files",
    "stored.vector_stores",
    "foundry.project_files",
    "stored.containers",
    "stored.objects",
    "stored.parted_uploads",
    "request.tool_definitions.deferred",
    "request.limits",
    "http.filtered",
)
"""The modules of the areas, in order of precedence; the areas in `foundry` are declared by the package `harness.foundry`."""

AREAS = tuple(module.rpartition(".")[2] for module in MODULES)

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

import_modules(__name__, (module for module in MODULES if not module.startswith("foundry.")))


def sort_rules() -> None:
    """Put all rules in order of precedence, after another package has declared its own."""
    ordered = sorted(RULES.items(), key=lambda named: AREAS.index(named[1].area))
    RULES.clear()
    RULES.update(ordered)
