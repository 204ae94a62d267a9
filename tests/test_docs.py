"""The commands of README.md and of docs/ exist; what they promise is what is checked."""

import re
import shlex

import pytest

from autograder.description import load_assignment
from benchmarks import picture
from tests.follow import commands_of
from tests.interpreter import python
from tests.project import ROOT, make
from tools.handout.description import describe
from tools.handout.first_page import time_of, totals, work_in_all

pytestmark = pytest.mark.requires_tool("make")
TEXTS = {
    file.name: file.read_text(encoding="utf-8")
    for file in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"))
}
README = TEXTS["README.md"]
# Pages that tests of their own follow from top to bottom need no dry run.
PAGES = ("README.md", "setting-up.md", "instructor.md", "grading.md", "CONTRIBUTING.md")
COMMANDS = [command for name in PAGES for command in commands_of(TEXTS[name])]
WORKFLOWS = [path.read_text(encoding="utf-8") for path in ROOT.glob(".github/workflows/*.yml")]
COMMANDS += re.findall("run: (make .*)", "".join(WORKFLOWS))
OF_MAKE = {command for command in COMMANDS if "make " in f"{command} " and "=http" not in command}


def test_readme_starts_with_the_two_commands_and_is_short():
    assert commands_of(README) == ["make demo", "make test"]
    assert len(README.split()) <= 750
    assert len(TEXTS["architecture.md"].splitlines()) <= 130


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_to_files_that_exist(page):
    folder = ROOT if page in ("README.md", "CONTRIBUTING.md") else ROOT / "docs"
    links = re.findall(r"\]\(([^)#:]+)\)", TEXTS[page])
    assert [link for link in links if not (folder / link).exists()] == []
    names = re.findall(r"`((?:docs/)?[\w-]+\.md)`", TEXTS[page])
    missing = [n for n in names if not ((folder / n).exists() or (ROOT / n).exists())]
    assert set(missing) <= {"CHANGES.md", "AGENTS.md"}  # in a student's release


@pytest.mark.parametrize("page", TEXTS)
def test_no_page_shows_a_small_seed_of_a_world(page):
    """Somebody may use a seed from an example."""
    assert not re.search(r"(?:world|new[-_]term).*(?:SEED=|--seed )\d", TEXTS[page])


@pytest.mark.parametrize("command", sorted(OF_MAKE))
def test_make_knows_the_target_and_its_variables_and_runs_modules_that_exist(command):
    """`make -n` answers a target without a recipe, or a variable that it doesn't know, with 2."""
    ran = make(ROOT, "-n", "-o", "src/data/dataset.json", *shlex.split(command)[1:])
    assert ran.returncode == 0, ran.stderr
    for module in re.findall(r"-m tools\.(\w+)", ran.stdout):
        files = (ROOT / "tools" / f"{module}.py", ROOT / "tools" / module / "__main__.py")
        assert any(file.is_file() for file in files), f"tools/{module}.py is missing"


def test_the_grader_knows_the_options():
    commands = [command for command in COMMANDS if "src/grader.py" in command]
    known = python(ROOT, "src/grader.py", "--help").stdout
    options = set(re.findall(r"--[\w-]+", " ".join(commands))) - {"--no-sync"}
    assert len(options) > 5 and [option for option in options if option not in known] == []


def test_readme_and_the_table_for_instructors_have_the_figures_of_the_sheets():
    expected, default = [], load_assignment(ROOT).default_edition
    for name in load_assignment(ROOT).editions:
        described = describe(ROOT, name, "world")  # the data set with measured times
        worth = {k: v.split()[0] for k, v in totals(described.edition.questions).items()}
        stated = re.findall(r"([\d.]+) hours? (required|for extra)", work_in_all(described))
        hours = {kind: number for number, kind in stated}
        required, extra = hours["required"], hours.get("for extra")
        training, *_ = time_of(described, *described.questions)
        if name == default:
            points = f"{worth['coding']} for code and {worth['extra']} for written answers"
            assert f"{points} (`{name}`)" in README
            assert f"{required} required and {extra} for extra credit (`{name}`)" in README
        parts = [worth["written"], f"{worth['extra']} extra"]
        answers = ", and ".join(part for part in parts if not part.startswith("0"))
        work = f"{required}, and {extra} for extra credit" if extra else required
        expected.append(f"`{name}` | {worth['coding']} | {answers} | {work} | {training} |")
    rows = re.findall(r"^\| (`\w+`)[^|]*(\|.*)$", TEXTS["instructor.md"], re.MULTILINE)
    assert "\n".join(map(" ".join, rows)) == "\n".join(expected)


def test_the_picture_is_what_its_script_draws_and_is_described_with_its_numbers():
    committed = picture.PICTURE.read_text(encoding="utf-8")
    assert committed == picture.picture(picture.measured()), "run `python -m benchmarks.picture`"
    title = re.search("<title.*?>(.*?)</title>", committed, re.DOTALL)[1]
    alternative = re.search(r"!\[(.*?)\]", README, re.DOTALL)[1]
    numbers = re.findall(r"\d+ %", title)
    assert len(numbers) == 5 and re.findall(r"\d+\s%", alternative) == numbers


def test_workflows_and_forms_have_the_form_that_github_reads():
    workflows, forms = ROOT.glob(".github/workflows/*"), ROOT.glob(".github/ISSUE_TEMPLATE/*.yml")
    for schema, files in (("github-workflows", workflows), ("github-issue-forms", forms)):
        words = ("-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}")
        checked = python(ROOT, *words, *files)
        assert checked.returncode == 0, checked.stdout + checked.stderr
