"""Certificates: made for a run, taken from files, of no use; and what makes clients trust one keeps what they trusted."""

import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from harness.core.errors import ConfigError
from harness.server.tls.certificate import (
    BUNDLE_VARIABLES,
    JAVA_PASSWORD,
    ServerCertificate,
    load_certificate,
    make_certificate,
    require_cryptography,
    write_trust,
)

DAY = timedelta(days=1)


def handshake(served: ServerCertificate, host: str) -> str:
    """Return the protocol of TLS that a strict client and a server agree on, in memory."""
    trusting = ssl.create_default_context(cadata=served.anchors.decode())
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(to_client, to_server, server_hostname=host)
    server = served.context.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return client.version() or ""


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "mock.example.test", "10.0.0.7"])
def test_a_made_certificate_is_for_loopback_and_the_names_given(host: str) -> None:
    assert handshake(make_certificate(["mock.example.test", "10.0.0.7"]), host) == "TLSv1.3"


def test_a_made_certificate_is_for_no_other_name() -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(make_certificate(), "elsewhere.example.test")


def test_each_run_has_an_authority_of_its_own() -> None:
    one, other = make_certificate(), make_certificate()
    assert one.anchors != other.anchors
    (authority,) = x509.load_pem_x509_certificates(one.anchors)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.path_length == 0


def test_no_key_is_on_disk_that_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []
    write = Path.write_bytes
    monkeypatch.setattr(Path, "write_bytes", lambda self, data: (written.append(data), write(self, data))[1])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    make_certificate()
    (content,) = written
    assert content.count(b"-----BEGIN ENCRYPTED PRIVATE KEY-----") == content.count(b"PRIVATE KEY-----") / 2 == 1
    assert not list(tmp_path.iterdir())


def test_an_invalid_name_is_reported() -> None:
    with pytest.raises(ConfigError, match=r"'\.\.' cannot be in a certificate: .* Use a host name or an address"):
        make_certificate([".."])


def test_without_cryptography_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.core.errors.find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r'^--tls needs cryptography: .*pip install .*\[tls\]"$'):
        require_cryptography("--tls")


