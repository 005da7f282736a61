"""`python -m tools.model_facts_met PATH…`: counts how often recordings met a fact about a model, and it was right."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from harness.answers.parameters import default_retention
from harness.api.http.dialects import OPENAI
from harness.api.model_facts import FACTS
from harness.api.models import MODELS, Model
from harness.cassettes.format.recorded import Recorded
from harness.cli.catalogue import print_coverage
from harness.cli.program import Options, argument, option
from harness.core.dates import day_of_recording
from harness.core.exchange import Json
from harness.verify.judge_files import JudgeOptions, verify_recordings
from harness.verify.judging.judge import answer_object
from harness.verify.judging.verdict import AGREEMENTS, DISAGREEMENTS, Verdict
from harness.world.world import World
from tools.program import make_program

_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_OPTIONS = {"effort": "efforts", "mode": "modes", "context": "contexts", "summary": "summaries"}
_PARTS = {"input_image": "input.image", "input_file": "input.file", "input_audio": "input.audio"}


def count_met_facts(paths: list[Path]) -> dict[str, tuple[int, int]]:
    """Count for each fact how many recorded requests and answers met it, and how often the table was right.

    HarnessError if a path does not exist.
    """
    met = MetFacts()
    with TemporaryDirectory() as folder:
        verify_recordings(paths, Path(folder), 1, JudgeOptions(make_observer=lambda recording, seen: met))
    return {name: (seen, right) for name, (seen, right) in met.counts.items()}


class MetFacts:
    """Counts the facts that exchanges meet while recordings are judged."""

    def __init__(self) -> None:
        self.counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._asked: frozenset[str] = frozenset()

    def begin_exchange(self, number: int, recorded: Recorded, world: World) -> None:  # noqa: ARG002
        """Remember what the request asks of its model, and count the facts that the answer shows."""
        self._asked = frozenset()
        body = recorded.request
        if recorded.provider != OPENAI or not recorded.path.endswith("/responses") or not isinstance(body, dict):
            return
        name = str(body.get("model"))
        family = MODELS.find(name)
        if family is None or family.name_only:
            return
        self._asked = frozenset(asked_facts(body)) & FACTS.keys()
        if isinstance(answer := answer_object(recorded), dict) and recorded.status < 300:
            for fact, right in shown_facts(body, answer, MODELS.defaults(name), day_of_answer(recorded, answer)):
                self._count(fact, right)

    def note_verdict(self, verdict: Verdict) -> None:
        """Count the facts that the request met; the table was right if the mock decided as the API did."""
        if verdict.kind in (*AGREEMENTS, *DISAGREEMENTS):
            for fact in self._asked:
                self._count(fact, verdict.kind in AGREEMENTS)

    def close(self) -> None:
        """Do nothing at the end of a file: everything is counted."""

    def _count(self, fact: str, right: bool) -> None:
        count = self.counts[fact]
        count[0] += 1
        count[1] += right


def asked_facts(body: Json) -> Iterator[str]:
    """Yield the facts about a model that decide whether this request is accepted."""
    yield "names"
    options = body.get("reasoning")
    yield from (fact for option, fact in _OPTIONS.items() if isinstance(options, dict) and options.get(option))
    if any(body.get(name) is not None for name in _SAMPLING):
        yield "temperature"
    include = body.get("include") or ()
    if body.get("top_logprobs") or "message.output_text.logprobs" in include:
        yield "logprobs"
    if "reasoning.encrypted_content" in include:
        yield "encrypted_content"
    text = body.get("text") if isinstance(body.get("text"), dict) else {}
    if text and text.get("verbosity"):
        yield "verbosities"
    if text and isinstance(text.get("format"), dict) and text["format"].get("type") == "json_schema":
        yield "json_schema"
    yield from (fact for member, fact in _MEMBERS.items() if body.get(member))
    if body.get("truncation") == "auto":
        yield "truncation"
    yield from _asked_of_tools(body.get("tools") or ())
    yield from {_PARTS[kind] for kind in _part_types(body.get("input")) if kind in _PARTS}


_MEMBERS: Mapping[str, str] = {
    "background": "background",
    "context_management": "compaction",
    "moderation": "moderation",
    "prompt_cache_retention": "retentions",
}


def _asked_of_tools(tools: Any) -> Iterator[str]:
    declared = [tool for tool in tools if isinstance(tool, dict)]
    yield from {f"tool.{str(tool.get('type')).partition('_2025')[0]}" for tool in declared}
    if any(tool.get("filters") and str(tool.get("type")).startswith("web_search") for tool in declared):
        yield "web_search.filters"
    if any(tool.get("defer_loading") for tool in declared):
        yield "tool.deferred"


def _part_types(items: Any) -> Iterator[str]:
    for item in items if isinstance(items, list) else ():
        for holder in ("content", "output"):
            parts = item.get(holder) if isinstance(item, dict) else None
            yield from (
                str(part.get("type")) for part in parts or () if isinstance(parts, list) and isinstance(part, dict)
            )


def day_of_answer(recorded: Recorded, answer: Json) -> str:
    """Return the day of an answer by its `created_at`, else by the recording."""
    made = answer.get("created_at")
    day = datetime.fromtimestamp(made, UTC).date().isoformat() if isinstance(made, int | float) else ""
    return day if day > "2025" else day_of_recording(recorded.date)


def shown_facts(body: Json, answer: Json, family: Model, day: str) -> Iterator[tuple[str, bool]]:
    """Yield the defaults that an answer shows, and whether the table agrees; null and absent members show none."""
    if isinstance(answer.get("model"), str):
        yield "snapshot", answer["model"] == family.snapshot
    for member, fact, default in (
        ("top_p", "top_p", family.top_p),
        ("prompt_cache_retention", "retention", default_retention(family, day)),
    ):
        if body.get(member) is None and answer.get(member) is not None:
            yield fact, answer[member] == default
    asked, shown = body.get("reasoning") or {}, answer.get("reasoning") or {}
    for member, value in (("effort", family.effort), ("mode", family.mode), ("context", family.turns)):
        if isinstance(asked, dict) and asked.get(member) is None and shown.get(member) is not None:
            yield member, shown[member] == value


@dataclass(frozen=True, kw_only=True)
class FactsOptions(Options):
    """The options of the command."""

    paths: list[Path] = argument(..., "Recordings, files or folders.", metavar="PATH")
    as_json: bool = option(False, "Print JSON.", "--json")


def count_facts(options: FactsOptions) -> None:
    """Print what `responses-harness models --coverage` prints, and how often recordings met each fact."""
    print_coverage(count_met_facts(options.paths), options.as_json)


app = make_program(count_facts)

if __name__ == "__main__":
    app()
