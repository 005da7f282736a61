"""The form of items: content parts by role and in tool outputs, ids. The schema finds most of these violations."""

from collections.abc import Iterator

from harness.api.http.dialects import FOUNDRY
from harness.api.project_types import RESPONSE_PREFIXES
from harness.contract.phrasing import invalid_id, invalid_value
from harness.contract.rule import Case, RuleScope, assumed, recorded, reported, rule
from harness.contract.rules.example_requests import CALL, HI, OUTPUT
from harness.contract.rules.request.shape import PROBED
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request
from harness.core.json_values import as_object

_INVALID_VALUE = invalid_value()
PART_TYPES = (
    "'input_text', 'input_image', 'input_audio', 'output_text', 'refusal', 'input_file', 'computer_screenshot', "
    "'summary_text', and 'encrypted_content'"
)


def _part(type: str, **members: str) -> dict[str, str]:
    return {"type": type, **members}


@rule(
    _INVALID_VALUE,
    PROBED,
    reported("https://github.com/MervinPraison/PraisonAI/issues/3934", "2026-08-14"),
    rejects={
        ("text", PART_TYPES): [{"role": "user", "content": [_part("text", text="x")]}],
        ("image_url", PART_TYPES): [{"role": "assistant", "content": [_part("image_url", image_url="x")]}],
    },
    fix="Use `input_text`, `input_image`, `input_file` in user turns, `output_text` and `refusal` in assistant turns.",
)
def content_part_type() -> None:
    """A part's `type` must be one of the nine the API knows; `param` ends in `.type`.

    Parts of Chat Completions (`text`, `image_url`, `file`) end here.
    """


@rule(
    _INVALID_VALUE,
    PROBED,
    reported("public reports of three more origins", "2026-08-01"),
    rejects={
        (type, "'output_text' and 'refusal'"): {"input": [{"role": "assistant", "content": [_part(type)]}, HI]}
        for type in ("input_text", "input_file", "input_image", "input_audio", "computer_screenshot", "summary_text")
    },
    accepts=[
        [{"role": "assistant", "content": "earlier"}, HI],
        [{"role": "assistant", "content": [_part("refusal", refusal="no")]}, HI],
        [
            {
                "type": "message",
                "role": "assistant",
                "content": [{**_part("output_text", text="x"), "annotations": []}],
            },
            HI,
        ],
    ],
    fix="Send what the assistant said as `output_text`; a file it made goes into a user turn as `input_file`.",
)
def assistant_content() -> None:
    """An assistant message holds `output_text` and `refusal` parts only, or a string.

    A part that is known but belongs elsewhere (`input_file`, `input_text` …) is reported at the part, without `.type`.
    """


@rule(
    _INVALID_VALUE,
    PROBED,
    reported("public reports with shorter lists", "2025"),
    rejects={
        ("output_text", "'input_text', 'input_image', 'input_file', 'scoped_content', and 'input_audio'"): [
            {"role": "user", "content": [_part("output_text", text="x")]}
        ]
    },
    accepts=[{"input": [{"role": role, "content": [_part("input_text", text="x")]}]} for role in ("user", "system")],
    fix="Use `input_text` for what a user says.",
)
def user_content() -> None:
    """A user, system or developer message holds input parts only, or a string."""


@rule(
    _INVALID_VALUE,
    reported("public reports of two origins", "2026-08"),
    rejects={
        ("output_text", "'input_text', 'input_image', 'input_file', and 'scoped_content'"): [
            CALL,
            {**OUTPUT, "output": [_part("output_text", text="x")]},
        ]
    },
    accepts=[[CALL, {**OUTPUT, "output": [_part("input_text", text="x")]}]],
    fix="Use `input_text` for what a tool returns.",
)
def tool_output_content() -> None:
    """The array form of a tool output holds input parts only."""


@rule(
    _INVALID_VALUE,
    reported("https://github.com/openai/codex/issues/7085", "2025-11-21"),
    rejects={
        ("other", "'search', 'open_page', and 'find_in_page'"): [
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "other"}}
        ]
    },
    fix="Send the item back as the API returned it, or leave it out.",
)
def web_search_action() -> None:
    """A web search action is a search, an opened page or a find in a page."""


_SEARCH: Json = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
_SOURCES: list[Json] = [{"type": "url", "url": "https://example.com/"}]
_SOURCED_SEARCH: Json = {**_SEARCH, "action": {"type": "search", "query": "x", "sources": _SOURCES}}


@rule(
    bad_request(
        "Unknown parameter: 'input[{index}].action.sources'.", "input[{index}].action.sources", "unknown_parameter"
    ),
    reported("https://github.com/pydantic/pydantic-ai: a comment in its mapping of web searches", "2025-09"),
    reported("a public recording", "2026"),
    recorded("posit-dev/chatlas: null is accepted", "2026-05-06"),
    reported("a public probe of gpt-6-astra: accepted by now, and dropped, as are `results`", "2026-10-05"),
    assumed("that it held for every model until then, and not for an empty list, which the AI SDK sends"),
    when="input[]",
    items="web_search_call",
    mentions="sources",
    until="2026-10-04",
    rejects={"1": [HI, _SOURCED_SEARCH, HI]},
    accepts=[
        [HI, {**_SEARCH, "action": {"type": "search", "query": "x", "sources": None}}, HI],
        [HI, {**_SEARCH, "action": {"type": "search", "query": "x", "sources": []}}, HI],
        [HI, {**_SEARCH, "action": {"type": "search", "query": "x"}}, HI],
        Case({"input": [HI, {**_SOURCED_SEARCH, "results": _SOURCES}]}, as_of="2026-10-05"),
    ],
    fix="Leave `sources` out when the item is sent back: `include` asks for it, but it is no part of the input.",
)
def web_search_sources(request: Request) -> Iterator[Json]:
    """The sources of a search, which `include` asks for, could not be sent back at first."""
    for index, item in enumerate(request.body["input"]):
        if item.get("type") == "web_search_call" and as_object(item.get("action")).get("sources"):
            yield {"index": index}


