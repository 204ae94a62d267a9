"""The starter is the reference without its solutions; if there is any fault, nothing is written."""

import gc
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from autograder.description import load_assignment
from tests.project import contents, copy_of_the_project
from tools import regions, starter
from tools.regions import END, START

NAME = "solutions/submission/toy.py"
TRUTH = '''\
"""A toy. Students write between ### START CODE HERE ### and ### END CODE HERE ###."""

LIMIT = 4  # the line ### START CODE HERE ### comes below

### START CODE HERE ###
SECRET = 41 + 1
### END CODE HERE ###


class Toy:
    ### START CODE HERE ###
    secret = 43
    ### END CODE HERE ###

    def double(self, number):
        """Twice the number.

        ### START CODE HERE ###
        """
        # Only what stands between START CODE HERE and END CODE HERE is yours.
        # Start from the last layer: here the code of the paper differs.
        # End of the document.
        #!/usr/bin/env python3
        # [corruption]
        # Hint: add it to itself.
        ### START CODE HERE ###
        result = number + number

        return result
        ### END CODE HERE ###

    def halve(self, number):
        if number % 2 == 0:
            ### START CODE HERE ###
            return number // 2
            ### END CODE HERE ###
        return None
'''
TO_WRITE = 'raise NotImplementedError("{} in submission/toy.py is yours to write")'
STARTER = TRUTH
for before, after in {
    "SECRET = 41 + 1": "pass",
    "secret = 43": "pass",
    "result = number + number\n\n        return result": TO_WRITE.format("[corruption] Toy.double"),
    "return number // 2": TO_WRITE.format("Toy.halve"),
}.items():
    STARTER = STARTER.replace(before, after)


MISSPELT = [
    # Any comment that begins with two of #.
    "### BEGIN SOLUTION ###",
    "## start code here ##",
    # A short one with the words.
    "# YOUR CODE HERE",
    "# end of code here",
    # One that begins like a marker.
    "# START CODE HER",
    "# STARTCODE HERE: the answer follows in these lines and goes on and on",
    "# END CODE",
    "# STOP CODE HERE",
]
# What is wrong in a function's body, and what is said of it.
FAULTS = [
    (f"{START}\n    x = 1", ":2: START without an END"),
    (f"x = 1\n    {END}", ":3: END without a START"),
    (f"{START}\n    {START}\n    x = 1\n    {END}\n    {END}", ":3: START inside the region"),
    (f"{START}\n    # only a hint\n    {END}", ":2: the region contains no statement"),
    (f"x = 1  {START}\n    {END}", ":2: marker after code"),
    (f"x = [\n    {START}\n    1,\n    {END}\n    ]", ":3: the region contains no statement"),
    (f"{START}\n    x = 1\n        {END}", ":4: END is indented by 8"),
    (
        f"if 1:\n        x = 1\n    {START}\n        y = 2\n    {END}",
        ":4: the region's line 5 isn't indented",
    ),
    (f"{START}\n    x = [\n    {END}\n    ]", ":2: the region's end cuts the statement of line 3"),
    (
        f"if 1:\n        {START}\n        x = 1\n    else:\n        y = 2\n        {END}\n",
        ":3: the region spans several blocks",
    ),
    (
        f"@wraps\n    {START}\n    def g():\n        pass\n    {END}",
        ", stripped:4: not valid Python",
    ),
    # Beside a valid region, too.
    *((f"{START}\n    x = 1\n    {END}\n    {each}", f":5: {each!r} looks") for each in MISSPELT),
]


def test_only_an_edition_that_asks_for_rope_has_its_functions(tmp_path):
    tree = copy_of_the_project(tmp_path)
    for edition, count in (("xcs224n", 0), ("current", 6)):
        for modules in (starter.package_of(tree, edition), starter.reference_of(tree, edition)):
            text = b"".join(modules.values()).decode("utf-8")
            assert len(re.findall(r"# \[rope\]|def \w*(?:rope|rotary)\w*\(", text)) == count
            assert "def initialize_synthesizer_model" in text and "# <" not in text
        variants = json.loads(starter.edition_file(tree, edition))["variants"]
        assert ("rope" in variants) == bool(count)


