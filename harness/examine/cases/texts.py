"""Messages, their parts, texts and annotations."""

from dataclasses import replace
from typing import Any

from harness.core.exchange import Json
from harness.examine.case import ASKED, ASKED_TWICE, case, turns
from harness.examine.checks import cites, contains, declines, requests, shows, streamed, uses_tokens
from harness.items import (
    container_file_citation,
    file_citation,
    file_path,
    file_search_call,
    message,
    output_text,
    refusal,
    url_citation,
    web_search_call,
)

FAMILY = ["👩", "\u200d", "👧", " Gru\u0308", "ße", " 日", "本"]
LONG = [("0123456789" * 999 + f"{number:010}") for number in range(100)]
LOGPROB: dict[str, Any] = {"token": "Yes", "logprob": -0.1, "bytes": [89, 101, 115]}
LOGPROB |= {"top_logprobs": [dict(LOGPROB)]}
ODD = 'Line 1\nLine 2\r\n\tdata: {"type": "response.completed"}\n\nevent: error\u2028\u0000"\\'

case(
    "answers/text",
    title="One message",
    does="The output is one message with one text.",
    source="every recorded answer without tools",
    shows="The text as the model wrote it.",
    script=turns(message("Sunny, 5 < 21 °C & dry.")),
    checks=[shows("Sunny, 5 < 21 °C & dry."), streamed("Sunny, 5 < 21 °C & dry."), requests(1)],
)

case(
    "answers/usage",
    title="The usage of every request",
    does="Each response counts its tokens.",
    source="API reference, `usage` of a response, 2026-10; recorded in every completed response",
    shows="The sum of what the responses counted.",
    severity="should",
    task=ASKED_TWICE,
    script=turns(message("Sunny."), message("Rain.")),
    checks=[uses_tokens()],
)

case(
    "answers/two-messages",
    title="Two messages in one response",
    does="The output has two messages of the assistant.",
    source="types of the SDK, `Response.output`: its length and order depend on the model",
    shows="Both texts, in order.",
    script=turns([message("I look it up."), message("Sunny.")]),
    checks=[contains("I look it up.", "Sunny.")],
)

case(
    "answers/two-parts",
    title="Two parts in one message",
    does="A message has two parts of text.",
    source="API reference: `content` of an output message is an array, 2026-10",
    shows="Both texts, in order.",
    script=turns(message("Sunny now, ", "rain later.")),
    checks=[contains("Sunny now,", "rain later.")],
)

case(
    "answers/empty-text",
    title="An empty text",
    does="The only text of an answer is empty; then the model answers another prompt.",
    source="recorded where a model had nothing to add after its tools; reported by users of several frameworks, 2025",
    shows="An empty answer, no error; the session goes on.",
    task=ASKED_TWICE,
    script=turns(message(""), message("Rain.")),
    checks=[shows("", "Rain.")],
)

case(
    "answers/refusal",
    title="A refusal",
    does="The part of the message is a refusal, not a text.",
    source="API reference: a part of an output message is `output_text` or `refusal`, 2026-10",
    shows="The refusal in its words: as such, as the text, or as an error.",
    fails=True,
    script=turns(message(refusal("I can't help with that."))),
    checks=[declines("I can't help with that.")],
)

case(
    "answers/refusal-after-text",
    title="A refusal after a text",
    does="A message has a text, then a refusal.",
    source="types of the SDK: `ResponseOutputMessage.content` mixes both kinds, 2026-10",
    shows="The text at least; no error of the client's own.",
    severity="should",
    script=turns(message(output_text("The first half:"), refusal("I can't go on."))),
    checks=[contains("The first half:")],
)

case(
    "answers/phases",
    title="Commentary before the final answer",
    does="A message of phase `commentary` comes before that of phase `final_answer`.",
    source="API reference, `phase` of an output message, 2026-02; recorded of gpt-5.3-codex and later",
    shows="The final answer; both messages go back with their phase.",
    task=ASKED_TWICE,
    script=turns(
        [message("I look it up.", phase="commentary"), message("Sunny.", phase="final_answer")],
        message("It stays Sunny.", phase="final_answer"),
    ),
    checks=[contains("Sunny.")],
)

case(
    "answers/unicode",
    title="Characters across the borders of deltas",
    does="Joined emojis and combining accents are cut between deltas.",
    source="tokens of the models end within grapheme clusters; recorded streams have such deltas",
    shows="The text with every code point in its place.",
    script=turns(message(FAMILY)),
    checks=[shows("".join(FAMILY)), streamed("".join(FAMILY))],
)

case(
    "answers/odd-characters",
    title="Line ends and control characters in a text",
    does="The text has line ends, a null, a line separator, and what looks like another event.",
    source="RFC 8259: strings of JSON hold any of them, escaped; the HTML standard: only LF and CR end a line of a stream",
    shows="The text unchanged.",
    script=turns(message([ODD[:20], ODD[20:]])),
    checks=[shows(ODD), streamed(ODD)],
)

case(
    "answers/one-megabyte",
    title="A text of one megabyte",
    does="One message has a text of a million characters; streamed, a delta is 10 kB.",
    source="API reference: no limit of the length of a text; a `done` event repeats it whole",
    shows="All of it.",
    script=turns(message(LONG)),
    checks=[shows("".join(LONG))],
)

