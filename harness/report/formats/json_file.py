"""Reports as JSON by the schema `schemas/report.json`: written, read, merged."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import jsonschema_rs
import orjson

from harness.api.http.bodies import load_json
from harness.contract.compile_schema import compile_schema
from harness.contract.schema import schemas_directory
from harness.core.bounded_input import RAISE_ADVICE, explain_read_errors, read_bounded, refuse_many_values, size_limit
from harness.core.errors import COMMAND, ConfigError
from harness.core.exchange import Json
from harness.report.api_coverage import merge_coverage
from harness.report.report import NO_FACTS, REPORT_VERSION, Report, ReportCase, merge_unknown_models


def render(report: Report) -> str:
    """Render a report as JSON with one line per test, so that reports can be compared line by line."""
    head = orjson.dumps(report.summary_json(), option=orjson.OPT_INDENT_2).decode().removesuffix("\n}")
    tests = ",".join(f"\n    {orjson.dumps(replace(case, view={}).to_json()).decode()}" for case in report.cases)
    return f'{head},\n  "tests": [{tests}\n  ]\n}}\n'


def read_report(file: Path) -> Report:
    """Read the report in a file; ConfigError if it is not a report."""
    with explain_read_errors(str(file), _FILE_HINT):
        raw = read_bounded(file, RAISE_ADVICE)
        refuse_many_values(raw, size_limit(), RAISE_ADVICE)
    try:
        document = load_json(raw)
    except ValueError as problem:
        raise ConfigError(f"{file}: not JSON: {problem}. {_FILE_HINT}") from problem
    if isinstance(document, dict) and isinstance(document.get("version"), int) and document["version"] > REPORT_VERSION:
        raise ConfigError(
            f"{file}: a report of version {document['version']}; this harness reads {REPORT_VERSION}. Update it."
        )
    if error := next(_validator().iter_errors(document), None):
        place = "/".join(map(str, error.instance_path)) or "its top"
        raise ConfigError(f"{file}: not a report: at {place}: {error.message[:200]}. {_FILE_HINT}")
    return _parse_report(document)


_FILE_HINT = f"Pass a file that pytest --harness-report=FILE.json or {COMMAND} verify --report FILE.json wrote."


@cache
def _validator() -> jsonschema_rs.Validator:
    return compile_schema(orjson.loads((schemas_directory() / "report.json").read_bytes()))


def _parse_report(document: Json) -> Report:
    known, hit = (
        {name: frozenset(dimension[member]) for name, dimension in document["surface"].items()}
        for member in ("known", "hit")
    )
    unknown_models = document.get("unknown_models", {})  # older reports have none
    examination = document.get("examination", {})
    facts = replace(NO_FACTS, outcomes=document.get("outcomes", {}))
    return Report(list(map(ReportCase.from_json, document["tests"])), known, hit, unknown_models, facts, examination)


def merge_reports(reports: Sequence[Report]) -> Report:
    """Merge the reports of a run's jobs, or of examinations, of which clients with the same name get a number.

    A test in several reports is kept once, unless they differ in more than its duration.
    """
    times: Counter[str] = Counter()
    reports = [_rename_clients(report, times) if report.examination else report for report in reports]
    cases: dict[str, ReportCase] = {}
    outcomes = sum((Counter(report.outcomes) for report in reports), Counter[str]())
    for case in (case for report in reports for case in report.cases):
        timeless = orjson.dumps(replace(case, seconds=0)).decode()
        outcomes[case.outcome] -= timeless in cases
        cases.setdefault(timeless, case)
    hit, known = merge_coverage(report.hit for report in reports), merge_coverage(report.known for report in reports)
    unknown_models = merge_unknown_models(report.unknown_models for report in reports)
    examinations = [report.examination for report in reports if report.examination]
    clients = [client for examination in examinations for client in examination["clients"]]
    about = {id: case for examination in examinations for id, case in examination["cases"].items()}
    examination = {"clients": clients, "cases": about} if examinations else {}
    facts = replace(NO_FACTS, outcomes=+outcomes)
    return Report(list(cases.values()), known, hit, unknown_models, facts, examination)


def _rename_clients(report: Report, times: Counter[str]) -> Report:
    """Number clients of the same name, so that examinations stand side by side."""
    names: dict[str, str] = {}
    for client in report.examination["clients"]:
        name = client["client"]
        times[name] += 1
        names[name] = f"{name} ({times[name]})" if times[name] > 1 else name
    clients = [{**client, "client": names[client["client"]]} for client in report.examination["clients"]]
    cases = []
    for case in report.cases:
        client = names[case.examined["client"]]
        id = client + case.id.removeprefix(case.examined["client"])
        cases.append(replace(case, id=id, examined={**case.examined, "client": client}))
    return replace(report, cases=cases, examination={**report.examination, "clients": clients})
