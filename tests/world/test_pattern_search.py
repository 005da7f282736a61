"""Patterns of routes: found as `re` finds them, and never longer than a limit."""

import re

import orjson
import pytest

from harness.core.exchange import Answer
from harness.items import message
from harness.server.mock_api import MockApi
from harness.world.pattern_search import SEARCH_SECONDS, SearchTooLongError, has_match

TEXTS = (
    *(
        "",
        "a",
        "aa",
        "aab",
        "abc",
        "b",
        "bc",
        "bd",
        "x{",
        "x{a}",
        "a{e}",
        "a{e<=1}",
        "a{i}",
        "a,3}b",
        "a{,3}b",
        "(foo)",
    ),
    *(
        "foo bar",
        "Foo\nBAR",
        "[",
        "[a",
        "a]",
        ":]",
        "[:alpha:]",
        "&&",
        "a&&b",
        "a-b",
        "a--b",
        "~",
        "||",
        "\\",
        "#",
        "\n",
    ),
    *("straße", "STRASSE", "é", "É", "ſ", "K", "1", "١", "Paris", "weather in Paris?", "2026-11-22", "a.b@c.d", "_"),
)
PATTERNS = (
    *(
        r"a+b",
        r"a*?b",
        r"(a)?b+(?(1)c|d)",
        r"(?P<n>a+)(?P=n)",
        r"(?<=ab)c+",
        r"(?<!a)b+",
        r"a{2,3}",
        r"a{2}",
        r"a{,3}b",
    ),
    *(
        r"x{",
        r"x{a}+",
        r"a{e}+",
        r"a{e<=1}",
        r"(foo){e<=1}",
        r"a{i}?",
        r"a{s<2}",
        r"[[:alpha:]]+",
        r"[[a-z]+",
        r"[]a]+",
    ),
    *(r"[^]a]+", r"[a&&b]+", r"[a\[b]+", r"[\]\\]+", r"[a||b]+", r"[\w-]+", r"[~~]+", r"(?>a+)b", r"a++b", r"(?s:.)+$"),
    *(r"\bfoo\b.*", r"(?i)foo.*bar", r"(?is)foo.*bar", r"(?m)^bar+|BAR+$", r"(?a)\w+$", r"(?i)straße+", r"(?i)k+"),
    *(
        r"(?i)s+",
        r"\d{4}-\d\d?",
        r"(?#a [comment)a+",
        r"(?x) a+ # [a comment\n b",
        r"(?x) [#]+ | \#+ [ ]?",
        r"\{+",
        r"\\+",
    ),
    *(
        r"^$",
        r"(?:)*",
        r".*",
        r"\Aa+\Z",
        r"\N{DIGIT ONE}+",
        r"\u00e9+",
        r"\x41?b",
        r"(a|b)*c",
        r"paris?",
        r"plain text",
    ),
)


@pytest.mark.filterwarnings("ignore:Possible:FutureWarning")  # `re` itself warns of some
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_found_where_re_finds_it(pattern):
    compiled = re.compile(pattern)
    assert [text for text in TEXTS if has_match(compiled, [text])] == [t for t in TEXTS if compiled.search(t)]


def test_flags_are_those_that_the_pattern_was_compiled_with():
    assert has_match(re.compile("PARIS+", re.IGNORECASE), ["paris"])
    assert has_match(re.compile("a.+b", re.DOTALL), ["a\n\nb"])
    assert not has_match(re.compile(r"^\w+$", re.ASCII), ["é"])


def test_a_search_that_backtracks_ends_at_the_limit():
    with pytest.raises(SearchTooLongError):
        has_match(re.compile("(a+)+$"), ["a" * 64_000 + "!"], seconds=0.01)


def test_many_texts_share_one_limit():
    with pytest.raises(SearchTooLongError):
        has_match(re.compile("(a|a?)+$"), ["a" * 12 + "!"] * 1_000_000, seconds=0.01)


def test_a_route_whose_pattern_backtracks_is_blamed_and_other_keys_are_served():
    api = MockApi()
    stuck, other = api.open("sk-stuck"), api.open("sk-other")
    stuck.when(input=re.compile("(a+)+$")).script(message("Never."))
    other.script(message("Hi."))
    problem = _ask(api, "sk-stuck", "a" * 64_000 + "!")
    assert problem.status == 418
    assert problem.body["error"]["code"] == "ScriptError"
    assert problem.body["error"]["message"].startswith(
        "when(input=re.compile('(a+)+$')): the pattern re.compile('(a+)+$') was not found in `input` "
        f"(64001 characters) within {SEARCH_SECONDS} s of CPU time. Write it without a repeat in a repeat"
    )
    assert _ask(api, "sk-other", "hi").status == 200
    assert [request.path for request, _ in stuck.world.problems] == ["/responses"]


def _ask(api: MockApi, key: str, text: str) -> Answer:
    body = orjson.dumps({"model": "gpt-4.1", "input": text})
    return api.handle("POST", "/v1/responses", {"authorization": f"Bearer {key}"}, {}, body)
