"""Traces: one file per test, with its exchanges and the reason for its failure, to be viewed elsewhere and later."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from harness.core.bounded_input import RAISE_ADVICE, explain_read_errors, read_bounded
from harness.core.errors import ConfigError
from harness.report.report import RunFacts
from harness.viewer.build_case import document
from harness.viewer.json_form import read_bytes, to_bytes
from harness.viewer.page_data import Documentation, ShownCase

SUFFIX = ".trace.json.gz"
TRACE_VERSION = 1
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 100
_IGNORE = "*\n"


@dataclass(frozen=True, slots=True)
class Trace:
    """A case with the facts of its run; `documented` explains the rules and losses that it mentions, by id."""

    facts: RunFacts
    case: ShownCase
    documented: Mapping[str, Documentation] = field(default_factory=dict)
    version: int = TRACE_VERSION


def trace_file(folder: Path, id: str) -> Path:
    """Return the file of a test in a folder of traces, the same in every run, whatever characters the id contains."""
    readable = _UNSAFE.sub("-", id.rpartition("/")[2]).strip("-.")[:_LONGEST]
    return (
        folder
        / f"{readable or 'test'}-{blake2b(id.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}{SUFFIX}"
    )


def write_trace(folder: Path, facts: RunFacts, case: ShownCase) -> Path:
    """Write the trace of a case into a folder, which is created and ignored by git; OSError if that fails."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text(_IGNORE, encoding="utf-8")
    documented = document([case.row], {finding.rule for finding in case.findings if finding.rule})
    file = trace_file(folder, case.row.id)
    file.write_bytes(to_bytes(Trace(facts, case, documented)))
    return file


def read_trace(file: Path) -> Trace:
    """Read a trace; ConfigError for any other file."""
    with explain_read_errors(str(file)):
        raw = read_bounded(file, RAISE_ADVICE)
    try:
        trace = read_bytes(raw, Trace)
    except ConfigError as problem:
        raise ConfigError(
            f"{file}: {problem}. Pass a trace, such as one written by `pytest --harness-trace=failed`."
        ) from problem
    if trace.version > TRACE_VERSION:
        raise ConfigError(f"{file}: a trace of version {trace.version}; this harness reads {TRACE_VERSION}. Update it.")
    return trace


def list_traces(paths: Sequence[Path]) -> Iterator[Path]:
    """Yield the traces at these paths: each file named like a trace, and those below each folder, sorted."""
    for path in paths:
        if path.is_dir():
            yield from sorted(path.rglob(f"*{SUFFIX}"))
        elif path.name.endswith(SUFFIX):
            yield path
