"""A store behind TLS: who has signed its certificate is named, or the server does not start."""

from pathlib import Path

import pytest

from tests.support.processes import free_port
from tests.support.servers.json_client import create
from tests.support.servers.live_server import certificate
from tests.support.servers.redis_server import serving_redis
from tests.support.servers.served import refused_start, serving

pytestmark = pytest.mark.slow


def test_a_store_behind_tls(tmp_path: Path):
    made, secure = certificate(tmp_path), free_port()
    files = ("--tls-cert-file", str(made.file), "--tls-key-file", str(made.key), "--tls-ca-cert-file", str(made.file))
    with serving_redis("--tls-port", str(secure), "--tls-auth-clients", "no", "--requirepass", "right", *files):
        place = f"rediss://:right@127.0.0.1:{secure}/0"
        with serving("--store", f"{place}?ssl_ca_certs={made.file}") as ours:
            first = create(ours.port).json["id"]
            with serving("--store", f"{place}?ssl_ca_certs={made.file}") as other:
                assert create(other.port, previous_response_id=first).status == 200
        assert "?ssl_ca_certs=FILE" in refused_start("--store", place)


def test_a_password_in_the_query_is_not_shown():
    said = refused_start("--store", "redis://127.0.0.1:1/0?password=hidden")
    assert "Start it" in said
    assert "hidden" not in said