case(
    "answers/white-space-deltas",
    title="Deltas of white space alone",
    does="Some deltas are only blanks or line ends, one is empty.",
    source="recorded streams of lists and code",
    shows="The text with its blanks.",
    script=turns(message(["-", " ", "a", "\n\n", "", "- b"])),
    checks=[shows("- a\n\n- b"), streamed("- a\n\n- b")],
)

case(
    "answers/ten-prompts",
    title="Ten prompts in one session",
    does="The model answers each of ten prompts.",
    source="every recorded conversation",
    shows="Each answer once; one request a prompt.",
    task=replace(ASKED, prompts=tuple(f"Question {number}?" for number in range(10))),
    script=turns(*(message(f"Answer {number}.") for number in range(10))),
    checks=[shows(*(f"Answer {number}." for number in range(10))), requests(10)],
)

case(
    "answers/logprobs",
    title="The probabilities of tokens",
    does="The text comes with its logprobs, which were asked for.",
    source="API reference, `include: message.output_text.logprobs`, 2025-06; recorded",
    shows="The text.",
    task=replace(ASKED, model="gpt-4.1", options={"include": ["message.output_text.logprobs"], "top_logprobs": 1}),
    script=turns(message("Yes", logprobs=[LOGPROB])),
    checks=[shows("Yes")],
)

SEARCH = {"type": "web_search"}
FILES = {"type": "file_search", "vector_store_ids": ["vs_guides"]}
GUIDE = "https://example.org/guide"
STORIES = "public reports against agent-framework and openai-agents, 2026; docs/stories/citations.md"


def _cited(kind: str, note: Json, **shown: Any) -> None:
    case(
        f"answers/{kind.replace('_', '-')}",
        title=f"A {kind}",
        does=f"The text carries an annotation of type `{kind}`.",
        source="API reference, annotations of an `output_text`, 2026-10; the SDK has a type for it",
        shows="The text and its citation.",
        task=ASKED,
        script=turns(message("Store it cold.", annotations=[note])),
        checks=[shows("Store it cold."), cites({"type": kind, **shown})],
    )


_cited("url_citation", url_citation(GUIDE, "Guide", cite="cold"), url=GUIDE)
_cited("file_citation", file_citation("file-guide", "guide.txt"), file_id="file-guide")
_cited("file_path", file_path("file-made"), file_id="file-made")
_cited("container_file_citation", container_file_citation("cntr_1", "cfile_1", "plot.png"), file_id="cfile_1")

case(
    "answers/many-citations",
    title="Several citations in several parts",
    does="Two parts have two citations each, one page is cited twice.",
    source="recorded answers after web searches, 2025 and 2026",
    shows="Each citation once for each time that it was given, in order.",
    script=turns(
        message(
            output_text("Cold, dry ", annotations=[url_citation(f"{GUIDE}/{number}", "Guide") for number in (1, 2)]),
            output_text("and dark.", annotations=[url_citation(f"{GUIDE}/{number}", "Guide") for number in (3, 1)]),
        )
    ),
    checks=[
        contains("Cold, dry", "and dark."),
        cites(*({"type": "url_citation", "url": f"{GUIDE}/{number}"} for number in (1, 2, 3, 1))),
    ],
)

case(
    "answers/citations-of-two-messages",
    title="Citations of two messages",
    does="Two messages of one response have a citation each.",
    source="types of the SDK, `Response.output`: its length and order depend on the model",
    shows="Both citations.",
    severity="should",
    script=turns(
        [
            message("Cold, ", annotations=[url_citation(f"{GUIDE}/1", "1")]),
            message("dry.", annotations=[url_citation(f"{GUIDE}/2", "2")]),
        ]
    ),
    checks=[
        contains("Cold,", "dry."),
        cites({"type": "url_citation", "url": f"{GUIDE}/1"}, {"type": "url_citation", "url": f"{GUIDE}/2"}),
    ],
)

case(
    "answers/file-citation-sent-back",
    title="A citation of a file in the history",
    does="An answer after a file search cites a file; then the user says something else.",
    source=STORIES,
    shows="The history holds the text with its citation, and no `input_file` in a message of the assistant.",
    states=("replay", "stateless"),
    task=replace(ASKED_TWICE, hosted_tools=(FILES,)),
    script=lambda mock: (
        mock.script(
            [
                file_search_call("storage"),
                message("Store it cold.", annotations=[file_citation("file-guide", "guide.txt")]),
            ],
            message("You are welcome."),
        )
        and mock.organization(files={"vs_guides"})
    ),
    checks=[shows("Store it cold.", "You are welcome.")],
)

case(
    "answers/url-citation-sent-back",
    title="A citation of a page in the history",
    does="An answer after a web search cites a page; then the user says something else.",
    source=STORIES,
    shows="The history holds the text with its citation where it was.",
    states=("replay", "stateless"),
    task=replace(ASKED_TWICE, hosted_tools=(SEARCH,)),
    script=turns(
        [
            web_search_call("storage"),
            message("Store it cold.", annotations=[url_citation(GUIDE, "Guide", cite="cold")]),
        ],
        message("You are welcome."),
    ),
    checks=[shows("Store it cold.", "You are welcome.")],
)
