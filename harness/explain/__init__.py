"""Why a test failed: the causes in its World as data, one module per kind; the findings for reports; both as text."""
