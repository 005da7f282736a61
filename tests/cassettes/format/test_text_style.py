"""Blocks of YAML are written in one piece, and as PyYAML writes them."""

import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.cassettes.format.text_style import dump_yaml

ODD = [
    *("\n", "\n\n", " ", "  ", "---", "...", "#", ": ", "- ", "|"),
    *("\t", "\r", "\x85", "\u2028", "\ufeff", "\x00", "\x7f", "a", "é", "\U0001f600", "\ufffe", "\U0010ffff"),
]
TEXTS = st.lists(st.sampled_from(ODD) | st.text(max_size=3)).map("".join)


class PlainDumper(yaml.SafeDumper):
    """PyYAML as it is, asked for blocks."""

    def write_block(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, "|")


PlainDumper.add_representer(str, PlainDumper.write_block)


@given(TEXTS)
def test_a_text_is_preserved(text):
    assert yaml.safe_load(dump_yaml({"a": {"b": text}, "c": [text, 1]})) == {"a": {"b": text}, "c": [text, 1]}


@given(TEXTS.map(lambda text: f"a{text}\nb\n\n"))
def test_a_block_is_that_of_pyyaml(text):
    ours, theirs = (dump(["x", {"y": text}]) for dump in (dump_yaml, dump_plain))
    if "y: |" in ours:
        assert ours.replace("\n  y: ", "\n  'y': ").split("|", 1)[1] == theirs.split("|", 2)[-1]


def dump_plain(value):
    return yaml.dump(value, Dumper=PlainDumper, allow_unicode=True, width=1 << 20)
