"""Why a test failed: the causes in its World as data, one module a kind, the findings for reports, and both as text."""
