"""`play("run", …)`: the result of a flow of `flows.mjs`, at once; `run` plays it both ways."""

from __future__ import annotations

import pytest


@pytest.fixture
def play(node):
    return lambda flow, **given: node("flows.mjs", flow=flow, **given)


@pytest.fixture(params=[False, True], ids=["run", "streamed"])
def run(play, request):
    return lambda flow, **given: play(flow, stream=request.param, **given)
