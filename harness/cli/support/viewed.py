"""Reads the arguments of `responses-harness view`: traces, pages, reports, recordings."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from harness.core.bounded_input import RAISE_ADVICE, read_bounded
from harness.core.errors import ConfigError, Malformed
from harness.report.report import RunFacts
from harness.viewer.json_form import read_text, to_text
from harness.viewer.trace import SUFFIX, list_traces, read_trace

if TYPE_CHECKING:
    from harness.viewer.model import ShownCase
from harness.viewer.model import Documentation, Run

_SCRIPT = re.compile(r'<script type="text/plain" id="(run|case-\d+)">([^<]*)</script>')
_HEAD = 1 << 16
"""Bytes at the beginning of a JSON file that distinguish reports from recordings."""


@dataclass(frozen=True, slots=True)
class Viewed:
    """A run, and its cases in the form in which a page holds them."""

    run: Run
    texts: Sequence[str]

    def cases(self) -> Iterator[ShownCase]:
        """Parse the cases one after the other."""
        from harness.viewer.model import ShownCase

        return (read_text(text, ShownCase) for text in self.texts)

    def open(self, id: str) -> ShownCase | None:
        """Parse the case with an id; None if the page does not contain it."""
        from harness.viewer.model import ShownCase

        ids = [row.id for row in self.run.cases]
        index = ids.index(id) if id in ids else len(self.texts)
        return read_text(self.texts[index], ShownCase) if index < len(self.texts) else None


def read_viewed(paths: Sequence[Path]) -> Viewed:
    """Read a run, or everything at these paths as one run; ConfigError for a path that contains neither."""
    for path in paths:
        if not path.exists():
            raise ConfigError(
                f"{path}: no such file or folder. Pass a trace, a report, a recording, or a folder of them."
            )
    traces = list(list_traces(paths))
    if traces:
        return _read_traces(traces)
    if len(paths) == 1 and paths[0].is_file():
        path = paths[0]
        if path.suffix in (".html", ".htm"):
            return _read_page(path)
        if _is_report(path):
            return _read_report(path)
    return _read_recordings(paths)


def read_compared(paths: Sequence[Path], against: Path) -> Viewed:
    """Read a run and its differences from an earlier one.

    ConfigError like `read_viewed`, or if they cannot be compared.
    """
    from harness.viewer.compare_runs import compare_runs

    viewed, earlier = read_viewed(paths), read_viewed([against])
    label = " ".join(filter(None, [str(against), f"({earlier.run.commit})" if earlier.run.commit else ""]))
    places = (str(paths[0]) if len(paths) == 1 else "", str(against))
    return replace(viewed, run=compare_runs(viewed.run, earlier.run, label, places))


def _read_traces(files: Sequence[Path]) -> Viewed:
    from harness.viewer.build_run import assemble_run

    traces = [read_trace(file) for file in files]
    documented: dict[str, Documentation] = {}
    for trace in traces:
        documented |= trace.documented
    facts = replace(traces[0].facts, source="trace")
    run = assemble_run([trace.case.row for trace in traces], facts, documented=documented)
    return Viewed(run, [to_text(trace.case) for trace in traces])


def _read_page(path: Path) -> Viewed:
    from harness.viewer.model import Run

    try:
        scripts = dict(_SCRIPT.findall(read_bounded(path, RAISE_ADVICE).decode(errors="replace")))
    except (OSError, Malformed) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise ConfigError(
            f"{path}: cannot be read: {why}. Pass a page that `--harness-report=FILE.html` wrote."
        ) from None
    if "run" not in scripts:
        raise ConfigError(f"{path}: a page without a run. Pass a page that `--harness-report=FILE.html` wrote.")
    run = read_text(scripts["run"], Run)
    return Viewed(run, [scripts[f"case-{number}"] for number in range(len(run.cases)) if f"case-{number}" in scripts])


def _is_report(path: Path) -> bool:
    """Return whether a JSON file is a report, judging by its beginning."""
    if ".json" not in path.suffixes:
        return False
    with suppress(OSError, EOFError, gzip.BadGzipFile):
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as content:
            head = content.read(_HEAD)
        return b'"totals"' in head and b'"surface"' in head
    return False


def _read_report(path: Path) -> Viewed:
    from harness.report.formats.json_file import read_report
    from harness.viewer.build_run import build_run

    return Viewed(*build_run(read_report(path)))


def _read_recordings(paths: Sequence[Path]) -> Viewed:
    """Read recordings as `responses-harness verify` would show them in a page: judged by the contract."""
    from tempfile import TemporaryDirectory

    from harness.report.report import Report
    from harness.verify.report_cases import CaseWriter, load_report
    from harness.verify.run import OBSERVER_SUFFIX, JudgeOptions, verify_recordings
    from harness.viewer.build_run import build_run

    with TemporaryDirectory(prefix="harness-view-") as folder:
        judging = JudgeOptions(make_observer=lambda recording, spool: CaseWriter(recording, spool, True))
        verify_recordings(list(paths), Path(folder), 1, judging)
        spools = sorted(Path(folder).glob(f"*{OBSERVER_SUFFIX}"), key=lambda spool: int(spool.stem))
        report: Report = load_report(spools, paths[0])
    if not any(case.exchanges for case in report.cases):
        named = ", ".join(map(str, paths))
        why = next((f" {finding.message}" for case in report.cases for finding in case.found), "")
        raise ConfigError(f"{named}: nothing to show: no trace (*{SUFFIX}), no report, no recording of this API.{why}")
    run, texts = build_run(replace(report, facts=RunFacts("recordings")))
    return Viewed(run, texts)


def plain_json(viewed: Viewed) -> bytes:
    """Encode a run with its cases as plain JSON."""
    return orjson.dumps({"run": viewed.run, "cases": list(viewed.cases())}, option=orjson.OPT_APPEND_NEWLINE)
