"""Plain data as YAML that people read and git shows the changes of: long texts as blocks, no anchors, no lines broken."""

from __future__ import annotations

import re
from typing import Any

import yaml

_UNLIKELY = re.compile(r"[\r\t\x85\u2028\u2029\ufeff]|\A[ \n]|[^\n]\n\Z")
"""What a block of YAML would not keep as it is."""
_NUMBERLIKE = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")


class OneLine(list[Any]):
    """A list that is written in one line."""


class Lines(dict[str, Any]):
    """A mapping that is written a member a line, however short it is."""


class _Dumper(yaml.SafeDumper):
    """What is said twice is written twice: every exchange stands for itself."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        """Whether a value is written again where it stands again."""
        return True


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "'" if _NUMBERLIKE.fullmatch(text) else None
    if "\n" in text or _UNLIKELY.search(text):
        style = '"' if _UNLIKELY.search(text) else "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


def _one_line(dumper: _Dumper, values: OneLine) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=True)


def _lines(dumper: _Dumper, values: Lines) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", values, flow_style=False)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(OneLine, _one_line)
_Dumper.add_representer(Lines, _lines)


def written(value: Any) -> str:
    """The text of a value; the same value gives the same text. Mappings keep their order."""
    return str(
        yaml.dump(value, Dumper=_Dumper, default_flow_style=None, sort_keys=False, allow_unicode=True, width=1 << 20)
    )
