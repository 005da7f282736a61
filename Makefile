INSTALLED = .venv/.installed
TESTS = -n $(if $(FILE),0,auto) $(FILE)

.PHONY: ci clean clients coverage demo docs fix lint setup slow test types schemas wheel bench page pictures

test: setup  ## the suite without the tests that take long; `make test FILE="tests/core -k dates"` runs some of it
	.venv/bin/python -m pytest $(TESTS)

slow: setup  ## the tests that take long
	.venv/bin/python -m pytest $(TESTS) -m slow

coverage: setup  ## what the tests run of harness/; not in ci, since before Python 3.12 tracing now and then keeps a thread from starting
	rm -f .coverage .coverage.*
	COVERAGE_PROCESS_START="$$PWD/pyproject.toml" COVERAGE_FILE="$$PWD/.coverage" .venv/bin/python -m pytest -n auto -m "slow or not slow"
	.venv/bin/coverage combine -q
	.venv/bin/coverage report --fail-under=95

demo: setup  ## two agents against the mock, and a refusal
	.venv/bin/responses-harness demo

clients: setup  ## suites of real clients, each release in an environment of its own
	.venv/bin/python -m tests.clients

ci:  ## what a change must pass
	.ci/run

setup: $(INSTALLED)  ## the environment of all of these, in .venv; it is made again when pyproject.toml changes

$(INSTALLED): pyproject.toml
	python3 -m venv .venv && .venv/bin/pip install -q -e ".[dev]"
	touch $@

$(INSTALLED)-docs: pyproject.toml
	python3 -m venv .venv && .venv/bin/pip install -q -e ".[docs]"
	touch $@

docs: $(INSTALLED)-docs  ## the pages as a site in build/site; dead links fail
	.venv/bin/mkdocs build --strict

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

wheel: setup  ## what is published, in dist/
	.venv/bin/python -m build --wheel --no-isolation

page:  ## the page that shows a run, built of viewer/ by Node
	cd viewer && npm ci && npm run build

pictures: setup  ## the pictures of the manual, taken in Chromium
	.venv/bin/python -m tests.end_to_end.browser.pictures

bench: setup
	.venv/bin/python -m bench

clean:
	rm -rf .venv build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
