"""Dumps a value as YAML that people read: long texts are blocks, there are no anchors or wrapped lines."""

import re
from functools import lru_cache
from io import StringIO
from typing import Any

import yaml
from yaml.emitter import Emitter, ScalarAnalysis

_UNSAFE = re.compile(r"[\r\t\x85\u2028\u2029\ufeff]")
"""A character that a YAML block does not preserve."""
_SPECIAL = re.compile(r"[^\n -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010fffe]")
"""A character that YAML only has escaped."""
_NUMBERLIKE = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")

_LONGEST_NAME = 32
"""Characters of the longest text whose analysis is kept: most of them are names, the same in each exchange."""
_analyze_name = lru_cache(maxsize=1024)(Emitter(StringIO(), allow_unicode=True).analyze_scalar)


class OneLineList(list[Any]):
    """A list that is dumped on one line."""


class BlockMapping(dict[str, Any]):
    """A mapping that is dumped with one member per line, however short it is."""


class _Dumper(yaml.SafeDumper):
    """Dumps a repeated value in full each time, so that every exchange is complete."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True

    def analyze_scalar(self, scalar: str) -> ScalarAnalysis:
        """Analyze a text as PyYAML does, but that of a block by a pattern instead of character by character."""
        if getattr(self.event, "style", None) != "|":
            return _analyze_name(scalar) if len(scalar) <= _LONGEST_NAME else super().analyze_scalar(scalar)
        fits = not (" \n" in scalar or scalar.endswith(" ") or _SPECIAL.search(scalar))
        return ScalarAnalysis(scalar, False, True, False, False, False, True, fits)

    def write_literal(self, text: str) -> None:
        """Write a block as PyYAML does, in one piece."""
        hints = self.determine_block_hints(text)
        self.write_indicator(f"|{hints}", True)
        self.open_ended = self.open_ended or hints.endswith("+")
        self.write_line_break()
        indent = " " * (self.indent or 0)
        lines = text.removesuffix("\n").split("\n")
        self.stream.write("\n".join(indent + line if line else "" for line in lines))
        self.write_line_break()


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "'" if _NUMBERLIKE.fullmatch(text) else None
    if text.startswith((" ", "\n")) or (text.endswith("\n") and not text.endswith("\n\n")) or _UNSAFE.search(text):
        style = '"'
    elif "\n" in text:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


def _represent_one_line(dumper: _Dumper, values: OneLineList) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=True)


def _represent_block(dumper: _Dumper, values: BlockMapping) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", values, flow_style=False)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(OneLineList, _represent_one_line)
_Dumper.add_representer(BlockMapping, _represent_block)


def dump_yaml(value: Any) -> str:
    """Dump a value as YAML, always as the same text. Mappings keep their order."""
    return str(
        yaml.dump(value, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=1 << 20)
    )
