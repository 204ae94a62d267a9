"""Whatever a class hands in, and however it is exported, nobody is lost without a note."""

import os
import time

import pytest

from classroom import submissions
from classroom.exports import read_export
from classroom.submissions import ID
from grading.errors import SubmissionError, UsageError, safe_line
from grading.staging import MAX_OUTPUT_BYTES, stage
from tests.classroom.contents import RIGHT, UPLOADS, Files, Link, described, lay, pack, zipped
from tests.classroom.make_class import make_class
from tests.snapshots import check

CODE = zipped({"submission/a.py": b"x = 1\n"})


def taken(one, work):
    """Return what the grader takes of a submission, by name, or why it refuses it."""
    work.mkdir(parents=True)
    try:
        with one.upload.tree() as top:
            staged = stage(top, work / "staged")
            files = {name: staged.path(name).read_bytes() for name in staged.taken}
            return files | {str(omission): None for omission in staged.omissions}
    except SubmissionError as error:
        assert str(error) and "\n" not in str(error)
        return str(error)


def by_name(export):
    """Return the submissions of a plain folder, by their names in it."""
    return {one.upload.location: one for one in export.submissions}


def test_everybody_comes_out_once_as_it_was_handed_in(tmp_path):
    source, made = make_class(tmp_path / "made", 24)  # with each kind of content
    read = {one.id: one for one in read_export(source).submissions}
    handed_in = {f"submission_{each.number}": each for each in made}
    assert read.keys() == handed_in.keys() and all(map(ID.fullmatch, read))
    for key, each in handed_in.items():
        one = read[key]
        assert (one.students, one.submitted, one.attempt) == (each.people, each.at, each.attempts)
        found = taken(one, tmp_path / key)
        assert isinstance(found, str) == (each.kind == "upload"), found
        if each.kind != "upload":
            assert {n: found[n] for n in found if n.endswith(".py")} == each.files
    packed = read_export(pack(source, source.parent)).submissions
    assert {one.id: one.upload.pack() for one in packed} == {
        key: one.upload.pack() for key, one in read.items()
    }


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
def test_every_entry_is_a_submission_or_in_a_note_and_hostile_ones_are_refused(tmp_path, packed):
    source, entries = tmp_path / "class", ENTRIES[: -1 if packed else None]  # zips: names are text
    for name in UPLOADS:
        lay(source / name, UPLOADS[name])
    for name in entries:
        if "." in name[-5:]:
            (source / name).write_bytes(CODE)
        else:
            lay(source / name, RIGHT)
    export = read_export(pack(source) if packed else source)
    kept = by_name(export)
    assert len(kept) == len(export.submissions)
    assert [name for name in (*entries, *UPLOADS) if name not in kept] == ["notes.txt"]
    shown = safe_line("notes.txt is left out: neither a folder nor an archive")
    assert export.notes.count(shown) == 1
    assert taken(kept["ada"], tmp_path / "ada") == RIGHT
    for number, name in enumerate(UPLOADS):
        assert isinstance(taken(kept[name], tmp_path / f"work{number}"), str), name


def test_an_id_stays_the_same_and_neither_ids_nor_what_the_grader_says_tell_a_name(tmp_path):
    source = tmp_path / "class"
    lay(source / "ada byron", {f"{name}/submission/a.py": b"x = 1\n" for name in ("old", "new")})
    (source / "grace hopper.zip").write_bytes(zipped({"report.pdf": b"%PDF"}))
    (source / "kay mcnulty.tar").write_bytes(b"no tar")
    (source / "ida rhodes.zip").write_bytes(zipped({}))
    (source / "joan clarke.rar").write_bytes(b"Rar!")
    export = read_export(source)
    assert sorted(note.partition(": ")[2] for note in export.notes) == [
        "'ida rhodes.zip' is an empty zip",
        "'joan clarke.rar' can't be opened: ask for a zip",
        "'kay mcnulty.tar' is not a tar file",
    ]
    read = export.submissions
    said = "".join(one.id + taken(one, tmp_path / one.id) for one in read)
    assert not any(name in said for name in ("byron", "hopper", "mcn", "rhodes", "clarke")), said
    lay(source / "aaa", RIGHT)
    assert {one.id for one in read} < {one.id for one in read_export(source).submissions}


MOODLE = "A_1_assignsubmission"
# What a download contains; a name without an ending is a folder.
DOWNLOADS = [
    ("byronada_340934_208490284_work.zip",),
    ("o-brien-bob_late_1_2_a_b_3_4.zip",),
    ("李小龙_1_2_work.ZIP",),
    ("anon_x7Yz1_LATE_2_work.zip",),
    ("Ada Byron_6_assignsubmission_file_work.zip",),
    ("Team 7-Ada_6_assignsubmission_file",),
    ("عمر_1_assignsubmission_file_عمل.zip",),
    (f"{MOODLE}_onlinetext_onlinetext.html",),
    # What is uploaded again, or beside something else.
    ("ada_1_9_work.zip", "ada_1_10_work-1.zip", "ada_LATE_1_100_work-2.zip"),
    ("ada_1_9_a.zip", "ada_1_10_b.zip"),
    ("ada_1_9_a.zip", "ada_1_10_b.pdf"),
    (f"{MOODLE}_file_a.zip", f"{MOODLE}_file_b.zip"),
    # What was typed into Moodle's form hides no file.
    (f"{MOODLE}_onlinetext", f"{MOODLE}_file"),
]