@pytest.fixture
def project(tmp_path):
    truth = tmp_path / "solutions" / "submission"
    truth.mkdir(parents=True)
    (truth / "toy.py").write_text(TRUTH, encoding="utf-8")
    (truth / "all.py").write_text("ALL = 'é'\n", encoding="utf-8")
    return tmp_path


def test_the_starter_is_written_and_a_stale_one_names_what_to_edit_and_to_run(project, capsys):
    given = {
        "src/submission/model.py": b"MODEL = 1\n",  # without an original, and without markers
        "src/submission/vanilla.params": b"trained",
    }
    (project / "src/submission").mkdir(parents=True)
    for name, content in given.items():
        (project / name).write_bytes(content)
    (project / "src/submission/old.py").write_text(STARTER, encoding="utf-8")  # had an original
    assert starter.main(["--check"], project) == 1
    assert starter.main([], project) == 0
    written = {n: c for n, c in contents(project).items() if n.startswith("src/")}
    generated = {"toy.py": STARTER.encode(), "all.py": "ALL = 'é'\n".encode()}
    assert written == given | {f"src/submission/{name}": c for name, c in generated.items()}
    assert starter.main(["--check"], project) == 0

    edited, source = "src/submission/toy.py", "solutions/submission/toy.py"
    (project / edited).write_text("x = 1\n", encoding="utf-8")
    before = contents(project)
    capsys.readouterr()
    assert starter.main(["--check"], project) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert edited in line and f"edit {source}" in line and line.endswith("run: make starter")
    assert contents(project) == before


def test_any_fault_exits_2_with_its_line_and_nothing_is_written(project, capsys):
    starter.main([], project)
    (project / "solutions/submission/all.py").write_text("ALL = 2\n", encoding="utf-8")
    contents_of = {
        f"solutions/submission/z{number}.py": f"def f():\n    {body}\n    return 0\n".encode()
        for number, (body, _) in enumerate(FAULTS)
    }
    said = [name + words for name, (_, words) in zip(contents_of, FAULTS, strict=True)]
    contents_of["solutions/submission/latin.py"] = b"# \xe9\n"
    said.append("solutions/submission/latin.py: not UTF-8 at byte 2")
    for name, content in contents_of.items():
        (project / name).write_bytes(content)
    before = contents(project)
    capsys.readouterr()
    for option in ([], ["--check"]):
        assert starter.main(option, project) == 2
        captured = capsys.readouterr()
        assert [line for line in said if line not in captured.err] == [] and not captured.out
        assert contents(project) == before


def test_each_region_of_the_starter_raises_for_a_named_topic(root):
    editions = load_assignment(root).editions.values()
    topics = {question.topic for edition in editions for question in edition.questions}
    texts = [path.read_text(encoding="utf-8") for path in (root / starter.STARTER).glob("*.py")]
    regions = re.findall(f"{START}\n(.*?)\n *{END}", "".join(texts), re.DOTALL)
    assert len(regions) > 10
    for region in regions:
        raised = r' *raise NotImplementedError\(\s*"\[([^"]*)\] .* is yours to write"\s*\)'
        assert re.fullmatch(raised, region, re.DOTALL)[1].replace(" ", "_") in topics


def test_several_threads_may_parse_at_once():
    """Garbage collection in the midst of it lets another thread run, as in `make release`."""

    def give_way(*_):
        time.sleep(0.0001)

    before = gc.get_threshold()
    gc.set_threshold(50)
    gc.callbacks.append(give_way)
    try:
        with ThreadPoolExecutor(4) as pool:
            deep = "x = " + "-" * 50 + "1\n"
            trees = [*pool.map(regions.parse, [deep * 20] * 40, [NAME] * 40)]
    finally:
        gc.callbacks.remove(give_way)
        gc.set_threshold(*before)
    assert {len(tree.body) for tree in trees} == {20}
