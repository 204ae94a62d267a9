# Every command of the project. `make` alone lists them; variables are named in the help.
# GNU make 3.81 (the Mac's) is enough.
SHELL := /bin/sh
PYTHON_VENV := .venv/bin/python
STAMP := .venv/.stamp
DATA := src/data/dataset.json
# What edits break most often, in under two minutes.
QUICK := $(addprefix tests/, test_layout.py test_starter.py test_pins.py test_imports.py \
  test_span_corruption.py test_attention.py test_report.py student leaks/test_leaks.py \
  handout/test_sheet.py gradescope/test_document.py $(addprefix harness/test_, assignment.py \
  description.py printable.py staging.py what_is_told.py wire.py writing.py))
STRICT := -X warn_default_encoding -W error::EncodingWarning

.DEFAULT_GOAL := help
.PHONY: help setup setup-tex world data starter question check reference compare grade demo lint
.PHONY: handout student autograder release new-term emulate class test test-quick seeds redteam clean force
.DELETE_ON_ERROR:

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## make .venv with uv or pip from the pinned lists [TORCH_INDEX=URL PYTHON=FILE]

# A TORCH_INDEX other than the one that .venv was made with makes it anew.
ifneq ($(TORCH_INDEX),)
ifneq ($(TORCH_INDEX),$(shell cat $(STAMP) 2>/dev/null))
$(STAMP): force
endif
endif
$(STAMP): $(wildcard requirements*.txt) constraints.txt tools/setup.sh
	@PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" sh tools/setup.sh

setup-tex: $(STAMP) ## install LaTeX and what else apt.txt names (Debian, Ubuntu; as root)
	@$(PYTHON_VENV) -m tools.apt --loud

world: $(STAMP) ## generate a fresh data set of fictional people [PEOPLE=N DATASET=NAME SEED=64-BITS]
	@$(PYTHON_VENV) -m tools.world $(if $(SEED),--seed "$(SEED)") \
	  $(if $(PEOPLE),--people "$(PEOPLE)") $(if $(DATASET),--dataset "$(DATASET)")

# For the targets that need some data set: one is generated when there is none.
$(DATA): | $(STAMP)
	@$(MAKE) world

data: $(STAMP) ## check and install the real course files instead: SOURCE=DIR
	@test -n "$(SOURCE)" || \
	  { echo "make data: SOURCE is missing, expected: make data SOURCE=DIR" >&2; exit 2; }
	@$(PYTHON_VENV) -m tools.install_data "$(SOURCE)"

starter: $(STAMP) ## generate what students complete from solutions/submission
	@$(PYTHON_VENV) -m tools.starter

question: $(STAMP) ## begin a coding question with an example that works: TOPIC=NAME
	@test -n "$(TOPIC)" || \
	  { echo "make question: TOPIC is missing, expected: make question TOPIC=NAME" >&2; exit 2; }
	@$(PYTHON_VENV) -m tools.question "$(TOPIC)"

check: $(STAMP) ## fail when src/submission or a list of pyproject.toml is stale
	@$(PYTHON_VENV) -m tools.starter --check
	@$(PYTHON_VENV) -m tools.pins --check

reference: $(STAMP) $(DATA) ## train the reference solution in build/reference [RECIPE=NAME EDITION=NAME]
	@$(PYTHON_VENV) -m tools.reference $(if $(RECIPE),--recipe "$(RECIPE)") \
	  $(if $(EDITION),--edition "$(EDITION)")

compare: $(STAMP) $(DATA) ## train the variants at equal steps: a table, a figure [RECIPE=NAME ARGS="--marks 8"]
	@$(PYTHON_VENV) -m tools.compare $(if $(RECIPE),--recipe "$(RECIPE)") $(ARGS)

grade: $(STAMP) $(DATA) ## grade src/submission [ARGS="1e-0-basic --seed 1"]
	@$(PYTHON_VENV) src/grader.py $(ARGS)

demo: $(STAMP) $(DATA) ## the whole way: data set, training, grading [RECIPE=NAME]
	@$(PYTHON_VENV) -m tools.demo $(if $(RECIPE),--recipe "$(RECIPE)")

