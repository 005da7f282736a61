"""The error for each JSON Schema keyword: members that are missing, unknown, of another type, too long."""

from harness.api.http.dialects import PREVIEW_OF_AGENTS
from harness.contract import phrasing
from harness.contract.rule import Case, after, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import (
    CREATE_PROJECT_CONVERSATION,
    HELPER_REFERENCE,
    ON_AGENT,
    ON_FOUNDRY,
    ON_PREVIEW,
)
from harness.core.errors import ApiError, bad_request
from harness.core.exchange import Json

PROBE_ADDRESS = "https://github.com/kangminlee-maker/local-OAuth-CLI-API-adapter"
PROBE_DATE = "2026-08-30"
PROBED = reported(PROBE_ADDRESS, PROBE_DATE)


def _path_error(message: str, code: str) -> ApiError:
    return bad_request(message, "{path}", code)


def _length_error(problem: str, bound: str, code: str) -> ApiError:
    kind = "a string" if "string" in problem else "an array"
    got = f"an {problem}" if problem.startswith("empty") else f"{kind} with length {{length}}"
    return _path_error(
        f"Invalid '{{path}}': {problem}. Expected {kind} with {bound} length {{limit}}, but got {got} instead.", code
    )


def _number_error(problem: str, sign: str, code: str) -> ApiError:
    said = f"{{numeric}} {problem} value. Expected a value {sign} {{limit}}, but got {{value}} instead."
    return _path_error(f"Invalid '{{path}}': {said}", code)


_CONVERSATIONS_ALONE = (
    Case({"agent_reference": HELPER_REFERENCE, "conversation": "{0.id}"}, on=ON_FOUNDRY),
    Case({"agent_reference": HELPER_REFERENCE, "conversation": "{0.id}", "max_output_tokens": 300}, on=ON_FOUNDRY),
    Case({"agent": HELPER_REFERENCE, "conversation": "{0.id}"}, on=f"{ON_PREVIEW}?api-version={PREVIEW_OF_AGENTS}"),
    Case({"conversation": {"id": "{0.id}"}, "stream": True}, on=ON_AGENT),
)


@rule(
    phrasing.missing_parameter("{path}"),
    PROBED,
    recorded("maruel/genai"),
    keyword="required",
    rejects={
        "model": Case({}, absent=("model", "input")),
        "input": Case({"previous_response_id": "resp_x"}, absent=("input",)),
        "input[0].call_id": [{"type": "function_call", "name": "f", "arguments": "{}"}],
        "tools[0].type": {"tools": [{"name": "f"}]},
    },
    accepts=[
        # Recorded 2026-02-26 to 2026-06-26 of Python, JS and Java clients of Foundry: Azure/azure-sdk-assets.
        *(after(CREATE_PROJECT_CONVERSATION, case) for case in _CONVERSATIONS_ALONE),
        # Assumed: as with an agent.
        after(CREATE_PROJECT_CONVERSATION, Case({"model": "gpt-4o", "conversation": "{0.id}"}, on=ON_FOUNDRY)),
    ],
    fix="Add the member that `param` names, beside `type`: nothing is nested in `function` or `json_schema`, as in Chat "
    "Completions.",
)
def missing_required_parameter() -> None:
    """Required members must be present.

    `model`, then `input`, are looked for before anything else in the body.
    """


