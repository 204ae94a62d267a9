"""Installing real course files: what is rejected, what is repaired, what is only reported."""

import re
from pathlib import Path

import pytest

from tests.snapshots import check
from tools import datafiles, install_data
from tools.world import write_world

PEOPLE = {
    "birth_places_train.tsv": [("Ada Öz", "Łódź"), ("Ben Fox", "London"), ("Cy Day", "Lima")],
    "birth_dev.tsv": [("Di Ek", "London")],
    "birth_test_inputs.tsv": [("Ed Fry", None), ("Flo Gie", None)],
}
# The second line gives the corpus the characters that 50 invented names need.
ALPHABET = "Where? ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz"


def table(people) -> str:
    """Return a table's text."""
    return "".join(
        f"Where was {name} born?" + (f"\t{place}" if place else "") + "\n" for name, place in people
    )


@pytest.fixture
def source(tmp_path) -> Path:
    """Return a folder of tiny, valid course files; like the real one, wiki.txt ends abruptly."""
    folder = tmp_path / "course"
    folder.mkdir()
    everyone = [name for rows in PEOPLE.values() for name, _ in rows]
    wiki = "\n".join([f"{name}. {name} was born in Łódź ." for name in everyone] + [ALPHABET])
    (folder / "wiki.txt").write_bytes(wiki.encode())
    for file, people in PEOPLE.items():
        (folder / file).write_bytes(table(people).encode())
    return folder


@pytest.fixture
def root(tmp_path) -> Path:
    """An empty project folder to install in."""
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def append(path: Path, text: str) -> None:
    """Append text to a file."""
    path.write_bytes(path.read_bytes() + text.encode())


def test_sound_files_are_copied_byte_for_byte(source, root):
    assert install_data.main([str(source), "--out", str(root)]) == 0
    for file in ("wiki.txt", *PEOPLE):
        assert (root / "src/data" / file).read_bytes() == (source / file).read_bytes()


def test_invented_people_occur_nowhere_and_use_known_characters(source, root):
    texts = install_data.prepare(source, root).texts
    corpus = texts[datafiles.WIKI]
    names = [
        line.removeprefix("Where was ").removesuffix(" born?")
        for line in texts[datafiles.UNSEEN_INPUTS].splitlines()
    ]
    assert len(set(names)) == 50
    assert not any(name in text for name in names for text in (corpus, texts[datafiles.DEV]))
    assert set("".join(names)) <= set(corpus)


def test_given_unseen_people_are_kept(source, root):
    (source / "birth_unseen_inputs.tsv").write_bytes(b"Where was Gil Hay born?\n")
    texts = install_data.prepare(source, root).texts
    assert texts[datafiles.UNSEEN_INPUTS] == "Where was Gil Hay born?\n"


def test_given_answers_go_to_the_solutions_only(source, root):
    answers = table([("Ed Fry", "Lima"), ("Flo Gie", "London")]).encode()
    (source / "birth_test.tsv").write_bytes(answers)
    assert install_data.main([str(source), "--out", str(root)]) == 0
    assert (root / datafiles.TEST_ANSWERS).read_bytes() == answers
    assert not (root / "src/data/birth_test.tsv").exists()


def test_answers_and_seed_of_another_data_set_move_to_the_archive(source, root, capsys):
    write_world(root, 1, dataset="smoke")
    names = (datafiles.TEST_ANSWERS, datafiles.SEED, datafiles.GRADING_SECRET)
    (root / datafiles.GRADING_SECRET).write_text("0" * 64, encoding="utf-8")
    before = {Path(name).name: (root / name).read_bytes() for name in names}
    assert install_data.main([str(source), "--out", str(root)]) == 0
    assert [path.name for path in (root / "solutions/data").iterdir()] == ["archive"]
    (folder,) = (root / datafiles.ARCHIVE).iterdir()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert capsys.readouterr().out.count("kept: solutions/data/") == 3


def test_other_answers_to_the_same_questions_move_the_old_ones_to_the_archive(source, root):
    old, new = (table([("Ed Fry", city), ("Flo Gie", "London")]) for city in ("Lima", "London"))
    for text in (old, new):
        (source / "birth_test.tsv").write_bytes(text.encode())
        assert install_data.main([str(source), "--out", str(root)]) == 0
    assert (root / datafiles.TEST_ANSWERS).read_bytes() == new.encode()
    (archived,) = (root / datafiles.ARCHIVE).rglob("birth_test.tsv")
    assert archived.read_bytes() == old.encode()


