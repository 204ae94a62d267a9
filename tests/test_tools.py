"""`python -m tools.NAME`: wrong usage, or a missing data set or package, is one line."""

import os
import threading

import pytest

from tests.interpreter import python
from tests.project import ROOT, copy_of_the_project
from tests.redteam.arena import slowness
from tests.snapshots import check
from tools import autograder, container, datafiles, reference, starter
from tools.arguments import Failed

COMMANDS = {
    path.relative_to(ROOT / "tools").parts[0].removesuffix(".py")
    for pattern in ("*.py", "*/__main__.py")
    for path in (ROOT / "tools").glob(pattern)
    if '"__main__":' in path.read_text(encoding="utf-8")
} - {"make"}
NEED_DATA = ("autograder", "demo", "reference", "release", "staff_model", "student")
HAVE_EDITIONS = (
    *("autograder", "emulate src/submission", "experiments no/such", "handout", "leaks README.md"),
    *("reference", "release", "rubrics --into=new", "student", "viva no/such"),
)
HAVE_RECIPES = ("autograder", "demo", "reference", "release")


# Commands, one a line, in one process.
SCRIPT = """
import contextlib, io, runpy, sys
sys.path.insert(0, "")
for line in sys.stdin.read().splitlines():
    name, *words = line.split("\t")
    sys.argv, code, out, err = [name, *words], 0, io.StringIO(), io.StringIO()
    sys.modules.pop(f"tools.{name}", None)  # another command has imported it
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            runpy.run_module(f"tools.{name}", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code
    if code == 2 and not out.getvalue() and err.getvalue().count("\\n") == 1:
        print(err.getvalue(), end="")
    else:
        print(f"exit {code}", repr(out.getvalue()), repr(err.getvalue()))
"""


def answers(tree, calls) -> dict[str, str]:
    """Run commands, each of which must end with one line and write nothing; return the lines."""
    before = {path for path in tree.rglob("*") if "__pycache__" not in path.parts}
    lines = "".join("\t".join(call) + "\n" for call in calls)
    ran = python(tree, "-c", SCRIPT, input=lines, stdin=None)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = ran.stdout.splitlines(keepends=True)
    assert all(line.startswith(("error: ", "classroom: ")) for line in said), ran.stdout
    assert {path for path in tree.rglob("*") if "__pycache__" not in path.parts} == before
    return {" ".join(call): line for call, line in zip(calls, said, strict=True)}


def test_wrong_usage_and_a_missing_data_set_are_one_line(tmp_path):
    assert len(COMMANDS) >= 20
    bare = copy_of_the_project(tmp_path)  # without a data set or builds
    unknown = [(name, "--papers=a4") for name in sorted(COMMANDS)]
    calls = [(*command.split(), "--edition=nope") for command in HAVE_EDITIONS]
    calls += [(command, "--recipe=nope") for command in HAVE_RECIPES]
    found = answers(bare, [*unknown, *calls, *((name,) for name in NEED_DATA)])
    assert all("--help)" in found[" ".join(call)] for call in unknown)
    check("tools_usage", {" ".join(call): found[" ".join(call)] for call in calls})
    lacking = {name: found[name] for name in NEED_DATA}
    (bare / "src/data").mkdir()
    for name in {*datafiles.SHIPPED} - {datafiles.DEV}:
        (bare / name).touch()
    lacking["reference, without one file"] = answers(bare, [("reference",)])["reference"]
    check("tools_without_data", lacking, {str(bare): "PROJECT"})


def test_a_missing_package_is_one_line_with_a_command(tmp_path):
    few = {key: value for key, value in os.environ.items() if key in ("PATH", "SYSTEMROOT")}
    words = ("-S", "-E", "-s", "-m", "tools.release")  # without installed packages
    ran = python(copy_of_the_project(tmp_path), *words, env=few)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.startswith("error: this Python (") and ran.stderr.count("\n") == 1
    assert " has no " in ran.stderr and "`make setup` creates .venv" in ran.stderr


def test_checkpoints_of_other_code_are_not_gone_on_with(tmp_path):
    text = '{"fingerprint": "same", "finished": {}}'
    (tmp_path / reference.STATE).write_text(text, encoding="utf-8")
    checkpoint = tmp_path / "vanilla.pretrain.params.checkpoint"
    checkpoint.touch()
    reference.Finished(tmp_path, "same", "laptop")
    assert checkpoint.exists()
    reference.Finished(tmp_path, "of other code", "laptop")
    assert not checkpoint.exists()


@pytest.mark.parametrize("failing", ["reference", "starter"])
def test_if_one_proof_fails_the_other_one_ends(tmp_path, monkeypatch, failing):
    stopped = threading.Event()

    def prove(repo, edition, zipped, submission, *_):
        if submission.stem == failing:
            raise Failed(f"{failing} failed")
        assert stopped.wait(60 * slowness())
        raise Failed("was stopped")

    for module, name in ((autograder, "contents"), (starter, "package_of")):
        monkeypatch.setattr(module, name, lambda *_: {})
    monkeypatch.setattr(autograder, "_prove", prove)
    monkeypatch.setattr(container, "stop", stopped.set)
    with pytest.raises(Failed, match=f"^{failing} failed$"):
        autograder.build(ROOT, "xcs224n", tmp_path, tmp_path / "dist", upload=b"")
    assert stopped.is_set() and list((tmp_path / "dist").iterdir()) == []