@rule(
    _path_error("Unknown parameter: '{path}'.{hint}", "unknown_parameter"),
    PROBED,
    keyword="additionalProperties",
    rejects={
        "Unknown parameter: 'seed'.": {"seed": 1},
        "Unknown parameter: 'max_tokens'.": {"max_tokens": 16},
        "Unknown parameter: 'strem'. Did you mean 'stream' or 'store'?": {"strem": 1},
        "Unknown parameter: 'modell'.": {"modell": "gpt-4.1"},
        "Unknown parameter: 'text.zzz'.": {"text": {"zzz": 1}},
        "Unknown parameter: 'input[0].bogus'.": [{"role": "user", "content": "x", "bogus": 1}],
    },
    accepts=[
        {"tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}, "function": {"name": "x"}}]},
        # Recorded 2026-03-17 of a Java client of Foundry, as JSON and as a stream: Azure/azure-sdk-assets.
        Case(
            {"agent_reference": HELPER_REFERENCE, "input": "hi", "structured_inputs": {"userName": "Ada"}},
            on=ON_FOUNDRY,
        ),
        # Typed: azure-ai-agentserver-responses 2.3, the request of a response.
        Case({"model": "gpt-4o", "input": "hi", "structured_inputs": {"userName": "Ada"}}, on=ON_FOUNDRY),
        # Recorded 2026-07-01 of a Python client of Foundry: Azure/azure-sdk-assets.
        Case({"input": "hi", "agent_session_id": "session-1"}, on=ON_AGENT),
    ],
    fix="Remove the member, which an SDK may have added (`parsed`), or send its new form (`max_output_tokens`).",
)
def unknown_parameter() -> None:
    """Unknown members are refused, at the top level before any other fault of a field.

    At the top level a near miss (two edits at most) is suggested, unless the body has that member already.
    """


@rule(
    bad_request(
        "Unsupported parameter: '{name}'. In the Responses API, this parameter has moved to '{new}'. Try again with the new "
        "parameter. See the API documentation for more information: "
        "https://platform.openai.com/docs/api-reference/responses/create.",
        None,
        "unsupported_parameter",
    ),
    recorded("crmne/ruby_llm", "2025-08-06"),
    PROBED,
    rejects={
        ("response_format", "text.format"): {"response_format": {"type": "json_object"}},
        ("messages", "input"): {"messages": []},
        ("reasoning_effort", "reasoning.effort"): {"reasoning_effort": "low"},
        ("verbosity", "text.verbosity"): {"verbosity": "low"},
    },
    fix="Use the member the message names.",
)
def moved_parameter() -> None:
    """Members of Chat Completions that live elsewhere here are refused with a pointer to their new place.

    The error has no `param`: recorded for `response_format`, probed for `messages`. `max_tokens` is simply unknown.
    """


@rule(
    phrasing.invalid_type("{path}", "a string", "an object"),
    PROBED,
    keyword="null",
    rejects={"model": {"model": None}, "input": {"input": None}},
    accepts=[{"temperature": None, "tools": None, "previous_response_id": None, "text": None}],
    fix="Leave the member out or give it a value.",
)
def null_parameter() -> None:
    """`model` and `input` cannot be null.

    The API's message calls null an object. Every other null at the top level counts as absent.
    """


_SKILLED: Json = {
    "type": "container_auto",
    "skills": [{"type": "skill_reference", "skill_id": "skill_1", "version": version} for version in (2, "latest")],
}
_RANKED: Json = {"ranker": "default-2024-08-21", "score_threshold": 0.5}


@rule(
    phrasing.invalid_type("{path}", "{expected}"),
    PROBED,
    keyword="type",
    rejects={
        ("temperature", "a decimal", "a string"): {"temperature": "hot"},
        ("tools", "an array of tools", "a string"): {"tools": "x"},
        ("service_tier", "one of 'auto', 'default', 'fast', 'flex', or 'priority'", "an object"): {
            "service_tier": {"a": 1}
        },
        ("store", "a boolean", "a string"): {"store": "yes"},
        ("input[0].content", "one of an array of objects or string", "null"): [{"role": "assistant", "content": None}],
    },
    accepts=[{"model": "gpt-5.4", "tools": [{"type": "shell", "environment": _SKILLED}]}],
    fix="Send the type the message expects; inside items null is not the same as absent.",
)
def invalid_type() -> None:
    """A value must have the JSON type its place asks for."""


_TOOL_TYPES = (
    "'code_interpreter', 'programmatic_tool_calling', 'function', 'namespace', 'tool_search', 'file_search', "
    "'web_search_preview', 'web_search_preview_2025_03_11', 'image_generation', 'mcp', 'custom', 'computer', "
    "'computer_use_preview', 'shell', and 'apply_patch'"
)


@rule(
    phrasing.invalid_value(),
    PROBED,
    assumed("that lists of types without a report have the order of the SDK's unions, as those with one often have"),
    keyword="enum",
    rejects={
        ("bogus", "'auto' and 'disabled'"): {"truncation": "bogus"},
        ("retrieval", _TOOL_TYPES): {"tools": [{"type": "retrieval"}]},
        ("bogus", "'text' and 'grammar'"): {
            "model": "gpt-5.6-sol",
            "tools": [{"type": "custom", "name": "f", "format": {"type": "bogus"}}],
        },
        ("auto", _TOOL_TYPES): {"tool_choice": {"type": "auto"}},
        ("1h", "'30m'"): Case({"model": "gpt-5.6-sol", "prompt_cache_options": {"ttl": "1h"}}, as_of="2026-09-20"),
        ("bogus", "'low', 'medium', and 'high'"): {"text": {"verbosity": "bogus"}},
        ("bogus", "'commentary' and 'final_answer'"): [{"role": "assistant", "content": "x", "phase": "bogus"}],
        ("ogg", "'mp3' and 'wav'"): [
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "ogg"}}]}
        ],
    },
    accepts=[{"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"], "ranking_options": _RANKED}]}],
    fix="Use one of the values the message lists.",
)
def invalid_value() -> None:
    """A value must be one of the listed ones."""


