# Every target builds .venv when it is missing, or when pyproject.toml or the version has changed.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help demo test test-rest test-all test-portable test-lowest coverage bench docs docs-links figures wheel format clean

help:
	@echo "make demo   the headline result, in a fresh environment"
	@echo "make test   format, lint, types and the quick tests: four minutes on two cores"
	@echo "make test-all  these, and every seed, corner, process and page: twenty minutes"
	@echo "make test-portable  what fits classifiers, as an old processor would compute it"
	@echo "make test-lowest  all tests with the oldest versions of the dependencies"
	@echo "make coverage  all tests, and which lines of src they never reach"
	@echo "make bench  speed and memory, as ratios within one run"
	@echo "make docs   the documentation site, in docs/_build/html"
	@echo "make docs-links  its links"
	@echo "make figures  all figures at full size, for the documentation: 25 minutes on two processors"
	@echo "make wheel  sdist and wheel in dist/, tried out in an empty environment"
	@echo "make format rewrite the code in the house format"
	@echo "make clean  remove everything that was built"

.venv/base: pyproject.toml src/sparsetoken/__init__.py
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,plot]'
	touch $@

.venv/dev: .venv/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

.venv/docs: .venv/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

demo: .venv/base
	$(BIN)/sparsetoken demo

# The tests of the explorer want a browser; where none can be had they are skipped.
.venv/browser: .venv/dev
	@if command -v chromium || command -v chromium-browser || command -v google-chrome; then \
		touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "installing chromium for the tests of the explorer"; \
		export DEBIAN_FRONTEND=noninteractive; \
		install="apt-get install -y -q --no-install-recommends chromium"; \
		($$install || (apt-get update -q -o Acquire::http::Timeout=20 && $$install)) >$@.log 2>&1 && touch $@ \
			|| echo "no chromium ($@.log): the tests in a browser are skipped"; \
	else \
		echo "no chromium in PATH: the tests in a browser are skipped"; \
	fi

# Tests share the cores by processes, so BLAS gets one thread in each.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest

test: .venv/dev .venv/browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	@echo "quick tests: about four minutes on two cores (make test-all runs the others too)"
	$(PYTEST)

test-rest: .venv/dev .venv/browser
	@echo "the other tests: about ten minutes on two cores"
	$(PYTEST) -m "statistical or system"

test-all: test test-rest

# Other BLAS kernels, NumPy loops and numba code: what depends on the processor fails here.
test-portable: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.portable --run old $(BIN)/pytest \
		tests/estimators/test_attention.py tests/estimators/test_bayes_attention.py \
		tests/estimators/test_sparse_token.py $(wildcard tests/estimators/test_stack*.py) \
		tests/test_readme.py docs/start

# The oldest versions that pyproject.toml admits, exactly, in an environment of their own.
.venv-lowest/dev: pyproject.toml tests/lowest.py
	$(PYTHON) -m venv .venv-lowest
	$(PYTHON) tests/lowest.py >.venv-lowest/constraints.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint .venv-lowest/constraints.txt --editable '.[dev]'
	touch $@

# Old libraries use each other in ways that are deprecated by now; that is not ours to mend.
test-lowest: .venv-lowest/dev
	OMP_NUM_THREADS=1 .venv-lowest/bin/pytest -m "" -W ignore::DeprecationWarning

# What numba compiles cannot be seen: pyproject.toml leaves it out.
coverage: .venv/dev .venv/browser
	$(PYTEST) -m "" --cov=sparsetoken $(TESTS)

bench: .venv/dev
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

docs: .venv/docs
	$(BIN)/sphinx-build -j auto -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# Those inside the site and those to other hosts; without a network, only the first can be checked.
docs-links: .venv/docs
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/links

# Results are kept in build/figures, so that it goes on where it was stopped.
figures: .venv/base
	mkdir -p build/figures
	for name in $$($(BIN)/sparsetoken figure --json | $(BIN)/python -c "import json, sys; print(*json.load(sys.stdin))"); do \
		$(BIN)/sparsetoken figure $$name --width 170 --letters --title --out build/figures/$$name.svg || exit 1; \
		cp build/figures/$$name.svg docs/_static/figures/; \
	done

wheel: .venv/dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(PYTHON) -m venv dist/empty
	dist/empty/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd dist && empty/bin/python ../tests/smoke.py
	rm -rf dist/empty

format: .venv/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .venv-lowest .coverage* docs/_build docs/gallery docs/pictures docs/reference/generated dist .mypy_cache .ruff_cache .pytest_cache
