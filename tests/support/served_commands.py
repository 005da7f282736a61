"""`responses-harness serve -- COMMAND` as a process of its own, with a command that asks the mock."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.processes import run as run_child
from tests.support.processes import spawn

ROOT = Path(__file__).parents[2]


ASK = """
import json, os, sys, urllib.request
def ask(key=os.environ.get("OPENAI_API_KEY"), url=os.environ.get("OPENAI_BASE_URL"), **asked):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    body = json.dumps({"model": "gpt-4.1", "input": "hi", **asked}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/responses", body, headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code
"""


def program(text: str) -> list[str]:
    """Return a command whose function `ask` sends a request."""
    return ["--", sys.executable, "-c", ASK + text]


def environment(**more: str) -> dict[str, str]:
    """Return that of this process, in which a program finds the harness."""
    return {**os.environ, "PYTHONPATH": str(ROOT), **more}


def serve(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `responses-harness serve` to its end."""
    return run_child([sys.executable, "-m", "harness", "serve", *arguments], env=environment(**more))


@contextmanager
def serving(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Start `responses-harness serve`, and end it with the block."""
    with spawn([sys.executable, "-m", "harness", "serve", *arguments], env=environment()) as child:
        yield child
