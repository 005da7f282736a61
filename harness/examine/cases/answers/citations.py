"""Annotations of every kind, shown and sent back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.core.exchange import Json
from harness.examine.case import case, turns
from harness.examine.cases.common import ASKED, ASKED_TWICE
from harness.examine.checks import cites, contains, shows
from harness.items import (
    container_file_citation,
    file_citation,
    file_path,
    file_search_call,
    message,
    output_text,
    url_citation,
    web_search_call,
)

SEARCH = {"type": "web_search"}
FILES = {"type": "file_search", "vector_store_ids": ["vs_guides"]}
GUIDE = "https://example.org/guide"
STORIES = "public reports against agent-framework and openai-agents, 2026; docs/stories/citations.md"


def _cited(kind: str, note: Json, **shown: Any) -> None:
    case(
        f"answers/{kind.replace('_', '-')}",
        shows("Store it cold."),
        cites({"type": kind, **shown}),
        title=f"A {kind}",
        does=f"The text carries an annotation of type `{kind}`.",
        source="API reference, annotations of an `output_text`, 2026-10; the SDK has a type for it",
        shows="The text and its citation.",
        severity="must",
        task=ASKED,
        script=turns(message("Store it cold.", annotations=[note])),
    )


_cited("url_citation", url_citation(GUIDE, "Guide", cite="cold"), url=GUIDE)
_cited("file_citation", file_citation("file-guide", "guide.txt"), file_id="file-guide")
_cited("file_path", file_path("file-made"), file_id="file-made")
_cited("container_file_citation", container_file_citation("cntr_1", "cfile_1", "plot.png"), file_id="cfile_1")

case(
    "answers/many-citations",
    contains("Cold, dry", "and dark."),
    cites(*({"type": "url_citation", "url": f"{GUIDE}/{number}"} for number in (1, 2, 3, 1))),
    title="Several citations in several parts",
    does="Two parts have two citations each, one page is cited twice.",
    source="recorded answers after web searches, 2025 and 2026",
    shows="Each citation once for each time that it was given, in order.",
    severity="must",
    task=ASKED,
    script=turns(
        message(
            output_text("Cold, dry ", annotations=[url_citation(f"{GUIDE}/{number}", "Guide") for number in (1, 2)]),
            output_text("and dark.", annotations=[url_citation(f"{GUIDE}/{number}", "Guide") for number in (3, 1)]),
        )
    ),
)

case(
    "answers/citations-of-two-messages",
    contains("Cold,", "dry."),
    cites({"type": "url_citation", "url": f"{GUIDE}/1"}, {"type": "url_citation", "url": f"{GUIDE}/2"}),
    title="Citations of two messages",
    does="Two messages of one response have a citation each.",
    source="types of the SDK, `Response.output`: its length and order depend on the model",
    shows="Both citations.",
    severity="should",
    task=ASKED,
    script=turns(
        [
            message("Cold, ", annotations=[url_citation(f"{GUIDE}/1", "1")]),
            message("dry.", annotations=[url_citation(f"{GUIDE}/2", "2")]),
        ]
    ),
)

case(
    "answers/file-citation-sent-back",
    shows("Store it cold.", "You are welcome."),
    title="A citation of a file in the history",
    does="An answer after a file search cites a file; then the user says something else.",
    source=STORIES,
    shows="The history holds the text with its citation, and no `input_file` in a message of the assistant.",
    severity="must",
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
)

case(
    "answers/url-citation-sent-back",
    shows("Store it cold.", "You are welcome."),
    title="A citation of a page in the history",
    does="An answer after a web search cites a page; then the user says something else.",
    source=STORIES,
    shows="The history holds the text with its citation where it was.",
    severity="must",
    states=("replay", "stateless"),
    task=replace(ASKED_TWICE, hosted_tools=(SEARCH,)),
    script=turns(
        [
            web_search_call("storage"),
            message("Store it cold.", annotations=[url_citation(GUIDE, "Guide", cite="cold")]),
        ],
        message("You are welcome."),
    ),
)
