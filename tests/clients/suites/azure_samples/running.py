"""Run samples side by side against one mock that speaks TLS, each with a key of its own, and judge how they ended.

`python running.py SAMPLES [PATTERN] [-v]` runs those below a folder whose path has the pattern and prints a line for each,
with `-v` their requests and what they printed.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from assets import add_assets
from project import prepare, variables_of
from scripts import SCRIPTS, eager

from harness.items.kind import Item
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.server.tls.certificate import make_certificate
from harness.world.script import Script

LAUNCHER = Path(__file__).with_name("launcher.py")
SECONDS = 60
"""How long a sample may take."""
JOBS = 2
WORKS, NOT_MOCKED, FAILS = "works", "not mocked", "fails"
NOT_MOCKED_CODE = "not_mocked"
FAILED = ("failed", "incomplete", "expired")
"""States of a response or a run that is no success."""
RAISED = re.compile(r"[\w.]+(Error|Exception)\b")
"""How the line of a traceback begins that says what was raised."""
NAMED = re.compile("is not part of this mock: (.+?) are another API")
"""How the mock names a service that it has not."""
SHOWN = 300
"""Characters of a message that are shown."""


@dataclass
class Ended:
    """How a sample ended.

    `items` are the types of what the model said, `refused` and `requests` a line each, `output` is what it printed.
    """

    sample: str
    verdict: str
    reason: str = ""
    items: tuple = ()
    refused: list = field(default_factory=list)
    requests: list = field(default_factory=list)
    output: str = ""
    seconds: float = 0.0

    def __str__(self):
        return (
            f"{self.verdict}: {', '.join(self.items) or 'no turn'}"
            if self.verdict == WORKS
            else f"{self.verdict}: {self.reason}"
        )


class Launcher:
    """A process that runs samples, one at a time."""

    def __init__(self, python, trusted):
        trusting = dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), str(trusted))
        command, pipe = [str(python), str(LAUNCHER)], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | trusting)

    def run(self, **told):
        """Return the exit code of a sample."""
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self):
        """Let it end."""
        self._process.stdin.close()
        self._process.wait(10)


class NotedScript(Script):
    """A script that notes the types of the items of each turn: not every client asks for the steps of a run."""

    __slots__ = ("types",)

    def __init__(self, world):
        super().__init__(partial(eager, world))
        self.types = []

    def next(self, call):
        """Return the turn that answers a request."""
        taken = super().next(call)
        if "/threads" in call.request.path:
            self.types += [line.type for line in taken.lines if isinstance(line, Item)]
        return taken


def samples_of(root):
    """Return the samples below a folder, by their paths."""
    return sorted(file.relative_to(root).as_posix() for file in root.rglob("sample_*.py"))


def run_samples(root, samples, output, python=sys.executable):
    """How each sample ended, one after the other; `root` is the folder of all, `output` one for what they write."""
    add_assets(root)
    api = MockApi(dialect="foundry")
    certificate, trusted = make_certificate(), output / "authority.pem"
    trusted.write_bytes(certificate.anchors)
    local, launchers = threading.local(), []

    def run(sample):
        if not hasattr(local, "launcher"):
            local.launcher = Launcher(python, trusted)
            launchers.append(local.launcher)
        return _run_sample(local.launcher, api, server.base_url, root / sample, sample, output)

    with serve_in_thread(api, tls=certificate.context) as server, ThreadPoolExecutor(JOBS) as pool:
        yield from pool.map(run, samples)
        for launcher in launchers:
            launcher.close()


def _run_sample(launcher, api, base_url, file, sample, output):
    name = sample.removesuffix(".py").replace("/", "-")
    mock = api.open(f"sk-{name}", name=name, base_url=base_url)
    mock.world.script = NotedScript(mock.world)
    prepare(mock)
    if script := SCRIPTS.get(sample):
        script(mock)
    printed, scratch = output / f"{name}.txt", output / name
    scratch.mkdir(parents=True)
    began = time.monotonic()
    code = launcher.run(
        sample=str(file),
        variables={"SAMPLE_KEY": mock.api_key, "TMPDIR": str(scratch), **variables_of(mock)},
        output=str(printed),
        seconds=SECONDS,
    )
    ended = judge(sample, code, mock, printed.read_text(encoding="utf-8", errors="replace"))
    ended.seconds = time.monotonic() - began
    api.close(mock.api_key)
    return ended


SHOWN_REFUSALS = {"hosted_agents/sample_agent_user_identity_isolation.py": "user_isolated"}
"""The rules by which samples are to be refused, as that is what they show."""


def judge(sample, code, mock, output):
    """Return the verdict on a sample that ended with an exit code, by what its World saw."""
    exchanges = mock.exchanges
    shown = SHOWN_REFUSALS.get(sample)
    faults = [
        exchange for exchange in exchanges if exchange.status >= 400 and not (shown and exchange.answer.rule == shown)
    ]
    refused = [fault for fault in faults if not _is_clean_up(fault, exchanges)]
    ended = Ended(sample, WORKS, items=_items(mock), output=output)
    ended.requests = [f"{exchange.request.method} {exchange.request.path} {exchange.status}" for exchange in exchanges]
    ended.refused = [_refusal(fault) for fault in refused]
    if refused:
        named = NAMED.search(_refusal(refused[0])) if _error(refused[0]).get("code") == NOT_MOCKED_CODE else None
        ended.verdict, ended.reason = (NOT_MOCKED, named[1]) if named else (FAILS, ended.refused[0])
    elif reason := _failure(code, exchanges, output):
        ended.verdict, ended.reason = FAILS, reason
    return ended


def _is_clean_up(exchange, exchanges):
    """Return whether a sample asks to delete what was never there: what an earlier run of it may have left."""
    request = exchange.request
    if (request.method, exchange.status) != ("DELETE", 404) or not request.operation.startswith("DELETE"):
        return False
    before = [
        earlier.request
        for earlier in exchanges[: exchange.number - 1]
        if earlier.status < 400 and earlier.request.method != "GET"
    ]
    name = request.path.rpartition("/")[2]
    return not any(name in earlier.path or name.encode() in earlier.raw for earlier in before)


def _failure(code, exchanges, output):
    """Why a sample of which nothing was refused does not work; empty when it does."""
    if code:
        lines = [line for line in output.splitlines() if line.strip()]
        raised = [line for line in lines if RAISED.match(line)]
        return [f"ended with {code}", *lines, *raised][-1]
    if not exchanges:
        return "it sent no request"
    bodies = [exchange.answer.body for exchange in exchanges if isinstance(exchange.answer.body, dict)]
    return next((_state(body) for body in bodies if _state(body)), "")


def _state(body):
    """Return what the answer says of a response or a run that did not succeed."""
    if body.get("object") not in ("response", "thread.run") or body.get("status") not in FAILED:
        return ""
    why = body.get("last_error") or body.get("error") or body.get("incomplete_details")
    return f"{body['object']} {body['status']}: {why}"


def _refusal(exchange):
    told = _error(exchange).get("message") or exchange.answer.body
    return f"{exchange.request.method} {exchange.request.path} {exchange.status} {told}"[:SHOWN]


def _error(exchange):
    body = exchange.answer.body
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {}


def _items(mock):
    """Return the types of the items that the model said, each once, in the order of their first appearance."""
    found = dict.fromkeys(mock.world.script.types)
    for exchange in mock.exchanges:
        body = exchange.answer.body
        if isinstance(body, dict) and body.get("object") == "response":
            found.update(dict.fromkeys(item["type"] for item in body.get("output", ())))
    return tuple(found)


def main():
    """Run what the command line says."""
    parser = argparse.ArgumentParser(prog="running.py")
    parser.add_argument("root", type=Path, metavar="SAMPLES")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has the packages of the samples")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what came of each to a file, a line each")
    parser.add_argument("-v", action="store_true", dest="verbose")
    said = parser.parse_args()
    chosen = [sample for sample in samples_of(said.root) if said.pattern in sample]
    with TemporaryDirectory(prefix="samples-") as output:
        for ended in run_samples(said.root, chosen, Path(output), said.python):
            print(f"{ended.seconds:5.1f} s  {ended.sample}  {ended}", flush=True)
            if said.verbose:
                print(*ended.requests, ended.output, sep="\n    ")
            if said.json:
                with said.json.open("a") as file:
                    file.write(json.dumps({**vars(ended), "told": str(ended)}) + "\n")


if __name__ == "__main__":
    main()
