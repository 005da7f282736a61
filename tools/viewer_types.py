"""Writes the viewer's data classes (`page_data.py`, `compared.py`) as TypeScript for its page, `viewer/src/model.ts`."""

import argparse
import ast
import dataclasses
import inspect
import sys
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from harness.viewer import compared, page_data

TARGET = Path(__file__).parent.parent / "viewer" / "src" / "model.ts"
HEAD = "// Written by `python -m tools.viewer_types` from harness/viewer/page_data.py. Do not edit.\n"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "Json"}
JSON = (
    "export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };\n\n"
    "/** A JSON value of which parts may stand in the pool. */\nexport type Pooled = Json;\n"
)


def page_types() -> str:
    """Render all types, in the order of the module."""
    values = {**vars(compared), **vars(page_data)}.values()
    classes = [value for value in values if dataclasses.is_dataclass(value) and isinstance(value, type)]
    literals = (f"export type {name} = {_type(getattr(page_data, name))};\n" for name in ("Source", "Outcome"))
    version = f"export const VIEW_VERSION = {page_data.VIEW_VERSION};\n"
    return "\n".join([HEAD, version, JSON, *literals, *(_interface(item) for item in classes)])


def _interface(item: type) -> str:
    hints = typing.get_type_hints(item)
    docs = dict(_attribute_docs(item))
    lines = []
    for field in dataclasses.fields(item):
        if field.name in docs:
            lines.append(f"  /** {docs[field.name]} */")
        lines.append(f"  readonly {field.name}: {_type(hints[field.name])};")
    body = "\n".join(lines)
    return f"{_comment(inspect.getdoc(item) or '')}export interface {item.__name__} {{\n{body}\n}}\n"


def _comment(text: str) -> str:
    lines = text.splitlines()
    if len(lines) == 1:
        return f"/** {text} */\n"
    return "/**\n" + "".join(f" * {line}".rstrip() + "\n" for line in lines) + " */\n"


def _attribute_docs(item: type) -> Iterator[tuple[str, str]]:
    """Yield the docstring below each field, with the field's name."""
    body = ast.parse(inspect.getsource(item)).body[0]
    assert isinstance(body, ast.ClassDef)
    for before, after in zip(body.body, body.body[1:], strict=False):
        text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
        if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name) and isinstance(text, str):
            yield before.target.id, " ".join(text.split())


def _type(hint: Any) -> str:
    if hint in PLAIN:
        return PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(_type(argument) for argument in arguments)
    if origin is tuple:
        return f"readonly [{', '.join(_type(argument) for argument in arguments)}]"
    if origin is Sequence:
        return f"readonly {_element(arguments[0])}[]"
    if origin is Mapping:
        return f"{{ readonly [name: string]: {_type(arguments[1])} }}"
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint.__name__
    raise TypeError(f"no type of the page stands for {hint}: add it to tools/viewer_types.py")


def _element(hint: Any) -> str:
    text = _type(hint)
    return f"({text})" if " " in text and not text.startswith("{") else text


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, or with `--check` check whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether the file is up to date")
    check = parser.parse_args(arguments).check
    text = page_types()
    if check:
        if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text:
            return 0
        print(f"{TARGET} is not what harness/viewer says: run `python -m tools.viewer_types`", file=sys.stderr)
        return 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
