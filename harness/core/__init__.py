"""Plain data that every layer shares: exchanges, errors, ids, the account. No knowledge of the API's rules, no I/O."""
