"""Whatever a class hands in, and however it is exported, nobody is lost without a note."""

import os

import pytest

from classroom import submissions
from classroom.exports import read_export
from classroom.store import Store
from classroom.submissions import ID, Student
from grading import upload
from grading.errors import SubmissionError, UsageError, safe_line
from grading.staging import MAX_OUTPUT_BYTES, stage
from tests.classroom.contents import RIGHT, UPLOADS, Content, Link, lay, pack, uploaded, zipped

CODE = zipped({"submission/a.py": b"x = 1\n"})


def taken(one, work):
    """Return what the grader takes of a submission, by name, or why it refuses it."""
    work.mkdir(parents=True)
    try:
        with one.upload.tree(work) as top:
            return contents_of(stage(top, work / "staged"))
    except SubmissionError as error:
        assert str(error) and "\n" not in str(error)
        return str(error)


def contents_of(staged):
    files = {name: staged.path(name).read_bytes() for name in staged.taken}
    return files | {str(omission): None for omission in staged.omissions}


def in_order(export, *names):
    """Return the submissions of a plain folder, in the order of these names."""
    found = {one.students[0].name: one for one in export.submissions}
    assert found.keys() == set(names)
    return [found[name] for name in names]


# -- a class ---------------------------------------------------------------------------------------


def test_everybody_comes_out_once_as_it_was_handed_in(made, tmp_path):
    read = {one.id: one for one in read_export(made().source).submissions}
    handed_in = {f"submission_{each.number}": each.content for each in made().submissions}
    assert read.keys() == handed_in.keys() and all(map(ID.fullmatch, read))
    for key, content in handed_in.items():
        found = taken(read[key], tmp_path / key)
        assert isinstance(found, str) == content.refused, content.name
        if not content.refused:
            staged = {n.split("/")[-1]: found[n] for n in found if n.endswith(".py")}
            files = [n for n in content.files if n.endswith(".py") and "__MACOSX" not in n]
            assert staged == {n.split("/")[-1]: content.files[n] for n in files}, content.name
    packed = {one.id: one.upload.pack() for one in read_export(made(True).source).submissions}
    assert packed == {key: one.upload.pack() for key, one in read.items()}


@pytest.mark.parametrize("packed", [False, True])
def test_hostile_uploads_are_kept_and_refused_in_one_line(tmp_path, packed):
    source = tmp_path / "class"
    lay(source / "good", RIGHT)
    for name in UPLOADS:
        lay(source / name, uploaded(name))
    read = in_order(read_export(pack(source) if packed else source), "good", *UPLOADS)
    good, *bad = (taken(one, tmp_path / one.id) for one in read)
    assert good == {"submission/a.py": b"x = 1\n"}
    kept = [name for name, found in zip(UPLOADS, bad, strict=True) if not isinstance(found, str)]
    assert kept == []


# -- names -----------------------------------------------------------------------------------------

ENTRIES = (
    *("ada.zip", "ada", "ada.rar", "byronada_1_2_work.zip", "byronada_late_3_4_work.zip"),
    *("anon_x7Yz1_5_work.zip", "Ada Byron_6_assignsubmission_file_work.zip"),
    *("Ada Byron_7_assignsubmission_file", "notes.txt", "_", "a_1_2_", "=1+1.zip"),
    "Ada Byron_8_assignsubmission_onlinetext_onlinetext.html",
    *("\u202egnp.zip", "\U0001f469\u200d\U0001f52c", "e\u0301.zip", "\u00e9.zip"),
    *("x" * 200 + ".zip", "line\nend.zip"),
    b"not utf-8 \xff.zip".decode("utf-8", "surrogateescape"),
)