@rule(
    _length_error("string too long", "maximum", "string_above_max_length"),
    reported("https://github.com/openclaw/openclaw/issues/10640", "2026-02"),
    keyword="maxLength",
    rejects={("prompt_cache_key", "64", "70"): {"prompt_cache_key": "k" * 70}},
    fix="Shorten it.",
)
def string_above_max_length() -> None:
    """A string must not be longer than its limit."""


@rule(
    _length_error("empty string", "minimum", "empty_string"),
    reported("public reports of two origins", "2026"),
    keyword="minLength:empty",
    rejects={("input[0].name", "1"): [{"type": "function_call", "call_id": "c", "name": "", "arguments": "{}"}]},
    fix="Give it a value.",
)
def empty_string() -> None:
    """A string must not be empty where its limit asks for a character."""


@rule(
    _path_error(
        "Invalid '{path}': string does not match pattern. Expected a string that matches the pattern '{pattern}'.",
        "invalid_value",
    ),
    reported("public reports of three origins", "2026-09-17"),
    keyword="pattern",
    rejects={
        ("tools[0].name", "^[a-zA-Z0-9_-]+$"): {
            "tools": [{"type": "function", "name": "cart.add", "parameters": {"type": "object"}}]
        }
    },
    fix="Use only characters that the pattern allows.",
)
def string_pattern() -> None:
    """A string must match the pattern of its place."""


@rule(
    _length_error("array too long", "maximum", "array_above_max_length"),
    reported("public reports of two origins", "2026"),
    keyword="maxItems",
    rejects={
        ("input[0].content", "0", "1"): [
            {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]}
        ]
    },
    fix="Send fewer, or in several requests.",
)
def array_above_max_length() -> None:
    """An array must not be longer than its limit."""


@rule(
    _length_error("empty array", "minimum", "empty_array"),
    reported("a public log of the whole answer: the allowed domains of a web search", "2025-10-16"),
    reported("public reports of two origins: the vector stores of a file search", "2026"),
    keyword="minItems:empty",
    rejects={
        ("tools[0].filters.allowed_domains", "1"): {
            "tools": [{"type": "web_search", "filters": {"allowed_domains": []}}]
        },
        ("tools[0].vector_store_ids", "1"): {"tools": [{"type": "file_search", "vector_store_ids": []}]},
    },
    fix="Leave it out or give it members.",
)
def empty_array() -> None:
    """An array must not be empty where its limit asks for a member."""


@rule(
    _number_error("below minimum", ">=", "{numeric}_below_min_value"),
    recorded("maruel/genai"),
    PROBED,
    keyword="minimum",
    rejects={("max_output_tokens", "integer", "16", "8"): {"max_output_tokens": 8}},
    fix="Use a value within the bound.",
)
def number_below_minimum() -> None:
    """A number must not be below its minimum; the code names its kind, integer or decimal."""


@rule(
    _number_error("above maximum", "<=", "{numeric}_above_max_value"),
    recorded("maruel/genai"),
    PROBED,
    keyword="maximum",
    rejects={("temperature", "decimal", "2", "3"): {"temperature": 3}},
    fix="Use a value within the bound.",
)
def number_above_maximum() -> None:
    """A number must not be above its maximum; the code names its kind, integer or decimal."""


@rule(
    _path_error(
        "Invalid '{path}': too many properties. Expected an object with at most {limit} properties, but got an object with "
        "{length} properties instead.",
        "object_above_max_properties",
    ),
    PROBED,
    keyword="maxProperties",
    rejects={("metadata", "16", "17"): {"metadata": {f"k{number}": "v" for number in range(17)}}},
    fix="Send fewer.",
)
def object_above_max_properties() -> None:
    """An object must not have more members than its limit."""


@rule(
    bad_request(
        "Invalid property name in '{path}': '{name}' is too long. Expected a string with maximum length {limit}, but got a "
        "string with length {length} instead.",
        "{path}.{key}",
        "property_name_above_max_length",
    ),
    reported("the same validator, measured on another endpoint of the platform", PROBE_DATE),
    keyword="propertyNames",
    rejects={("metadata", "kkk...kkk", "64", "65"): {"metadata": {"k" * 65: "v"}}},
    fix="Shorten the name.",
)
def property_name_above_max_length() -> None:
    """The name of a metadata member must not be longer than its limit; the message abbreviates it."""
