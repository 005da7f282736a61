"""A report as SARIF 2.1.0 for code hosts: each unexpected finding at the file and line of its test."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from urllib.parse import quote

import orjson

from harness.core.exchange import Json
from harness.core.text import escape_controls
from harness.explain.model import ReportFinding
from harness.report.report import Report, ReportCase, documentation_of

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_KIND_SUMMARIES = {
    "refusal": "The API refuses the request.",
    "loss": "A client lost part of the conversation.",
    "unanswered": "A request that no turn of the script answers.",
    "unused": "A turn of the script that no request took.",
    "disagreement": "A recorded exchange and the contract do not agree.",
    "unreadable": "A recording that could not be read to its end.",
    "webhook": "A receiver of webhooks handles a delivery wrongly.",
    "client": "A client retries too often, too soon or not at all, or resumes at the wrong place.",
    "examined": "A client does not show or do what a case of an examination expects.",
    "shutdown": "A request uses a model whose shutdown is announced.",
    "migration": "Another model refuses the request, or takes it otherwise.",
}


def render(report: Report) -> str:
    """Render the log: one run with a result for each unexpected finding."""
    pairs = report.unexpected
    ids = list(dict.fromkeys(_rule_id(finding) for _, finding in pairs))
    rules = {_rule_id(finding): _rule(finding) for _, finding in pairs}
    driver = {"name": "responses-harness", "version": version("responses-harness"), "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(case, finding, ids.index(_rule_id(finding))) for case, finding in pairs],
    }
    log = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return orjson.dumps(log, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _rule_id(finding: ReportFinding) -> str:
    return finding.id or finding.kind


def _rule(finding: ReportFinding) -> Json:
    known = documentation_of(finding.id)
    rule: Json = {
        "id": _rule_id(finding),
        "shortDescription": {"text": known.get("summary") or _KIND_SUMMARIES[finding.kind]},
        "help": {"text": escape_controls(known.get("fix") or finding.fix or _KIND_SUMMARIES[finding.kind])},
        "properties": {"tags": [finding.kind]},
    }
    if doc := known.get("doc"):
        rule["fullDescription"] = {"text": doc}
    return rule


def _result(case: ReportCase, finding: ReportFinding, index: int) -> Json:
    file, line = case.location_of(finding)
    place = {
        "artifactLocation": {"uri": quote(file), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": line},
    }
    fingerprint = "\n".join([case.id, _rule_id(finding), finding.at, finding.message])
    return {
        "ruleId": _rule_id(finding),
        "ruleIndex": index,
        "level": "warning" if finding.kind in ("unused", "shutdown", "migration") else "error",
        "message": {"text": escape_controls(f"{case.id}: {finding.text}")},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"finding/v1": sha256(fingerprint.encode()).hexdigest()[:32]},
    }
