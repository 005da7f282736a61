"""How a cassette is laid out for readers: YAML with long texts as blocks, no anchors, no broken lines; JSON indented.

The name of the style in which JSON was sent restores its exact bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
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


JSON_STYLES: dict[str, Mapping[str, Any]] = {
    "compact": {"separators": (",", ":"), "ensure_ascii": False},
    "compact ascii": {"separators": (",", ":")},
    "spaced": {"ensure_ascii": False},
    "spaced ascii": {},
    "indented ascii": {"indent": 2},
}
"""How clients and servers write JSON, by the names in a cassette: options of `json.dumps`."""
_INDENTED: Mapping[str, Any] = {"indent": 2, "ensure_ascii": False}


def indent_json(text: str) -> tuple[str, str]:
    """JSON indented, and its original style; any text that cannot be restored so is unchanged and has none."""
    if text[:1] not in ("{", "["):
        return text, ""
    try:
        value = json.loads(text)
        style = next((name for name, options in JSON_STYLES.items() if json.dumps(value, **options) == text), "")
        indented = json.dumps(value, **_INDENTED)
        indented.encode()  # raises for half a pair of surrogates, which only JSON's escape can express
        return (indented, style) if style else (text, "")
    except (ValueError, RecursionError):
        return text, ""


def restore_json(text: str, style: Any) -> str:
    """JSON in a style, even if it was edited since; other text and unknown styles are unchanged."""
    if style not in JSON_STYLES:
        return text
    try:
        return json.dumps(json.loads(text), **JSON_STYLES[style])
    except (ValueError, RecursionError):
        return text
