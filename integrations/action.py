"""The step `Run` of `action.yml`: runs its command with reports, and sets the outputs of the action.

The inputs are in the environment and the command is never given to a shell, so nothing in them is executed or expanded.
It imports nothing of `harness`: the tests' Python, which runs it, may be broken.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

COMMANDS = ("pytest", "responses-harness verify", "responses-harness examine")
USAGE_ERROR = 2


def main() -> int:
    """Run the command; its exit code is that of the step."""
    folder = Path(os.environ["REPORT"])
    folder.mkdir(parents=True, exist_ok=True)
    files = {suffix: folder / f"report.{suffix}" for suffix in ("json", "html", "sarif", "md")}
    for file in files.values():
        file.unlink(missing_ok=True)  # one of an earlier step would be taken for one of this run
    summary = Path(os.environ["GITHUB_STEP_SUMMARY"])
    code = subprocess.run(command_line(os.environ["RUN"], folder, files, summary), check=False).returncode
    if files["md"].exists():
        with summary.open("a", encoding="utf-8") as job:
            job.write(files["md"].read_text(encoding="utf-8"))
    set_output("verdict", "failed" if code else "passed")
    set_output("report", files["html"].as_posix() if files["html"].exists() else "")
    set_output("counts", json.dumps(count(files["json"])))
    return code if code >= 0 else 128 - code


def command_line(run: str, folder: Path, files: dict[str, Path], summary: Path) -> list[str]:
    """Return the command line of the input `run`, with options for reports; exits if it is no such command."""
    try:
        words = shlex.split(run)
    except ValueError as problem:
        sys.exit(explain(run, f"cannot be split into words: {problem}"))
    if words[:1] == ["harness"]:
        words[0] = "responses-harness"
    python = [sys.executable, "-m"]
    if words[:1] == ["pytest"]:
        traces = ["--harness-trace=failed", f"--harness-trace-dir={folder / 'traces'}"]
        reports = [summary, files["html"], files["json"], files["sarif"]]
        return [*python, "pytest", *traces, *(f"--harness-report={file}" for file in reports), *words[1:]]
    if " ".join(words[:2]) not in COMMANDS:
        sys.exit(explain(run, f"begins with none of: {', '.join(COMMANDS)}"))
    written = [file for suffix, file in files.items() if words[1] == "verify" or suffix != "sarif"]
    return [*python, "harness", words[1], *(f"--report={file}" for file in written), *words[2:]]


def explain(run: str, problem: str) -> int:
    """Print what is wrong with the input `run`; returns the exit code."""
    print(f"run: {run!r} {problem}. Pass one command, its words quoted as in a shell.", file=sys.stderr)
    return USAGE_ERROR


def count(file: Path) -> dict[str, Any]:
    """Return the totals of a JSON report, of an examination the number of cells by verdict; empty without a report."""
    if not file.exists():
        return {}
    report = json.loads(file.read_text(encoding="utf-8"))
    return Counter(test["examined"]["verdict"] for test in report["tests"] if "examined" in test) or report["totals"]


def set_output(name: str, value: str) -> None:
    """Set an output of the step; a random delimiter keeps a value from setting others."""
    end = secrets.token_hex(16)
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as outputs:
        outputs.write(f"{name}<<{end}\n{value}\n{end}\n")


if __name__ == "__main__":
    sys.exit(main())
