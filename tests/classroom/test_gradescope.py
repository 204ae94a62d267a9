"""A Gradescope export is read completely, as other programs do, and with little memory."""

import io
import re

import pytest
import yaml

from classroom import gradescope
from classroom.exports import read_export
from classroom.gradescope import MAX_TEXT, entries, moment
from classroom.submissions import Student
from grading.errors import UsageError
from tests import peak
from tests.project import ROOT


def read(text):
    return [(key, entry) for key, entry, _ in entries(io.BytesIO(text.encode("utf-8")), "file")]


def person(name, **fields):
    lines = [f"  - :name: {name}", *(f"    :{key}: {value}" for key, value in fields.items())]
    return "\n".join(lines) + "\n"


def entry(number, *people, at="2026-11-02 09:00:00 -08:00", score="20.0", history=()):
    old = "".join(
        f"  - :id: {n}\n    :created_at: {time}\n    :score: {points}\n"
        for n, time, points in history
    )
    return (
        f"submission_{number}:\n  :submitters:\n{''.join(people)}  :created_at: {at}\n"
        f"  :score: {score}\n  :status: processed\n  :history:{' []' * (not old)}\n{old}"
    )


ADA = person("Ada", sid="'007'", email="Ada@example.edu")
BOB = person("Bob", sid="'008'", email="bob@example.edu")


# -- against independent readers -------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_plain_yaml_says_the_same(made, packed):
    """Compare with zucchini, otter and Provenance, which read the whole file with a safe loader."""
    roll = {one.id: one for one in read_export(made("gradescope", packed).source).submissions}
    source = made("gradescope").source
    plain = yaml.safe_load((source / "submission_metadata.yml").read_text(encoding="utf-8"))
    assert plain.keys() == roll.keys()
    for key, metadata in plain.items():
        assert (source / key).is_dir()
        known = [(s.name, s.email) for s in roll[key].students]
        assert known == [(s[":name"], s[":email"]) for s in metadata[":submitters"]]
        assert roll[key].submitted == metadata[":created_at"]
        assert roll[key].points == metadata[":score"]
        assert roll[key].attempt == len(metadata[":history"]) + 1


def test_students_are_who_they_were_made_to_be(made):
    cls = made("gradescope")
    roll = {one.id: one for one in read_export(cls.source).submissions}
    for each in cls.submissions:
        expected = [Student(p.email, p.name, p.email, p.sid) for p in each.people]
        assert roll[f"submission_{each.number}"].students == tuple(expected)
    everybody = [p for each in cls.submissions for p in each.people]
    assert {p.sid is None for p in everybody} == {True, False}
    assert len({p.name for p in everybody}) < len(everybody)


# -- what an entry may contain ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields, expected",
    [
        ({"sid": "0123", "email": "A@x"}, Student("a@x", "Ada", "A@x", "0123")),
        ({"email": "a@x"}, Student("a@x", "Ada", "a@x")),
        ({"sid": "~", "email": "a@x"}, Student("a@x", "Ada", "a@x")),
        ({"sid": "", "email": "a@x"}, Student("a@x", "Ada", "a@x")),
        ({"sid": "'null'", "email": "a@x"}, Student("a@x", "Ada", "a@x", "null")),
        ({"sid": "1e5", "email": ""}, Student("1e5", "Ada", None, "1e5")),
        ({}, Student("submission_1", "Ada")),
    ],
)
def test_a_student_lacks_what_is_absent(export, fields, expected):
    roll = read_export(export(entry(1, person("Ada", **fields)), "submission_1"))
    assert roll.submissions[0].students == (expected,)
    assert bool(roll.notes) == (not (expected.email or expected.sid))


@pytest.mark.parametrize(
    "text, expected",
    [
        ("2026-11-02 14:22:32.365935000 -08:00", "2026-11-02 22:22:32.365935+00:00"),
        ("2026-11-02 14:22:32.365935123 Z", "2026-11-02 14:22:32.365935+00:00"),
        ("2026-11-02T14:22:32Z", "2026-11-02 14:22:32+00:00"),
        ("2026-11-02 14:22:32 UTC", "2026-11-02 14:22:32+00:00"),
        ("2026-11-02 14:22:32 +0530", "2026-11-02 08:52:32+00:00"),
        ("2026-11-02 14:22:32", "2026-11-02 14:22:32+00:00"),
    ],
)
def test_times_are_read_with_and_without_a_zone(text, expected):
    assert str(moment(text)) == expected


@pytest.mark.parametrize(
    "change, expected",
    [
        (("at", "yesterday"), "submission_metadata.yml:1: submission_1: :created_at is not a time"),
        (("score", "much"), "submission_metadata.yml:1: submission_1: :score is not a number"),
    ],
)
def test_what_is_odd_is_unknown_and_noted(export, change, expected):
    roll = read_export(export(entry(1, ADA, **dict([change])), "submission_1"))
    (note,) = roll.notes
    assert note.startswith(expected)
    one = roll.submissions[0]
    assert (one.submitted, one.points).count(None) == 1


