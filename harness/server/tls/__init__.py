"""TLS: a certificate made for a run or taken from files, how a server shows it, and what makes clients trust it.

The key of the authority that signs is never written; that of the server is on disk only encrypted, while it is loaded.
"""
