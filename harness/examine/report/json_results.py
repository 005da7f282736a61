"""Writes and reads results as JSON that conforms to `schemas/examination.json`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jsonschema_rs
import orjson

from harness.api.http.body import load_json
from harness.contract.compile_schema import compile_schema
from harness.contract.schema import schemas_directory
from harness.core.bounded_input import RAISE_ADVICE, read_bounded, refuse_many_values, size_limit
from harness.core.errors import COMMAND, ConfigError, Malformed
from harness.examine.report.results import RESULTS_VERSION, ClientResult, ExaminationResults

_HINT = f"Pass a file that {COMMAND} examine --report FILE.json wrote."


def render(results: ExaminationResults) -> str:
    """Render the results as JSON."""
    document = {
        "version": RESULTS_VERSION,
        "cases": list(results.cases.values()),
        "clients": [client.as_json() for client in results.clients],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def read_results(file: Path) -> ExaminationResults:
    """Read results from a file. ConfigError for any other file."""
    try:
        raw = read_bounded(file, RAISE_ADVICE)
        refuse_many_values(raw, size_limit(), RAISE_ADVICE)
        document = load_json(raw)
    except OSError as problem:
        raise ConfigError(f"{file}: cannot be read: {problem.strerror}. {_HINT}") from problem
    except (Malformed, ValueError) as problem:
        raise ConfigError(f"{file}: cannot be read: {problem}. {_HINT}") from problem
    if isinstance(document, dict) and isinstance(newer := document.get("version"), int) and newer > RESULTS_VERSION:
        raise ConfigError(
            f"{file}: results of version {newer}; this harness reads {RESULTS_VERSION}. Update it, or examine again."
        )
    if error := next(_validator().iter_errors(document), None):
        place = "/".join(map(str, error.instance_path)) or "its top"
        raise ConfigError(f"{file}: no results: at {place}: {error.message[:200]}. {_HINT}")
    clients = tuple(map(ClientResult.from_json, document["clients"]))
    return ExaminationResults(clients, {case["id"]: case for case in document["cases"]})


@cache
def _validator() -> jsonschema_rs.Validator:
    return compile_schema(orjson.loads((schemas_directory() / "examination.json").read_bytes()))
