"""`responses-harness serve --tls`: who trusts it, and what it leaves behind."""

from pathlib import Path

import pytest

from tests.support.servers.live_server import certificate
from tests.support.servers.served import program, serve


class TestTls:
    ASK = "[ask() for _ in range(2)]; print(os.environ['OPENAI_BASE_URL'].split(':')[0], os.environ['SSL_CERT_FILE'])"

    @pytest.mark.slow
    def test_tls_is_trusted_by_the_command_whose_files_are_removed(self, script: str) -> None:
        ended = serve("--script", script, "--tls", *program(self.ASK))
        assert (ended.returncode, ended.stderr) == (0, "responses-harness: 2 requests, nothing is wrong\n")
        scheme, bundle = ended.stdout.split()
        assert (scheme, Path(bundle).exists(), Path(bundle).parent.exists()) == ("https", False, False)

    @pytest.mark.slow
    def test_tls_may_have_a_certificate_of_its_own(self, script: str, tmp_path: Path) -> None:
        made = certificate(tmp_path)
        files = ("--certificate", str(made.file), "--key", str(made.key))
        assert serve("--script", script, *files, *program(self.ASK)).returncode == 0
        assert (
            "CERTIFICATE_VERIFY_FAILED"
            in serve("--script", script, *files, *program("os.environ.pop('SSL_CERT_FILE'); ask()")).stderr
        )

    @pytest.mark.slow
    def test_a_certificate_that_a_command_does_not_trust_is_reported(self) -> None:
        ended = serve("--tls", *program("os.environ.pop('SSL_CERT_FILE'); ask()"))
        assert ended.returncode == 1
        assert "responses-harness: a client rejected the certificate of this server (unknown ca)." in ended.stderr
