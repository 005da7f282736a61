"""`python -m tools.cache_agreement PATH…`: measures the prompt cache and the count of tokens against recordings."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from harness.answers.prompt import Prompt
from harness.cassettes.format.recorded import Recorded
from harness.cli.program import Options, argument
from harness.core.exchange import Json
from harness.core.json_values import as_object, as_string, objects_in
from harness.verify.judge_files import JudgeOptions, verify_recordings
from harness.verify.judging.circumstances import rebuild_request
from harness.verify.judging.judge import answer_object
from harness.verify.judging.mock_answer import is_response_request
from harness.verify.judging.verdict import Verdict
from harness.world.api_call import ApiCall
from harness.world.prompt_cache import LEAST_TOKENS, PromptCache
from harness.world.world import World
from tools.program import make_program

_ONE_RUN = frozenset({"message", "reasoning", "function_call", "custom_tool_call", "compaction"})
"""The items of an answer for which the model has run once; for calls of hosted tools it runs again, and reads more."""
LEAST_COUNTED = 100
"""The tokens of the smallest input whose count is compared."""


@dataclass
class CacheAgreement:
    """Compares, while recordings are judged, what the mock reads from its cache with what the API read.

    `counts` has, for inputs of at least 1,024 tokens that follow another one to the same model, who counted the tokens,
    whether the API read something, and whether the mock does. `ratios` are the mock's counts of input tokens to the
    API's, for text alone and for others.
    """

    counts: Counter[tuple[str, bool, bool]] = field(default_factory=Counter)
    ratios: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _models: dict[str, set[str]] = field(default_factory=dict)
    _caches: dict[tuple[str, str], PromptCache] = field(default_factory=dict)

    def begin_exchange(self, number: int, recorded: Recorded, world: World) -> None:  # noqa: ARG002
        """Read the prompt of a request from the cache of its conversation, and compare both counts."""
        answer = as_object(answer_object(recorded))
        usage = as_object(answer.get("usage"))
        if not (
            is_response_request(recorded) and recorded.status == 200 and usage and isinstance(recorded.request, dict)
        ):
            return
        if not _ONE_RUN.issuperset(item.get("type") for item in objects_in(answer.get("output"))):
            return
        prompt = ApiCall(rebuild_request(recorded)[1], world).prompt
        tokens: int = usage["input_tokens"]
        if not recorded.flags and tokens >= LEAST_COUNTED:
            self.ratios["text" if is_text(prompt) else "other"].append(prompt.tokens / tokens)
        cached = as_object(usage.get("input_tokens_details")).get("cached_tokens") or 0
        models = self._models.setdefault(recorded.file, set())
        is_compared = answer["model"] in models and tokens >= LEAST_TOKENS
        models.add(answer["model"])
        for counter, counted in (("API", _with_tokens(prompt, tokens)), ("mock", prompt)):
            cache = self._caches.setdefault((recorded.file, counter), PromptCache())
            read = cache.use(counted, answer["output"], int(answer["created_at"]), world.as_of).read
            if is_compared:
                self.counts[counter, cached > 0, read > 0] += 1

    def note_verdict(self, verdict: Verdict) -> None:
        """Do nothing: only usage is compared."""

    def close(self) -> None:
        """Do nothing at the end of a file: everything is counted."""


def _with_tokens(prompt: Prompt, tokens: int) -> Prompt:
    """Return a prompt of this many tokens; those that the mock does not count come first, as the API's own text does."""
    settings = prompt.settings._replace(tokens=prompt.settings.tokens + tokens - prompt.tokens)
    return prompt._replace(settings=settings, tokens=tokens)


def is_text(prompt: Prompt) -> bool:
    """Return whether a prompt consists of text alone, without tools, calls, reasoning or images."""
    parts = [part for item in prompt.transcript.items for part in objects_in(item.get("content"))]
    others = {str(part.get("type")) for part in parts} - {"input_text", "output_text", "text"}
    return (
        not others
        and not prompt.body.get("tools")
        and prompt.transcript.types <= {"", "message"}
        and not _has_schema(prompt.body)
    )


def _has_schema(body: Json) -> bool:
    return as_string(as_object(as_object(body.get("text")).get("format")).get("type")) not in ("", "text")


def measure(paths: list[Path]) -> CacheAgreement:
    """Compare the usage of every recorded answer; HarnessError if a path does not exist."""
    agreement = CacheAgreement()
    with TemporaryDirectory() as folder:
        verify_recordings(paths, Path(folder), 1, JudgeOptions(make_observer=lambda recording, seen: agreement))
    return agreement


@dataclass(frozen=True, kw_only=True)
class AgreementOptions(Options):
    """The options of the command."""

    paths: list[Path] = argument(..., "Recordings, files or folders.", metavar="PATH")


def print_agreement(options: AgreementOptions) -> None:
    """Print how often the mock's prompt cache agrees with recordings, and how far off its count of tokens is."""
    agreement = measure(options.paths)
    for counter in ("API", "mock"):
        counts = {(api, mock): count for (by, api, mock), count in agreement.counts.items() if by == counter}
        same = sum(count for (api, mock), count in counts.items() if api == mock)
        print(f"by the {counter}'s count of tokens: {same} of {sum(counts.values())} agree")
        for (api, mock), count in sorted(counts.items()):
            print(f"  {count:4} read from the cache: {'yes' if api else 'no'}, by the mock: {'yes' if mock else 'no'}")
    for kind, ratios in sorted(agreement.ratios.items()):
        low, median, high = quantiles(ratios) if len(ratios) > 1 else ratios * 3
        print(
            f"{len(ratios)} inputs, {kind}: the mock counts {median:.2f} of the tokens, half of them {low:.2f} to {high:.2f}"
        )


app = make_program(print_agreement)

if __name__ == "__main__":
    app()
