"""A server's certificate, made for the run or read from the user's files, and what makes clients trust it.

Most clients take a file of authorities in place of their own ones, so it contains those, too.
"""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from secrets import token_bytes, token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NoReturn

from harness.core.bounded_input import explain_read_errors, read_bounded
from harness.core.errors import ConfigError, require_extra

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric import ec


NO_TLS = (
    b"This port speaks TLS: use https:// (wss://). Plain http is spoken without --tls, and by tests without tls=True.\n"
)
PLAIN_ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(NO_TLS), NO_TLS)
)
"""The answer to a client that sends plain HTTP."""
_REJECTIONS = ("UNKNOWN_CA", "CERTIFICATE", "UNRECOGNIZED_NAME", "ACCESS_DENIED")
"""Parts of the names of TLS alerts with which a client rejects a certificate."""
REJECTED = (
    "a client rejected the certificate of this server ({why}). It has to trust the authority that signed it; it "
    "reads the variables for that (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS and others) when it starts, or when it is created"
)
SILENT = "it closed the connection in the handshake or right after it, as Node does"
BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
"""Variables that name a file of authorities: for OpenSSL (Python, .NET, Go, Ruby), requests, curl, Node."""
JAVA_VARIABLE = "JAVA_TOOL_OPTIONS"
JAVA_PASSWORD = "changeit"
"""The password of Java's default trust store; nothing in it is secret."""
BUNDLE, STORE = "authorities.pem", "authorities.p12"
_SUFFIXES = (".pem", ".crt", ".cer")


class ServerContext(ssl.SSLContext):
    """The TLS context of a server; `report` is called once for each reason why clients reject its certificate."""

    report: Callable[[str], None]
    reported: set[str]

    def report_rejection(self, why: str) -> None:
        """Report that a client rejected the certificate."""
        if why not in self.reported:
            self.reported.add(why)
            self.report(REJECTED.format(why=why))

    def note_end(self, secured: ssl.SSLObject | ssl.SSLSocket) -> None:
        """Report a client that ended the connection right after it saw the certificate."""
        # Ciphers are shared once the client's hello was read; only such a client has been sent the certificate.
        if secured.shared_ciphers() is not None:
            self.report_rejection(SILENT)

    def note_failure(self, problem: ssl.SSLError) -> bool:
        """Report a handshake that the client ended because of the certificate.

        Return whether it sent plain HTTP instead.
        """
        reason = problem.reason or ""
        if "ALERT" in reason.upper() and any(name in reason.upper() for name in _REJECTIONS):
            self.report_rejection(reason.rpartition("ALERT_")[2].replace("_", " ").lower())
        return reason == "HTTP_REQUEST"


def server_context(certificate: str, key: str | None, password: Callable[[], bytes]) -> ServerContext:
    """Create a server's context with the certificate and the key in these files."""
    context = ServerContext(ssl.PROTOCOL_TLS_SERVER)
    context.report, context.reported = lambda _: None, set()
    context.set_alpn_protocols(["http/1.1"])
    # Session tickets are sent after the handshake, when a client with a reader thread may be sending in another: with
    # tickets Python's ssl lost 57 of 5,335 connections of `websockets.sync` (3.11), without them none of 16,293.
    context.num_tickets = 0
    context.load_cert_chain(certificate, key, password)
    return context


LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
"""Names and addresses for which every generated certificate is valid."""
AUTHORITY_NAME = "responses-harness, authority of one run"
VALID_DAYS = 365
_BEGINS_BEFORE = timedelta(days=1)
"""How long before now a certificate becomes valid, for clients whose clock is slow."""


@dataclass(frozen=True, slots=True)
class ServerCertificate:
    """A server's certificate: `names` are the hosts it is valid for, `anchors` the authorities clients must trust.

    `anchors` are in PEM, and empty if the issuer is one that clients trust anyway.
    """

    context: ServerContext
    names: Sequence[str]
    anchors: bytes

    def host_for(self, host: str) -> str:
        """Choose the host for clients' URLs: `host` if the certificate is valid for it, otherwise another name."""
        others = (name for name in self.names if not name.startswith("*"))
        return next((name for name in (host, "localhost") if name in self.names), next(others, host))


def require_cryptography(asked: str) -> None:
    """Raise ConfigError if the package `cryptography` is missing; `asked` is the feature that needs it."""
    require_extra(asked, "cryptography", "tls")


def make_certificate(names: Sequence[str] = ()) -> ServerCertificate:
    """Make a certificate for loopback and these names, signed by an authority created for it alone.

    The authority's private key is discarded when this returns.
    """
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

    every = list(dict.fromkeys([*LOCAL_NAMES, *names]))
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _sign_authority(authority_key)
    certificate = _sign_server(every, key, authority, authority_key)
    # The ssl module loads keys only from files, so the key is on disk for a moment, encrypted with a random password.
    password = token_hex(32).encode()
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password))
    anchors = authority.public_bytes(Encoding.PEM)
    with TemporaryDirectory(prefix="harness-tls-") as folder:
        (file := Path(folder, "server.pem")).write_bytes(certificate.public_bytes(Encoding.PEM) + locked)
        return ServerCertificate(server_context(str(file), None, lambda: password), every, anchors)


