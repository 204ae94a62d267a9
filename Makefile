# Every command of the project. `make` alone lists them with their variables. GNU make 3.81, which
# comes with macOS, is enough.
SHELL := /bin/sh
PYTHON_VENV := .venv/bin/python
STAMP := .venv/.stamp
DATA := src/data/dataset.json
# The tests that edits break most often; they take less than two minutes.
QUICK := $(addprefix tests/, test_layout.py test_starter.py test_pins.py test_imports.py \
  test_span_corruption.py test_attention.py test_report.py student leaks/test_leaks.py \
  handout/test_sheet.py gradescope/test_document.py $(addprefix harness/test_, assignment.py \
  description.py printable.py staging.py what_is_told.py wire.py writing.py))
# Files opened without their encoding are warned of; pyproject.toml makes the warning an error.
STRICT := -X warn_default_encoding

.DEFAULT_GOAL := help
TARGETS := help setup setup-tex world data starter question check reference compare grade demo lint \
  handout student autograder release new-term emulate class test test-long test-quick seeds redteam \
  clean
.PHONY: $(TARGETS) force
.DELETE_ON_ERROR:

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

# The variables that each target accepts on the command line, besides those for creating .venv. Other
# names are rejected, so that a typing error is never ignored.
SETUP_KNOWS := PYTHON TORCH_INDEX UV
world_KNOWS := PEOPLE DATASET SEED FORCE
data_KNOWS := SOURCE
question_KNOWS := TOPIC
reference_KNOWS := RECIPE EDITION
compare_KNOWS := RECIPE ARGS
grade_KNOWS := ARGS
demo_KNOWS := RECIPE
handout_KNOWS := EDITION PAPER
student_KNOWS := EDITION PAPER
release_KNOWS := EDITION RECIPE PAPER
new-term_KNOWS := TERM DUE SEED DATASET
autograder_KNOWS := EDITION RECIPE
emulate_KNOWS := SUBMISSION EDITION METADATA SETUP
class_KNOWS := SUBMISSIONS INTO EDITION ARGS
test_KNOWS := ARGS
test-long_KNOWS := ARGS
seeds_KNOWS := ARGS
redteam_KNOWS := ARGS
# The variables that a target requires, as error messages show them, and those that may only be 1.
data_NEEDS := SOURCE=DIR
question_NEEDS := TOPIC=NAME
emulate_NEEDS := SUBMISSION=ZIP-OR-FOLDER
class_NEEDS := SUBMISSIONS=EXPORT-OR-FOLDER INTO=DIR
new-term_NEEDS := TERM=NAME
SWITCHES := FORCE SETUP

# The requested targets, and the variables on the command line. (Variables from the environment don't
# count: TERM, for example, describes the terminal there.)
ASKED := $(or $(MAKECMDGOALS),help)
is_given = $(filter command,$(origin $(1)))
GIVEN := $(strip $(foreach name,$(.VARIABLES),$(if $(call is_given,$(name)),$(name))))
known = $(if $(filter help clean,$(1)),,$(SETUP_KNOWS)) $($(1)_KNOWS)
KNOWN := $(sort $(foreach target,$(ASKED),$(call known,$(target))))
UNKNOWN := $(filter-out $(KNOWN),$(GIVEN))
name_of = $(firstword $(subst =, ,$(1)))
has_text = $(and $(call is_given,$(1)),$(strip $($(1))))
NEEDED := $(foreach target,$(ASKED),$($(target)_NEEDS))
MISSING := $(firstword $(foreach form,$(NEEDED),$(if $(call has_text,$(call name_of,$(form))),,$(form))))
# For unknown targets, make prints its own message.
ifeq ($(filter-out $(TARGETS),$(ASKED)),)
ifneq ($(UNKNOWN),)
$(error make $(ASKED): unknown variable $(UNKNOWN); known: $(or $(strip $(KNOWN)),none))
endif
ifneq ($(MISSING),)
$(error make $(ASKED): $(call name_of,$(MISSING)) is missing, expected: make $(ASKED) $(MISSING))
endif
$(foreach name,$(filter $(SWITCHES),$(GIVEN)),$(if $(filter-out _1_,_$($(name))_),\
  $(error make $(ASKED): $(name)=$($(name)), expected $(name)=1 or no $(name))))
