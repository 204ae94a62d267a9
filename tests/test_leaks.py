"""The leak check finds what students mustn't get, wherever it hides, and passes on what they do."""

import base64
import io
import json
import subprocess
import zipfile

import pytest
from project import ROOT, python

from tools import leaks, starter, world

# Long enough to be looked for by itself; as of the reference.
LINE = "prefix, masked = text[:start], text[start : start + length]"


@pytest.fixture(scope="module")
def repo(tmp_path_factory):
    """A project with one solution, one hidden test, and a data set."""
    repo = tmp_path_factory.mktemp("repo")
    (repo / "solutions" / "submission").mkdir(parents=True)
    (repo / "solutions" / "submission" / "part.py").write_text(
        "def f(text, start, length):\n"
        "    ### START CODE HERE ###\n"
        f"    {LINE}\n"
        "    a = start + 1\n"
        "    b = a * length\n"
        "    return b\n"
        "    ### END CODE HERE ###\n",
        encoding="utf-8",
    )
    hidden = "def judge(case, got):\n    case.expect(got.mean() > 0.22, 'too small')\n"
    (repo / "solutions" / "hidden.py").write_text(hidden, encoding="utf-8")
    assert world.main(["--dataset", "smoke", "--seed", "123456789012", "--out", str(repo)]) == 0
    return repo


@pytest.fixture(scope="module")
def secrets(repo):
    return leaks.secrets_of(repo)


def zipped(name, content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as writer:
        writer.writestr(name, content)
    return packed.getvalue()


def notebook(text):
    cell = {"cell_type": "code", "outputs": [{"text": ["x\n", text]}], "source": []}
    return json.dumps({"cells": [cell]}).encode()


def test_each_kind_of_leak_is_found(repo, secrets):
    answer = (repo / "solutions/data/birth_test.tsv").read_text(encoding="utf-8").splitlines()[3]
    cases = {
        "a.py": f"if x:\n  {LINE}\n",
        "spaces.py": LINE.replace(" ", "   "),
        "wrapped.tex": LINE.replace(", ", ",\n"),
        "short lines in a row.py": "a = start+1\nb = a*length",
        "hidden.txt": "case.expect(got.mean() > 0.22, 'too small')",
        "answer.md": f"as in {answer}.",
        "seed.toml": "# made with 123456789012",
        "notebook.ipynb": notebook(LINE).decode(),
        "result.json": json.dumps({"output": f'got "x"\n{LINE}'}),
    }
    for name, text in cases.items():
        found = leaks.find(name, text.encode(), secrets)
        assert len(found) == 1 and found[0].startswith(f"{name}: holds solutions/"), (name, found)


def test_zips_in_zips_and_their_comments_are_opened(secrets):
    inner = zipped("deep.txt", LINE)
    found = leaks.find("a.zip", zipped("b.zip", inner), secrets)
    assert found == ["a.zip/b.zip/deep.txt: holds solutions/submission/part.py, line 3"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as writer:
        writer.writestr("x", "")
        writer.comment = LINE.encode()
    assert leaks.find("a.zip", packed.getvalue(), secrets)


def test_compiled_python_is_refused_whatever_it_holds(secrets):
    assert leaks.find("m.pyc", b"\0", secrets) == ["m.pyc: compiled Python"]


def test_harmless_texts_pass(repo, secrets):
    question = (repo / "src/data/birth_test_inputs.tsv").read_text(encoding="utf-8")
    wiki = (repo / "src/data/wiki.txt").read_text(encoding="utf-8")
    for text in (question, wiki, "a = start + 1", "b = a * length", "return b", "12345678901"):
        assert leaks.find("x", text.encode(), secrets) == []
    # What is meant to be unreadable is beyond a comparison of texts.
    assert leaks.find("x", base64.b64encode(LINE.encode()), secrets) == []


def test_what_students_get_today_passes():
    """The starter, as generated, and all of src/ that is committed."""
    secrets = leaks.secrets_of(ROOT)
    assert len(secrets) > 300
    for name, content in starter.starter_files(ROOT).items():
        assert leaks.find(name, content, secrets) == []
    command = ["git", "ls-files", "-z", "src"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode("utf-8").split("\0") if name]
    assert len(files) > 40 and leaks.check(files, secrets) == []


def test_every_exception_is_needed():
    """An exception whose line is gone, or no longer with students, would only hide leaks."""
    text = "".join(
        leaks.squeezed(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "src").rglob("*.py"))
    )
    lines = [line for lines in leaks.ALLOWED.values() for line in lines.splitlines()]
    lines = [leaks.squeezed(line) for line in lines if line.strip()]
    known = {s.text for s in _all_secrets()}
    for line in lines:
        assert line in text, f"{line} is nowhere in src/"
        assert line in known, f"{line} is no line of the solutions"


def _all_secrets():
    before, leaks.ALLOWED = leaks.ALLOWED, {}
    try:
        return leaks.secrets_of(ROOT)
    finally:
        leaks.ALLOWED = before


def test_the_command(repo, tmp_path):
    clean = tmp_path / "clean.txt"
    clean.write_text("nothing", encoding="utf-8")
    assert python(ROOT, "-m", "tools.leaks", str(clean)).returncode == 0
    leaking = python(ROOT, "-m", "tools.leaks", "solutions/hidden.py")
    assert leaking.returncode == 1 and "holds solutions/hidden.py, line" in leaking.stdout
    assert python(ROOT, "-m", "tools.leaks", str(tmp_path / "none")).returncode == 2
