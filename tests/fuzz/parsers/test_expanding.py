"""Whatever at most 64 kB expand to, they are read or refused within a second, in at most 4 kB."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.parsers.contract import complaint
from tests.fuzz.parsers.targets import parsers
from tests.support.seed import of_today

LARGEST = 64_000
FEW, MANY = 25, 400
QUICK = settings(max_examples=FEW, deadline=None, suppress_health_check=[*HealthCheck])
SLOW = settings(QUICK, max_examples=MANY)

LEAVES = (
    *("x", "''", "null", "true", "1.5", "9" * 300, "9" * 20_000, "-0x" + "f" * 20_000, "1:" * 3_000 + "1", "1e999"),
    *("x" * 30_000, f"{'x' * 20_000}: 1", "[" * 90 + "]" * 90, "[" * 9_000 + "]" * 9_000, "{a: " * 90 + "1" + "}" * 90),
)
NAMES = ("k", "message", "content", "text", "k" * 5_000)
WRONG = (
    *(
        "- {0}",
        "- message: {0}",
        "- message: {{text: {0}}}",
        "- message: {{text: a, annotations: {0}}}",
        "- {{{0}: x}}",
    ),
    *(
        "- function_call: {{name: {0}, arguments: {{}}}}",
        "- function_call: {0}",
        "- {{type: {0}}}",
        "- {{type: message, content: {0}}}",
    ),
    *(
        "- [message: a, cut: {{after: {0}}}]",
        "- [message: a, pause: {0}]",
        "- incomplete: {{reason: {0}}}",
        "- failed: {0}",
    ),
    *(
        "- http_error: {{status: {0}, body: {{}}}}",
        "- reasoning: {0}",
        "- {{{1}: {0}}}",
        "- web_search_call: {{action: {0}}}",
    ),
    *("- {{rule: {0}}}", "- {{rule: unknown_parameter, at: {0}}}", "- {{rule: unknown_parameter, seen: {0}}}"),
)
"""Entries of a list, below `script:` or a member of a contract, that have a value where it may not be."""


@st.composite
def entries(draw: st.DrawFn) -> str:
    """Draw a list in YAML: a call whose arguments anchor values, each of which repeats the one before, then uses of them."""
    levels = draw(st.lists(st.tuples(st.sampled_from("[{<"), st.integers(1, 12), st.sampled_from(NAMES)), max_size=8))
    members = [f"a0: &a0 {{k: {draw(st.sampled_from(LEAVES))}}}"]
    for level, (kind, width, name) in enumerate(levels, 1):
        before = [f"*a{level - 1} "] * width
        whole = {
            "[": f"[{', '.join(before)}]",
            "{": f"{{{', '.join(f'{name}{place}: {one}' for place, one in enumerate(before[:5]))}}}",
            "<": f"{{<<: [{', '.join(before)}]}}",
        }[kind]
        members.append(f"a{level}: &a{level} {whole}")
    arguments = "\n".join(f"      {member}" for member in members)
    wrong = draw(st.lists(st.sampled_from(WRONG), min_size=1, max_size=3))
    used, name = f"*a{draw(st.integers(0, len(levels)))} ", draw(st.sampled_from(NAMES))
    uses = "\n".join(form.format(used, name) for form in wrong)
    return f"- function_call:\n    name: f\n    arguments:\n{arguments}\n{uses}\n"[:LARGEST]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw a document in JSON with a deep, long or large value where it may not be."""
    leaves = (
        "9" * 20_000,
        "9" * 300,
        "1e999",
        "NaN",
        "null",
        json.dumps("x" * 30_000),
        '"\\ud800"',
        "[" * 900 + "]" * 900,
    )
    value = draw(st.sampled_from(leaves))
    for name in draw(st.lists(st.sampled_from((*NAMES, "script", "turns", "when", "match", "response")), max_size=5)):
        value = draw(st.sampled_from((f"[{value}]", f"{{{json.dumps(name)}: {value}}}", f"[{value[:9_000]}]")))
    key = draw(st.sampled_from(("turns", "script", "when", "fixtures", "organization", "mcp", "x" * 9_000)))
    return f'{{"{key}": {value}}}'[:LARGEST]


def check_entries(text: str) -> None:
    """Take a list as all that it can be part of."""
    known = parsers()
    assert complaint(known["turns"], text.encode()) is None
    assert complaint(known["script"], f"script:\n{text}".encode()) is None
    for member in ("exemptions", "refusals"):
        assert complaint(known["contract"], f"format: 1\n{member}:\n{text}".encode()) is None
    assert complaint(known["script"], f"when:\n{text}".encode()) is None


def check_json(text: str) -> None:
    """Take a text as all that is read as JSON."""
    for name in ("sent-script", "fixtures", "body", "report", "surfaced"):
        assert complaint(parsers()[name], text.encode()) is None, name


@of_today(QUICK)
@given(entries())
def test_yaml_is_read_or_refused(text: str) -> None:
    check_entries(text)


@of_today(QUICK)
@given(texts())
def test_json_is_read_or_refused(text: str) -> None:
    check_json(text)


@pytest.mark.slow
@pytest.mark.timeout(900)
@of_today(SLOW)
@given(entries())
def test_much_yaml_is_read_or_refused(text: str) -> None:
    check_entries(text)


@pytest.mark.slow
@pytest.mark.timeout(900)
@of_today(SLOW)
@given(texts())
def test_much_json_is_read_or_refused(text: str) -> None:
    check_json(text)


def test_entries_expand_to_more_than_memory_holds() -> None:
    """Without its bounds the parser would build or render what this asserts about: the test is no test of small values."""
    lists = "".join(f"      a{n}: &a{n} [{', '.join([f'*a{n - 1} '] * 12)}]\n" for n in range(1, 9))
    check_entries(f"- function_call:\n    name: f\n    arguments:\n      a0: &a0 x\n{lists}- message: *a8 \n")