def _sign_authority(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    from cryptography import x509

    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only")
    permitted = dict.fromkeys(("digital_signature", "key_cert_sign", "crl_sign"), True)
    usage = x509.KeyUsage(**permitted, **dict.fromkeys((*others, "decipher_only"), False))
    constraints = x509.BasicConstraints(ca=True, path_length=0)
    name = _named(f"{AUTHORITY_NAME} {token_bytes(4).hex()}")
    return _sign(name, key, name, key, [(constraints, True), (usage, True)])


def _sign_server(
    names: Sequence[str],
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    extensions: list[tuple[x509.ExtensionType, bool]] = [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), False),
        (x509.SubjectAlternativeName([_general_name(host) for host in names]), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), False),
    ]
    return _sign(_named("responses-harness"), key, authority.subject, authority_key, extensions)


def _named(name: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _sign(
    name: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    extensions: Sequence[tuple[x509.ExtensionType, bool]],
) -> x509.Certificate:
    """Sign a certificate with these extensions, each of which may be critical."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes

    now, public = datetime.now(UTC), key.public_key()
    made = x509.CertificateBuilder(issuer, name, public, x509.random_serial_number())
    made = made.not_valid_before(now - _BEGINS_BEFORE).not_valid_after(now + timedelta(days=VALID_DAYS))
    for extension, is_critical in [(x509.SubjectKeyIdentifier.from_public_key(public), False), *extensions]:
        made = made.add_extension(extension, is_critical)
    return made.sign(issuer_key, hashes.SHA256())


def _general_name(name: str) -> x509.GeneralName:
    """Convert a host name or an address for a certificate; ConfigError for anything else."""
    from cryptography import x509

    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        pass
    try:
        return x509.DNSName(name.encode("idna").decode())
    except ValueError as problem:
        raise ConfigError(
            f"{name!r} cannot be in a certificate: {problem}. Use a host name or an address."
        ) from problem


def load_certificate(file: Path, key: Path | None) -> ServerCertificate:
    """Load a certificate in PEM and its key, from the same file or another; ConfigError if they cannot be used."""
    from cryptography.hazmat.primitives.serialization import Encoding

    chain = _read_chain(file)
    named = f"--key {key}" if key else f"--certificate {file}"
    _check_key(_read(key or file, named), named)

    # Without this callback OpenSSL would ask for the password on the terminal.
    def refuse_password() -> NoReturn:
        raise ConfigError(f"{named}: the key is encrypted. Decrypt it: openssl pkey -in FILE -out FILE.")

    try:
        context = server_context(str(file), str(key) if key else None, refuse_password)
    except ssl.SSLError as problem:
        belongs = problem.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH")
        why = f"the key is not that of --certificate {file}" if belongs else f"it cannot be used: {problem.reason}"
        advice = "Pass the key that the certificate was made with; the server's certificate comes first in its file."
        raise ConfigError(f"{named}: {why}. {advice}") from problem
    anchors = [
        # Clients can be told to trust a certificate that has signed itself; any other has an authority.
        certificate.public_bytes(Encoding.PEM)
        for certificate in chain
        if certificate.issuer == certificate.subject
    ]
    return ServerCertificate(context, _names_in(chain[0]), b"".join(anchors))


def _read_chain(file: Path) -> Sequence[x509.Certificate]:
    """Read the certificates of a file, the server's own first, which must be valid now."""
    from cryptography import x509

    option = f"--certificate {file}"
    try:
        chain = x509.load_pem_x509_certificates(_read(file, option))
    except ValueError as problem:
        raise ConfigError(
            f"{option}: it has no certificate in PEM. Pass a file with -----BEGIN CERTIFICATE-----; convert DER "
            "with: openssl x509 -inform der -in FILE -out FILE."
        ) from problem
    now, own = datetime.now(UTC), chain[0]
    if now > own.not_valid_after_utc:
        raise ConfigError(f"{option}: it expired on {own.not_valid_after_utc:%Y-%m-%d}. Renew it, or use --tls alone.")
    if now < own.not_valid_before_utc:
        begins = f"it is not valid before {own.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        raise ConfigError(f"{option}: {begins}. Check the clock of this machine, or use --tls alone.")
    return chain


def _read(file: Path, option: str) -> bytes:
    with explain_read_errors(option, "Name a file in PEM."):
        return read_bounded(file)


def _check_key(content: bytes, option: str) -> None:
    """Raise ConfigError unless a file contains a private key."""
    if b"PRIVATE KEY-----" not in content:
        more = " (API keys are given by --keys)" if option.startswith("--key ") else " Pass its file with --key."
        raise ConfigError(f"{option}: it has no private key in PEM.{more}")


def _names_in(certificate: x509.Certificate) -> list[str]:
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    addresses = (str(address) for address in found.get_values_for_type(x509.IPAddress))
    return [*addresses, *found.get_values_for_type(x509.DNSName)]


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
