"""A Gradescope export is read completely, and with little memory."""

import io

import pytest

from classroom import gradescope
from classroom.exports import read_export
from classroom.gradescope import MAX_TEXT, METADATA, entries
from classroom.submissions import Student
from grading.errors import UsageError
from tests import peak
from tests.classroom.contents import RIGHT, lay
from tests.project import ROOT


@pytest.fixture
def read_class(tmp_path):
    """Return a function that reads an export with this metadata and with submissions' folders."""

    def read(metadata: str, *numbers: int, all_attempts: bool = False):
        root = tmp_path / "assignment_1_export"
        for number in numbers:
            lay(root / f"submission_{number}", RIGHT)
        (root / METADATA).write_text(metadata, encoding="utf-8")
        return read_export(root, all_attempts)

    return read


def read(text):
    return [(key, entry) for key, entry, _ in entries(io.BytesIO(text.encode("utf-8")), "file")]


def person(name, **fields):
    lines = [f"  - :name: {name}", *(f"    :{key}: {value}" for key, value in fields.items())]
    return "\n".join(lines) + "\n"


def entry(number, *people, at="2026-11-02 09:00:00 -08:00", history=()):
    old = "".join(f"  - :id: {n}\n    :created_at: {time}\n" for n, time in history)
    return (
        f"submission_{number}:\n  :submitters:\n{''.join(people)}  :created_at: {at}\n"
        f"  :score: 20.0\n  :status: processed\n  :history:{' []' * (not old)}\n{old}"
    )


ADA = person("Ada", sid="'007'", email="Ada@example.edu")
BOB = person("Bob", sid="'008'", email="bob@example.edu")


@pytest.mark.parametrize(
    "people, expected",
    [
        ([{"sid": "0123", "email": "A@x"}], [Student("a@x", "Ada", "A@x", "0123")]),
        ([{"sid": "~", "email": "a@x"}], [Student("a@x", "Ada", "a@x")]),
        ([{"sid": "'null'", "email": "a@x"}], [Student("a@x", "Ada", "a@x", "null")]),
        ([{"sid": "1e5", "email": ""}], [Student("1e5", "Ada", None, "1e5")]),
        ([{}, {}], [Student("submission_1", "Ada"), Student("submission_1:2", "Ada")]),
    ],
)
def test_a_student_lacks_what_is_absent(read_class, people, expected):
    roll = read_class(entry(1, *(person("Ada", **fields) for fields in people)), 1)
    assert [*roll.submissions[0].students] == expected
    assert bool(roll.notes) == (not any(one.email or one.sid for one in expected))


TIMES = {
    "2026-11-02 14:22:32.365935123 -08:00": "2026-11-02 22:22:32.365935+00:00",
    "2026-11-02T14:22:32Z": "2026-11-02 14:22:32+00:00",
    "2026-11-02 14:22:32 UTC": "2026-11-02 14:22:32+00:00",
    "2026-11-02 14:22:32 +0530": "2026-11-02 08:52:32+00:00",
    "2026-11-02 14:22:32": "2026-11-02 14:22:32+00:00",
    "yesterday": "None",
}


def test_times_are_read_with_and_without_a_zone_and_what_is_none_is_noted(read_class):
    texts = [entry(n, person(f"S{n}", sid=n), at=time) for n, time in enumerate(TIMES, 1)]
    roll = read_class("".join(texts), *range(1, 7))
    assert [str(one.submitted) for one in roll.submissions] == [*TIMES.values()]
    line = "".join(texts[:5]).count("\n") + 1
    note = f"{METADATA}:{line}: submission_6: :created_at is not a time: 'yesterday'"
    assert roll.notes == (note,)


def test_ruby_refers_to_what_it_wrote_before():
    text = (
        "submission_1:\n  :submitters: &1\n  - &2\n    :name: &3 Ada\n"
        "  :created_at: &4 2026-11-02\n  :results:\n    output: &5 text\n"
        "submission_2:\n  :submitters: *1\n  :created_at: *4\n  :status: *5\n  :x: *2\n"
    )
    submitters = {":submitters": [{":name": "Ada"}], ":created_at": "2026-11-02"}
    assert read(text) == [
        ("submission_1", submitters),
        ("submission_2", submitters | {":status": "text", ":x": {":name": "Ada"}}),
    ]


def test_long_texts_are_cut_tags_never_acted_upon_and_what_contains_itself_ends(tmp_path):
    text = (
        f"submission_1:\n  :a: !!python/object/apply:os.mkdir [{tmp_path / 'made'}]\n"
        "  :b: !ruby/object:Gem::Requirement {x: y}\n  :c: !!python/name:os.system ''\n"
        f"  :d: {'x' * 5_000}\n  :e: &x [*x, *x]\n"
    )
    ((_, found),) = read(text)
    values = ([str(tmp_path / "made")], {"x": "y"}, "", "x" * MAX_TEXT, [None, None])
    assert found == dict(zip((":a", ":b", ":c", ":d", ":e"), values, strict=True))
    assert not (tmp_path / "made").exists()