def test_answers_to_the_same_questions_are_kept(source, root):
    answers = root / datafiles.TEST_ANSWERS
    answers.parent.mkdir(parents=True)
    answers.write_bytes(table([("Ed Fry", "Lima"), ("Flo Gie", "London")]).encode())
    assert install_data.main([str(source), "--out", str(root)]) == 0
    assert answers.is_file()


@pytest.mark.parametrize("file", ["wiki.txt", "birth_dev.tsv"])
def test_byte_order_mark_and_windows_line_ends_are_mended(source, root, file):
    clean = (source / file).read_bytes()
    (source / file).write_bytes(b"\xef\xbb\xbf" + clean.replace(b"\n", b"\r\n"))
    made = install_data.prepare(source, root)
    assert made.texts[f"src/data/{file}"] == clean.decode()


def test_missing_newline_at_a_tables_end_is_added(source, root):
    path = source / "birth_dev.tsv"
    path.write_bytes(path.read_bytes()[:-1])
    made = install_data.prepare(source, root)
    assert made.texts[datafiles.DEV] == table(PEOPLE["birth_dev.tsv"])


# What is appended to a file.
UNCLEAN = {
    "birth_places_train.tsv": [("Cy Day", "Lima"), ("Ada Öz", "London")],
    "birth_dev.tsv": [(name, "Lima") for name in ("No Al", "No Bo", "No Cy", "No Di", "Cy Day")],
    "birth_test_inputs.tsv": [("Di Ek", None), ("Ada Öz", None)],
}


def test_what_is_repaired_or_unclean_is_installed_and_reported(source, root, capsys):
    found = {}

    def installed(title: str) -> None:
        assert install_data.main([str(source), "--out", str(root)]) == 0
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
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().rstrip().replace(b"\n", b"\r\n"))
    installed("a file of Windows")
    write_world(root, 1, dataset="smoke")
    installed("answers of another data set")
    dated = re.compile(r"(archive/)[^/\s]+")
    found = {title: dated.sub(r"\1DATE", text) for title, text in found.items()}
    check("install_data", found, {str(root): "PROJECT", str(source): "COURSE"})


ORLEANS = "Where was A B born?\tOrléans\n".encode("latin-1")
# What is appended to a file, which is then at least these lines.
BROKEN = {
    "one column": ("birth_dev.tsv", b"Where was A B born?\n"),
    "three columns": ("birth_dev.tsv", b"Where was A B born?\tLima\tPeru\n"),
    "no place": ("birth_dev.tsv", b"Where was A B born?\t\n"),
    "a place that ends in a space": ("birth_dev.tsv", b"Where was A B born?\tLima \n"),
    "another question": ("birth_dev.tsv", b"Where is A B?\tLima\n"),
    "no name": ("birth_dev.tsv", b"Where was  born?\tLima\n"),
    "an empty line": ("birth_dev.tsv", b"\n"),
    "a character not in wiki.txt": ("birth_dev.tsv", "Where was A B born?\tTōkyō\n".encode()),
    "inputs with an answer": ("birth_test_inputs.tsv", b"Where was A B born?\tLima\n"),
    "a character for the mask": ("wiki.txt", "\nA □ in a text.".encode()),
    "not UTF-8": ("birth_places_train.tsv", ORLEANS),
    "too few answers": ("birth_test.tsv", table([("Ed Fry", "Lima")]).encode()),
    "answers to other questions": (
        "birth_test.tsv",
        table([("Flo Gie", "Lima"), ("Ed Fry", "Lima")]).encode(),
    ),
}


def test_what_cannot_be_installed_is_one_line_and_changes_nothing(source, root, capsys):
    files = write_world(root, 1, dataset="smoke")
    old = {path: path.read_bytes() for path in files.values()}
    found = {}

    def refused(title: str, folder: Path = source) -> None:
        assert install_data.main([str(folder), "--out", str(root)]) == 2
        found[title] = capsys.readouterr().err
        assert found[title].count("\n") == 1
        assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == old

    def restored(path: Path, content: bytes | None) -> None:
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content)

    for title, (file, extra) in BROKEN.items():
        path = source / file
        before = path.read_bytes() if path.exists() else None
        path.write_bytes((before or b"") + extra)
        refused(title)
        restored(path, before)
    for file in ("wiki.txt", *PEOPLE):
        before = (source / file).read_bytes()
        (source / file).write_bytes(b"")
        refused(f"{file} is empty")
        (source / file).unlink()
        refused(f"no {file}")
        restored(source / file, before)
    refused("no folder", root / "nowhere")
    check("install_data_refused", found, {str(root): "PROJECT", str(source): "COURSE"})
