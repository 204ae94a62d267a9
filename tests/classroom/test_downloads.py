"""Downloads from Canvas and Moodle: the names of files say whose they are."""

import pytest

from tests.classroom.contents import zipped
from tools.classroom.places import opened
from tools.classroom.roster import Student, read_class

CODE = zipped({"submission/a.py": b"x = 1\n"})


@pytest.fixture
def download(tmp_path):
    """Return download({name: bytes}), which reads such a download; None makes a folder."""

    def read(names, attempts="latest"):
        source = tmp_path / "submissions"
        source.mkdir()
        for name, content in names.items():
            if content is None:
                (source / name / "submission").mkdir(parents=True)
                (source / name / "submission" / "a.py").write_text("x = 1\n", encoding="utf-8")
            else:
                (source / name).write_bytes(content)
        return read_class(source, attempts)

    return read


@pytest.mark.parametrize(
    "name, submission_id, student, late",
    [
        ("byronada_340934_208490284_work.zip", "canvas_340934_208490284", "byronada", False),
        ("byronada_LATE_340934_208_work.zip", "canvas_340934_208", "byronada", True),
        ("byronada_late_340934_208_work.zip", "canvas_340934_208", "byronada", True),
        ("o-brien-bob_1_2_a_b_3_4.zip", "canvas_1_2", "o-brien-bob", False),
        ("李小龙_1_2_work.zip", "canvas_1_2", "李小龙", False),
        ("Team 7_1_2_work.ZIP", "canvas_1_2", "Team 7", False),
        ("anon_x7Yz1_2_work.zip", "canvas_anon_x7yz1_2", "", False),
        ("anon_x7Yz1_LATE_2_work.zip", "canvas_anon_x7yz1_2", "", True),
        ("Ada Byron_657737_assignsubmission_file_work.zip", "moodle_657737", "Ada Byron", False),
        ("Ada_Byron_657737_assignsubmission_file_", "moodle_657737", "Ada_Byron", False),
        (
            "Team 7-Ada Byron_657737_assignsubmission_file",
            "moodle_657737",
            "Team 7-Ada Byron",
            False,
        ),
        ("Participant_657737_assignsubmission_file_x.zip", "moodle_657737", "Participant", False),
        ("عمر_1_assignsubmission_file_عمل.zip", "moodle_1", "عمر", False),
    ],
)
def test_a_name_says_whose_it_is(download, name, submission_id, student, late):
    roll = download({name: CODE if "." in name else None, "other.zip": CODE})
    found = {one.submission_id: one for one in roll.submissions}
    assert len(found) == 2
    one = found[submission_id]
    platform, user = submission_id.split("_", 1)
    if platform == "canvas":
        user = user.rpartition("_")[0]
    assert one.students == (Student(f"{platform}:{user}", student),)
    assert one.late == late and roll.notes == ()


def test_two_of_one_name_are_told_apart(download):
    roll = download({f"silvamaria_{n}_{n}_work.zip": CODE for n in (1, 2)})
    assert len({one.students[0].key for one in roll.submissions}) == 2
    assert any("silvamaria" in note for note in roll.notes)


@pytest.mark.parametrize(
    "attempts, expected", [("latest", [3]), ("all", [1, 2, 3]), ("best", [1, 2, 3])]
)
def test_uploads_of_canvas_are_attempts_in_the_order_of_their_numbers(download, attempts, expected):
    names = ("ada_1_9_work.zip", "ada_1_10_work-1.zip", "ada_LATE_1_100_work-2.zip")
    roll = download(dict.fromkeys(names, CODE), attempts)
    assert sorted(one.attempt for one in roll.submissions) == expected
    last = max(roll.submissions, key=lambda one: one.attempt)
    assert last.submission_id == "canvas_1_100" and last.late
    assert not any("several archives" in note for note in roll.notes)
    assert any("points are not all recorded" in note for note in roll.notes) == (attempts == "best")


def test_zips_of_different_names_are_noted(download):
    roll = download({"ada_1_9_code.zip": CODE, "ada_1_10_params.zip": CODE})
    assert [one.submission_id for one in roll.submissions] == ["canvas_1_10"]
    assert any("several archives" in note for note in roll.notes)


def test_loose_files_make_one_submission_with_their_own_names(download):
    roll = download(
        {
            "ada_1_9_dataset.py": b"x = 1\n",
            "ada_LATE_1_12_dataset-1.py": b"x = 2\n",
            "ada_1_10_vanilla.model-1.params": b"weights",
            "ada_1_11_notes": b"",
        }
    )
    (one,) = roll.submissions
    assert one.submission_id == "canvas_1_12" and one.late
    assert {name: opened(file).read() for name, file in one.upload.files()} == {
        "dataset.py": b"x = 2\n",
        "vanilla.model.params": b"weights",
        "notes": b"",
    }
    (note,) = roll.notes
    assert note.startswith("ada_1_9_dataset.py ")


def test_files_beside_a_zip_are_noted(download):
    roll = download({"ada_1_9_work.zip": CODE, "ada_1_10_report.pdf": b"%PDF"})
    assert [one.submission_id for one in roll.submissions] == ["canvas_1_9"]
    (note,) = roll.notes
    assert note.startswith("ada_1_10_report.pdf is left out")


def test_a_text_that_was_typed_into_moodle_hides_no_file(download):
    typed = {
        "Ada_1_assignsubmission_onlinetext": None,
        "Bob_2_assignsubmission_onlinetext_onlinetext.html": b"<p>hello</p>",
    }
    files = {"Ada_1_assignsubmission_file": None}
    roll = download(typed | files)
    assert [one.submission_id for one in roll.submissions] == ["moodle_1", "moodle_2"]
    (note,) = roll.notes
    assert note.startswith("Ada_1_assignsubmission_onlinetext is left out")
    assert [place.name for _, place in roll.submissions[0].upload.parts] == list(files)


def test_several_zips_of_moodle_are_noted(download):
    names = [f"Ada_1_assignsubmission_file_{n}.zip" for n in ("a", "b")]
    roll = download(dict.fromkeys(names, CODE), "all")
    assert len({one.submission_id for one in roll.submissions}) == 2
    assert any("several archives" in note for note in roll.notes)
