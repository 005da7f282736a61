"""Makes clients trust a certificate: files with its authority, and the variables that point clients at them.

Most clients use such a file in place of their own authorities, so it contains those, too.
"""

import ssl
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables that name a file of authorities: for OpenSSL (Python, .NET, Go, Ruby), requests, curl, Node."""
JAVA_VARIABLE = "JAVA_TOOL_OPTIONS"
JAVA_PASSWORD = "changeit"
"""The password of Java's default trust store; nothing in it is secret."""
BUNDLE, STORE = "authorities.pem", "authorities.p12"
_SUFFIXES = (".pem", ".crt", ".cer")


def write_trust(anchors: bytes, folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Write files that make clients also trust these certificates; return the variables that name the files.

    `environment` is the environment of the clients, whose variables name the authorities they trust already.
    """
    known = _known_authorities(environment)
    bundle, store = folder / BUNDLE, folder / STORE
    bundle.write_bytes(anchors + "".join(map(ssl.DER_cert_to_PEM_cert, known)).encode())
    store.write_bytes(_java_store(anchors, known))
    options = {"trustStore": store, "trustStoreType": "PKCS12", "trustStorePassword": JAVA_PASSWORD}
    java = " ".join(f"-Djavax.net.ssl.{name}={value}" for name, value in options.items())
    given = environment.get(JAVA_VARIABLE, "")
    return {**dict.fromkeys(BUNDLE_VARIABLES, str(bundle)), JAVA_VARIABLE: f"{given} {java}".strip()}


def trusting_context(anchors: str) -> ssl.SSLContext:
    """Create a client's context that trusts only these certificates (PEM)."""
    return ssl.create_default_context(cadata=anchors)


def _known_authorities(environment: Mapping[str, str]) -> Sequence[bytes]:
    """Collect the certificates (DER) that clients trust already: from the system and from files that variables name."""
    context = ssl.create_default_context()
    named = [Path(value) for name in BUNDLE_VARIABLES if (value := environment.get(name))]
    for file in [*named, *([] if context.get_ca_certs() else _other_files())]:
        for bundle in _files(file):
            with suppress(OSError, ssl.SSLError):  # a client cannot read it either
                context.load_verify_locations(bundle)
    return context.get_ca_certs(binary_form=True)


def _other_files() -> Iterator[Path]:
    """Find authorities where OpenSSL has no file: in its folder, or in a Python package."""
    if folder := ssl.get_default_verify_paths().capath:
        yield Path(folder)
    if find_spec("certifi"):
        import certifi

        yield Path(certifi.where())


def _files(path: Path) -> list[Path]:
    """List a file, or the certificate files in a folder."""
    return [file for file in sorted(path.iterdir()) if file.suffix in _SUFFIXES] if path.is_dir() else [path]


def _java_store(anchors: bytes, known: Sequence[bytes]) -> bytes:
    """Build a trust store for Java, which does not read PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

    found = x509.load_pem_x509_certificates(anchors)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some old authorities break rules of encoding that came later
        for certificate in known:
            with suppress(ValueError):
                found.append(x509.load_der_x509_certificate(certificate))
        named = [pkcs12.PKCS12Certificate(certificate, b"%d" % number) for number, certificate in enumerate(found)]
        return pkcs12.serialize_java_truststore(named, BestAvailableEncryption(JAVA_PASSWORD.encode()))
