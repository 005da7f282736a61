"""The form of ids: characters first, then the prefix of their kind. The schema finds these violations."""

from collections.abc import Iterator

from harness.api.http.dialects import FOUNDRY
from harness.api.project_types import RESPONSE_PREFIXES
from harness.contract.rule import assumed, reported, rule, shape
from harness.contract.rules.example_requests import HI, OUTPUT
from harness.core.errors import bad_request
from harness.core.exchange import Json, Request

BY_RESPONSE_ID = "*{response_id}*"
BY_CONVERSATION_ID = "*{conversation_id}*"
BY_ITEM_ID = "*{item_id}*"


def _reasoning_body(id: str) -> Json:
    return {"input": [{"type": "reasoning", "id": id, "summary": []}, HI]}


def _call_body(id: str) -> Json:
    return {"input": [{"type": "function_call", "id": id, "call_id": "call_1", "name": "f", "arguments": "{}"}, OUTPUT]}


shape(
    __name__,
    "item_id_characters",
    """An item's `id` holds letters, digits, underscores and dashes, and does not end in an underscore.

    So does `previous_response_id`, whose end is not known to matter. An empty id is refused with the same words; the
    characters are looked at before the prefix.
    """,
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

shape(
    __name__,
    "item_id_prefix",
    """An item's `id` must begin with the prefix of its kind: `msg`, `rs`, `fc`, `ctc` …

    The prefix is compared without its underscore. An id that is absent is fine.
    """,
    bad_request("Invalid '{path}': '{value}'. Expected an ID that begins with '{prefix}'.", "{path}", "invalid_value"),
    reported("https://github.com/earendil-works/pi/issues/10257", "2026-10"),
    reported("public reports of six more origins", "2026-08"),
    reported("public notes of a client: of the container of a code interpreter", "2026"),
    reported("public reports of two origins, with the whole error: of a conversation", "2025-10"),
    reported("pydantic-ai 2.68, without the words: of a response to compare with", "2026-11"),
    assumed("that these words are those of a conversation"),
    rejects={
        ("tools[0].container", "user", "cntr"): {"tools": [{"type": "code_interpreter", "container": "user"}]},
        ("input[0].id", "call_x", "fc"): _call_body("call_x"),
        ("input[0].id", "item_1", "rs"): _reasoning_body("item_1"),
        ("input[0].id", "fc_1", "msg"): [{"role": "assistant", "id": "fc_1", "content": "x"}, HI],
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
        {"tools": [{"type": "code_interpreter", "container": "cntr_1"}]},
        {"tools": [{"type": "code_interpreter", "container": "cfile_1"}]},
    ],
    fix="Do not make ids up: send the one the API gave, or none.",
)


@rule(
    bad_request(
        "Invalid 'response_id': '{id}'. Expected an ID that begins with 'resp'.", "response_id", "invalid_value"
    ),
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