OLD = [(11, "2026-11-01 09:00:00 -08:00"), (12, "2026-11-01 10:00:00 -08:00")]
THIRD = entry(13, ADA, history=OLD)
OTHER = person("Ada", sid="'9'", email="other@example.edu")
RENAMED = person("Ada Byron", sid="'007'", email="ada@example.edu")
LEFT_OUT = "submission_{} is left out: its students have a later one"
# The metadata; the folders that the export has; whether earlier attempts are asked for, too; the
# submissions, each with its authors and its number among their attempts; what each note contains.
CLASSES = [
    (
        entry(1, ADA) + entry(2, BOB) + "submission_3: ~\nsubmission_4:\n  :submitters: []\n",
        *((1, 3, 4, 5), False, {1: "Ada 1", 2: "Bob 1", 3: " 1", 4: " 1", 5: " 1"}),
        (
            "submission_3 has no table",
            *(f"submission_{n} has no :submitters" for n in (3, 4)),
            "submission_5 is not in submission_metadata.yml",
            "submission_2: it contains no files",
        ),
    ),
    (
        *(entry(1, ADA) + entry(1, BOB), (1,), False, {1: "Ada 1"}),
        ("there are two entries submission_1: the second is left out",),
    ),
    (
        *(entry(1, ADA) + entry(2, OTHER) + entry(3, RENAMED), (1, 2, 3), True),
        {1: "Ada 1", 2: "Ada 1", 3: "Ada Byron 1"},
        ("submission_1, submission_3: ada@example.edu has more", ": Ada (2)"),
    ),
    (
        "".join(
            entry(n, person(name, email=f"{n}@a.edu")) for n, name in enumerate("FFEEDDCCBBAA")
        ),
        *(range(12), False, {n: f"{name} 1" for n, name in enumerate("FFEEDDCCBBAA")}),
        ("or file's name: A (2), B (2), C (2), D (2), E (2), and 1 more",),
    ),
    (THIRD, (11, 13), True, {13: "Ada 3"}, ("submission_11 is left out: submission_13 is",)),
    (THIRD + entry(11, BOB), (11, 13), False, {13: "Ada 3", 11: "Bob 1"}, ()),  # a former partner
    (
        entry(13, ADA, history=[(14, "2026-11-03 09:00:00 -08:00")]),
        *((13,), False, {13: "Ada 1"}),
        ("submission_13 is active on Gradescope, although submission_14 is newer; the",),
    ),
    (entry(13, ADA, at="~", history=OLD), (13,), False, {13: "Ada 1"}, ()),  # unknown: not older
    (  # the second was an hour later
        entry(2, ADA, at="2026-11-03 08:00:00 Z") + entry(1, ADA, at="2026-11-02 23:00:00 -08:00"),
        *((1, 2), False, {2: "Ada 1"}, (LEFT_OUT.format(1),)),
    ),
    (  # who leaves a group counts alone
        entry(1, ADA, BOB) + entry(2, ADA, at="2026-11-02 10:00:00 -08:00"),
        *((1, 2), False, {1: "Bob 1", 2: "Ada 1"}),
        ("submission_1: 1 of the group has a later one",),
    ),
]


@pytest.mark.parametrize("text, folders, all_attempts, kept, notes", CLASSES)
def test_nobody_is_lost_without_a_note(read_class, text, folders, all_attempts, kept, notes):
    roll = read_class(text, *folders, all_attempts=all_attempts)
    assert kept == {
        int(one.id.removeprefix("submission_")): f"{one.students[0].name} {one.attempt}"
        for one in roll.submissions
    }
    assert len(roll.notes) == len(notes), roll.notes
    assert all(part in note for part, note in zip(notes, roll.notes, strict=True)), roll.notes


def test_broken_metadata_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(gradescope, "MAX_SIZE", 1200 * gradescope.NODE_SIZE)
    aliases = "".join(f"  a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    for text, expected in (
        ("", "file: it is empty"),
        ("- a\n", "file:1: expected `submission_1234:`"),
        ("a: 1\n? [b]\n: 2\n", "file:2: expected `submission_1234:`"),
        ("a:\n  :b: 'c\n", "file:3: not valid YAML"),
        ("a: \x00\n", "file: not valid YAML"),
        (f"a:\n  :a: {'[' * 5_000}{']' * 5_000}\n", "file:1: nested too deeply"),
        (f"a:\n  a0: &a0 [x]\n{aliases}", "file:10: this entry would take more than"),
        (f"a:\n  k: [{'v, ' * 1200}]\n", "file:2: this entry would take more than"),
        # What anchors name is kept for the whole file.
        ("".join(f"e{n}:\n  k: &a{n} v\n" for n in range(1200)), "file:"),
    ):
        with pytest.raises(UsageError) as caught:
            read(text)
        assert str(caught.value).startswith(expected) and "\n" not in str(caught.value)
    # Entries are weighed apart.
    assert len(read("".join(f"e{n}:\n  k: [{'v, ' * 400}]\n" for n in range(9)))) == 9


# Reads 12 MiB, nearly all of them results, and drops each submission.
READ = r"""
import io
sys.path.insert(0, sys.argv[2])
from classroom.gradescope import entries
line = "        Your draws of spans: mean 0.25, expected 0.22 to 0.28\n"
text = "submission_1:\n  :results:\n    tests:\n"
text += ("    - output: |-\n" + line * 40 + "      score: 4.0\n") * 20
data = text.encode() * 280
before = peak_kib()
assert sum(1 for _ in entries(io.BytesIO(data), "file")) == 280 and len(data) > 12 << 20
print(peak_kib() - before)
"""


def test_memory_does_not_grow_with_the_file():
    """PyYAML's objects would take at least 30 MiB, and another copy of the text 12."""
    assert peak.growth_kib(READ, ROOT) < 3 * 1024