@pytest.mark.parametrize("packed", [False, True])
def test_every_entry_is_a_submission_or_in_a_note(tmp_path, packed):
    source, entries = tmp_path / "class", ENTRIES[: -1 if packed else None]  # zips: names are text
    source.mkdir()
    for name in entries:
        if "." in name[-5:]:
            (source / name).write_bytes(CODE)
        else:
            lay(source / name, RIGHT)
    export = read_export(pack(source) if packed else source)
    kept = [one.upload.location for one in export.submissions]
    assert len(kept) == len(set(kept))
    assert [name for name in entries if name not in kept] == ["notes.txt"]
    shown = safe_line("notes.txt is left out: neither a folder nor an archive")
    assert export.notes.count(shown) == 1


def test_an_id_stays_the_same_and_tells_no_name(tmp_path):
    source = tmp_path / "class"
    for name in ("ada byron", "grace hopper"):
        lay(source / name, RIGHT)
    before = {one.id for one in read_export(source).submissions}
    lay(source / "aaa", RIGHT)
    after = {one.id for one in read_export(source).submissions}
    assert before < after and len(after) == 3
    assert not any(part in "".join(after) for part in ("ada", "byron", "grace", "hopper"))


def test_what_the_grader_says_tells_no_name(tmp_path):
    source = tmp_path / "class"
    twice = {f"{name}/submission/a.py": b"x = 1\n" for name in ("old", "new")}
    lay(source / "ada byron", Content("", "", twice))
    (source / "grace hopper.zip").write_bytes(zipped({"report.pdf": b"%PDF"}))
    (source / "alan turing.zip").write_bytes(zipped(twice) + b"PK")
    (source / "kay mcnulty.tar").write_bytes(b"no tar")
    read = read_export(source).submissions
    said = [taken(one, tmp_path / str(index)) for index, one in enumerate(read)]
    assert [*map(type, said)] == [str] * 4
    assert not any(name in "".join(said) for name in ("byron", "hopper", "turing", "mcn")), said


NAMES = [
    ("byronada_340934_208490284_work.zip", "canvas_340934_208490284", "byronada", False),
    ("byronada_LATE_340934_208_work.zip", "canvas_340934_208", "byronada", True),
    ("o-brien-bob_late_1_2_a_b_3_4.zip", "canvas_1_2", "o-brien-bob", True),
    ("李小龙_1_2_work.zip", "canvas_1_2", "李小龙", False),
    ("Team 7_1_2_work.ZIP", "canvas_1_2", "Team 7", False),
    ("anon_x7Yz1_2_work.zip", "canvas_anon_x7yz1_2", "", False),
    ("anon_x7Yz1_LATE_2_work.zip", "canvas_anon_x7yz1_2", "", True),
    ("Ada Byron_657737_assignsubmission_file_work.zip", "moodle_657737", "Ada Byron", False),
    ("Ada_Byron_657737_assignsubmission_file_", "moodle_657737", "Ada_Byron", False),
    ("Team 7-Ada_657737_assignsubmission_file", "moodle_657737", "Team 7-Ada", False),
    ("عمر_1_assignsubmission_file_عمل.zip", "moodle_1", "عمر", False),
]


@pytest.fixture
def download(tmp_path):
    """Return download({name: bytes}), which reads such a download; None makes a folder."""

    def read(names, all_attempts=False):
        source = tmp_path / "submissions"
        source.mkdir()
        for name, content in names.items():
            if content is None:
                lay(source / name, RIGHT)
            else:
                (source / name).write_bytes(content)
        return read_export(source, all_attempts)

    return read


@pytest.mark.parametrize("name, submission_id, student, late", NAMES)
def test_a_files_name_says_whose_it_is(download, name, submission_id, student, late):
    export = download({name: CODE if "." in name else None, "other.zip": CODE})
    (one,) = [one for one in export.submissions if one.id == submission_id]
    platform, user = submission_id.split("_", 1)
    user = user.rpartition("_")[0] if platform == "canvas" else user
    assert one.students == (Student(f"{platform}:{user}", student, **{f"{platform}_id": user}),)
    assert one.late == late and export.notes == () and len(export.submissions) == 2


# -- several attempts, several files ---------------------------------------------------------------


