"""The control plane does what its OpenAPI document says, whatever is sent to it."""

import subprocess

import pytest

from harness.server.control_plane.app import CONTROLS, control_app
from harness.server.control_plane.openapi import BODIES
from harness.server.mock_api import CONTROL_ROOT, MockApi
from tests.clients.cells import Environment
from tests.clients.environments import ROOT, prepared, python_of

SCHEMATHESIS = Environment("openapi", ("schemathesis>=4.32,<5",))


def test_every_body_and_every_refusal_is_described():
    paths = control_app(MockApi()).openapi()["paths"]
    for method, path, _ in CONTROLS:
        operation = paths[f"{CONTROL_ROOT}{path}"][method.lower()]
        assert {"200", "400", "401", "403"} <= operation["responses"].keys()
        assert ("requestBody" in operation) is (method == "POST"), path
    assert {path for method, path, _ in CONTROLS if method == "POST"} == BODIES.keys()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_no_request_gets_an_undocumented_answer():
    """In an environment of its own: schemathesis is a plugin of pytest, too, and would delay every run of it."""
    python = python_of(SCHEMATHESIS, prepared(SCHEMATHESIS))
    command = [str(python), "-m", "tests.server.control_plane.schemathesis_run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sent, *_ = done.stdout.splitlines()[-1].split()
    assert int(sent) > 800
