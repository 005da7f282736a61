"""A report as SARIF 2.1.0: the unexpected findings, each at the file and line of its test, for code hosts."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from urllib.parse import quote

import orjson

from harness.core.exchange import Json
from harness.report.report import Report, ReportCase, ReportFinding, explain

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_KIND_SUMMARIES = {
    "refusal": "The API refuses the request.",
    "loss": "A client lost something of what was said.",
    "unanswered": "A request that no turn of the script answers.",
    "unused": "A turn of the script that no request took.",
    "disagreement": "A recorded exchange and the contract do not agree.",
    "unreadable": "A recording that could not be read to its end.",
}


def render(report: Report) -> str:
    """The log: one run with a result for each unexpected finding."""
    pairs = report.unexpected
    ids = list(dict.fromkeys(_rule_id(found) for _, found in pairs))
    rules = {_rule_id(found): _rule(found) for _, found in pairs}
    driver = {"name": "responses-harness", "version": version("responses-harness"), "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(trial, found, ids.index(_rule_id(found))) for trial, found in pairs],
    }
    return (
        orjson.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, option=orjson.OPT_INDENT_2).decode()
        + "\n"
    )


def _rule_id(found: ReportFinding) -> str:
    return found.id or found.kind


def _rule(found: ReportFinding) -> Json:
    known = explain(found.id)
    rule: Json = {
        "id": _rule_id(found),
        "shortDescription": {"text": known.get("summary") or _KIND_SUMMARIES[found.kind]},
        "help": {"text": known.get("fix") or found.fix or _KIND_SUMMARIES[found.kind]},
        "properties": {"tags": [found.kind]},
    }
    if doc := known.get("doc"):
        rule["fullDescription"] = {"text": doc}
    return rule


def _result(trial: ReportCase, found: ReportFinding, index: int) -> Json:
    file, line = trial.location_of(found)
    place = {
        "artifactLocation": {"uri": quote(file), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": line},
    }
    fingerprint = "\n".join([trial.id, _rule_id(found), found.at, found.message])
    return {
        "ruleId": _rule_id(found),
        "ruleIndex": index,
        "level": "warning" if found.kind == "unused" else "error",
        "message": {"text": f"{trial.id}: {found.text}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"finding/v1": sha256(fingerprint.encode()).hexdigest()[:32]},
    }
