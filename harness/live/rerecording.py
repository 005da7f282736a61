"""Finds the command that records a cassette again."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from urllib.parse import urlsplit

from harness.api.http.dialects import AZURE, OPENAI
from harness.api.http.providers import PROVIDERS, provider_of_host, root_of
from harness.api.http.upstream import AZURE_VARIABLE, PROJECT_VARIABLES
from harness.cassettes.format.interaction import PYTEST_COMMAND, RECORD_COMMAND
from harness.cassettes.format.serializer import CassetteContent
from harness.contract.rule import RULES

RULE_FOLDERS = ("rules", "accepts")
"""The folders with the API's answers to questions about rules: `<folder>/<dialect>/rules/<rule>.yaml`."""
TEST_NAME = re.compile(r"(?:(?P<group>\w+)\.)?(?P<test>test\w*)(?:\[.*)?")
"""Matches the names that pytest plugins give to the cassette of a test."""
_FOLDER = "cassettes"


def cassette_name(file: Path) -> str:
    """Return the name of a file without its suffixes."""
    return file.name.removesuffix(".gz").rpartition(".")[0]


def dialect_of_rules(file: Path) -> str:
    """Return the dialect of the API that was asked about a rule; empty for other cassettes."""
    kind, dialect, *_ = (*(folder.name for folder in file.resolve().parents), "")
    return dialect if kind in RULE_FOLDERS and dialect in PROVIDERS else ""


def record_command(file: Path, content: CassetteContent, root: Path, stale_after: int) -> str:
    """Return the command that records a cassette of the project at `root` again; empty if no command can."""
    if dialect := dialect_of_rules(file):
        return _rules_command(file, dialect, stale_after)
    if content.header is None:
        return _pytest_command(file)
    made_by = content.header.command
    program = made_by.removeprefix(f"{shlex.join(RECORD_COMMAND)} ") if made_by else "COMMAND"
    if program == made_by:
        tests = shlex.split(made_by)[len(PYTEST_COMMAND) :]
        return shlex.join([*PYTEST_COMMAND, *(os.path.relpath(root / test) for test in tests)])
    return f"harness record --into {shlex.quote(file.as_posix())}{_upstream_option(content)} -- {program}"


def _rules_command(file: Path, dialect: str, stale_after: int) -> str:
    """Return the command that asks about the stale rules of an area; empty for a rule that cannot be asked about."""
    from harness.live.rule_questions import examples_of, explain_left_out  # late: it needs an extra

    rule = RULES.get(cassette_name(file))
    if rule is None or all(explain_left_out(rule, case, dialect) for _, case in examples_of(rule)):
        return ""
    folder = os.path.relpath(file.resolve().parents[2])
    into = "" if folder == _FOLDER else f" --into {shlex.quote(folder)}"
    return f"python -m tools.rule_evidence {rule.area} --fresh {stale_after}{into}{_dialect_option(dialect)}"


def _upstream_option(content: CassetteContent) -> str:
    """Return the option for the server that a cassette was recorded from; empty if it is the default."""
    url = urlsplit(content.interactions[0].uri if content.interactions else "")
    host = url.hostname or ""
    provider = provider_of_host(host, url.path)
    if provider or not host:
        return _dialect_option(provider or OPENAI)
    return f" --upstream {shlex.quote(url._replace(path=root_of(url.path) or '', query='').geturl())}"


def _dialect_option(dialect: str) -> str:
    """Return the option for an API whose URL names the account and is therefore in no cassette."""
    return "" if dialect == OPENAI else f' --upstream "${AZURE_VARIABLE if dialect == AZURE else PROJECT_VARIABLES[0]}"'


def _pytest_command(file: Path) -> str:
    """Return the command by which pytest's vcrpy plugins record a test again; empty for other recorders."""
    test = TEST_NAME.fullmatch(cassette_name(file))
    if test is None or file.suffix not in (".yaml", ".yml"):
        return ""
    mode = "--vcr-record=all" if file.resolve().parent.name == _FOLDER else "--record-mode=rewrite"
    return shlex.join(["pytest", mode, "-k", " and ".join(filter(None, test.group("group", "test")))])
