"""The leak check finds secrets, wherever they hide, and passes the files that students get."""

import base64
import json
import py_compile
import random
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from tests.interpreter import python
from tests.leaks.leaking import CODE, LINE, SCRIPT, SEED, in_utf16, notebook, pdf, zipped
from tests.project import ROOT
from tools import leaks, starter
from tools.leaks import allowed, kept, search

# ---------------------------------------------------------------- texts, zips, compiled code


def test_each_kind_of_leak_is_found(secrets, answer):
    cases = {
        "a.py": f"if x:\n  {LINE}\n",
        "spaces.py": LINE.replace(" ", "   "),
        "wrapped.tex": LINE.replace(", ", ",\n"),
        "short lines in a row.py": "a = start+1\nb = a*length",
        "hidden.txt": "case.expect(got.mean() > 0.22, 'too_small')",
        "typeset.txt": "case.expect(got.mean() > 0.22, \u2019too_small\u2019)",
        "escaped.tex": r"\code{case.expect(got.mean() > 0.22, 'too\_small')}",
        "answer.md": f"as in {answer[0]}\t{answer[1]}.",
        "pairs.txt": str([tuple(answer)]),
        "seed.toml": f"# made with {SEED}",
        "result.json": json.dumps({"output": f'got "x"\n{LINE}'}),
        "lines.log": json.dumps("    a = start + 1\n    b = a * length")[1:],
        "quotes.log": json.dumps("return case.arguments('--seed', '--mask', '\u2047')")[1:],
        "dashes.md": "return case.arguments('\u2013seed', '\u2013mask', '\u2047')",
        "typeset.bin": b"\0\1\2" + "case.expect(got.mean() > 0.22, \u2019too_small\u2019)".encode(),
        "utf-16.txt": LINE.encode("utf-16"),
        "script.py": SCRIPT[90:243],
    }
    for name, text in cases.items():
        content = text if isinstance(text, bytes) else text.encode()
        found = leaks.find(name, content, secrets)
        assert len(found) == 1 and ": holds solutions/" in found[0], (name, found)
        assert found[0].startswith(name), found


def test_zips_in_zips_their_names_and_comments_are_opened(secrets):
    inner = zipped("deep.txt", LINE)
    assert leaks.find("a.zip", zipped("b.zip", inner), secrets) == [f"a.zip/b.zip/deep.txt: {CODE}"]
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as writer:
        writer.writestr(f"{SEED}.txt", "")
        writer.comment = LINE.encode()
    assert leaks.find("a.zip", packed.getvalue(), secrets) == [
        f"a.zip/{SEED}.txt (name): holds solutions/data/seed.txt",
        f"a.zip (comment): {CODE}",
    ]


def test_what_is_not_to_be_read_is_refused_whatever_it_holds(secrets):
    assert leaks.find("m.pyc", b"\0", secrets) == ["m.pyc: compiled Python"]
    assert "packed with gzip" in leaks.find("a.svgz", b"\x1f\x8b\x08", secrets)[0]
    broken = bytearray(zipped("x.txt", b"y" * 100))
    broken[40] ^= 255
    (found,) = leaks.find("a.zip", bytes(broken), secrets)
    assert found.startswith("a.zip: a zip that can't be read: Bad CRC")


def test_compiled_code_is_passed_only_beside_the_source_it_was_compiled_from(tmp_path, secrets):
    source = tmp_path / "m.py"
    source.write_text("a = 1\n", encoding="utf-8")
    compiled = Path(py_compile.compile(str(source), doraise=True))
    assert compiled.parent == tmp_path / "__pycache__"
    assert search.check([tmp_path], secrets) == []
    problem = [f"{compiled}: compiled Python"]
    assert search.check([compiled], secrets) == problem  # nobody looked at its source
    source.write_text("a = 22\n", encoding="utf-8")
    assert search.check([tmp_path], secrets) == problem
    source.unlink()
    assert search.check([tmp_path], secrets) == problem
    (tmp_path / "other.pyc").write_bytes(compiled.read_bytes())
    compiled.unlink()
    assert search.check([tmp_path], secrets) == [f"{tmp_path / 'other.pyc'}: compiled Python"]


def test_harmless_texts_pass(repo, secrets):
    question = (repo / "src/data/birth_test_inputs.tsv").read_text(encoding="utf-8")
    wiki = (repo / "src/data/wiki.txt").read_text(encoding="utf-8")
    for text in (question, wiki, "a = start + 1", "b = a * length", "return b", SEED[:-1]):
        assert leaks.find("x", text.encode(), secrets) == []
        assert leaks.find("x.ipynb", notebook(text=text), secrets) == []
    # Deliberately obscured text can't be found by comparing texts.
    assert leaks.find("x", base64.b64encode(LINE.encode()), secrets) == []


