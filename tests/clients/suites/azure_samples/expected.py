"""How each sample is to end, from `expected.toml`: by package and folder, by file its verdict.

`works: ` goes on with the types of the items that the model says in it, `not mocked: ` and `fails: ` with a text that the
reason begins with.
"""

import tomllib
from pathlib import Path

FILE = Path(__file__).with_name("expected.toml")
TABLE = tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def expected_of(package):
    """By the path of a sample how it is to end."""
    folders = TABLE.get(package, {})
    return {
        f"{folder}/{name}".removeprefix("./"): told
        for folder, samples in folders.items()
        for name, told in samples.items()
    }


def is_as_expected(ended, told):
    """Return whether a sample ended as it is told to."""
    return str(ended) == told if told.startswith("works") else str(ended).startswith(told)
