"""What recordings say of the prompt cache, and of the count of tokens."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.core.exchange import Json
from tests.support.recordings import exchange, write_jsonl
from tools.cache_agreement import app, measure

LONG = "word " * 1_000


def write_recording(path: Path, *exchanges: tuple[str, int, int], kind: str = "message") -> Path:
    """Write exchanges with these inputs, counts of their tokens, and tokens read from the cache."""
    made = []
    for number, (input, tokens, cached) in enumerate(exchanges):
        usage = {"input_tokens": tokens, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": 1}
        answer: Json = {"id": f"resp_{number}", "object": "response", "created_at": 1, "status": "completed"}
        answer |= {"model": "gpt-5.4-2026-03-05", "usage": usage, "output": [{"type": kind, "id": "x_1"}]}
        request = {"model": "gpt-5.4", "input": input}
        made.append(exchange(number, request, 200, answer, recorded_at="2026-08-03"))
    return write_jsonl(path.parent, made, path.name)


def test_a_prompt_that_follows_another_is_compared(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.jsonl", (LONG, 1_250, 0), (LONG, 1_250, 1_152), (f"Now {LONG}", 1_251, 1_152))
    found = measure([path])
    assert found.counts == {(by, True, read): 1 for by in ("API", "mock") for read in (True, False)}
    assert found.ratios == {"text": [1_254 / 1_250, 1_254 / 1_250, 1_255 / 1_251]}


def test_what_the_mock_counts_as_less_is_compared_by_both_counts(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.jsonl", ("Short.", 2_000, 0), ("Short.", 2_000, 1_920))
    assert measure([path]).counts == {("API", True, True): 1, ("mock", True, False): 1}


@pytest.mark.parametrize("kind", ["web_search_call", "image_generation_call"])
def test_answers_of_several_runs_of_the_model_are_left_out(kind: str, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.jsonl", (LONG, 1_250, 0), (LONG, 1_250, 1_152), kind=kind)
    assert not measure([path]).counts


def test_the_program_prints_the_agreement(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "a.jsonl", (LONG, 1_250, 0), (LONG, 1_250, 1_152))
    printed = CliRunner().invoke(app, [str(path)]).output
    assert "by the mock's count of tokens: 1 of 1 agree" in printed
    assert "2 inputs, text: the mock counts 1.00 of the tokens" in printed
