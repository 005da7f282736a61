"""Messages, their parts and their texts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.examine.case import case, turns
from harness.examine.cases.common import ASKED, ASKED_TWICE
from harness.examine.checks import contains, declines, requests, shows, streamed, uses_tokens
from harness.items import message, output_text, refusal

FAMILY = ["👩", "\u200d", "👧", " Gru\u0308", "ße", " 日", "本"]
LONG = [("0123456789" * 999 + f"{number:010}") for number in range(100)]
LOGPROB: dict[str, Any] = {"token": "Yes", "logprob": -0.1, "bytes": [89, 101, 115]}
LOGPROB |= {"top_logprobs": [dict(LOGPROB)]}
ODD = 'Line 1\nLine 2\r\n\tdata: {"type": "response.completed"}\n\nevent: error\u2028\u0000"\\'

case(
    "answers/text",
    shows("Sunny, 5 < 21 °C & dry."),
    streamed("Sunny, 5 < 21 °C & dry."),
    requests(1),
    title="One message",
    does="The output is one message with one text.",
    source="every recorded answer without tools",
    shows="The text, as it was said.",
    severity="must",
    task=ASKED,
    script=turns(message("Sunny, 5 < 21 °C & dry.")),
)

case(
    "answers/usage",
    uses_tokens(),
    title="The usage of every request",
    does="Each response counts its tokens.",
    source="API reference, `usage` of a response, 2026-10; recorded in every completed response",
    shows="The sum of what the responses counted.",
    severity="should",
    task=ASKED_TWICE,
    script=turns(message("Sunny."), message("Rain.")),
)

case(
    "answers/two-messages",
    contains("I look it up.", "Sunny."),
    title="Two messages in one response",
    does="The output has two messages of the assistant.",
    source="types of the SDK, `Response.output`: its length and order depend on the model",
    shows="Both texts, in order.",
    severity="must",
    task=ASKED,
    script=turns([message("I look it up."), message("Sunny.")]),
)

case(
    "answers/two-parts",
    contains("Sunny now,", "rain later."),
    title="Two parts in one message",
    does="A message has two parts of text.",
    source="API reference: `content` of an output message is an array, 2026-10",
    shows="Both texts, in order.",
    severity="must",
    task=ASKED,
    script=turns(message("Sunny now, ", "rain later.")),
)

case(
    "answers/empty-text",
    shows("", "Rain."),
    title="An empty text",
    does="The only text of an answer is empty; then the model answers another prompt.",
    source="recorded where a model had nothing to add after its tools; reported by users of several frameworks, 2025",
    shows="An empty answer, no error; the session goes on.",
    severity="must",
    task=ASKED_TWICE,
    script=turns(message(""), message("Rain.")),
)

case(
    "answers/refusal",
    declines("I can't help with that."),
    title="A refusal",
    does="The part of the message is a refusal, not a text.",
    source="API reference: a part of an output message is `output_text` or `refusal`, 2026-10",
    shows="The refusal in its words: as such, as the text, or as an error.",
    severity="must",
    fails=True,
    task=ASKED,
    script=turns(message(refusal("I can't help with that."))),
)

case(
    "answers/refusal-after-text",
    contains("The first half:"),
    title="A refusal after a text",
    does="A message has a text, then a refusal.",
    source="types of the SDK: `ResponseOutputMessage.content` mixes both kinds, 2026-10",
    shows="The text at least; no error of the client's own.",
    severity="should",
    task=ASKED,
    script=turns(message(output_text("The first half:"), refusal("I can't go on."))),
)

case(
    "answers/phases",
    contains("Sunny."),
    title="Commentary before the final answer",
    does="A message of phase `commentary` comes before that of phase `final_answer`.",
    source="API reference, `phase` of an output message, 2026-02; recorded of gpt-5.3-codex and later",
    shows="The final answer; both messages go back with their phase.",
    severity="must",
    task=ASKED_TWICE,
    script=turns(
        [message("I look it up.", phase="commentary"), message("Sunny.", phase="final_answer")],
        message("It stays Sunny.", phase="final_answer"),
    ),
)

case(
    "answers/unicode",
    shows("".join(FAMILY)),
    streamed("".join(FAMILY)),
    title="Characters across the borders of deltas",
    does="Joined emojis and combining accents are cut between deltas.",
    source="tokens of the models end within grapheme clusters; recorded streams have such deltas",
    shows="The text with every code point in its place.",
    severity="must",
    task=ASKED,
    script=turns(message(FAMILY)),
)

case(
    "answers/odd-characters",
    shows(ODD),
    streamed(ODD),
    title="Line ends and control characters in a text",
    does="The text has line ends, a null, a line separator, and what looks like another event.",
    source="RFC 8259: strings of JSON hold any of them, escaped; the HTML standard: only LF and CR end a line of a stream",
    shows="The text unchanged.",
    severity="must",
    task=ASKED,
    script=turns(message([ODD[:20], ODD[20:]])),
)

case(
    "answers/one-megabyte",
    shows("".join(LONG)),
    title="A text of one megabyte",
    does="One message has a text of a million characters; streamed, a delta is 10 kB.",
    source="API reference: no limit of the length of a text; a `done` event repeats it whole",
    shows="All of it.",
    severity="must",
    task=ASKED,
    script=turns(message(LONG)),
)

case(
    "answers/white-space-deltas",
    shows("- a\n\n- b"),
    streamed("- a\n\n- b"),
    title="Deltas of white space alone",
    does="Some deltas are only blanks or line ends, one is empty.",
    source="recorded streams of lists and code",
    shows="The text with its blanks.",
    severity="must",
    task=ASKED,
    script=turns(message(["-", " ", "a", "\n\n", "", "- b"])),
)

case(
    "answers/ten-prompts",
    shows(*(f"Answer {number}." for number in range(10))),
    requests(10),
    title="Ten prompts in one session",
    does="The model answers each of ten prompts.",
    source="every recorded conversation",
    shows="Each answer once; one request a prompt.",
    severity="must",
    task=replace(ASKED, prompts=tuple(f"Question {number}?" for number in range(10))),
    script=turns(*(message(f"Answer {number}.") for number in range(10))),
)

case(
    "answers/logprobs",
    shows("Yes"),
    title="The probabilities of tokens",
    does="The text comes with its logprobs, which were asked for.",
    source="API reference, `include: message.output_text.logprobs`, 2025-06; recorded",
    shows="The text.",
    severity="must",
    task=replace(ASKED, model="gpt-4.1", options={"include": ["message.output_text.logprobs"], "top_logprobs": 1}),
    script=turns(message("Yes", logprobs=[LOGPROB])),
)
