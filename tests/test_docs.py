"""Every command of README.md is run: here, in a test named here, or at least with `make -n`.

A command is a line of a fenced block marked `sh`, where `#` starts a comment.
"""

import ast
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import pinned
from tests.follow import commands_of

# Run here, unchanged.
RUN = {"make"}
STARTER = "test_end_to_end.py::test_the_starter_earns_nothing_and_reads_no_traceback"
GRADER = "test_end_to_end.py::test_the_commands_arguments"
REPORT = "test_report.py::test_the_command_writes_both_reports"
UV = "test_pins.py::test_uv_sync_and_uv_run_make_the_environment"
CONDA = "test_pins.py::test_conda_environment_parses_and_takes_the_same_lists"
RELEASE = (
    "gradescope/test_autograder.py::"
    "test_the_build_says_what_came_out_and_keeps_submissions_for_test_autograder"
)
# Run by another test: `file::test`.
ELSEWHERE = {
    "make setup": "test_setup.py::test_second_setup_costs_nothing_and_a_half_made_one_is_made_anew",
    "TORCH_INDEX=https://download.pytorch.org/whl/cpu make setup": (
        "test_setup.py::test_torch_comes_from_the_index_that_is_named"
    ),
    "uv sync": UV,
    "uv run python src/grader.py 1e": UV,
    "uv run --no-sync python src/grader.py 1e": (
        "test_pins.py::test_uv_run_leaves_torch_from_another_index_alone_when_asked"
    ),
    "make question TOPIC=common_prefix": (
        "test_add_a_question.py::test_each_command_ends_as_the_document_says"
    ),
    "conda env create -f environment.yml": CONDA,
    "conda activate pretraining": CONDA,
    "make check": "test_dist.py::test_check_names_what_is_out_of_date",
    "make starter": "test_starter.py::test_starter_is_written_and_then_up_to_date",
    "make demo": "test_end_to_end.py::test_the_demo_reaches_every_point",
    "make compare": "test_compare.py::test_three_variants_are_compared_at_equal_steps",
    "make reference": "test_end_to_end.py::test_a_second_training_costs_nothing",
    "python src/grader.py": STARTER,
    "python src/grader.py 1e": GRADER,
    "python src/grader.py 3a-0-basic": GRADER,
    "python src/grader.py --list": GRADER,
    "python src/grader.py --where 1e-8-hidden": GRADER,
    "python src/grader.py --doctor": GRADER,
    "python src/grader.py --submission upload.zip --json result.json --seed 7": (
        "test_end_to_end.py::test_a_zip_of_what_is_handed_in_earns_full_marks"
    ),
    "python src/grader.py --html report.html": REPORT,
    "python src/grader.py --submission DIR --staff-html staff.html --seed 7 --edition cs224n": (
        REPORT
    ),
    "python src/grader.py --replay results.json --submission DIR": (
        "gradescope/test_autograder.py::test_the_result_holds_what_a_regrade_needs"
    ),
    "make autograder": "gradescope/test_autograder.py::test_both_editions_are_built",
    "make autograder EDITION=xcs224n": RELEASE,
    "make emulate SUBMISSION=upload.zip METADATA=late": (
        "gradescope/test_autograder.py::test_the_command_shows_what_each_of_them_sees"
    ),
    "make handout": "handout/test_release.py::test_the_handout_needs_no_data_set",
    "make student": "handout/test_release.py::test_what_leaks_is_not_released",
    "make release": "handout/test_release.py::test_the_manifest_has_a_hash_of_each_file",
    "make release PAPER=letter": (
        "handout/test_release.py::test_the_manifest_has_a_hash_of_each_file"
    ),
    'make new-term TERM="Spring 2027" DUE=2027-05-02T23:59:00-07:00': (
        "handout/test_new_term.py::test_a_new_term_trains_and_compares_with_the_thresholds"
    ),
    "make grade": STARTER,
    "make world": "test_end_to_end.py::test_the_demo_reaches_every_point",
    "make data SOURCE=DIR": (
        "test_end_to_end.py::test_course_files_install_and_the_public_commands_run_on_them"
    ),
}
# Only run as `make -n`, which shows that the target and its modules exist.
DRY = {
    "make test": "is what runs this test",
    "make test-long": "takes hours; they are marked `long` because `make test` can't run them",
    "make test-quick": "takes minutes; `make test` runs the same tests",
    "make seeds": "takes hours; test_golden.py runs a few seeds",
    "make redteam": "takes minutes; `make test` runs a selection of the same tests",
    "make lint": "belongs to `make test`, which runs it before this test",
    "make class SUBMISSIONS=EXPORT INTO=DIR": (
        "classroom/test_graded_document.py runs the command that it stands for"
    ),
    "make clean": "would remove what other tests use",
}

