"""Writes plain data as readable YAML with small diffs: long texts as blocks, no anchors, no broken lines."""

from __future__ import annotations

import re
from typing import Any

import yaml

_NEEDS_QUOTES = re.compile(r"[\r\t\x85\u2028\u2029\ufeff]|\A[ \n]|[^\n]\n\Z")
"""What a block of YAML does not preserve."""
_NUMBERLIKE = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")


class OneLineList(list[Any]):
    """A list that is written on one line."""


class BlockMapping(dict[str, Any]):
    """A mapping that is written with one member per line, however short it is."""


class _Dumper(yaml.SafeDumper):
    """Writes a value again where it occurs again, so that every exchange is complete."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Never write an alias."""
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "'" if _NUMBERLIKE.fullmatch(text) else None
    if "\n" in text or _NEEDS_QUOTES.search(text):
        style = '"' if _NEEDS_QUOTES.search(text) else "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


def _represent_one_line(dumper: _Dumper, values: OneLineList) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=True)


def _represent_block(dumper: _Dumper, values: BlockMapping) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", values, flow_style=False)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(OneLineList, _represent_one_line)
_Dumper.add_representer(BlockMapping, _represent_block)


def dump_yaml(value: Any) -> str:
    """Dump a value; the same value gives the same text. Mappings keep their order."""
    return str(
        yaml.dump(value, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=1 << 20)
    )
