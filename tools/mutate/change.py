"""Single changes of a module: a place in it, and the text that replaces what stands there."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PAIRS: list[tuple[type[ast.cmpop], type[ast.cmpop]]] = [
    *((ast.Eq, ast.NotEq), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
]
OPPOSITES = dict([*PAIRS, *((new, old) for old, new in PAIRS)])


@dataclass(frozen=True)
class Change:
    """A place in a module, and the text that replaces what stands there."""

    file: Path
    node: ast.stmt | ast.expr
    statement: ast.stmt
    new: str

    def apply(self, text: str) -> str:
        """Return the text of the module with the change."""
        lines = text.encode().splitlines(keepends=True)
        start, end = self.node.lineno - 1, (self.node.end_lineno or 0) - 1
        before, after = lines[start][: self.node.col_offset], lines[end][self.node.end_col_offset :]
        return b"".join([*lines[:start], before, self.new.encode(), after, *lines[end + 1 :]]).decode()

    def __str__(self) -> str:
        return f"{self.file}:{self.node.lineno}: {ast.unparse(self.node)[:90]}  ->  {self.new[:90]}"


def changes_of(file: Path) -> Iterator[Change]:
    """Yield every change but those of annotations, of classes' decorators and of f-strings (3.11 has no places there)."""
    skipped = set[ast.AST]()
    statements: dict[ast.AST, ast.stmt] = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        around = node if isinstance(node, ast.stmt) else statements.get(node)
        statements |= {part: around for part in ast.iter_child_nodes(node) if around}
        kept: list[ast.AST] = [node] if isinstance(node, ast.JoinedStr) else []
        kept += filter(None, [getattr(node, name, None) for name in ("annotation", "returns")])
        kept += node.decorator_list if isinstance(node, ast.ClassDef) else []
        skipped |= {part for root in kept for part in ast.walk(root)}
        if node not in skipped and isinstance(node, ast.stmt | ast.expr) and around and (new := _altered(node)):
            yield Change(file, node, around, new)


def _altered(node: ast.stmt | ast.expr) -> str:
    """Return what stands in place of a node, or nothing."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return f"({ast.unparse(ast.Compare(left, [OPPOSITES[type(operator)]()], [right]))})"
        case ast.BoolOp(op=operator, values=values):
            return f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values))})"
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"({ast.unparse(ast.IfExp(test, other, body))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"bool({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            return repr(not value)
        case ast.Constant(value=int(value) | float(value)):
            return repr(value + 1)
        case ast.Return(value=ast.Constant(value=None | False | "" | 0)):
            return ""  # as false as None
        case ast.Return(value=value) if value:
            return "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue() | ast.Break():
            return "pass"
    return ""
