"""What a Foundry project adds to OpenAI's types: tools, agents and their kinds, the form of its errors.

Tools are according to the types of azure-ai-projects 2.10; which members each one needs is not checked, as no refusal
is known.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from harness.core.account import FILTER_CATEGORIES
from harness.core.errors import REQUEST_ID
from harness.core.exchange import EMPTY_MAPPING, Json
from harness.core.json_values import as_string, pick

SERVER_TOOLS = (
    *("fabric_iq_preview", "web_iq_preview", "work_iq_preview", "toolbox_search_preview"),
    *("github_copilot_toolset_preview", "microsoft_copilot_toolset_preview"),
)
"""The tools backed by an MCP server: recorded for `fabric_iq_preview` (2026-05), assumed for the others."""
MEMORY_TOOLS = ("memory_search_preview", "memory_search")
"""The search of a memory store, as declared and as shown."""
PROJECT_TOOLS = frozenset(
    (
        *("a2a", "a2a_preview", "azure_ai_search", "azure_function", "bing_custom_search_preview", "bing_grounding"),
        *("browser_automation", "browser_automation_preview", "capture_structured_outputs"),
        *("fabric_dataagent_preview", "openapi", "reminder_preview", "sharepoint_grounding_preview"),
        *(*MEMORY_TOOLS, *SERVER_TOOLS),
    )
)
"""The types of tools that only a project has; `reminder_preview` of an agent was recorded 2026-07-01, with .NET."""
_DESCRIBED = frozenset({"description", "name", "tool_configs"})
PROJECT_MEMBERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("code_interpreter", "file_search", "image_generation"), _DESCRIBED),
    "mcp": frozenset({"project_connection_id", "tool_configs"}),
    "web_search": _DESCRIBED | {"custom_search_configuration"},
}
"""The members that tools of OpenAI's types only have in a project, by type."""
PROJECT_DEFAULTS: Mapping[str, Json] = {"code_interpreter": {"container": {"type": "auto"}}}
"""Defaults of a project for members that OpenAI requires: recorded 2026-02, shown in the response."""
TOOL_ORDER: Mapping[str, tuple[str, ...]] = {
    "function": ("type", "name", "description", "parameters", "strict"),
    "fabric_iq_preview": (
        *("type", "project_connection_id", "server_label"),
        *("require_approval", "name", "description"),
    ),
    "file_search": ("type", "vector_store_ids", "max_num_results", "ranking_options", "filters"),
    "image_generation": (
        *("type", "n", "model", "quality", "size", "output_format", "output_compression", "moderation", "background"),
    ),
    "mcp": ("type", "server_label", "server_url", "require_approval"),
    "web_search_preview": ("type", "search_content_types", "user_location", "search_context_size"),
    "work_iq_preview": ("type", "project_connection_id", "name", "description"),
}
"""The order in which a project writes the members of a tool, by type; all others begin with the type.

Recorded 2026-02 to 2026-06, in definitions and in responses.
"""
OPENAPI_ORDER = ("name", "description", "spec", "auth")
"""The order of the member `openapi` of such a tool. Recorded 2026-03-06."""


def order_tool(tool: Json) -> Json:
    """Order the members of a tool as a project writes them."""
    order = TOOL_ORDER.get(as_string(tool.get("type")), ("type",))
    ordered = pick(tool, *order) | tool
    if isinstance(described := tool.get("openapi"), dict):
        ordered["openapi"] = pick(described, *OPENAPI_ORDER) | described
    return ordered


class AgentKind(NamedTuple):
    """A kind of agent: its prefix of response ids, the number of a stream's first event, whether text comes whole.

    With `sends_whole_texts` a text comes in one delta, without padding, and its parts have no logprobs.
    """

    name: str
    id_prefix: str = "resp"
    first_number: int = 0
    sends_whole_texts: bool = False


PROMPT = AgentKind("prompt")
WORKFLOW = AgentKind("workflow", id_prefix="wfresp", first_number=1, sends_whole_texts=True)
"""Recorded 2026-02-26."""
HOSTED = AgentKind("hosted", id_prefix="caresp")
"""Recorded 2025-10 to 2026-07; that its streams are numbered like others is assumed."""
AGENT_KINDS: Mapping[str, AgentKind] = {kind.name: kind for kind in (PROMPT, WORKFLOW, HOSTED)}
"""The kinds by the `kind` of a definition; any other answers as a prompt agent (assumed)."""
KIND_BY_PREFIX: Mapping[str, AgentKind] = {kind.id_prefix: kind for kind in AGENT_KINDS.values()}
"""The kinds by the prefix of their response ids, without the underscore."""
RESPONSE_PREFIXES = tuple(f"{kind.id_prefix}_" for kind in AGENT_KINDS.values())


class NamedAgent(NamedTuple):
    """The agent of a request as `named`; the version that answers, its definition and kind.

    `members` are those of requests that it sets. Without a `version` the agent is unknown.
    """

    named: Any
    version: Json | None = None
    definition: Mapping[str, Any] = EMPTY_MAPPING
    kind: AgentKind = PROMPT
    members: Mapping[str, Any] = EMPTY_MAPPING


PROJECT_ERROR_FORM: Mapping[str, Any] = {
    "error": {
        "code": "{code}",
        "message": "{message}",
        "param": "{param}",
        "type": "{type}",
        "details": [],
        "additionalInfo": {"request_id": REQUEST_ID},
    }
}
"""The form of errors of a Foundry project's own service (recorded 2026-02 to 2026-07)."""


_PROMPT_CATEGORIES = FILTER_CATEGORIES
_COMPLETION_CATEGORIES = ("protected_material_code", "protected_material_text", *FILTER_CATEGORIES[:4])
_WITHOUT_SEVERITY = frozenset({"jailbreak", "protected_material_code", "protected_material_text"})
"""Categories with `detected`; all others have a severity."""


def filter_result(source: str, found: Sequence[str], length: int) -> Json:
    """Make the filter result of a `prompt` or `completion` of this `length`; `found` holds the blocked categories."""
    return {
        "blocked": bool(found),
        "source_type": source,
        "content_filter_raw": [],
        "content_filter_results": {**category_results(source, tuple(found))},
        "content_filter_offsets": {"start_offset": 0, "end_offset": length, "check_offset": 0},
    }


@lru_cache(maxsize=256)
def category_results(source: str, found: tuple[str, ...]) -> Mapping[str, Json]:
    """Return the result of each category in a prompt or a completion."""
    categories = _PROMPT_CATEGORIES if source == "prompt" else _COMPLETION_CATEGORIES
    return {name: _category_result(name, name in found) for name in categories}


def _category_result(category: str, found: bool) -> Json:
    if category in _WITHOUT_SEVERITY:
        return {"detected": found, "filtered": found}
    return {"filtered": found, "severity": "medium" if found else "safe"}
