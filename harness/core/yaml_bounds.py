"""Bounds what a composed YAML document may become, since each line of aliases of aliases multiplies its size."""

from __future__ import annotations

import yaml

MAX_EXPANDED = 100_000
"""How many values a document may expand to, unless it has that many without its aliases."""
_TEXT_UNIT = 100
"""How many characters of a text count as one more value: 10 MB of text are as much as the values above."""
MAX_NESTING = 100
"""How deep a document may nest."""
MAX_INTEGER_LENGTH = 400
"""How many characters an integer may have."""


def find_excess(root: yaml.Node) -> tuple[int, str] | None:
    """Return the line and the description of what is too large or too deep in a document; None if nothing is."""
    measured: dict[int, tuple[int, int]] = {}  # size and depth, by the id of a node
    open_nodes: set[int] = set()
    own_size = 0
    pending = [(root, False)]
    while pending:
        node, is_left = pending.pop()
        line = node.start_mark.line + 1
        if not is_left and id(node) in measured:
            continue
        if isinstance(node, yaml.ScalarNode):
            measured[id(node)] = size, _ = 1 + len(node.value) // _TEXT_UNIT, 1
            own_size += size
            if node.tag.endswith(":int") and len(node.value) > MAX_INTEGER_LENGTH:
                return line, f"an integer of {len(node.value):,} characters; write a string"
            continue
        children = [part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,))]
        if is_left:
            open_nodes.discard(id(node))
            sizes, depths = zip((0, 0), *(measured[id(child)] for child in children), strict=True)
            measured[id(node)] = size, depth = 1 + sum(sizes), 1 + max(depths)
            if depth > MAX_NESTING:
                return line, f"nested more than {MAX_NESTING} levels deep"
            own_size += 1
            if size > max(MAX_EXPANDED, own_size):
                return (
                    line,
                    f"its aliases expand to more than {MAX_EXPANDED:,} values or 10 MB; write them out, or use fewer",
                )
        elif id(node) in open_nodes:
            return line, "an alias stands for what contains it"
        else:
            open_nodes.add(id(node))
            pending += [(node, True), *((child, False) for child in reversed(children))]
    return None
