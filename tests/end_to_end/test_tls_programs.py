"""Programs that know nothing of the harness trust `responses-harness serve --tls -- PROGRAM`, and other servers besides."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import run

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
JAVA = """
import java.net.URI;
import java.net.http.*;

public class Ask {
    public static void main(String[] arguments) throws Exception {
        var body = HttpRequest.BodyPublishers.ofString("{\\"model\\": \\"gpt-4.1\\", \\"input\\": \\"hi\\"}");
        var request = HttpRequest.newBuilder(URI.create(System.getenv("OPENAI_BASE_URL") + "/responses"))
            .header("Authorization", "Bearer " + System.getenv("OPENAI_API_KEY"))
            .header("Content-Type", "application/json").POST(body).build();
        var answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode());
    }
}
"""
NODE = """
const { OPENAI_BASE_URL, OPENAI_API_KEY } = process.env;
const headers = { authorization: `Bearer ${OPENAI_API_KEY}`, 'content-type': 'application/json' };
const body = JSON.stringify({ model: 'gpt-4.1', input: 'hi' });
fetch(`${OPENAI_BASE_URL}/responses`, { method: 'POST', headers, body }).then(({ status }) => console.log(status));
"""
CURL = (
    'curl -s -o /dev/null -w "%{http_code}\\n" "$OPENAI_BASE_URL/responses" -H "Authorization: Bearer $OPENAI_API_KEY" '
    """-H "Content-Type: application/json" -d '{"model": "gpt-4.1", "input": "hi"}'"""
)


def serve(*program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return run([sys.executable, "-m", "harness", "serve", "--tls", "--", *program], cwd=folder, env=environment)


def needed(name: str) -> None:
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")


def test_curl_trusts_it(tmp_path: Path) -> None:
    needed("curl")
    ended = serve("sh", "-c", CURL, folder=tmp_path)
    assert (ended.stdout, ended.returncode) == ("200\n", 0), ended.stderr


def test_node_trusts_it(tmp_path: Path) -> None:
    needed("node")
    (tmp_path / "ask.mjs").write_text(NODE)
    ended = serve("node", "ask.mjs", folder=tmp_path)
    assert (ended.stdout, ended.returncode) == ("200\n", 0), ended.stderr


def test_node_that_does_not_trust_the_certificate_is_reported(tmp_path: Path) -> None:
    needed("node")
    (tmp_path / "ask.mjs").write_text(NODE)
    ended = serve("env", "-u", "NODE_EXTRA_CA_CERTS", "node", "ask.mjs", folder=tmp_path)
    assert "responses-harness: a client rejected the certificate of this server (" in ended.stderr
    assert "NODE_EXTRA_CA_CERTS" in ended.stderr


def test_java_trusts_it(tmp_path: Path) -> None:
    needed("java")
    (tmp_path / "Ask.java").write_text(JAVA)
    ended = serve("java", "Ask.java", folder=tmp_path)
    assert (ended.stdout, ended.returncode) == ("200\n", 0), ended.stderr
