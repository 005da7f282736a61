"""Reads the shutdown dates that the SDK announces in its docstrings into `harness/api/model_facts.json`.

A date that the SDK announces replaces another one, its source before the others'; replacements and names that the SDK
does not mention stay.
"""

import json
import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import orjson

from harness.api.model_facts import MODELS_FILE

_NAME = re.compile(r'"([^"]+)"')
_ANNOUNCED = re.compile(
    r'((?:"[^"]+",?\s+)*"[^"]+"):\s+Announced\s+shutdown\s+date:\s+(\d{4}-\d\d-\d\d)',
)
_SECTION = re.compile(r'  "shutdowns": \{\n.*?\n  \}', re.DOTALL)


def read_announced() -> dict[str, str]:
    """Read the day of each model's shutdown from the docstrings of the installed SDK's types."""
    import openai

    types = Path(openai.__path__[0]) / "types"
    texts = (file.read_text(encoding="utf-8") for file in sorted(types.rglob("*.py")))
    entries = (entry for text in texts for entry in _ANNOUNCED.finditer(text))
    return {name: entry[2] for entry in entries for name in _NAME.findall(entry[1])}


def check_shutdowns(file: Path = MODELS_FILE) -> Iterator[str]:
    """Yield a problem for each announced day that the table does not have."""
    table = orjson.loads(file.read_bytes())["shutdowns"]
    for name, day in read_announced().items():
        if name not in table or table[name][0] != day:
            known = table[name][0] if name in table else "no day"
            yield f"{file.name} has {known} for {name}, the SDK announces {day}; run `python -m tools.schemas --sync`"


def write_shutdowns(file: Path = MODELS_FILE) -> bool:
    """Write the announced days into the table; return whether it has changed."""
    text = file.read_text(encoding="utf-8")
    table = orjson.loads(text)["shutdowns"]
    release = ".".join(metadata.version("openai").split(".")[:2])
    for name, day in read_announced().items():
        known_day, replacement, *sources = table.get(name, ["", ""])
        if known_day != day:
            kept = [source for source in sources if ": replacement" in source]
            table[name] = [day, replacement, f"documented openai {release}: docstrings", *kept]
    lines = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(entry)}"
        for name, entry in sorted(table.items(), key=lambda item: (item[1][0], item[0]))
    )
    written = _SECTION.sub(lambda _: f'  "shutdowns": {{\n{lines}\n  }}', text)
    file.write_text(written, encoding="utf-8", newline="\n")
    return written != text
