"""Masks secrets in recordings and checks the finished file; reading and writing cassettes is `format` and `recording`."""