@pytest.mark.parametrize("all_attempts, expected", [(False, [3]), (True, [1, 2, 3])])
def test_uploads_of_canvas_are_attempts_in_the_order_of_their_numbers(
    download, all_attempts, expected
):
    names = ("ada_1_9_work.zip", "ada_1_10_work-1.zip", "ada_LATE_1_100_work-2.zip")
    export = download(dict.fromkeys(names, CODE), all_attempts)
    assert sorted(one.attempt for one in export.submissions) == expected
    last = max(export.submissions, key=lambda one: one.attempt)
    assert (last.id, last.number, last.late) == ("canvas_1_100", 100, True)
    assert "several archives" not in " ".join(export.notes)


def test_loose_files_make_one_submission_with_their_own_names(download, tmp_path):
    files = {
        "ada_1_9_dataset.py": b"x = 1\n",
        "ada_1_12_dataset-1.py": b"x = 2\n",
        "ada_1_10_vanilla.model-1.params": b"weights",
        "ada_LATE_1_13_notes": b"",
    }
    export = download(files)
    (one,) = export.submissions
    assert one.id == "canvas_1_13" and one.late
    with one.upload.tree(tmp_path) as top:
        assert {name: top.file(name).read() for name in top.names} == {
            "dataset.py": b"x = 2\n",
            "vanilla.model.params": b"weights",
            "notes": b"",
        }
    assert [*map(str.split, export.notes)][0][0] == "ada_1_9_dataset.py" and len(export.notes) == 1


@pytest.mark.parametrize(
    "names, ids, note",
    [
        (("ada_1_9_code.zip", "ada_1_10_params.zip"), ["canvas_1_10"], "several archives"),
        (("ada_1_9_a.zip", "ada_1_10_b.pdf"), ["canvas_1_9"], "ada_1_10_b.pdf is left out"),
        (("A_1_assignsubmission_file_a.zip", "A_1_assignsubmission_file_b.zip"), 1, "several arch"),
        (  # what was typed into Moodle's form hides no file
            ("A_1_assignsubmission_onlinetext", "A_1_assignsubmission_file"),
            *(["moodle_1"], "A_1_assignsubmission_onlinetext is left out"),
        ),
        (("Bob_2_assignsubmission_onlinetext_onlinetext.html",), ["moodle_2"], ""),
    ],
)
def test_what_a_student_handed_in_beside_something_else_is_noted(download, names, ids, note):
    export = download({name: CODE if "." in name else None for name in (*names, "x_9_9_w.zip")})
    kept = [one.id for one in export.submissions if one.id != "canvas_9_9"]
    assert kept == ids if isinstance(ids, list) else len(kept) == ids
    assert any(note in each for each in export.notes) if note else not export.notes


# -- what is sent ----------------------------------------------------------------------------------


def test_equal_uploads_are_sent_as_equal_bytes_and_others_are_not(tmp_path):
    source, same = tmp_path / "class", {"submission/a.py": b"x = 1\n"}
    source.mkdir()
    (source / "zip.tar.gz").write_bytes(b"\x1f\x8b damaged")
    files = {
        "one": same,
        "two": same | {".venv/lib/torch.py": b"never searched"},
        "three": {"submission/a.py": b"x = 2\n"},
        "four": {"submission/b.py": b"x = 1\n"},
        "five": {"submission/a.py": Link("x = 1\n")},
    }
    for name, content in files.items():
        lay(source / name, Content("", "", content))
    packs = [one.upload.pack() for one in in_order(read_export(source), *files, "zip")]
    assert packs[0] == packs[1] and len(set(packs)) == 5
    assert packs[-1] == b"\x1f\x8b damaged"  # an archive is sent as it is


def test_a_file_that_is_too_large_to_be_graded_takes_no_space(tmp_path):
    source, files = tmp_path / "class", dict(RIGHT.files)
    lay(source / "ada", Content("", "", files | {"x.params": b""}))
    os.truncate(source / "ada" / "x.params", MAX_OUTPUT_BYTES + 1)
    (one,) = read_export(source).submissions
    assert len(one.upload.pack()) < 1 << 20
    omission = f"x.params ({MAX_OUTPUT_BYTES + 1} bytes, more than {MAX_OUTPUT_BYTES})"
    assert taken(one, tmp_path / "work") == files | {omission: None}


