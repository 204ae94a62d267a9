"""Installing real course files: what is rejected, what is repaired, what is only reported."""

from pathlib import Path

import pytest

from tools import datafiles, install_data
from tools.datafiles import DataError
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


def notes_on(source: Path, root: Path) -> str:
    """Return all notes on a folder, in one string."""
    return "\n".join(install_data.prepare(source, root).notes)


def test_sound_files_are_copied_byte_for_byte(source, root):
    assert install_data.main([str(source), "--out", str(root)]) == 0
    for file in ("wiki.txt", *PEOPLE):
        assert (root / "src/data" / file).read_bytes() == (source / file).read_bytes()


def test_the_installed_data_set_is_named_real(source, root):
    assert install_data.main([str(source), "--out", str(root)]) == 0
    assert (root / datafiles.DATASET).read_bytes() == b'{"name": "real"}\n'


def test_sound_files_get_no_complaint(source, root):
    assert notes_on(source, root).splitlines() == [
        "birth_unseen_inputs.tsv: invented 50 names",
        "there are no answers to the test questions, so test can't be scored",
    ]


def test_a_summary_is_printed(source, root, capsys):
    assert install_data.main([str(source), "--out", str(root)]) == 0
    output = capsys.readouterr().out
    assert "3 in birth_places_train.tsv, 1 in birth_dev.tsv, 2 in birth_test_inputs" in output
    assert "corpus   7 lines" in output
    assert "London is 33.3% of train, 100.0% of dev" in output


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


def test_invented_people_are_the_same_each_time(source, root):
    first, second = (install_data.prepare(source, root).texts for _ in range(2))
    assert first[datafiles.UNSEEN_INPUTS] == second[datafiles.UNSEEN_INPUTS]


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
    output = capsys.readouterr().out
    assert "solutions/data/birth_test.tsv belonged to another data set" in output
    assert output.count("kept: solutions/data/") == 3


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
    assert f"{file}: removed the byte-order mark" in "\n".join(made.notes)
    assert f"{file}: converted Windows line endings" in "\n".join(made.notes)


def test_missing_newline_at_a_tables_end_is_added(source, root):
    path = source / "birth_dev.tsv"
    path.write_bytes(path.read_bytes()[:-1])
    made = install_data.prepare(source, root)
    assert made.texts[datafiles.DEV] == table(PEOPLE["birth_dev.tsv"])
    assert "birth_dev.tsv: added the newline missing" in "\n".join(made.notes)


@pytest.mark.parametrize(
    ("file", "extra", "note"),
    [
        (
            "birth_places_train.tsv",
            [("Cy Day", "Lima")],
            "birth_places_train.tsv: people who occur more than once: 1 (Cy Day)",
        ),
        (
            "birth_places_train.tsv",
            [("Cy Day", "London")],
            "of these, people with different birth places: 1 (Cy Day)",
        ),
        (
            "birth_dev.tsv",
            [(f"No {name}", "Lima") for name in ("Al", "Bo", "Cy", "Di")],
            "whose places can only be guessed: 4 (No Al, No Bo, No Cy, ...)",
        ),
        (
            "birth_dev.tsv",
            [("Ada Öz", "Łódź")],
            "people both in birth_places_train.tsv and in birth_dev.tsv: 1 (Ada Öz)",
        ),
        (
            "birth_test_inputs.tsv",
            [("Di Ek", None)],
            "people both in birth_dev.tsv and in birth_test_inputs.tsv: 1 (Di Ek)",
        ),
    ],
)
def test_unclean_data_is_installed_and_reported(source, root, file, extra, note):
    append(source / file, table(extra))
    assert note in notes_on(source, root)


def test_the_same_answer_twice_is_no_contradiction(source, root):
    append(source / "birth_places_train.tsv", table([("Cy Day", "Lima")]))
    assert "different birth places" not in notes_on(source, root)


def test_unseen_people_who_do_occur_are_reported(source, root):
    (source / "birth_unseen_inputs.tsv").write_bytes(b"Where was Cy Day born?\n")
    assert "people who do occur elsewhere: 1 (Cy Day)" in notes_on(source, root)


@pytest.mark.parametrize(
    ("file", "text", "where", "words"),
    [
        ("birth_dev.tsv", "Where was A B born?\n", ":2", "got 1 columns"),
        ("birth_dev.tsv", "Where was A B born?\tLima\tPeru\n", ":2", "got 3 columns"),
        ("birth_dev.tsv", "Where was A B born?\t\n", ":2", "expected 'Where was NAME born?<TAB>"),
        ("birth_dev.tsv", "Where was A B born?\tLima \n", ":2", "expected 'Where was NAME"),
        ("birth_dev.tsv", "Where is A B?\tLima\n", ":2", "expected 'Where was NAME"),
        ("birth_dev.tsv", "Where was  born?\tLima\n", ":2", "expected 'Where was NAME"),
        ("birth_dev.tsv", "\n", ":2", "got 1 columns ('')"),
        ("birth_dev.tsv", "Where was A B born?\tTōkyō\n", ":2", "'ō' does not occur in wiki.txt"),
        ("birth_test_inputs.tsv", "Where was A B born?\tLima\n", ":3", "got 2 columns"),
        ("wiki.txt", "\nA □ in a text.", ":8", "stand for the mask and the padding"),
    ],
)
def test_broken_lines_are_refused_with_file_and_line(source, root, file, text, where, words):
    append(source / file, text)
    with pytest.raises(DataError) as error:
        install_data.prepare(source, root)
    assert f"{source / file}{where}: " in str(error.value)
    assert words in str(error.value)


def test_another_encoding_is_refused_with_file_and_line(source, root):
    path = source / "birth_places_train.tsv"
    path.write_bytes(path.read_bytes() + "Where was A B born?\tOrléans\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"birth_places_train.tsv:4: byte 0xe9 is not UTF-8"):
        install_data.prepare(source, root)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([("Ed Fry", "Lima")], "got 1 answers, expected 2"),
        ([("Flo Gie", "Lima"), ("Ed Fry", "Lima")], ":1: got 'Flo Gie', expected 'Ed Fry'"),
    ],
)
def test_answers_to_other_questions_are_refused(source, root, answers, words):
    (source / "birth_test.tsv").write_bytes(table(answers).encode())
    with pytest.raises(DataError) as error:
        install_data.prepare(source, root)
    assert words in str(error.value)


@pytest.mark.parametrize("file", ["wiki.txt", *PEOPLE])
def test_a_missing_or_empty_file_is_refused(source, root, file):
    (source / file).write_bytes(b"")
    with pytest.raises(DataError, match=f"{file}: expected text, found an empty file"):
        install_data.prepare(source, root)
    (source / file).unlink()
    with pytest.raises(DataError, match=f"{file}: no such file"):
        install_data.prepare(source, root)


def test_bad_input_gives_one_line_and_exit_code_2_and_changes_nothing(source, root, capsys):
    files = write_world(root, 1, dataset="smoke")
    old = {path: path.read_bytes() for path in files.values()}
    append(source / "birth_test_inputs.tsv", "Who?\n")
    assert install_data.main([str(source), "--out", str(root)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == old


def test_a_folder_that_is_none_is_refused_in_one_line(root, capsys):
    assert install_data.main([str(root / "nowhere"), "--out", str(root)]) == 2
    errors = capsys.readouterr().err
    assert "nowhere: expected a folder" in errors and errors.count("\n") == 1
