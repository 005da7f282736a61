"""Responses that do not end as completed."""

from dataclasses import replace
from typing import Any

from harness.ending import failed, incomplete
from harness.examine.case import ASKED, ASKED_TWICE, REASONING_MODEL, WITH_TOOL, always, case, turns
from harness.examine.checks import contains, fails, runs, shows_or_fails, tells_cut
from harness.items import function_call, message, reasoning

case(
    "answers/incomplete-by-length",
    title="Cut by the limit of tokens",
    does="The response is `incomplete`, its reason `max_output_tokens`.",
    source="recorded, 2025 and 2026; API reference, `incomplete_details`",
    shows="What there is of the text, or an error.",
    script=turns([message("Once upon a"), incomplete("max_output_tokens")]),
    checks=[shows_or_fails("Once upon a")],
)

case(
    "answers/incomplete-by-filter",
    title="Cut by the content filter",
    does="The response is `incomplete`, its reason `content_filter`.",
    source="types of the SDK, `Response.incomplete_details.reason`, 2026-10",
    shows="What there is of the text, or an error.",
    script=turns([message("First you"), incomplete("content_filter")]),
    checks=[shows_or_fails("First you")],
)


def _is_told(name: str, title: str, reason: str, *first: Any, **words: Any) -> None:
    case(
        f"answers/{name}",
        title=title,
        does=f"The response is `incomplete`, its reason `{reason}`; if there is a second one, it is complete.",
        shows="That the answer is not all of it, and why; or an error.",
        needs=("incomplete",),
        losses=("partial-taken",),
        spare=True,
        script=turns([*first, incomplete(reason)], message("The end.")),
        checks=[tells_cut(reason, *("" for _ in words["task"].prompts[1:]))],
        **words,
    )


_is_told(
    "told-cut-by-length",
    "The user is told that the limit of tokens cut an answer",
    "max_output_tokens",
    message("Once upon a"),
    source="recorded, 2025 and 2026; API reference, `incomplete_details`",
    task=ASKED_TWICE,
)
_is_told(
    "told-cut-by-filter",
    "The user is told that the content filter cut an answer",
    "content_filter",
    message("First you"),
    source="types of the SDK, `Response.incomplete_details.reason`, 2026-10",
    task=ASKED_TWICE,
)
_is_told(
    "told-cut-before-text",
    "The user is told that the limit of tokens left no room for a text",
    "max_output_tokens",
    reasoning(),
    source="recorded of models that reason, 2025: all tokens go into the reasoning, `output` has no message",
    task=replace(ASKED, model=REASONING_MODEL),
)

case(
    "answers/goes-on-after-incomplete",
    title="The session goes on after an incomplete answer",
    does="The first answer is cut by the limit of tokens, the second is complete.",
    source="recorded, 2025: an incomplete response is stored and may be continued",
    shows="The second answer.",
    severity="should",
    task=ASKED_TWICE,
    script=turns([message("Once upon a"), incomplete()], message("time, the end.")),
    checks=[contains("the end.")],
)

case(
    "answers/incomplete-call",
    title="A call that was cut",
    does="The limit of tokens cuts the arguments of a call: they are not JSON, the item is `incomplete`.",
    source="API reference, `status` of a `function_call`, 2026-10; public reports of half arguments that were run, 2025",
    shows="The function does not run.",
    fails=True,
    task=WITH_TOOL,
    script=always(
        [function_call("get_weather", '{"city": "Pa', off_schema=True), incomplete()], message("I stop here.")
    ),
    checks=[runs()],
)

case(
    "answers/failed",
    title="The response fails",
    does="The model fails after a part of its text: `response.failed` in a stream, else HTTP 500.",
    source="recorded streams with `response.failed`, 2025; API reference, `error` of a response",
    shows="An error with the API's words; no success with half a text.",
    script=always([message("Once upon"), failed("server_error", "Something went wrong.")]),
    checks=[fails("went wrong")],
)

case(
    "answers/failed-by-limit",
    title="The response fails at a rate limit",
    does="The limit of tokens a minute is reached during the response: `rate_limit_exceeded`.",
    source="types of the SDK, `ResponseError.code`, 2026-10; public reports of streams, 2025",
    shows="An error with the API's words.",
    streams=(True,),
    spare=True,
    script=always([message("Once upon"), failed("rate_limit_exceeded", "Rate limit reached for gpt-4.1.")]),
    checks=[fails("Rate limit reached")],
)
