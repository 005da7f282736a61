"""A report as SARIF 2.1.0 for code hosts: why each test failed, at its file and line."""

from hashlib import sha256
from importlib.metadata import version
from urllib.parse import quote

import orjson

from harness.core.exchange import Json
from harness.core.text import escape_controls
from harness.explain.cause import Cause
from harness.report.report import Failure, Report, documentation_of

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(report: Report) -> str:
    """Render the log: one run with a result for the first cause of each test that failed."""
    failures = [failure for case in report.cases for failure in case.failures]
    rules = {_rule_id(failure.cause): _rule(failure.cause) for failure in failures}
    ids = list(rules)
    driver = {"name": "responses-harness", "version": version("responses-harness"), "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(failure, ids.index(_rule_id(failure.cause))) for failure in failures],
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _rule_id(cause: Cause) -> str:
    return cause.id or cause.kind


def _rule(cause: Cause) -> Json:
    known = documentation_of(cause.id)
    rule: Json = {
        "id": _rule_id(cause),
        "shortDescription": {"text": known.get("summary") or escape_controls(cause.what)},
        "help": {"text": escape_controls(known.get("fix") or cause.fix or cause.what)},
        "properties": {"tags": [cause.kind]},
    }
    if doc := known.get("doc"):
        rule["fullDescription"] = {"text": doc}
    return rule


def _result(failure: Failure, index: int) -> Json:
    case, cause = failure
    place = {
        "artifactLocation": {"uri": quote(case.file), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": failure.line},
    }
    fingerprint = "\n".join([case.id, cause.group, cause.at])
    return {
        "ruleId": _rule_id(cause),
        "ruleIndex": index,
        "level": "warning" if cause.kind in ("unused", "shutdown", "migration") else "error",
        "message": {"text": escape_controls(f"{case.id}: {failure.text}")},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"cause/v1": sha256(fingerprint.encode()).hexdigest()[:32]},
    }
