"""Installing real course files: what is rejected, what is repaired, what is only reported."""

import re
from pathlib import Path

import pytest

from tests.project import append, contents, write_files
from tests.snapshots import check
from tools import datafiles, install_data, world

PEOPLE = {
    "birth_places_train.tsv": [("Ada Öz", "Łódź"), ("Ben Fox", "London"), ("Cy Day", "Lima")],
    "birth_dev.tsv": [("Di Ek", "London")],
    "birth_test_inputs.tsv": [("Ed Fry", None), ("Flo Gie", None)],
}
DEV = "birth_dev.tsv"
# The second line gives the corpus the characters that 50 invented names need.
ALPHABET = "Where? ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz"


def table(people) -> str:
    return "".join(
        f"Where was {name} born?" + (f"\t{place}" if place else "") + "\n" for name, place in people
    )


ANSWERS = table([("Ed Fry", "Lima"), ("Flo Gie", "London")]).encode()


@pytest.fixture
def source(tmp_path) -> Path:
    """Return a folder of tiny, valid course files; like the real one, wiki.txt ends abruptly."""
    everyone = [name for rows in PEOPLE.values() for name, _ in rows]
    wiki = "\n".join([f"{name}. {name} was born in Łódź ." for name in everyone] + [ALPHABET])
    tables = {file: table(people) for file, people in PEOPLE.items()}
    return write_files(tmp_path / "course", tables | {"wiki.txt": wiki})


@pytest.fixture
def project(tmp_path) -> Path:
    """An empty project folder to install in."""
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def install(source: Path, project: Path) -> dict[str, bytes]:
    """Install the course's files; return those that are then in the project, but for archives."""
    assert install_data.main([str(source), "--out", str(project)]) == 0
    return {n: c for n, c in contents(project).items() if not n.startswith(datafiles.ARCHIVE)}


def test_sound_files_are_copied_byte_for_byte_and_unseen_people_are_invented(source, project):
    installed = install(source, project)
    for file in ("wiki.txt", *PEOPLE):
        assert installed[f"src/data/{file}"] == (source / file).read_bytes()
    unseen = installed[datafiles.UNSEEN_INPUTS].decode().splitlines()
    names = [line.removeprefix("Where was ").removesuffix(" born?") for line in unseen]
    assert len(set(names)) == 50
    corpus = installed[datafiles.WIKI].decode()
    assert not any(name in text for name in names for text in (corpus, table(PEOPLE[DEV])))
    assert set("".join(names)) <= set(corpus)
    append(source / "wiki.txt", f"\n{names[0]} was born .")  # so nobody else is called that
    assert names[0] not in install(source, project)[datafiles.UNSEEN_INPUTS].decode()


def test_unseen_people_and_answers_that_are_given_are_kept_and_answers_are_secret(source, project):
    given = {"birth_unseen_inputs.tsv": b"Where was Gil Hay born?\n", "birth_test.tsv": ANSWERS}
    for name, content in given.items():
        (source / name).write_bytes(content)
    installed = install(source, project)
    assert installed[datafiles.UNSEEN_INPUTS] == given["birth_unseen_inputs.tsv"]
    assert {n for n, content in installed.items() if content == ANSWERS} == {datafiles.TEST_ANSWERS}
    # Without answers, those to the same questions stay; others to these move to the archive.
    (source / "birth_test.tsv").unlink()
    assert install(source, project)[datafiles.TEST_ANSWERS] == ANSWERS
    other = ANSWERS.replace(b"Lima", b"London")
    (source / "birth_test.tsv").write_bytes(other)
    assert install(source, project)[datafiles.TEST_ANSWERS] == other
    (archived,) = (project / datafiles.ARCHIVE).rglob("birth_test.tsv")
    assert archived.read_bytes() == ANSWERS


# What is appended to a file.
UNCLEAN = {
    "birth_places_train.tsv": [("Cy Day", "Lima"), ("Ada Öz", "London")],
    "birth_dev.tsv": [(name, "Lima") for name in ("No Al", "No Bo", "No Cy", "No Di", "Cy Day")],
    "birth_test_inputs.tsv": [("Di Ek", None), ("Ada Öz", None)],
}


def test_what_is_repaired_or_unclean_is_installed_and_reported(source, project, capsys):
    found = {}

    def installed(title: str) -> None:
        assert install_data.main([str(source), "--out", str(project)]) == 0
        found[title] = capsys.readouterr().out

    installed("sound")
    path = source / "birth_places_train.tsv"
    append(path, table([("Cy Day", "Lima")]))
    installed("the same answer twice")
    for file, people in UNCLEAN.items():
        append(source / file, table(people))
    installed("people who occur twice, or not in wiki.txt")
    (source / "birth_unseen_inputs.tsv").write_bytes(b"Where was Cy Day born?\n")
    installed("unseen people who do occur")
    clean = path.read_bytes()
    path.write_bytes(b"\xef\xbb\xbf" + clean.rstrip().replace(b"\n", b"\r\n"))
    installed("a file of Windows")
    assert (project / "src/data" / path.name).read_bytes() == clean
    datafiles.write_all(project, world.make_world(1, dataset="smoke"))
    installed("answers of another data set")
    dated = re.compile(r"(archive/)[^/\s]+")
    found = {title: dated.sub(r"\1DATE", text) for title, text in found.items()}
    check("install_data", found, {str(project): "PROJECT", str(source): "COURSE"})


# What is appended to a file, which is then at least these lines.
BROKEN = {
    "one column": (DEV, b"Where was A B born?\n"),
    "no place": (DEV, b"Where was A B born?\t\n"),
    "a place that ends in a space": (DEV, b"Where was A B born?\tLima \n"),
    "another question": (DEV, b"Where is A B?\tLima\n"),
    "a character not in wiki.txt": (DEV, "Where was A B born?\tTōkyō\n".encode()),
    "inputs with an answer": ("birth_test_inputs.tsv", b"Where was A B born?\tLima\n"),
    "a character for the mask": ("wiki.txt", "\nA □ in a text.".encode()),
    "not UTF-8": ("birth_places_train.tsv", "Where was A B born?\tOrléans\n".encode("latin-1")),
    "too few answers": ("birth_test.tsv", ANSWERS.splitlines(keepends=True)[0]),
    "answers to other questions": (
        "birth_test.tsv",
        b"".join(reversed(ANSWERS.splitlines(keepends=True))).replace(b"London", b"Lima"),
    ),
}


def test_what_cannot_be_installed_is_one_line_and_changes_nothing(source, project, capsys):
    datafiles.write_all(project, world.make_world(1, dataset="smoke"))
    old = contents(project)
    found = {}

    def refused(title: str, folder: Path = source) -> None:
        assert install_data.main([str(folder), "--out", str(project)]) == 2
        found[title] = capsys.readouterr().err
        assert found[title].count("\n") == 1
        assert contents(project) == old

    for title, (file, extra) in BROKEN.items():
        path = source / file
        before = path.read_bytes() if path.exists() else b""
        path.write_bytes(before + extra)
        refused(title)
        path.write_bytes(before)
        if not before:
            path.unlink()
    for file in ("wiki.txt", DEV):
        before = (source / file).read_bytes()
        (source / file).write_bytes(b"")
        refused(f"{file} is empty")
        (source / file).unlink()
        refused(f"no {file}")
        (source / file).write_bytes(before)
    refused("no folder", project / "nowhere")
    check("install_data_refused", found, {str(project): "PROJECT", str(source): "COURSE"})