def test_all_texts_that_contain_a_secret_are_found_and_no_others():
    draw = random.Random(1)
    texts = {"".join(draw.choices("ab", k=draw.randint(8, 30))) for _ in range(300)}
    known = [kept.Secret(text, text) for text in sorted(texts)]
    index = search.Index(known)
    counted = 0
    for _ in range(50):
        text = "".join(draw.choices("ab", k=draw.randint(0, 700)))
        expected = {secret for secret in known if secret.text in text}
        assert index.found(text) == expected
        counted += len(expected)
    assert counted > 100


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(
    "text, path",
    [
        ("see solutions/submission/dataset.py.", "solutions/submission/dataset.py"),
        ("../solutions/hidden/a.py", "solutions/hidden/a.py"),
        ("<b>solutions/</b>data/", "solutions/data"),
        ("solutions/\nwritten", "solutions/written"),
        (r"C:\x\solutions\hidden.py", r"solutions\hidden"),
        (r'x = "solutions\/data"', "solutions/data"),
    ],
)
def test_a_path_among_the_solutions_is_found(secrets, text, path):
    assert leaks.find("a.txt", text.encode(), secrets) == [f"a.txt: names {path}"]
    hidden = leaks.find("a.pdf", pdf(info=f"/Title {in_utf16(text)}"), secrets)
    assert hidden == [f"a.pdf (metadata): names {path}"]


def test_a_file_from_the_solutions_is_found_by_its_name(secrets, tmp_path):
    packed = zipped("x/solutions/data/", b"")
    assert leaks.find("a.zip", packed, secrets) == [
        "a.zip/x/solutions/data/ (name): names solutions/data"
    ]
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "a.py").touch()
    (found,) = leaks.check([tmp_path], secrets)
    assert found.endswith("a.py (name): names solutions/a.py")


def test_the_folder_alone_or_another_of_that_name_is_no_path(secrets):
    for text in (
        "`solutions/`",
        "with_solutions/sheet.pdf",
        "solutions/, which",
        r"with solutions\footnote{x}",
        "solutions / 2",
    ):
        assert leaks.find("a.txt", text.encode(), secrets) == []


def test_a_path_is_allowed_in_its_file_only(secrets):
    text = b"judged by solutions/hidden/"
    assert leaks.find("/x/src/grading/cases.py", text, secrets) == []
    assert leaks.find("a.zip/src/grading/cases.py", text, secrets) == []
    assert leaks.find("other/cases.py", text, secrets)
    assert leaks.find("src/grading/cases.py", b"solutions/hidden/a.pyc", secrets)


# ---------------------------------------------------------------- the project as it is


def committed(*names):
    command = ["git", "ls-files", "-z", *names]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = [ROOT / name for name in listed.decode("utf-8").split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_what_students_get_today_passes():
    """The starter, as generated, and what is committed for students."""
    secrets = leaks.secrets_of(ROOT)
    assert len(secrets) > 300
    made = starter.starter_files(ROOT) | starter.starter_package(ROOT)
    for name, content in made.items():
        assert leaks.find(name, content, secrets) == []
    files = committed("src", "assignment.toml", "handout", "mingpt-demo")
    assert len(files) > 40 and leaks.check(files, secrets) == []


def test_every_exception_is_needed():
    """An exception whose line is gone, or no longer given to students, would only hide leaks."""
    paths = committed("src", "handout")
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    read = {leaks.squeezed: leaks.squeezed(text), leaks.letters: leaks.letters(text)}
    secrets = leaks.secrets_of(ROOT, allowed={})
    known = {
        False: {s.text for s in secrets if not s.prose},
        True: {s.text for s in secrets if s.prose},
    }
    for line in (line for lines in allowed.ALLOWED.values() for line in lines.splitlines()):
        if not line.strip():
            continue
        forms = [f for f in read if f(line) in known[f is leaks.letters]]
        assert forms, f"{line} is not searched for at all"
        assert any(f(line) in read[f] for f in forms), f"{line} is in no file for students"
    for files in allowed.PATHS.values():
        for name, path in files.items():
            assert path in (ROOT / name).read_text(encoding="utf-8"), f"{name} does not name {path}"


def test_the_command(tmp_path):
    clean = tmp_path / "clean.txt"
    clean.write_text("nothing", encoding="utf-8")
    assert python(ROOT, "-m", "tools.leaks", str(clean)).returncode == 0
    leaking = python(ROOT, "-m", "tools.leaks", "solutions/hidden/training.py")
    assert leaking.returncode == 1 and "holds solutions/hidden/training.py, line" in leaking.stdout
    for wrong in ([], [str(tmp_path / "none")]):
        refused = python(ROOT, "-m", "tools.leaks", *wrong)
        assert refused.returncode == 2 and refused.stderr.startswith("error: ")