SCOPE = RuleScope(area="ids")
BY_RESPONSE_ID = "*{response_id}*"
BY_CONVERSATION_ID = "*{conversation_id}*"
BY_ITEM_ID = "*{item_id}*"


def _reasoning_body(id: str) -> Json:
    return {"input": [{"type": "reasoning", "id": id, "summary": []}, HI]}


def _call_body(id: str) -> Json:
    return {"input": [{"type": "function_call", "id": id, "call_id": "call_1", "name": "f", "arguments": "{}"}, OUTPUT]}


def _custom_body(id: str) -> Json:
    call = {"type": "custom_tool_call", "call_id": "call_1", "name": "t", "input": "x"}
    return {"input": [call, {**OUTPUT, "type": "custom_tool_call_output", "id": id}]}


@rule(
    bad_request(
        "Invalid '{path}': '{value}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value "
        "contained additional characters.",
        "{path}",
        "invalid_value",
    ),
    reported("public probe table of ids", "2026"),
    reported("public report of another origin", "2026-05-31"),
    reported(
        "https://github.com/ProjectTech4DevAI/kaapi-backend/issues/317 and the tests of another project: of "
        "previous_response_id",
        "2025-08-04",
    ),
    rejects={
        ("input[0].id", ""): _reasoning_body(""),
        ("input[0].id", "rs_a:rs_b"): _reasoning_body("rs_a:rs_b"),
        ("input[0].id", "fc_abcDEF_"): _call_body("fc_abcDEF_"),
        ("input[0].id", "fc_"): _call_body("fc_"),
        ("previous_response_id", "@results.ress"): {"previous_response_id": "@results.ress"},
        ("previous_response_id", ""): {"previous_response_id": ""},
    },
    accepts=[_call_body("fc_abcDEF-"), _call_body("fc__abcDEF"), _call_body("fc_abcDEF9")],
    fix="Send the id the API gave, or none: items need no id.",
)
def item_id_characters() -> None:
    """An item's `id` holds letters, digits, underscores and dashes, and does not end in an underscore.

    So does `previous_response_id`, whose end is not known to matter. An empty id is refused with the same words; the
    characters are looked at before the prefix.
    """


@rule(
    invalid_id("{path}", "{prefix}", "{value}"),
    reported("https://github.com/earendil-works/pi/issues/10257", "2026-10"),
    reported("public reports of six more origins", "2026-08"),
    reported("public reports of four origins: of a search for tools", "2026"),
    reported("public probe: of each kind of item, and of a custom tool's output", "2026-09-24"),
    reported("public notes of a client: of the container of a code interpreter", "2026"),
    reported("public reports of two origins, with the whole error: of a conversation", "2025-10"),
    reported("pydantic-ai 2.68, without the words: of a response to compare with", "2026-11"),
    assumed("that these words are those of a conversation"),
    rejects={
        ("tools[0].container", "user", "cntr"): {"tools": [{"type": "code_interpreter", "container": "user"}]},
        ("input[0].id", "call_x", "fc"): _call_body("call_x"),
        ("input[0].id", "item_1", "rs"): _reasoning_body("item_1"),
        ("input[0].id", "fc_1", "msg"): [{"role": "assistant", "id": "fc_1", "content": "x"}, HI],
        ("input[0].id", "fc_2", "tsc"): [{"type": "tool_search_call", "id": "fc_2", "arguments": {}}, HI],
        ("input[1].id", "ctc_2", "ctco"): _custom_body("ctc_2"),
        ("previous_response_id", "gen-123", "resp"): {"previous_response_id": "gen-123"},
        ("conversation", "abc", "conv"): {"conversation": "abc"},
        ("prompt_cache_options.comparison_response_id", "x", "resp"): {
            "model": "gpt-5.6",
            "prompt_cache_options": {"comparison_response_id": "x"},
        },
    },
    accepts=[
        _call_body("fcX"),
        _call_body("fc_1"),
        _custom_body("ctco_1"),
        {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]},
        {"tools": [{"type": "code_interpreter", "container": "cfile_1"}]},
    ],
    fix="Do not make ids up: send the one the API gave, or none.",
)
def item_id_prefix() -> None:
    """An item's `id` must begin with the prefix of its kind: `msg`, `rs`, `fc`, `ctc` …

    The prefix is compared without its underscore. An id that is absent is fine.
    """


@rule(
    invalid_id("response_id", "resp"),
    reported("public reports; other servers of this API copy the words", "2026"),
    assumed("that all paths with an id have this error"),
    on=BY_RESPONSE_ID,
    rejects={
        "abc": "GET /responses/abc",
        "compact": "GET /responses/compact",
        "responses": "GET /responses/responses",
        "abd": "POST /responses/abd/cancel",
    },
    fix="Pass the id of a response; a wrong base URL can put another word there.",
)
def path_response_id(request: Request) -> Iterator[Json]:
    """The id in the path must begin with `resp` as a separate word: `responses` does not (reported).

    In a project it may also begin with the prefixes for workflow and hosted agents.
    """
    id = request.params["response_id"]
    if not id.startswith(RESPONSE_PREFIXES if request.dialect == FOUNDRY else "resp_"):
        yield {"id": id}