def test_a_files_name_says_whose_it_is_and_nothing_is_left_out_without_a_note(tmp_path):
    found = {}
    for number, names in enumerate(DOWNLOADS):
        places = [name if "." in name else f"{name}/submission/a.py" for name in names]
        lay(tmp_path / str(number), dict.fromkeys(places, CODE) | {"other.zip": CODE})
        lines = described(read_export(tmp_path / str(number))).splitlines()
        found[", ".join(names)] = "\n".join(line for line in lines if "other.zip" not in line)
    check("classroom_downloads", found)


def test_a_students_loose_files_are_one_submission_with_the_newest_of_each(tmp_path):
    files = {
        "ada_1_9_dataset.py": b"x = 1\n",
        "ada_1_12_dataset-1.py": b"x = 2\n",
        "ada_1_10_vanilla.model-1.params": b"weights",
        "ada_LATE_1_13_notes": b"",
    }
    lay(tmp_path / "class", files)
    export = read_export(tmp_path / "class")
    (one,), (note,) = export.submissions, export.notes
    assert one.id == "canvas_1_13" and one.late and note.startswith("ada_1_9_dataset.py ")
    with one.upload.tree() as top:
        assert {name: top.file(name).read() for name in top.names} == {
            "dataset.py": b"x = 2\n",
            "vanilla.model.params": b"weights",
            "notes": b"",
        }


def test_equal_uploads_are_sent_as_equal_bytes_at_any_time_and_others_are_not(
    tmp_path, monkeypatch
):
    """These bytes tell whether files have changed since they were graded."""
    lay(tmp_path / "one", RIGHT)
    lay(tmp_path / "two", RIGHT | {".venv/lib/torch.py": b"never searched"})
    lay(tmp_path / "three", {"submission/a.py": b"x = 2\n"})
    lay(tmp_path / "four", {"submission/b.py": b"x = 1\n"})
    lay(tmp_path / "link", RIGHT | {"data": Link("../data")})
    read = by_name(read_export(tmp_path))
    packed = {name: one.upload.pack() for name, one in read.items()}
    assert packed["one"] == packed["two"] and len({*packed.values()}) == 4
    monkeypatch.setattr(time, "localtime", lambda *_: time.gmtime(1_800_000_000))
    assert read["one"].upload.pack() == packed["one"]


def test_what_is_too_large_or_has_no_name_takes_no_space_and_is_refused_by_the_grader(
    tmp_path, monkeypatch
):
    odd = os.fsdecode(b"submission/\xff.py")
    lay(tmp_path / "ada", RIGHT | {"x.params": b"", odd: b""})
    os.truncate(tmp_path / "ada" / "x.params", MAX_OUTPUT_BYTES + 1)
    lay(tmp_path / "bob", {"a.py": bytes(1001)})
    read = by_name(read_export(tmp_path))
    assert len(read["ada"].upload.pack()) < 1 << 20
    (module, *content), *omissions = taken(read["ada"], tmp_path / "work").items()
    assert {module: content[0]} == RIGHT
    assert sorted(why for why, _ in omissions) == [
        "'submission/\\x1a.py' (its name is not text)",
        f"x.params ({MAX_OUTPUT_BYTES + 1} bytes, more than {MAX_OUTPUT_BYTES})",
    ]
    monkeypatch.setattr(submissions, "MAX_BYTES", 1000)
    assert "too large" in taken(read["bob"], tmp_path / "work2")


ADA: Files = {"ada/submission/a.py": b""}
MAC = "Zoë!"  # five bytes of UTF-8, which Macs don't mark as such
ODD: Files = ADA | {"#####/submission/a.py": b"", "../../ada/x.py": b""}
# What a source is: the files of a folder, or the bytes of a zip.
SOURCES: dict[str, Files | bytes] = {
    "an empty folder": {},
    "a zip that is cut short": zipped(RIGHT)[:-1],
    "one submission": RIGHT,
    "one submission, packed": zipped(RIGHT),
    "one submission's module": {"a.py": b""},
    "results": {"class.db": b""},
    "results beside a class": ADA | {"results/class.db": b""},
    "a class": ADA,
    "a class in a folder": {f"outer/{name}": text for name, text in ADA.items()},
    "a class in two folders": {f"outer/inner/{name}": text for name, text in ADA.items()},
    "a zip with odd entries": zipped(ODD).replace(b"#####", MAC.encode()),
}


def test_what_is_a_class_and_what_is_none(tmp_path, root):
    found = {}
    for title, content in {"nothing": None, **SOURCES}.items():
        path = tmp_path / title
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif content is not None:
            lay(path, content)
        try:
            found[title] = described(read_export(path))
        except UsageError as error:
            found[title] = f"refused: {error}"
    check("classroom_sources", found, {str(tmp_path): "HERE"})
    notes = read_export(root / "tests" / "golden").notes
    assert any("is inside the repository" in note for note in notes)
