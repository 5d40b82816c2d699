# Multi-Head Attention, Measured. `make help` lists what can be asked for.
# Every target first sets up what it needs in $(VENV); only a change of the
# requirements makes it do so again.

VENV ?= .venv
# The first of these that is Python 3.11 to 3.14 and can make environments.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	"$$p" -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
	2>/dev/null && { echo "$$p"; break; }; done)

BIN := $(VENV)/bin
# Errors only: some set-ups make pip print a hundred warnings that ask for nothing.
PIP := $(BIN)/python tools/alone.py Makefile $(BIN)/python -m pip install -qq --disable-pip-version-check
# Two workers of one thread each; what shares a browser stays on one of them.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup
FAST := not slow and not processes and not browser and not ebook and not colab
PINS := requirements.txt constraints.txt pyproject.toml

.DEFAULT_GOAL := help
.PHONY: help book pdf epub test test-all test-anywhere lint notebooks bench release releasable train-writer serve constraints clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

book: $(VENV)/.book ## build the book; warnings are errors
	$(BIN)/python tools/alone.py Makefile $(BIN)/jupyter-book build . -W --keep-going
	$(BIN)/python -m tools.book

pdf: book $(VENV)/.ebook ## the whole book as one PDF (PAPER=Letter: on Letter); needs Chromium or Chrome
	$(BIN)/python -m tools.ebook pdf $(PAPER)

epub: book $(VENV)/.ebook ## the whole book as one EPUB
	$(BIN)/python -m tools.ebook epub

test: lint ## lint, then the fast tests: two minutes
	$(PYTEST) -m "$(FAST)"

test-all: test book $(VENV)/.appendix ## then all others: slow, processes, Chromium, EPUB, Colab: a quarter of an hour
	BOOK_HTML=_build/html $(PYTEST) -m "not ($(FAST))"

test-anywhere: $(BIN)/activate ## the fast tests in ten surroundings, one after another: forty minutes
	$(BIN)/python -m tools.anywhere

lint: $(VENV)/.dev ## format, lint, imports, types, spelling, workflows
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/mypy
	$(BIN)/codespell
	$(BIN)/zizmor --offline --quiet .github
	@if command -v actionlint >/dev/null; then echo actionlint; actionlint; else \
		echo "actionlint is not installed here, so only zizmor has read the workflows."; fi

notebooks: $(VENV)/.appendix ## execute the stale chapters (all: ALL=1, some: CHAPTERS="08 09"; ELSEWHERE=1: on a machine of other speed)
	$(BIN)/python -m tools.notebooks $(if $(ALL),--all) $(if $(ELSEWHERE),--elsewhere) execute $(CHAPTERS)

bench: $(VENV)/.bench ## measure training, layers and writing: half an hour on two quiet cores
	$(BIN)/python -m benchmarks training
	$(BIN)/python -m benchmarks layers
	$(BIN)/python -m benchmarks writing

release: releasable test-all ## commit and tag VERSION=1.0.0, once every test has passed
	$(BIN)/python -m tools.release "$(VERSION)"

# What is in a release's way is said before the tests.
releasable: $(VENV)/.book
	@$(BIN)/python -m tools.release "$(VERSION)" --ask

train-writer: $(VENV)/.book ## train the model that writes: under forty minutes on two quiet cores
	$(BIN)/python -m benchmarks writer

serve: book ## build the book and serve it at http://localhost:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

constraints: | $(BIN)/activate ## pin all requirements anew, for every Python and platform
	$(PIP) uv
	grep -v '^-' requirements.txt | $(BIN)/uv pip compile --quiet --upgrade --universal \
		--python-version 3.11 --fork-strategy fewest --all-extras --no-annotate \
		--custom-compile-command "make constraints" - pyproject.toml -o constraints.txt

clean: ## remove the environment, the book and caches
	rm -rf $(VENV) _build .mypy_cache .pytest_cache .ruff_cache .hypothesis *.egg-info build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The last file that venv writes: where making it was stopped, it is made again.
$(BIN)/activate:
ifeq ($(strip $(PYTHON)),)
	@echo "No Python from 3.11 to 3.14 with its venv module was found." \
		"Install one, or name one: make PYTHON=/path/to/python3.12" >&2; exit 1
endif
	$(PYTHON) tools/alone.py Makefile $(PYTHON) -m venv $(VENV)

$(VENV)/.book: $(PINS) | $(BIN)/activate
	@echo "Installing what the book needs; the first time takes a few minutes."
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.ebook: $(VENV)/.book
	@echo "Installing what the PDF and the EPUB are made with."
	$(PIP) -c constraints.txt -e ".[ebook]"
	@touch $@

$(VENV)/.appendix: $(VENV)/.book
	@echo "Installing what only the appendix needs."
	$(PIP) -c constraints.txt -e ".[appendix]"
	@touch $@

$(VENV)/.bench: $(VENV)/.book benchmarks/requirements.txt
	@echo "Installing what the layers are compared with."
	$(PIP) -c constraints.txt -e ".[bench]"
	$(PIP) --no-deps -r benchmarks/requirements.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.book
	@echo "Installing what the tests need."
	$(PIP) -c constraints.txt -e ".[dev]"
	@touch $@
