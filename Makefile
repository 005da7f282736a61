SETUP = python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]"

.PHONY: ci clean clients demo docs fix lint setup slow test types schemas wheel bench

test:  ## the suite without the tests that take long
	$(SETUP) && .venv/bin/python -m pytest -n auto

slow:  ## the tests that take long
	$(SETUP) && .venv/bin/python -m pytest -n auto -m slow

demo:  ## two agents against the mock, and a refusal
	$(SETUP) && .venv/bin/harness demo

clients:  ## suites of real clients, each release in an environment of its own
	$(SETUP) && .venv/bin/python -m tests.clients

docs:  ## the pages as a site in build/site; dead links fail
	python3 -m venv .venv && .venv/bin/pip install -q -e ".[docs]" && .venv/bin/mkdocs build --strict

ci:  ## what a change must pass
	.ci/run

setup:
	$(SETUP)

lint:
	.venv/bin/ruff check
	.venv/bin/ruff format --check

fix:
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

types:
	.venv/bin/mypy

schemas:
	.venv/bin/harness schemas --check

wheel:
	.venv/bin/python -m build --wheel

bench:
	.venv/bin/python -m bench

clean:
	rm -rf .venv build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
