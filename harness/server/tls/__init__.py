"""TLS: a certificate made for a run or read from files, the server's side of the handshake, and the trust of clients.

The key of the signing authority is never written to disk; the server's key is there only encrypted, while it is loaded.
"""