endif
# Variables on the command line are not passed on to other makes that make starts.
MAKEOVERRIDES =
# Turn a variable into an option of a command; its value is passed in the environment, with any quotes.
option = $(if $(call is_given,$(1)),--$(2)="$$$(1)")

setup: $(STAMP) ## create .venv with the pinned packages, using uv or pip [TORCH_INDEX=URL PYTHON=FILE]

# If TORCH_INDEX differs from the one that .venv was created with, .venv is recreated.
ifneq ($(TORCH_INDEX),)
ifneq ($(TORCH_INDEX),$(shell cat $(STAMP) 2>/dev/null))
$(STAMP): force
endif
endif
$(STAMP): $(wildcard requirements*.txt) constraints.txt tools/setup.sh
	@PYTHON="$(PYTHON)" TORCH_INDEX="$(TORCH_INDEX)" sh tools/setup.sh

setup-tex: $(STAMP) ## install LaTeX and the other packages of apt.txt (Debian, Ubuntu; as root)
	@$(PYTHON_VENV) -m tools.apt --loud

world: $(STAMP) ## generate a data set about fictional people [SEED=64-BITS PEOPLE=N DATASET=NAME FORCE=1]
	@$(PYTHON_VENV) -m tools.world $(call option,SEED,seed) $(call option,PEOPLE,people) \
	  $(call option,DATASET,dataset) $(if $(call is_given,FORCE),--force)

# For targets that need a data set: generate one if there is none.
$(DATA): | $(STAMP)
	@$(PYTHON_VENV) -m tools.world

data: $(STAMP) ## check and install the original course files instead: SOURCE=DIR
	@$(PYTHON_VENV) -m tools.install_data -- "$$SOURCE"

starter: $(STAMP) ## generate the starter code from solutions/submission
	@$(PYTHON_VENV) -m tools.starter

question: $(STAMP) ## create a coding question with a working example: TOPIC=NAME
	@$(PYTHON_VENV) -m tools.question -- "$$TOPIC"

GENERATED = $(PYTHON_VENV) -m tools.starter --check && $(PYTHON_VENV) -m tools.pins --check && \
	$(PYTHON_VENV) src/grader.py --list > /dev/null
check: $(STAMP) ## fail if a generated file is out of date, or tests and assignment.toml disagree
	@$(GENERATED)
	@$(PYTHON_VENV) -m tools.dist

reference: $(STAMP) $(DATA) ## train the reference solution in build/reference [RECIPE=NAME EDITION=NAME]
	@$(PYTHON_VENV) -m tools.reference $(call option,RECIPE,recipe) $(call option,EDITION,edition)

compare: $(STAMP) $(DATA) ## train all variants for equal steps; make a table and a figure [RECIPE=NAME ARGS="--marks 8"]
	@$(PYTHON_VENV) -m tools.compare $(call option,RECIPE,recipe) $(ARGS)

grade: $(STAMP) $(DATA) ## grade src/submission [ARGS="1e-0-basic --seed 1"]
	@$(PYTHON_VENV) src/grader.py $(ARGS)

demo: $(STAMP) $(DATA) ## generate a data set, train and grade the reference solution [RECIPE=NAME]
	@$(PYTHON_VENV) -m tools.demo $(call option,RECIPE,recipe)

# solutions/submission and src/submission are the same package, so mypy must check them separately.
lint: $(STAMP) ## check style, formatting and types
	@$(PYTHON_VENV) -m ruff check .
	@$(PYTHON_VENV) -m ruff format --check .
	@echo "checking types (half a minute the first time) ..."
	@$(PYTHON_VENV) -m mypy --no-error-summary
	@MYPYPATH=solutions $(PYTHON_VENV) -m mypy --no-error-summary solutions/submission
	@$(PYTHON_VENV) -m tools.notebooks --check

