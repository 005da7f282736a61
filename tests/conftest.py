"""What all tests share; the suites below `clients/` run in environments of their own: `python -m tests.clients`."""

pytest_plugins = ["pytester"]
collect_ignore = ["clients"]
