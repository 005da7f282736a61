"""No option of a command is given in vain: one that has no effect beside the others is refused, by its name."""

from __future__ import annotations

import pytest

from tests.support.command_line import run_cli


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("verify", "a.yaml", "--timeout", "3"), "--model, --key-env and --timeout go with --server."),
        (("verify", "--server", "http://a/v1", "--respell"), "goes with recordings, without --respell."),
        (("verify", "--merge", "a.json", "--jobs", "2"), "give --merge with --json and -v alone, without --jobs."),
        (("examine", "--init", "a", "--jobs", "3"), "run it with the command that it prints, without --jobs."),
        (("examine", "openai", "--language", "js"), "give --init DIR, too."),
        (("examine", "openai", "-v"), "give --case ID, too."),
        (("examine", "openai", "--list"), "give it with --cases, without ADAPTER."),
        (("examine", "--merge", "a.json", "--baseline", "b.json"), "give it with --report, without --baseline."),
    ],
)
def test_an_option_without_effect_is_refused(arguments: tuple[str, ...], words: str) -> None:
    ended = run_cli(*arguments)
    assert ended.exit_code == 2, ended.output
    assert words in " ".join(word for word in ended.stderr.split() if word != "│")
