"""The forms of keys that issuers give out, by the rules of a list that others keep: gitleaks."""