# solutions/submission is the same package as src/submission, so that it is checked by itself.
lint: $(STAMP) ## check style, formatting and types
	@$(PYTHON_VENV) -m ruff check .
	@$(PYTHON_VENV) -m ruff format --check .
	@$(PYTHON_VENV) -m mypy --no-error-summary
	@MYPYPATH=solutions $(PYTHON_VENV) -m mypy --no-error-summary solutions/submission
	@$(PYTHON_VENV) -m tools.notebooks --check

handout: $(STAMP) ## the sheet as PDF and HTML, solutions, outline [EDITION=NAME PAPER=a4|letter]
	@$(PYTHON_VENV) -m tools.handout $(if $(EDITION),--edition "$(EDITION)") \
	  $(if $(PAPER),--paper "$(PAPER)")

student: $(STAMP) $(DATA) ## what students download [EDITION=NAME PAPER=a4|letter]
	@$(PYTHON_VENV) -m tools.student $(if $(EDITION),--edition "$(EDITION)") \
	  $(if $(PAPER),--paper "$(PAPER)")

release: $(STAMP) $(DATA) ## handout, student release, autograder, proved together
	@$(PYTHON_VENV) -m tools.release $(if $(EDITION),--edition "$(EDITION)") \
	  $(if $(RECIPE),--recipe "$(RECIPE)") $(if $(PAPER),--paper "$(PAPER)")

new-term: $(STAMP) ## another world, term and dates: TERM="Spring 2027" [DUE=DATE SEED=64-BITS]
	@$(PYTHON_VENV) -m tools.new_term $(if $(SEED),--seed "$(SEED)") \
	  $(if $(TERM),--term "$(TERM)") $(if $(DUE),--due "$(DUE)") \
	  $(if $(DATASET),--dataset "$(DATASET)")

autograder: $(STAMP) $(DATA) ## build and prove what goes to Gradescope [EDITION=NAME RECIPE=NAME]
	@$(PYTHON_VENV) -m tools.autograder $(if $(EDITION),--edition "$(EDITION)") \
	  $(if $(RECIPE),--recipe "$(RECIPE)")

class: $(STAMP) $(DATA) ## grade a class: SUBMISSIONS=EXPORT-OR-FOLDER INTO=DIR [ARGS="--slots 8"]
	@test -n "$(SUBMISSIONS)" && test -n "$(INTO)" || { echo "make class: SUBMISSIONS or INTO is" \
	  "missing, expected: make class SUBMISSIONS=EXPORT-OR-FOLDER INTO=DIR" >&2; exit 2; }
	@$(PYTHON_VENV) -m tools.classroom grade "$(SUBMISSIONS)" --into "$(INTO)" \
	  $(if $(EDITION),--edition "$(EDITION)") $(ARGS)

emulate: $(STAMP) ## grade as Gradescope would: SUBMISSION=ZIP-OR-FOLDER [EDITION=NAME METADATA=KIND SETUP=1]
	@test -n "$(SUBMISSION)" || { echo "make emulate: SUBMISSION is missing, expected:" \
	  "make emulate SUBMISSION=ZIP-OR-FOLDER" >&2; exit 2; }
	@$(PYTHON_VENV) -m tools.emulate "$(SUBMISSION)" $(if $(EDITION),--edition "$(EDITION)") \
	  $(if $(METADATA),--metadata "$(METADATA)") $(if $(SETUP),--setup)

test: $(STAMP) ## run everything that we check [ARGS="-k starter"]
	@$(PYTHON_VENV) -m tools.apt
	@$(MAKE) check lint
	@$(PYTHON_VENV) $(STRICT) -m pytest $(if $(ARGS),$(ARGS),-n 3)

test-quick: $(STAMP) ## check what edits break most often, in two minutes
	@$(MAKE) check lint
	@$(PYTHON_VENV) $(STRICT) -m pytest -n 2 $(QUICK)

seeds: $(STAMP) ## run random tests with 200 seeds on all right codes [ARGS="--seeds 20"]
	@$(PYTHON_VENV) $(STRICT) -m tests.golden_seeds $(ARGS)

redteam: $(STAMP) ## attack the grader with all that we know, in every mode: minutes
	@$(PYTHON_VENV) $(STRICT) -m pytest tests/redteam -m "long or not long" $(ARGS)

clean: ## remove build, dist and caches (not .venv, not the data)
	rm -rf build dist .pytest_cache .ruff_cache .mypy_cache
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
