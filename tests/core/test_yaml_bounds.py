"""What a YAML document expands to, how deep it nests and how long its integers are: bounded before it is built."""

from __future__ import annotations

import pytest
import yaml

from harness.core.yaml_bounds import MAX_EXPANDED, find_excess

TENFOLD = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10 if n else 'x' * 10)}]\n" for n in range(10))
MERGED = "a0: &a0 {k: x}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 9))
TEXTS = f"a: &a {'x' * 30_000}\nb: [{', '.join(['*a'] * 400)}]\n"


def excess(text: str) -> tuple[int, str] | None:
    return find_excess(yaml.compose(text, yaml.SafeLoader))


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (TENFOLD, 5, "its aliases expand to more than 100,000 values"),
        (MERGED, 6, "its aliases expand to more than 100,000 values"),
        (TEXTS, 2, "its aliases expand to more than 100,000 values or 10 MB; write them out, or use fewer"),
        ("b: 1\na: &a [*a]", 2, "an alias stands for what contains it"),
        ("a: &a\n  b: {c: [*a]}", 1, "an alias stands for what contains it"),
        ("a:\n  - " + "[" * 101 + "]" * 101, 2, "nested more than 100 levels deep"),
        ("a:\n- 1\n- 0x" + "f" * 400, 3, "an integer of 402 characters; write a string"),
    ],
    ids=["lists", "merged mappings", "a long text", "itself", "its parent", "depth", "integer"],
)
def test_an_excess_is_named_with_its_line(text: str, line: int, problem: str) -> None:
    found = excess(text)
    assert found is not None
    assert (found[0], found[1][: len(problem)]) == (line, problem)


@pytest.mark.parametrize(
    "text",
    [
        "script: [&a {message: x}, *a, *a]",
        "a: &a " + "[" * 90 + "]" * 90 + "\nb: [*a, *a]",
        "a: [" + ", ".join(["1"] * (MAX_EXPANDED + 1)) + "]",
        f"a: &a {'x' * 1_000_000}\nb: [*a, *a, *a, *a, *a, *a, *a, *a]",
        "a: " + "9" * 400,
        "a: '" + "9" * 1000 + "'",
    ],
    ids=["aliases", "depth", "many without aliases", "a picture", "integer", "digits as a string"],
)
def test_what_is_written_out_or_used_a_few_times_is_not(text: str) -> None:
    assert excess(text) is None
