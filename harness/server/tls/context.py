"""The server's TLS context, which reports failed handshakes.

A client that sends plain HTTP is answered in plain HTTP. One that rejects the certificate is reported here, since its
own error seldom says what it needs.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable

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
    "a client turned down the certificate of this server ({why}). It has to trust the authority that signed it; the "
    "variables that say so (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS and others) are read when it starts, or when it is made"
)
SILENT = "it closed the connection in the handshake or right after it, as Node does"


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
