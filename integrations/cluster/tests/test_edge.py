"""What a server of a shared store sees at its edge: the exchanges that it has delivered itself."""

import http.client
import json
from contextlib import closing

import pytest

from tests.support.servers.json_client import ask, create

pytestmark = pytest.mark.slow


def test_a_server_tells_what_it_has_delivered(start, store):
    one, other = start(*store), start(*store)
    create(one.port, key="sk-told")
    with closing(http.client.HTTPConnection("127.0.0.1", one.port, timeout=10)) as connection:
        connection.request("GET", "/_harness/events", headers={"Authorization": "Bearer sk-told"})
        answer = connection.getresponse()
        assert answer.readline() == b"retry: 1000\n"
        create(other.port, key="sk-told")
        create(one.port, key="sk-told")
        lines = [answer.readline() for _ in range(6)]
    exchange, edge = (json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: "))
    assert (exchange["kind"], exchange["number"]) == ("exchange", 3)
    assert (edge["kind"], edge["number"], edge["whole"]) == ("edge", 3, True)
    (world,) = ask(one.port, "GET", "/_harness/worlds", key="sk-told").json["worlds"]
    assert (world["exchanges"], world["newest"]) == (3, 3)
