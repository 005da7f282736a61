"""The proxies of docs/processes.md in front of two servers: each key has one process, whose Worlds its address shows."""

import json
import re
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from openai import OpenAI

from tests.support.processes import free_port, is_listening, spawn, wait_until
from tests.support.servers.json_client import send
from tests.support.servers.served import ROOT, serving

pytestmark = pytest.mark.slow

KEYS = [f"sk-{number}" for number in range(12)]
PROXIES = {
    "nginx": ("nginx.conf", ["nginx", "-p", ".", "-c", "nginx.conf", "-g", "daemon off;"]),
    "haproxy": ("haproxy.cfg", ["haproxy", "-db", "-f", "haproxy.cfg"]),
}


class Behind(NamedTuple):
    """The ports of a proxy: that of clients, and that of each process."""

    clients: int
    processes: tuple[int, int]


@pytest.fixture(params=PROXIES)
def behind(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Behind]:
    """Runs a proxy with the configuration of its section, its ports replaced by free ones."""
    file, command = PROXIES[request.param]
    if (program := shutil.which(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed (apt-get install {command[0]})")
    page = (ROOT / "docs" / "processes.md").read_text()
    [text] = re.findall(rf"```{request.param}\n# {file}\n(.*?)```", page, re.DOTALL)
    with serving() as first, serving() as second:
        ports = {"8765": free_port(), "8801": free_port(), "8802": free_port()}
        for written, port in {**ports, "9101": first.port, "9102": second.port}.items():
            assert f":{written}" in text
            text = text.replace(f":{written}", f":{port}")
        (tmp_path / file).write_text(text)
        with spawn([program, *command[1:]], cwd=str(tmp_path)) as child:
            wait_until(lambda: child.poll() is not None or is_listening(ports["8765"]))
            assert child.poll() is None, child.stderr and child.stderr.read()
            yield Behind(ports["8765"], (ports["8801"], ports["8802"]))


def worlds_of(port: int) -> set[str]:
    """Return the keys whose prompts the viewer of a process shows; the keys themselves are masked there."""
    status, page = send(port, "GET", "/_harness/view")
    assert status == 200
    assert "<!doctype html>" in page.lower()
    status, run = send(port, "GET", "/_harness/view/run")
    assert status == 200
    return {f"sk-{number}" for number in re.findall(r"hi from client (\d+)\.", json.dumps(run))}


def test_each_key_is_served_by_one_process_whatever_the_connection(behind: Behind) -> None:
    for key in KEYS:
        said = {"script": [f"one for {key}", f"two for {key}", f"three for {key}"]}
        assert send(behind.clients, "POST", "/_harness/script", said, key=key)[0] == 200
    for key in KEYS:
        with OpenAI(base_url=f"http://127.0.0.1:{behind.clients}/v1", api_key=key, max_retries=0) as client:
            first = client.responses.create(model="gpt-4.1", input=f"hi from client {key[3:]}.")
            events = client.responses.create(model="gpt-4.1", input="more", previous_response_id=first.id, stream=True)
            streamed = [event.response for event in events if event.type == "response.completed"]
            assert (first.output_text, streamed[0].output_text) == (f"one for {key}", f"two for {key}")
    for key in KEYS:
        body = {"model": "gpt-4.1", "input": "by the other header"}
        status, last = send(behind.clients, "POST", "/openai/v1/responses", body, key="", **{"api-key": key})
        assert (status, last["output"][0]["content"][0]["text"]) == (200, f"three for {key}")
        report = send(behind.clients, "GET", "/_harness/report", key=key)[1]
        assert report["verdict"] is None
    shown = [worlds_of(port) for port in behind.processes]
    assert shown[0] | shown[1] == set(KEYS)
    assert not shown[0] & shown[1]
    assert all(shown)


def test_a_websocket_reaches_the_process_of_its_key(behind: Behind) -> None:
    from websockets.sync.client import connect

    key = "sk-socket"
    send(behind.clients, "POST", "/_harness/script", {"script": ["over a socket"]}, key=key)
    with connect(
        f"ws://127.0.0.1:{behind.clients}/v1/responses", additional_headers={"authorization": f"Bearer {key}"}
    ) as wire:
        wire.send(json.dumps({"type": "response.create", "model": "gpt-4.1", "input": "hi"}))
        for message in wire:
            if json.loads(message)["type"] == "response.completed":
                break
    assert "over a socket" in message


def test_an_event_of_a_stream_arrives_when_it_is_sent(behind: Behind) -> None:
    """The second event waits for a gate, which is opened only after the first one has arrived."""
    key = "sk-slow"
    turn = [{"message": "slow"}, {"pause": {"after": 1, "until": "half"}}]
    assert send(behind.clients, "POST", "/_harness/script", {"script": [turn]}, key=key)[0] == 200
    body = json.dumps({"model": "gpt-4.1", "input": "hi", "stream": True})
    head = f"POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    with socket.create_connection(("127.0.0.1", behind.clients), 20) as wire:
        wire.sendall((head + body).encode())
        arrived = b""
        while b"response.created" not in arrived:
            arrived += wire.recv(65536)
        assert b"response.completed" not in arrived
        assert send(behind.clients, "POST", "/_harness/open", {"gate": "half"}, key=key)[0] == 200
        while more := wire.recv(65536):
            arrived += more
    assert b"response.completed" in arrived