pytestmark = pytest.mark.requires_tool("make")
# A `make` started by a test must not take itself for part of the `make test` around it.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}


README = commands_of((Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8"))


def run(root, *command):
    return subprocess.run(
        command, cwd=root, env=ENVIRONMENT, capture_output=True, encoding="utf-8", timeout=120
    )


def test_commands_are_found_and_comments_are_not():
    text = "a\n```sh\n# head\nmake demo   # all\n\nmake x\n```\n```\nno command\n```\n"
    assert commands_of(text) == ["make demo", "make x"]


def test_readme_starts_with_the_two_commands():
    assert README[:2] == ["make demo", "make test"]


def test_readme_claims_of_leaks_and_pretraining_only_what_is_checked(root):
    text = " ".join((root / "README.md").read_text(encoding="utf-8").split())
    editions = pinned.load().editions.values()
    exempt = [
        e.name for e in editions if not any(".pretrain.params" in n for n in e.required_files)
    ]
    names = f", except in the edition `{exempt[0]}`" if exempt else ""
    assert f"**Points for accuracy require pretraining**{names}" in text and len(exempt) <= 1
    assert "any part of a solution" not in text
    assert "`tools/leaks/__init__.py` lists what it looks for" in text


def test_every_fenced_block_says_what_it_holds(root):
    # A block without a language would hide its commands from this file.
    for file in (root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").glob("*.md")):
        fences = re.findall(r"^ *```(\S*)$", file.read_text(encoding="utf-8"), re.M)
        assert set(fences[::2]) <= {"sh", "text", "diff", "mermaid"} and set(fences[1::2]) <= {""}


@pytest.mark.parametrize("command", sorted(set(README)))
def test_command_is_known(command):
    assert command in RUN | ELSEWHERE.keys() | DRY.keys(), "add how it is tested to a table above"


@pytest.mark.parametrize("command", sorted(RUN))
def test_command_runs(root, command):
    if not (root / ".venv" / ".stamp").is_file():
        pytest.skip("run `make setup` first, or it would run as part of each command")
    result = run(root, *command.split())
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("command", sorted(DRY))
def test_command_names_a_target_and_modules_that_exist(root, command):
    result = run(root, "make", "-n", *command.split()[1:])
    assert result.returncode == 0, result.stderr
    for module in re.findall(r"-m tools\.(\w+)", result.stdout):
        files = (root / "tools" / f"{module}.py", root / "tools" / module / "__main__.py")
        assert any(file.is_file() for file in files), f"tools/{module}.py is missing"
    for script in re.findall(r"python (src/\w+\.py)", result.stdout):
        assert (root / script).is_file(), f"{script} is missing"


@pytest.mark.parametrize("command, test", sorted(ELSEWHERE.items()))
def test_test_that_runs_the_command_exists(root, command, test):
    file, name = test.split("::")
    tree = ast.parse((root / "tests" / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_no_command_is_listed_twice_or_in_vain():
    listed = [*RUN, *ELSEWHERE, *DRY]
    assert len(listed) == len(set(listed))
    assert set(listed) <= set(README), "listed above, but no longer in README.md"
