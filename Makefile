# Needs Python 3.11 or newer and make. Where uv is not installed, a private copy in .uv/ serves.

PYTHON     ?= python3
UV         := $(or $(shell command -v uv 2>/dev/null),.uv/bin/uv)
SUBMISSION ?= examples/half_right
OUT        ?= ../$(notdir $(CURDIR))-handout
ARGS       ?=

.DEFAULT_GOAL := help
.PHONY: test test-grader test-slow grade audit handout docs snapshots fingerprints train bench tiny-model schema lint types layers help

test: $(UV) ## Run the assignment's checks on the reference (more options: ARGS="-k rope")
	$(UV) run pytest $(ARGS)

test-grader: $(UV) ## Run the tests of the grader and of this repository
	$(UV) run pytest grader_tests -n 3 --dist worksteal -m "not slow" $(ARGS)

test-slow: $(UV) ## Run those of them that take minutes: every attack on every kind of machine
	$(UV) run pytest grader_tests -n 2 --dist worksteal -m slow $(ARGS)

grade: $(UV) ## Grade examples/half_right, or SUBMISSION=path (more options: ARGS="--seed 0")
	$(UV) run cs336 grade "$(SUBMISSION)" --format html $(ARGS)

audit: $(UV) ## Try the checks on all that is known right and wrong; write docs/audit.json and .html
	$(UV) run cs336 audit --report-dir docs $(ARGS)

handout: $(UV) ## Make the students' repository in OUT=path (one track: ARGS="--track NAME")
	$(UV) run cs336 handout "$(OUT)" $(ARGS)

snapshots: $(UV) ## Save the reference's values at seed 0 again, then compare with them
	$(UV) run pytest --update-snapshots; $(UV) run pytest

fingerprints: $(UV) ## Save in short what each known mistake gives at seed 0 (all anew: ARGS=--all)
	$(UV) run python -m cs336_grader.audit.fingerprints . $(ARGS)

train: $(UV) ## Draw stories and learn to tell them, on a CPU in minutes: runs/stories (ARGS="--steps 2000")
	$(UV) run python -m cs336_basics.stories --out data/stories
	$(UV) run python -m cs336_basics.encode data/stories/train.txt data/stories/valid.txt --out data/stories --vocab-size 1536
	$(UV) run python -m cs336_basics.train --config examples/stories.json --resume $(ARGS)
	$(UV) run python -m cs336_basics.generate "" --checkpoint runs/stories/best.pt

docs: $(UV) ## Build the site in build/site: course text, guides, API and a gallery
	$(UV) run python -m website build/site

bench: $(UV) ## Measure the slow parts beside what people use otherwise; write docs/performance.md
	$(UV) run python -m benchmarks $(ARGS)

tiny-model: $(UV) ## Train the model again that python -m cs336_basics.generate ships with
	$(UV) run python -m examples.tiny_model

schema: $(UV) ## Write docs/*.schema.json again, from the records
	$(UV) run python -m cs336_grader.reports.schema > docs/report.schema.json
	$(UV) run python -m cs336_grader.audit.schema > docs/audit.schema.json

lint: $(UV) ## Check style and formatting
	$(UV) run ruff check && $(UV) run ruff format --check

types: $(UV) ## Check types
	$(UV) run mypy

layers: $(UV) ## Check who may import whom
	$(UV) run lint-imports

help: ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

.uv/bin/uv:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { echo "Python 3.11 or newer is needed, and there is no $(PYTHON) here. Install it, or say where it is: make PYTHON=path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, and $(PYTHON) is $$("$(PYTHON)" -V 2>&1). Install a newer one, or say where it is: make PYTHON=path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: its modules venv and ensurepip are missing. On Debian or Ubuntu install python3-venv." >&2; exit 1; }
	"$(PYTHON)" -m venv .uv && .uv/bin/pip install --quiet 'uv>=0.8,<1'
