"""Reports as JSON, as `schemas/report.json` has it: written, read back, several made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import jsonschema_rs
import orjson

from harness.contract.schema import schemas_directory
from harness.core.errors import ConfigError
from harness.core.exchange import Json
from harness.report.coverage import merge_coverage
from harness.report.model import REPORT_VERSION, Report, ReportCase


def render(report: Report) -> str:
    """A report as JSON, a test a line, so that two of them can be compared."""
    head = orjson.dumps(report.summary_json(), option=orjson.OPT_INDENT_2).decode().removesuffix("\n}")
    tests = ",".join(f"\n    {orjson.dumps(trial).decode()}" for trial in report.cases)
    return f'{head},\n  "tests": [{tests}\n  ]\n}}\n'


def read_report(file: Path) -> Report:
    """The report in a file; ConfigError when it is none."""
    try:
        told = orjson.loads(file.read_bytes())
    except OSError as problem:
        raise ConfigError(f"{file}: cannot be read: {problem.strerror}.") from problem
    except orjson.JSONDecodeError as problem:
        raise ConfigError(f"{file}: not JSON: {problem}. {_FILE_HINT}") from problem
    if isinstance(told, dict) and isinstance(told.get("version"), int) and told["version"] > REPORT_VERSION:
        raise ConfigError(
            f"{file}: a report of version {told['version']}; this harness reads {REPORT_VERSION}. Update it."
        )
    if fault := next(_validator().iter_errors(told), None):
        place = "/".join(map(str, fault.instance_path)) or "its top"
        raise ConfigError(f"{file}: no report: at {place}: {fault.message[:200]}. {_FILE_HINT}")
    return _parse_report(told)


_FILE_HINT = "Give a file that pytest --harness-report=FILE.json or harness verify --report FILE.json wrote."


@cache
def _validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(orjson.loads((schemas_directory() / "report.json").read_bytes()))


def _parse_report(told: Json) -> Report:
    known, hit = ({name: frozenset(of[member]) for name, of in told["surface"].items()} for member in ("known", "hit"))
    return Report(list(map(ReportCase.from_json, told["tests"])), known, hit)


def merge_reports(reports: Sequence[Report]) -> Report:
    """Several reports as one: shards of a run, or its jobs.

    A test that several have is there once, unless they differ in more than the time it took.
    """
    trials: dict[str, ReportCase] = {}
    for trial in (trial for report in reports for trial in report.cases):
        timeless = orjson.dumps(replace(trial, seconds=0)).decode()
        trials.setdefault(timeless, trial)
    hit, known = merge_coverage(report.hit for report in reports), merge_coverage(report.known for report in reports)
    return Report(list(trials.values()), known, hit)
