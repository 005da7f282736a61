"""The keys of issuers, by the rules of gitleaks: a made-up one of each is masked wherever it stands."""

import base64
import json
from collections.abc import Callable
from functools import cache
from urllib.parse import quote

import pytest

from harness.cassettes.format.interaction import CassetteHeader, Interaction
from harness.cassettes.format.serializer import dump_cassette
from harness.cassettes.scrubbing.gitleaks import RULES_FILE, find_keys, issuer_rules
from harness.cassettes.scrubbing.leak_check import secrets_in
from harness.cassettes.scrubbing.mask_interactions import scrub_interactions
from harness.cassettes.scrubbing.mask_text import Masker
from tests.support.recordings import JSON, over_http, sse, streamed
from tests.support.slow import slow_except
from tests.support.texts.made_up_texts import make_up

RULES = {rule.id: rule for rule in issuer_rules()}


def example(id: str) -> tuple[str, str]:
    """Return a text with a key of this issuer, and the key."""
    rule = RULES[id]
    for seed in range(300):
        text = f"it is {make_up(rule.pattern, seed)} ."
        text = text if any(keyword in text.lower() for keyword in rule.keywords) else f"of {rule.keywords[0]} {text}"
        if spans := [span for span in rule.spans(text, 0, len(text)) if span in find_keys(text)]:
            return text, text[slice(*spans[0])]
    raise AssertionError(f"no key of {id} was made up")


@cache
def examples() -> dict[str, tuple[str, str]]:
    """Make up an example of each issuer."""
    return {id: example(id) for id in RULES}


def deltas(text: str) -> Interaction:
    cut = len(text) // 2
    event = {"type": "response.output_text.delta", "item_id": "m"}
    return streamed(*(sse({**event, "delta": half}) for half in (text[:cut], text[cut:])))


POSITIONS: dict[str, Callable[[str], Interaction]] = {
    "answer": lambda text: over_http({}, {"output": [{"content": [{"type": "output_text", "text": text}]}]}),
    "tool output": lambda text: over_http({"input": [{"type": "function_call_output", "output": text}]}, {}),
    "arguments": lambda text: over_http({}, {"output": [{"arguments": json.dumps({"it": text})}]}),
    "header": lambda text: over_http({}, {}, headers=JSON | {"openai-beta": text}),
    "query": lambda text: over_http({}, {}, uri=f"https://api.openai.com/v1/responses?note={quote(text, safe='')}"),
    "base64": lambda text: over_http({"input": base64.b64encode(text.encode()).decode()}, {}),
    "deltas": deltas,
}


def bytes_of(one: Interaction) -> str:
    return f"{one.uri} {one.headers} {one.body.decode()} {one.answer.decode()}"


@pytest.mark.parametrize("position", slow_except((1, 6), POSITIONS))
def test_no_key_of_an_issuer_is_left(position):
    dirty = [POSITIONS[position](text) for text, _ in examples().values()]
    clean = scrub_interactions(dirty)
    left = []
    for (id, (text, key)), masked in zip(examples().items(), clean, strict=True):
        forms = (key, quote(key, safe=""), base64.b64encode(text.encode()).decode())
        left += [id] if any(form in bytes_of(masked) for form in forms) else []
    assert left == []
    assert scrub_interactions(clean) == clean
    assert secrets_in(dump_cassette(CassetteHeader(), clean)) == ()


def test_a_member_named_after_an_issuer_holds_its_key():
    key = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"
    clean = Masker().mask_text(json.dumps({"adafruit": key, "md5": key, "note": "adafruit"}))
    assert json.loads(clean) == {"adafruit": "x" * 32, "md5": key, "note": "adafruit"}


@pytest.mark.parametrize(
    "text",
    [
        "sourcegraph is at commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "s.someMethodNameWithLetters is called",
        "resp_68a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3e4f50617",
        "call_Ab12Cd34Ef56Gh78Ij90Kl12 and fc_68a1b2c3d4e5f60718293a4b5c6d7e8f",
        "heroku and 7f9c24e8-3b12-4fef-91e0-55a1c0ffee00",
    ],
)
def test_what_is_no_key_stays(text):
    assert Masker().mask_text(text) == text


def test_the_rules_say_where_they_are_from_and_under_which_licence():
    head = json.loads(RULES_FILE.read_text())
    assert head["source"].startswith("gitleaks ")
    assert "MIT" in head["licence"]
    assert len(RULES) == len(head["rules"]) > 200
