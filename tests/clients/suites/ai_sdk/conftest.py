"""`run("text", …)`: the result of a flow of `flows.mjs`, at once and as a stream."""

import pytest


@pytest.fixture(params=[False, True], ids=["generate", "stream"])
def run(play, request):
    return lambda flow, **given: play(flow, stream=request.param, **given)
