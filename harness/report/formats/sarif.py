"""A report as SARIF 2.1.0: what was found and not expected, at the file and line of its test, as code hosts show it."""

from __future__ import annotations

from hashlib import sha256
from importlib.metadata import version
from urllib.parse import quote

import orjson

from harness.core.exchange import Json
from harness.report.model import Found, Report, Trial, explained

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_KINDS = {
    "refusal": "The API refuses the request.",
    "loss": "A client lost something of what was said.",
    "unanswered": "A request that no turn of the script answers.",
    "unused": "A turn of the script that no request took.",
    "disagreement": "A recorded exchange and the contract do not agree.",
    "unreadable": "A recording that could not be read to its end.",
}


def written(report: Report) -> str:
    """The log: one run, a result for each finding that was not expected; the rest is nothing to mend."""
    pairs = report.unexpected
    ids = list(dict.fromkeys(_id(found) for _, found in pairs))
    rules = {_id(found): _rule(found) for _, found in pairs}
    driver = {"name": "responses-harness", "version": version("responses-harness"), "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(trial, found, ids.index(_id(found))) for trial, found in pairs],
    }
    return (
        orjson.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, option=orjson.OPT_INDENT_2).decode() + "\n"
    )


def _id(found: Found) -> str:
    return found.id or found.kind


def _rule(found: Found) -> Json:
    known = explained(found.id)
    made: Json = {
        "id": _id(found),
        "shortDescription": {"text": known.get("summary") or _KINDS[found.kind]},
        "help": {"text": known.get("fix") or found.fix or _KINDS[found.kind]},
        "properties": {"tags": [found.kind]},
    }
    if doc := known.get("doc"):
        made["fullDescription"] = {"text": doc}
    return made


def _result(trial: Trial, found: Found, index: int) -> Json:
    file, line = trial.place(found)
    place = {
        "artifactLocation": {"uri": quote(file), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": line},
    }
    mark = "\n".join([trial.id, _id(found), found.at, found.message])
    return {
        "ruleId": _id(found),
        "ruleIndex": index,
        "level": "warning" if found.kind == "unused" else "error",
        "message": {"text": f"{trial.id}: {found.text}"},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"finding/v1": sha256(mark.encode()).hexdigest()[:32]},
    }
