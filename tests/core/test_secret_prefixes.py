"""Secrets are hidden wherever they stand in a JSON value, in names too; ordinary words are not."""

import re._parser  # type: ignore[import-not-found]

from harness.core.secret_prefixes import HIDDEN, SHORTEST_TOKEN, TOKEN_PATTERN, redact, secrets_in_headers


def test_the_secrets_of_headers_are_their_values_without_scheme() -> None:
    headers = {"authorization": "Bearer opaque-token", "api-key": " azure-key ", "x-api-key": "short", "accept": "*/*"}
    assert secrets_in_headers(headers) == {"Bearer opaque-token", "opaque-token", "azure-key"}


def test_they_are_hidden_in_texts_and_names_at_any_depth() -> None:
    value = {"my opaque-token": [1, None, ("see opaque-token!",)], "plain": True}
    assert redact(value, {"opaque-token"}) == {f"my {HIDDEN}": [1, None, [f"see {HIDDEN}!"]], "plain": True}


def test_a_secret_that_begins_with_another_leaves_nothing_over() -> None:
    assert redact("a opaque-token-2 b", ["opaque-token", "opaque-token-2"]) == f"a {HIDDEN} b"


def test_what_has_the_form_of_a_key_is_hidden_though_nobody_named_it() -> None:
    key = "sk-proj-" + "aB3" * 14
    assert redact(f"key={key}") == f"key={HIDDEN}"
    assert redact("task-force of ten") == "task-force of ten"


def test_no_token_is_shorter_than_a_text_that_is_searched() -> None:
    assert re._parser.parse(TOKEN_PATTERN.pattern).getwidth()[0] == SHORTEST_TOKEN
    assert redact("sk-" + "a1" * 6) == HIDDEN


def test_a_token_of_several_words_is_hidden_however_short_they_are() -> None:
    assert redact("send Bearer a1b2c3d4 now") == f"send {HIDDEN} now"
    assert redact("-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYD\n-----END PRIVATE KEY-----") == HIDDEN


def test_a_token_that_is_one_word_is_hidden_among_short_words() -> None:
    assert redact("send sk-a1a1a1a1a1a1 now") == f"send {HIDDEN} now"


def test_the_kind_of_a_word_decides_only_how_fast_a_token_in_it_is_found() -> None:
    tokens = ["sk-a1a1a1a1a1a1", "hf_" + "a1B2" * 6, "abc1Q~" + "a" * 31, "eyJhbGciOi.eyJzdWIiOi.x", "sk_" + "a1" * 24]
    tokens += ["https://hooks.slack.com/services/T0000000/B0000000/" + "a1" * 10]
    for text in (
        f"{before}{token}{after}"
        for token in tokens
        for before in ("", "é", '"', "x-", "x_", "\\n")
        for after in ("", ".")
    ):
        assert redact(text) == TOKEN_PATTERN.sub(HIDDEN, text), text
    assert not any(token in redact(f"é{token}") for token in tokens[:2])
