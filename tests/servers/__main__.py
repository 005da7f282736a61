"""Start real servers and print what `verify --server` says of each: `python -m tests.servers [NAME…] [--json DIR]`.

The runners of `rules --export` ask each server too. Ends with 1 when our own does not score 100 % or a runner finds
something else than `verify`, with 2 when a server cannot be installed or started.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.api.responses import SOCKET
from harness.core.errors import ConfigError, HarnessError
from harness.core.limits import Limits
from harness.live.conformance.export import export_contract
from harness.server.http_server import serve_in_thread
from harness.server.mock_api import MockApi
from harness.unscripted.default_model import small_talk
from tests.clients.environments import prepared
from tests.servers.kinds import KEY, KINDS, Kind, Start, variables
from tests.support.processes import free_port, spawn

SECONDS = 120
"""How long a server may take to start: a new installation compiles its modules first."""
SECTIONS = ("refuses", "accepts", "answers", "streams", "errors", "scenarios")


def main(arguments: Sequence[str] | None = None) -> int:
    """Examine what the arguments name; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description="Hold real servers to the contract.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(KINDS)} (default: all)")
    parser.add_argument("--json", type=Path, metavar="DIR", help="where to write the reports")
    said = parser.parse_args(arguments)
    if unknown := set(said.names) - set(KINDS):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    table = Table("server", "packages", "score", *SECTIONS, "seconds", box=None)
    right = True
    try:
        for name in said.names or KINDS:
            report, seconds = examined(KINDS[name], said.json)
            table.add_row(
                name, Text(", ".join((*KINDS[name].python, *KINDS[name].npm))), *_cells(report), f"{seconds:.0f}"
            )
            differing = [runner for runner, alike in report["runners"].items() if not alike]
            if differing:
                print(f"{name}: {', '.join(differing)} and `verify --server` differ", file=sys.stderr)
            right = right and not differing and (name != "harness" or report["percent"] == 100)
    except HarnessError as problem:
        print(problem, file=sys.stderr)
        return 2
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(table)
    return 0 if right else 1


def _cells(report: dict[str, Any]) -> Iterator[str]:
    yield f"{report['percent']} %"
    for name in SECTIONS:
        points, of = report["sections"][name].values()
        yield f"{100 * points // of} %" if of else "-"


def examined(kind: Kind, reports: Path | None) -> tuple[dict[str, Any], float]:
    """Return the report on a server, which is started for it, and the seconds it took."""
    made = prepared(kind.environment)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_in_thread(MockApi(fallback=small_talk, limits=Limits(exchanges=100))) as upstream,
    ):
        home = Path(folder)
        start = Start(made, home, free_port(), upstream.base_url)
        file = (reports or home) / f"{kind.name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        with started(kind, start):
            began = time.monotonic()
            command = [sys.executable, "-m", "harness", "verify", "--server", f"http://127.0.0.1:{start.port}/v1"]
            named = ["--model", kind.model, "--key-env", "SERVER_KEY", "--json", str(file), *kind.options]
            run = subprocess.run([*command, *named], env={**os.environ, "SERVER_KEY": KEY}, stdout=subprocess.DEVNULL)
            if run.returncode > 1 or not file.exists():
                raise ConfigError(f"{kind.name} was not examined.")
            report = json.loads(file.read_bytes())
            report["runners"] = dict(compare_runners(kind, f"http://127.0.0.1:{start.port}/v1", report, home))
        return report, time.monotonic() - began


def compare_runners(kind: Kind, url: str, report: dict[str, Any], home: Path) -> Iterator[tuple[str, bool]]:
    """Yield each runner of the exported contract, and whether it finds what `verify` found, WebSockets apart."""
    export_contract(home / "contract", kind.model)
    expected = Counter(
        (finding["kind"], finding["name"], finding["outcome"])
        for finding in report["findings"]
        if finding["kind"] in ("refusal", "accept") and finding["request"]["on"] != SOCKET
    )
    for command in ([sys.executable, "run_contract.py"], ["node", "run_contract.mjs"]):
        if not which(command[0]):
            continue
        file = home / f"{command[1]}.json"
        asked = [*command, url, kind.model, str(file)]
        environment = {**os.environ, "SERVER_KEY": KEY}
        run = subprocess.run(asked, cwd=home / "contract", env=environment, capture_output=True, text=True)
        said = json.loads(file.read_text()) if run.returncode == 0 else {"findings": []}
        actual = Counter((found["kind"], found["name"], found["outcome"]) for found in said["findings"])
        for difference in [*(expected - actual), *(actual - expected)]:
            print(kind.name, command[1], *difference, file=sys.stderr)
        yield command[1], run.returncode == 0 and actual == expected


@contextmanager
def started(kind: Kind, start: Start) -> Iterator[None]:
    """Provide a server that answers, and is ended afterwards."""
    command, own = kind.command(start)
    log = start.home / "output.txt"
    with log.open("w") as output:
        surroundings = {"env": variables(kind, start, own), "cwd": start.home}
        with spawn(command, **surroundings, stdout=output, stderr=subprocess.STDOUT) as process:
            _wait(kind, start.port, process, log)
            yield


def _wait(kind: Kind, port: int, process: subprocess.Popen[str], log: Path) -> None:
    direct, until = build_opener(ProxyHandler({})), time.monotonic() + SECONDS
    while time.monotonic() < until and process.poll() is None:
        try:
            direct.open(f"http://127.0.0.1:{port}/v1/models", timeout=SECONDS).close()
        except HTTPError:
            return
        except (URLError, ConnectionError):
            time.sleep(0.2)
        else:
            return
    raise ConfigError(f"{kind.name} did not start:\n{log.read_text()[-4000:]}")


if __name__ == "__main__":
    sys.exit(main())