handout: $(STAMP) ## build the sheet as PDF and HTML, the solutions and the outline [EDITION=NAME PAPER=a4|letter]
	@$(PYTHON_VENV) -m tools.handout $(call option,EDITION,edition) $(call option,PAPER,paper)

student: $(STAMP) $(DATA) ## build the zip that students download [EDITION=NAME PAPER=a4|letter]
	@$(PYTHON_VENV) -m tools.student $(call option,EDITION,edition) $(call option,PAPER,paper)

release: $(STAMP) $(DATA) ## build handout, student and autograder, and verify them together [EDITION=NAME RECIPE=NAME PAPER=a4|letter]
	@$(PYTHON_VENV) -m tools.release $(call option,EDITION,edition) \
	  $(call option,RECIPE,recipe) $(call option,PAPER,paper)

new-term: $(STAMP) ## generate a new data set and set term and dates: TERM="Spring 2027" [DUE=DATE SEED=64-BITS DATASET=NAME]
	@$(PYTHON_VENV) -m tools.new_term $(call option,TERM,term) $(call option,DUE,due) \
	  $(call option,SEED,seed) $(call option,DATASET,dataset)

autograder: $(STAMP) $(DATA) ## build and verify the autograder for Gradescope [EDITION=NAME RECIPE=NAME]
	@$(PYTHON_VENV) -m tools.autograder $(call option,EDITION,edition) $(call option,RECIPE,recipe)

class: $(STAMP) $(DATA) ## grade a whole class: SUBMISSIONS=EXPORT-OR-FOLDER INTO=DIR [EDITION=NAME ARGS="--slots 8"]
	@$(PYTHON_VENV) -m classroom grade --into="$$INTO" $(call option,EDITION,edition) \
	  $(ARGS) -- "$$SUBMISSIONS"

emulate: $(STAMP) ## grade as Gradescope would: SUBMISSION=ZIP-OR-FOLDER [EDITION=NAME METADATA=KIND SETUP=1]
	@$(PYTHON_VENV) -m tools.emulate $(call option,EDITION,edition) \
	  $(call option,METADATA,metadata) $(if $(call is_given,SETUP),--setup) -- "$$SUBMISSION"

# Where this variable is set, hundreds of processes would compile the same modules again.
test test-long test-quick: export PYTHONDONTWRITEBYTECODE :=

# ARGS come last, so that they may hold another -n.
PYTEST := $(PYTHON_VENV) $(STRICT) -m pytest
test: $(STAMP) ## run all checks, and all tests but the long ones [ARGS="-k starter"]
	@$(PYTHON_VENV) -m tools.apt
	@$(GENERATED)
	@$(MAKE) lint
	@$(PYTEST) -n 4 $(ARGS)

test-long: $(STAMP) ## run the long tests, which `make test` leaves out: hours [ARGS="-k starter"]
	@$(PYTHON_VENV) -m tools.apt
	@$(PYTEST) -n 4 -m long $(ARGS)

test-quick: $(STAMP) ## run the tests that edits break most often: two minutes
	@$(GENERATED)
	@$(MAKE) lint
	@$(PYTEST) -n 2 $(QUICK)

seeds: $(STAMP) ## run every random test with 200 seeds on every right solution: hours [ARGS="--seeds 20"]
	@$(PYTHON_VENV) $(STRICT) -W error::EncodingWarning -m tests.golden_seeds $(ARGS)

redteam: $(STAMP) ## run every known attack on the grader, in every mode: minutes [ARGS="-k NAME"]
	@$(PYTEST) tests/redteam -m "long or not long" $(ARGS)

clean: ## remove build, dist and caches, but not .venv or the data
	rm -rf build dist .pytest_cache .ruff_cache .mypy_cache
	find . -name .venv -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