@pytest.mark.parametrize("score", [".nan", ".inf", "nan", "-inf", "~"])
def test_a_score_that_is_no_number_is_unknown(export, score):
    roll = read_export(export(entry(1, ADA, score=score), "submission_1"))
    assert roll.submissions[0].points is None


def test_ruby_refers_to_what_it_wrote_before():
    text = (
        "submission_1:\n  :submitters: &1\n  - &2\n    :name: &3 Ada\n"
        "  :created_at: &4 2026-11-02\n  :results:\n    output: &5 text\n"
        "submission_2:\n  :submitters: *1\n  :created_at: *4\n  :status: *5\n  :x: *2\n"
    )
    (_, first), (_, second) = read(text)
    assert first == {":submitters": [{":name": "Ada"}], ":created_at": "2026-11-02"}
    assert second == {
        ":submitters": [{":name": "Ada"}],
        ":created_at": "2026-11-02",
        ":status": "text",
        ":x": {":name": "Ada"},
    }


def test_a_long_text_is_cut():
    ((_, found),) = read(f"submission_1:\n  :a: {'x' * 5_000}\n")
    assert found == {":a": "x" * MAX_TEXT}


def test_tags_are_never_acted_upon(tmp_path):
    text = (
        f"submission_1:\n  :a: !!python/object/apply:os.mkdir [{tmp_path / 'made'}]\n"
        "  :b: !ruby/object:Gem::Requirement {x: y}\n  :c: !!python/name:os.system ''\n"
    )
    ((_, found),) = read(text)
    assert found == {":a": [str(tmp_path / "made")], ":b": {"x": "y"}, ":c": ""}
    assert not (tmp_path / "made").exists()


def test_what_nests_deeply_is_refused_and_what_contains_itself_is_cut():
    ((_, found),) = read("submission_1:\n  :a: [[[[[[[[x]]]]]]]]\n  :b: &x [*x, *x]\n  :c: d\n")
    assert found == {":a": [[[[[[[["x"]]]]]]]], ":b": [None, None], ":c": "d"}
    with pytest.raises(UsageError, match="^file:1: nested too deeply"):
        read(f"submission_1:\n  :a: {'[' * 5_000}{']' * 5_000}\n")


# -- a class ---------------------------------------------------------------------------------------


def test_nobody_is_dropped(export):
    text = (
        entry(1, ADA) + entry(2, BOB) + "submission_3: ~\n" + "submission_4:\n  :submitters: []\n"
    )
    roll = read_export(export(text, "submission_1", "submission_3", "submission_4", "submission_5"))
    assert [one.id[-1] for one in roll.submissions] == list("12345")
    assert [one.students[0].name for one in roll.submissions] == ["Ada", "Bob", "", "", ""]
    expected = (
        r"metadata.yml:\d+: submission_3 has no table",
        r"metadata.yml:\d+: submission_3 has no :submitters",
        r"metadata.yml:\d+: submission_4 has no :submitters",
        r"^submission_5 is not in submission_metadata.yml",
        r"^submission_2: it contains no files",
    )
    assert len(roll.notes) == len(expected)
    for note, pattern in zip(roll.notes, expected, strict=True):
        assert re.search(pattern, note), note


def test_an_entry_that_is_there_twice_is_noted(export):
    roll = read_export(export(entry(1, ADA) + entry(1, BOB), "submission_1"))
    assert [one.students[0].name for one in roll.submissions] == ["Ada"]
    assert "there are two entries submission_1" in roll.notes[0]


def test_two_of_one_name_are_two_and_one_of_two_names_is_noted(export):
    other = person("Ada", sid="'9'", email="other@example.edu")
    renamed = person("Ada Byron", sid="'007'", email="ada@example.edu")
    roll = read_export(
        export(
            entry(1, ADA) + entry(2, other) + entry(3, renamed),
            *map("submission_{}".format, (1, 2, 3)),
        ),
        "all",
    )
    assert len({one.students[0].key for one in roll.submissions}) == 2
    assert sum("2 students are called Ada:" in note for note in roll.notes) == 1
    (note,) = [note for note in roll.notes if "more than one name" in note]
    assert note.startswith("submission_1, submission_3: ada@example.edu")


def test_two_unknown_members_of_a_group_are_two(export):
    roll = read_export(export(entry(1, person("A"), person("B")), "submission_1"))
    assert len({student.key for student in roll.submissions[0].students}) == 2


# -- attempts --------------------------------------------------------------------------------------

OLD = [
    (11, "2026-11-01 09:00:00 -08:00", "50.0"),
    (12, "2026-11-01 10:00:00 -08:00", "40.0"),
]


@pytest.mark.parametrize(
    "attempts, expected",
    [("latest", {"13": 3}), ("best", {"11": 1}), ("all", {"11": 1, "12": 2, "13": 3})],
)
def test_attempts_whose_files_are_there_are_chosen_from(export, attempts, expected):
    source = export(entry(13, ADA, history=OLD), "submission_11", "submission_12", "submission_13")
    roll = read_export(source, attempts)
    assert {one.id[-2:]: one.attempt for one in roll.submissions} == expected
    assert all(one.students[0].name == "Ada" for one in roll.submissions)
    noted = " ".join(roll.notes)
    assert all(
        f"submission_{n} is left out" in noted for n in (11, 12, 13) if str(n) not in expected
    )


