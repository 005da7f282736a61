"""The forms of keys by issuer, from the rules that the project gitleaks maintains."""
