SETUP = python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]"

.PHONY: ci clean clients coverage demo docs fix lint setup slow test types schemas wheel bench

test:  ## the suite without the tests that take long
	$(SETUP) && .venv/bin/python -m pytest -n auto

slow:  ## the tests that take long
	$(SETUP) && .venv/bin/python -m pytest -n auto -m slow

coverage:  ## what the tests run of harness/; not in ci, since before Python 3.12 tracing now and then keeps a thread from starting
	$(SETUP) && rm -f .coverage .coverage.*
	COVERAGE_PROCESS_START="$$PWD/pyproject.toml" COVERAGE_FILE="$$PWD/.coverage" .venv/bin/python -m pytest -n auto -m "slow or not slow"
	.venv/bin/coverage combine -q
	.venv/bin/coverage report --fail-under=95

demo:  ## two agents against the mock, and a refusal
	$(SETUP) && .venv/bin/harness demo

clients:  ## suites of real clients, each release in an environment of its own
	$(SETUP) && .venv/bin/python -m tests.clients

docs:  ## the pages as a site in build/site; dead links fail
	python3 -m venv .venv && .venv/bin/pip install -q -e ".[docs]" && .venv/bin/mkdocs build --strict

ci:  ## what a change must pass
	.ci/run

setup:  ## the environment of all of these, in .venv
	$(SETUP)

lint: setup
	.venv/bin/ruff check
	.venv/bin/ruff format --check

fix: setup
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

types: setup
	.venv/bin/mypy

schemas: setup
	.venv/bin/python -m tools.schemas --check

wheel:  ## what is published, in dist/
	$(SETUP) && .venv/bin/python -m build --wheel --no-isolation

bench: setup
	.venv/bin/python -m bench

clean:
	rm -rf .venv build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
