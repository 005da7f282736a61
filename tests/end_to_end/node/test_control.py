"""What the package for vitest and jest waits for: each wait has an end, and says what it waited for."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.stalling import SILENT, STUCK, TRICKLING, TRICKLING_HEAD, Stall, stalling

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed"),
]
DIST = Path(__file__).parents[3] / "integrations/node/dist"


def run_node(program: str, **environment: str) -> Any:
    """Run a program of Node, and return the JSON that it prints."""
    words = ["node", "-e", program]
    ran = subprocess.run(
        words, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=True
    )
    return json.loads(ran.stdout)


def control(origin: str, seconds: float) -> str:
    """Send a control request to a server, and return the error, or `answered`."""
    program = f"""
        const {{ control }} = require({str(DIST / "control.js")!r});
        control("sk-1", "POST", "/advance", {{}}, {seconds}).then(
          () => console.log('"answered"'),
          (problem) => console.log(JSON.stringify(problem.message)),
        );
    """
    return str(run_node(program, HARNESS_URL=origin))


@pytest.mark.parametrize("stall", [SILENT, TRICKLING_HEAD, STUCK, TRICKLING])
def test_a_server_that_never_ends_its_answer_is_an_error(stall: Stall):
    with stalling(stall) as origin:
        assert control(origin, 0.3) == (
            f"the mock at {origin} does not answer: POST /advance has not ended within 0.3 s"
        )


def test_an_answer_that_is_no_json_is_an_error():
    with stalling(Stall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")) as origin:
        assert control(origin, 60) == "POST /advance: 200 hello"


def test_a_process_that_does_not_end_is_killed_and_reported():
    child = [
        sys.executable,
        "-c",
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
    ]
    program = f"""
        const {{ spawn }} = require("node:child_process");
        const {{ endOf }} = require({str(DIST / "command.js")!r});
        const child = spawn({child[0]!r}, {json.dumps(child[1:])});
        child.on("spawn", async () => {{
          const said = await endOf(child, "responses-harness serve", 0.3).then(() => "", (problem) => problem.message);
          child.on("exit", async (code, signal) => {{
            await endOf(child, "responses-harness serve", 0.3); // one that has ended is not waited for
            console.log(JSON.stringify([said, signal]));
          }});
        }});
    """
    said, signal = run_node(program)
    assert (
        said == "`responses-harness serve` did not end within 0.3 seconds, and was killed: its report may be missing."
    )
    assert signal == "SIGKILL"
