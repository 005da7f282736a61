"""Tools and tool choices that are right: every kind that the schema knows, with many members."""

from typing import Any

from harness.core.exchange import Json

OBJECT: Json = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def part(type: str, **members: Any) -> Json:
    """Return an object with a key, as unions of the API want it."""
    return {"type": type, **members}


ENVIRONMENTS: list[Json] = [
    part("local", skills=[{"name": "s", "description": "d", "path": "p"}]),
    part("container_reference", container_id="c"),
]
FUNCTION: Json = {"type": "function", "name": "f"}
CUSTOM: Json = {"type": "custom", "name": "c"}
FILTER: Json = {"type": "eq", "key": "k", "value": "v"}
ALLOWLIST: Json = {
    "type": "allowlist",
    "allowed_domains": ["example.org"],
    "domain_secrets": [{"domain": "example.org", "name": "n", "value": "v"}],
}
ZIP: Json = {"type": "base64", "media_type": "application/zip", "data": "UEs="}
INLINE_SKILL: Json = {"type": "inline", "name": "s", "description": "d", "source": ZIP}
RANKING: Json = {"ranker": "auto", "score_threshold": 0.5}
PLACE: Json = {"type": "approximate", "city": "Paris", "country": "FR", "region": None, "timezone": "Europe/Paris"}

TOOLS: list[Json] = [
    {**FUNCTION, "description": "d", "parameters": OBJECT, "strict": True, "async": False, "defer_loading": False},
    {**FUNCTION, "parameters": None, "strict": None, "allowed_callers": ["direct"], "output_schema": OBJECT},
    part(
        "file_search",
        vector_store_ids=["vs_1"],
        max_num_results=5,
        filters=part("and", filters=[FILTER, {**FILTER, "type": "in", "value": ["a", 1]}]),
        ranking_options={**RANKING, "hybrid_search": {"embedding_weight": 1, "text_weight": 0.5}},
    ),
    part("computer"),
    part("computer_use_preview", display_height=1, display_width=1, environment="linux"),
    part("web_search", filters={"allowed_domains": ["example.org"]}, search_context_size="low", user_location=PLACE),
    part("web_search_2025_08_26", external_web_access=False),
    part("mcp", server_label="m", server_url="https://example.org", allowed_tools=["a"], headers={"a": "b"}),
    part(
        "mcp",
        server_label="n",
        connector_id="connector_gmail",
        authorization="token",
        allowed_tools={"read_only": True, "tool_names": ["a"]},
        require_approval={"always": {"tool_names": ["a"]}, "never": {"read_only": True}},
    ),
    part("mcp", server_label="o", server_url="https://example.org", require_approval="never"),
    part("code_interpreter", container="cntr_1"),
    part("code_interpreter", container=part("auto", file_ids=["f"], memory_limit="1g", network_policy=ALLOWLIST)),
    part("programmatic_tool_calling"),
    part(
        "image_generation",
        action="auto",
        background="auto",
        model="gpt-image-1",
        size="1024x1024",
        quality="low",
        output_compression=50,
        partial_images=1,
        input_fidelity="low",
        input_image_mask={"file_id": "file_1"},
    ),
    part("shell", environment=part("container_auto", skills=[part("skill_reference", skill_id="s")])),
    part("shell", environment=part("container_auto", network_policy=part("disabled"), skills=[INLINE_SKILL])),
    *(part("shell", environment=environment) for environment in ENVIRONMENTS),
    {**CUSTOM, "description": "d", "format": part("grammar", syntax="regex", definition="a")},
    {**CUSTOM, "format": part("text")},
    part("namespace", name="n", description="d", tools=[{**FUNCTION, "parameters": OBJECT}, CUSTOM]),
    part("tool_search", execution="client", description="d", parameters={"type": "object"}),
    part("web_search_preview", search_content_types=["text"], user_location=PLACE),
    part("web_search_preview_2025_03_11"),
    part("apply_patch", allowed_callers=["direct", "programmatic"]),
]

CHOICES: list[Any] = [
    *("none", "auto", "required"),
    part("allowed_tools", mode="auto", tools=[FUNCTION]),
    FUNCTION,
    CUSTOM,
    part("mcp", server_label="m", name=None),
    *(part(type) for type in ("apply_patch", "shell", "programmatic_tool_calling", "web_search", "web_search_preview")),
    *(
        part(type)
        for type in ("file_search", "computer", "computer_use_preview", "image_generation", "code_interpreter")
    ),
]
