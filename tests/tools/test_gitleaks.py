"""The forms of keys that are taken over from gitleaks."""

import json

import pytest

from harness.cassettes.scrubbing.gitleaks import RULES_FILE
from tools import gitleaks


def test_the_list_says_what_was_left_out():
    assert json.loads(RULES_FILE.read_text())["left_out"] == gitleaks.LEFT_OUT


@pytest.mark.parametrize(
    ("published", "pattern"),
    [
        (
            r"""\b(p8e-(?i)[a-z0-9]{2})(?:[\x60'"\s;]|\\[nr]|$)""",
            rf"{gitleaks.WORD_START}(p8e-(?i:[a-z0-9]{{2}}))(?![A-Za-z0-9_\-])",
        ),
        (r"(?i)\b(dor_v1)", rf"(?i:{gitleaks.WORD_START}(dor_v1))"),
        (r"a(?i)b[(?i)]\(c", r"a(?i:b[(?i)]\(c)"),
        (r"\b(pat[[:alnum:]]{2})\z", rf"{gitleaks.WORD_START}(pat[A-Za-z0-9]{{2}})\Z"),
    ],
)
def test_a_pattern_of_go_becomes_one_of_python(published, pattern):
    assert gitleaks.translate(published) == pattern


def test_a_list_is_read_from_a_file_or_from_a_program(tmp_path):
    text = b"# This file has been auto-generated. Do not edit manually.\n# If you would like to contribute new rules\n"
    toml = text + b"[[rules]]\nid = \"a\"\nregex = '''\\b(a-[0-9]{9})\\b'''\nkeywords = [\"a-\"]\n"
    for data in (toml, b"\x7fELF\0" + toml + b"\0rest"):
        (tmp_path / "it").write_bytes(data)
        (entry,) = gitleaks.take_over(gitleaks.read_toml(tmp_path / "it")["rules"])
        assert entry == {"id": "a", "pattern": rf"{gitleaks.WORD_START}(a-[0-9]{{9}})\b", "keywords": ["a-"]}