def test_a_name_that_is_no_text_is_refused_by_the_grader(tmp_path):
    source, name = tmp_path / "class", os.fsdecode(b"submission/\xff.py")
    lay(source / "ada", Content("", "", RIGHT.files | {name: b""}))
    (one,) = read_export(source).submissions
    found = taken(one, tmp_path / "work")
    assert found.pop("submission/a.py") and [*found][0].endswith(".py' (its name is not text)")


def test_a_flood_is_refused_in_one_line_that_tells_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr(submissions, "MAX_BYTES", 1000)
    monkeypatch.setattr(upload, "MAX_FILES", 3)
    source = tmp_path / "class"
    lay(source / "ada", Content("", "", {f"{n}.py": b"" for n in range(4)}))
    lay(source / "large", Content("", "", {"a.py": bytes(600), "b.py": bytes(401)}))
    lay(source / "most", Content("", "", {"a.py": bytes(600), "b.py": bytes(400)}))
    many, large, most = in_order(read_export(source), "ada", "large", "most")
    assert (
        taken(many, tmp_path / "1")
        == "the upload: too many files, more than 3: is this a submission?"
    )
    assert "too large" in taken(large, tmp_path / "2")
    assert len(taken(most, tmp_path / "3")) == 2


# -- the source ------------------------------------------------------------------------------------


def test_an_odd_entry_of_a_zip_is_noted_and_unmarked_names_are_utf_8(tmp_path):
    files = {"Ada/submission/a.py": b"", "#####/submission/a.py": b"", "../../ada/x.py": b""}
    name = "Zoë!"  # five bytes of UTF-8, which Macs don't mark as such
    (tmp_path / "class.zip").write_bytes(zipped(files).replace(b"#####", name.encode()))
    export = read_export(tmp_path / "class.zip")
    in_order(export, "Ada", name)
    (note,) = export.notes
    assert "'../../ada/x.py' is left out" in note and "leads outside" in note


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda path: None, "can't be read: No such file"),
        (lambda path: path.mkdir(), "contains no submissions"),
        (lambda path: path.write_bytes(b"%PDF-1.7"), "was the download complete"),
        (lambda path: path.write_bytes(zipped(RIGHT.files)[:-1]), "was the download complete"),
        (lambda path: path.write_bytes(zipped({"x.txt": b""})), "contains no submissions"),
        (lambda path: lay(path, RIGHT), "is a single submission; expected a class"),
        (lambda path: path.write_bytes(zipped(RIGHT.files)), "is a single submission"),
        (lambda path: lay(path, Content("", "", {"a.py": b""})), "is a single submission"),
        (lambda path: Store.create(path).close(), "is a class's folder of results"),
    ],
)
def test_what_is_no_class_is_refused(tmp_path, make, message):
    make(tmp_path / "source")
    with pytest.raises(UsageError, match=message):
        read_export(tmp_path / "source")


def test_a_class_of_one_and_wrapping_folders(tmp_path):
    for depth, top in enumerate(("", "outer/", "outer/inner/")):
        source = tmp_path / f"class{depth}"
        lay(source / f"{top}ada", RIGHT)
        in_order(read_export(source), "ada")


def test_results_beside_the_class_are_left_out(tmp_path):
    lay(tmp_path / "class" / "ada", RIGHT)
    Store.create(tmp_path / "class" / "results").close()
    export = read_export(tmp_path / "class")
    assert len(export.submissions) == 1
    assert export.notes == ("results is left out: it is a class's folder",)


def test_a_class_in_the_repository_is_noted(root):
    notes = read_export(root / "tests" / "golden").notes
    assert any("is inside the repository" in note for note in notes)
