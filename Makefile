# Every command; `make` alone lists them with their variables. macOS's GNU make, 3.81, is enough.
STAMP := .venv/.stamp
DATA := src/data/dataset.json
QUICK := $(addprefix tests/, test_starter.py test_requirements.py test_imports.py \
  test_span_corruption.py test_report.py student leaks/test_leaks.py \
  handout/test_sheet.py gradescope/test_document.py $(addprefix harness/test_, assignment.py \
  description.py printable.py staging.py what_is_told.py wire.py))

# The requested targets, and the command line's variables: RUN checks these by the target's help, and
# gives those in brackets to Python as options (tools/make.py). Makes that make starts get none.
export GOALS := $(or $(MAKECMDGOALS),help)
export GIVEN := $(MAKEOVERRIDES)
MAKEOVERRIDES =
RUN = .venv/bin/python -m tools.make $@
IF_SET_UP = [ ! -x .venv/bin/python ] || $(RUN) && # for targets that need no environment
PYTEST = $(RUN) -m pytest
GENERATED = $(RUN) -m tools.starter --check && $(RUN) -m tools.requirements --check && \
  $(RUN) src/grader.py --list > /dev/null

.PHONY: force $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)
.DELETE_ON_ERROR:

help: ## print this list
	@$(IF_SET_UP) awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

setup: $(STAMP) ## create .venv with the pinned packages, by uv [TORCH_INDEX=URL PYTHON=FILE]
	@$(RUN)

# If TORCH_INDEX differs from the one that .venv was created with, .venv is recreated.
OTHER_INDEX := $(filter-out $(shell cat $(STAMP) 2>/dev/null),$(TORCH_INDEX))
$(STAMP): $(wildcard requirements*.txt) constraints.txt tools/setup.sh $(if $(OTHER_INDEX),force)
	@PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" sh tools/setup.sh

setup-tex: $(STAMP) ## install LaTeX and the other packages of apt.txt (Debian, Ubuntu; as root)
	@$(RUN) && sh tools/apt.sh --loud

world: $(STAMP) ## generate a data set about fictional people [SEED=64-BITS PEOPLE=N DATASET=NAME FORCE=1]
$(DATA): | $(STAMP) # generated, for targets that need a data set, if there is none
	@$(RUN) -m tools.world

data: $(STAMP) ## check and install the original course files instead: SOURCE=DIR
	@$(RUN) -m tools.install_data -- "$$SOURCE"
starter: $(STAMP) ## generate the starter code from solutions/submission
question: $(STAMP) ## create a coding question with a working example: TOPIC=NAME
	@$(RUN) -m tools.question -- "$$TOPIC"

check: $(STAMP) ## fail if a generated file is out of date, or tests and assignment.toml disagree
	@$(GENERATED) && $(RUN) -m tools.history

reference: $(STAMP) $(DATA) ## train the reference solution in build/reference [RECIPE=NAME EDITION=NAME]

grade: $(STAMP) $(DATA) ## grade src/submission [ARGS="1e-0-basic --seed 1"]
	@$(RUN) src/grader.py $(ARGS)

demo: $(STAMP) $(DATA) ## generate a data set, train and grade the reference solution [RECIPE=NAME]

lint: style types ## check style, formatting and types
style: $(STAMP) ## check style and formatting: seconds
	@$(RUN) -m ruff check . && $(RUN) -m ruff format --check .
	@$(RUN) -m nbstripout --verify --keep-id mingpt-demo/*.ipynb handout/student/*.ipynb
# solutions/submission and src/submission are the same package, so mypy must check them separately.
# The last one finds what Python lacks on Windows (only src/host.py uses it) and needs no packages.
types: $(STAMP) ## check types: a minute the first time
	@$(RUN) -m mypy --no-error-summary
	@MYPYPATH=solutions $(RUN) -m mypy --no-error-summary solutions/submission
	@$(RUN) -m mypy --no-error-summary --platform win32 --cache-dir .mypy_cache/win32 src \
	  --no-site-packages --ignore-missing-imports --no-warn-unused-ignores

handout: $(STAMP) ## build the sheet as PDF and HTML, the solutions and the outline [EDITION=NAME PAPER=a4|letter]
student: $(STAMP) $(DATA) ## build the zip that students download [EDITION=NAME PAPER=a4|letter]
release: $(STAMP) $(DATA) ## build handout, student and autograder, verify and archive them [EDITION=NAME RECIPE=NAME PAPER=a4|letter BREAKING="why"]
restore: $(STAMP) ## bring a release's data and secrets back: ARCHIVE=FILE [FORCE=1]
	@$(RUN) -m tools.restore -- "$$ARCHIVE"
new-term: $(STAMP) ## generate a new data set and set term and dates: TERM="Spring 2027" [DUE=DATE SEED=64-BITS DATASET=NAME]
	@$(RUN) -m tools.new_term --term="$$TERM"
autograder: $(STAMP) $(DATA) ## build and verify the autograder for Gradescope [EDITION=NAME RECIPE=NAME]
world starter reference demo handout student release autograder:
	@$(RUN) -m tools.$@

class: $(STAMP) $(DATA) ## grade a whole class: SUBMISSIONS=EXPORT-OR-FOLDER INTO=DIR [EDITION=NAME ARGS="--slots 8"]
	@$(RUN) -m classroom grade --into="$$INTO" $(ARGS) -- "$$SUBMISSIONS"

emulate: $(STAMP) ## grade as Gradescope would: SUBMISSION=ZIP-OR-FOLDER [EDITION=NAME METADATA=KIND SETUP=1]
	@$(RUN) -m tools.emulate -- "$$SUBMISSION"

# Where this variable is set, hundreds of processes would compile the same modules again.
test test-long test-quick coverage: export PYTHONDONTWRITEBYTECODE :=

# ARGS come last, so that they may hold another -n.
test: $(STAMP) ## run all checks, and all tests but the long ones [ARGS="-k starter"]
	@$(RUN) && sh tools/apt.sh
	@$(GENERATED)
	@$(MAKE) style
	@$(PYTEST) -n 4 $(ARGS)

test-long: $(STAMP) ## run the long tests, which `make test` leaves out: an hour [ARGS="-k starter"]
	@$(RUN) && sh tools/apt.sh
	@$(PYTEST) -n 4 -m long $(ARGS)

test-quick: $(STAMP) ## run the tests that edits break most often: half a minute
	@$(GENERATED)
	@$(MAKE) lint
	@$(PYTEST) -n 2 $(QUICK)

coverage: $(STAMP) ## measure the coverage of grading, autograder and classroom: ten minutes [ARGS=-x]
	@$(RUN) -m coverage erase
	@$(RUN) -m coverage run -m pytest -n 4 $(addprefix tests/, harness classroom gradescope \
	  snapshots student running leaks test_golden.py test_mutants.py) $(ARGS)
	@$(RUN) -m coverage combine --quiet
	@$(RUN) -m coverage report

seeds: $(STAMP) ## run every random test with 200 seeds on every right solution: hours [ARGS="--seeds 20"]
	@$(RUN) -m tests.golden_verdicts --seeds 200 $(ARGS)

redteam: $(STAMP) ## run every known attack on the grader, in every mode: minutes [ARGS="-k NAME"]
	@$(PYTEST) tests/redteam -m "long or not long" $(ARGS)

clean: ## remove build, dist and caches, but not .venv or the data
	@$(IF_SET_UP) rm -rf build dist .pytest_cache .ruff_cache .mypy_cache .coverage*
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