Files = Callable[..., tuple[Path, Path]]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Writes a self-signed certificate, valid from `begins` to `ends` days from now, and its key."""

    def write(
        begins: float = -1, ends: float = 1, *, password: bytes = b"", names: tuple[str, ...] = ("mock.example.test",)
    ) -> tuple[Path, Path]:
        key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mine")])
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        builder = builder.serial_number(1).not_valid_before(now + begins * DAY).not_valid_after(now + ends * DAY)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in names]), False)
        made, number = builder.sign(key, hashes.SHA256()), len(list(tmp_path.iterdir()))
        certificate, key_file = tmp_path / f"{number}.crt", tmp_path / f"{number}.key"
        certificate.write_bytes(made.public_bytes(Encoding.PEM))
        locked = BestAvailableEncryption(password) if password else NoEncryption()
        key_file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))
        return certificate, key_file

    return write


def test_a_certificate_of_files_is_trusted_by_itself_when_it_is_self_signed(files: Files) -> None:
    served = load_certificate(*files())
    assert (served.anchors.count(b"BEGIN"), served.names) == (1, ["mock.example.test"])
    assert served.host_for("127.0.0.1") == "mock.example.test"


def test_a_key_may_be_in_the_file_of_its_certificate(files: Files) -> None:
    certificate, key = files()
    certificate.write_bytes(certificate.read_bytes() + key.read_bytes())
    assert load_certificate(certificate, None).names == ["mock.example.test"]


@pytest.mark.parametrize(
    ("names", "host", "chosen"),
    [
        (("localhost",), "127.0.0.1", "localhost"),
        (("*.example.test", "a.example.test"), "127.0.0.1", "a.example.test"),
        (("a.example.test", "b.example.test"), "b.example.test", "b.example.test"),
        ((), "127.0.0.1", "127.0.0.1"),
    ],
)
def test_clients_are_given_a_host_that_the_certificate_is_for(
    files: Files, names: tuple[str, ...], host: str, chosen: str
) -> None:
    assert load_certificate(*files(names=names)).host_for(host) == chosen


def test_what_a_file_lacks_is_named_with_its_fix(files: Files, tmp_path: Path) -> None:
    (certificate, key), (_, other) = files(), files()
    absent, nothing, der = tmp_path / "absent", tmp_path / "nothing", tmp_path / "der"
    nothing.write_bytes(b"\x00nothing")
    der.write_bytes(ssl.PEM_cert_to_DER_cert(certificate.read_text()))
    (broken := tmp_path / "broken").write_text(
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", encoding="ascii"
    )
    expired, future, locked = files(-9, -3), files(1, 2), files(password=b"secret")
    told = {
        (absent, key): f"--certificate {absent}: cannot be read: No such file",
        (tmp_path, key): f"--certificate {tmp_path}: cannot be read: Is a directory",
        (nothing, key): f"--certificate {nothing}: it has no certificate in PEM",
        (der, key): "openssl x509 -inform der",
        (certificate, absent): f"--key {absent}: cannot be read: No such file",
        (certificate, nothing): "it has no private key in PEM. (API keys are given by --keys)",
        (certificate, None): f"--certificate {certificate}: it has no private key in PEM. Pass its file with --key.",
        (certificate, other): f"--key {other}: the key is not that of --certificate {certificate}",
        (certificate, broken): f"--key {broken}: it cannot be used",
        expired: f"it expired on {datetime.now(UTC) - 3 * DAY:%Y-%m-%d}. Renew it, or use --tls alone.",
        future: "it is not valid before",
        locked: f"--key {locked[1]}: the key is encrypted. Decrypt it: openssl pkey",
    }
    for (chain, private), text in told.items():
        with pytest.raises(ConfigError) as caught:
            load_certificate(chain, private)
        assert text in str(caught.value)


def authorities(file: str) -> set[bytes]:
    return set(ssl.create_default_context(cafile=file).get_ca_certs(binary_form=True))


def test_a_bundle_holds_what_the_environment_names_besides(tmp_path: Path) -> None:
    own, theirs = make_certificate().anchors, make_certificate().anchors
    (named := tmp_path / "theirs.pem").write_bytes(theirs)
    variables = write_trust(own, tmp_path, {"NODE_EXTRA_CA_CERTS": str(named), "CURL_CA_BUNDLE": "/nothing/there"})
    bundles = {variables[name] for name in BUNDLE_VARIABLES}
    assert bundles == {str(tmp_path / "authorities.pem")}
    known = set(ssl.create_default_context().get_ca_certs(binary_form=True))
    added = {ssl.PEM_cert_to_DER_cert(certificate.decode()) for certificate in (own, theirs)}
    assert authorities(*bundles) == known | added


def test_a_folder_of_authorities_is_read_file_by_file(tmp_path: Path) -> None:
    theirs = make_certificate().anchors
    (folder := tmp_path / "folder").mkdir()
    (folder / "a.pem").write_bytes(theirs)
    (folder / "b.crt").write_bytes(b"no certificate")
    variables = write_trust(make_certificate().anchors, tmp_path, {"REQUESTS_CA_BUNDLE": str(folder)})
    assert ssl.PEM_cert_to_DER_cert(theirs.decode()) in authorities(variables["SSL_CERT_FILE"])


def test_java_has_a_store_besides_the_options_that_it_had(tmp_path: Path) -> None:
    own = make_certificate().anchors
    options = write_trust(own, tmp_path, {"JAVA_TOOL_OPTIONS": "-Dmine=1"})["JAVA_TOOL_OPTIONS"]
    given, store, kind, password = options.split()
    assert (given, kind, password.rpartition("=")[2]) == (
        "-Dmine=1",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        JAVA_PASSWORD,
    )
    held = pkcs12.load_pkcs12(Path(store.partition("=")[2]).read_bytes(), JAVA_PASSWORD.encode()).additional_certs
    assert ssl.PEM_cert_to_DER_cert(own.decode()) in {
        ssl.PEM_cert_to_DER_cert(event.certificate.public_bytes(Encoding.PEM).decode()) for event in held
    }