@pytest.mark.parametrize("attempts", ["latest", "best", "all"])
def test_earlier_attempts_without_files_are_counted(export, attempts):
    roll = read_export(export(entry(13, ADA, history=OLD), "submission_13"), attempts)
    assert [(one.id, one.attempt) for one in roll.submissions] == [("submission_13", 3)]
    noted = any("2 earlier attempts are left out" in note for note in roll.notes)
    assert noted == (attempts != "latest")
    better = "submission_11 has more points than submission_13, but its files are missing"
    assert (better in roll.notes) == (attempts == "best")


def test_an_active_attempt_that_is_not_the_newest_is_noted(export):
    newer = [(14, "2026-11-03 09:00:00 -08:00", "1.0")]
    roll = read_export(export(entry(13, ADA, history=newer), "submission_13"))
    assert [one.attempt for one in roll.submissions] == [1]
    assert "submission_13 is active on Gradescope, although submission_14 is newer" in roll.notes[0]


def test_an_attempt_whose_time_is_unknown_is_not_called_older(export):
    source = export(entry(13, ADA, at="~", history=OLD), "submission_13")
    assert read_export(source).notes == ()


def test_zones_are_compared_as_times(export):
    early = entry(1, ADA, at="2026-11-02 23:00:00 -08:00")
    late = entry(2, ADA, at="2026-11-03 08:00:00 Z")  # an hour later
    roll = read_export(export(late + early, "submission_1", "submission_2"))
    assert [one.id for one in roll.submissions] == ["submission_2"]


def test_who_leaves_a_group_counts_alone(export):
    group = entry(1, ADA, BOB, at="2026-11-02 09:00:00 Z")
    alone = entry(2, ADA, at="2026-11-02 10:00:00 Z")
    first, second = read_export(export(group + alone, "submission_1", "submission_2")).submissions
    assert [s.name for s in first.students] == ["Bob"]
    assert [s.name for s in second.students] == ["Ada"]


def test_the_best_is_not_guessed_without_scores(export):
    text = entry(1, ADA, score="~") + entry(2, ADA)
    roll = read_export(export(text, "submission_1", "submission_2"), "best")
    assert len(roll.submissions) == 2
    assert "their points are not all recorded" in roll.notes[0]


# -- files that are broken -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "submission_metadata.yml: it is empty"),
        ("- a\n", "submission_metadata.yml:1: expected `submission_1234:`"),
        ("x\n", "submission_metadata.yml:1: expected `submission_1234:`"),
        ("a: 1\n? [b]\n: 2\n", "submission_metadata.yml:2: expected `submission_1234:`"),
        ("a:\n  :b: 'c\n", "submission_metadata.yml:3: not valid YAML"),
        ("a:\n  :b: *unknown\n :c: d\n", "submission_metadata.yml:"),
        ("a:\n\t:b: c\n", "submission_metadata.yml:2: not valid YAML"),
        ("a: \x00\n", "submission_metadata.yml: not valid YAML"),
    ],
)
def test_broken_metadata_is_refused_in_one_line(export, text, expected):
    with pytest.raises(UsageError) as caught:
        read_export(export(text, "submission_1"))
    assert str(caught.value).startswith(expected) and "\n" not in str(caught.value)


def test_too_many_anchors_are_refused(monkeypatch):
    monkeypatch.setattr(gradescope, "MAX_ANCHORS", 10)
    lines = [f"  :k{n}: &a{n} v\n" for n in range(11)]
    assert len(read("a:\n" + "".join(lines[:10]))) == 1
    with pytest.raises(UsageError, match="^file:12: more than 10 anchors"):
        read("a:\n" + "".join(lines))


# -- memory ----------------------------------------------------------------------------------------

# Reads a file of so many megabytes, nearly all of them results, and drops each submission.
READ = """
import io
sys.path.insert(0, sys.argv[3])
from classroom.gradescope import entries
line = "        Your draws of spans: mean 0.25, expected 0.22 to 0.28" + chr(10)
text = "  :results:" + chr(10) + "    tests:" + chr(10)
text += ("    - output: |-" + chr(10) + line * 40 + "      score: 4.0" + chr(10)) * 20
size, count = int(sys.argv[2]) << 20, 0
class File(io.RawIOBase):
    left = b"---" + bytes([10])
    def read(self, most=-1):
        global size, count
        while len(self.left) < most and size > 0:
            one = (f"submission_{count}:" + chr(10) + text).encode()
            count, size, self.left = count + 1, size - len(one), self.left + one
        part, self.left = self.left[:most], self.left[most:]
        return part
before = peak_kib()
assert sum(1 for _ in entries(File(), "file")) == count > int(sys.argv[2]) * 10
print(peak_kib() - before)
"""


def test_memory_does_not_grow_with_the_file():
    """Read 12 MiB; PyYAML's objects would take at least 30 MiB, and the text alone 12."""
    assert peak.growth_kib(READ, "12", ROOT) < 3 * 1024
