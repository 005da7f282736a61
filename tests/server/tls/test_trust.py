"""What makes clients trust a certificate keeps what they trusted before."""

import ssl
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

from harness.server.tls.certificate import make_certificate
from harness.server.tls.trust import BUNDLE_VARIABLES, JAVA_PASSWORD, write_trust


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
