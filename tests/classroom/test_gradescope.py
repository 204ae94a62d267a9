"""A Gradescope export is read completely, and with little memory."""

import io

import pytest

from classroom import gradescope
from classroom.exports import read_export
from classroom.gradescope import MAX_TEXT, METADATA, entries
from grading.errors import UsageError
from tests.classroom.contents import described, lay
from tests.snapshots import check


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


def test_long_texts_are_cut_tags_never_acted_upon_and_what_contains_itself_ends(tmp_path):
    text = (
        f"submission_1:\n  :a: !!python/object/apply:os.mkdir [{tmp_path / 'made'}]\n"
        "  :b: !ruby/object:Gem::Requirement {x: y}\n  :c: !!python/name:os.system ''\n"
        f"  :d: {'x' * 5_000}\n  :e: &x [*x, *x]\n  :results: left out\n"
    )
    ((_, found),) = read(text)
    values = ([str(tmp_path / "made")], {"x": "y"}, "", "x" * MAX_TEXT, [None, None])
    assert found == dict(zip((":a", ":b", ":c", ":d", ":e"), values, strict=True))
    assert not (tmp_path / "made").exists()


OLD = [(11, "2026-11-01 09:00:00 -08:00"), (12, "2026-11-01 10:00:00 -08:00")]
THIRD = entry(13, ADA, history=OLD)
OTHER = person("Ada", sid="'9'", email="other@example.edu")
RENAMED = person("Ada Byron", sid="'007'", email="ada@example.edu")
SHARED = "".join(
    entry(n, person(name, email=f"{n}@a.edu")) for n, name in enumerate("FFEEDDCCBBAA")
)
LACKING = (
    [person("A", sid="0123", email="A@x")],
    [person("B", sid="~", email="b@x")],
    [person("C", sid="'null'", email="c@x")],
    [person("D", sid="1e5", email="")],
    [person("E"), person("E")],
)
TIMES = (
    "2026-11-02 14:22:32.365935123 -08:00",
    "2026-11-02T14:22:32Z",
    "2026-11-02 14:22:32 UTC",
    "2026-11-02 14:22:32 +0530",
    "2026-11-02 14:22:32",
    "yesterday",
)
# Ruby refers to what it wrote before.
REFERRING = (
    "submission_1:\n  :submitters: &1\n  - &2\n    :name: &3 Ada\n  :created_at: &4 2026-11-02\n"
    "  :results:\n    output: &5 ada@x\nsubmission_2:\n  :submitters: *1\n  :created_at: *4\n"
    "submission_3:\n  :submitters:\n  - *2\n  - :name: *3\n    :email: *5\n"
)
# The metadata, and the folders that the export has.
CLASSES = {
    "references": (REFERRING, 1, 2, 3),
    "what students lack": (
        *("".join(entry(n, *people) for n, people in enumerate(LACKING)), *range(5)),
    ),
    "times with and without a zone": (
        "".join(entry(n, person(f"S{n}", sid=n), at=time) for n, time in enumerate(TIMES)),
        *range(6),
    ),
    "odd entries": (
        entry(1, ADA) + entry(2, BOB) + "submission_3: ~\nsubmission_4:\n  :submitters: []\n",
        *(1, 3, 4, 5),
    ),
    "an entry twice": (entry(1, ADA) + entry(1, BOB), 1),
    "shared names": (SHARED, *range(12)),
    "a former partner": (THIRD + entry(11, BOB), 11, 13),
    "an earlier attempt is active": (
        *(entry(13, ADA, history=[(14, "2026-11-03 09:00:00 -08:00")]), 13),
    ),
    "an unknown time isn't older": (entry(13, ADA, at="~", history=OLD), 13),
    "an hour later, in another zone": (
        entry(2, ADA, at="2026-11-03 08:00:00 Z") + entry(1, ADA, at="2026-11-02 23:00:00 -08:00"),
        *(1, 2),
    ),
    "who leaves a group counts alone": (
        entry(1, ADA, BOB) + entry(2, ADA, at="2026-11-02 10:00:00 -08:00"),
        *(1, 2),
    ),
    "all attempts: a student's other name": (
        entry(1, ADA) + entry(2, OTHER) + entry(3, RENAMED),
        *(1, 2, 3),
    ),
    "all attempts: a third": (THIRD, 11, 13),
}


def test_nobody_is_lost_without_a_note(tmp_path):
    found = {}
    for title, (text, *folders) in CLASSES.items():
        files = {f"submission_{number}/submission/a.py": b"" for number in folders}
        lay(tmp_path / title, files | {METADATA: text.encode()})
        found[title] = described(read_export(tmp_path / title, title.startswith("all attempts")))
    check("classroom_gradescope", found)


def test_broken_metadata_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(gradescope, "MAX_SIZE", 1200 * gradescope.NODE_SIZE)
    aliases = "".join(f"  a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
    for text, expected in (
        ("", "file: it is empty"),
        ("a: 1\n? [b]\n: 2\n", "file:2: expected `submission_1234:`"),
        ("a:\n  :b: 'c\n", "file:3: not valid YAML"),
        ("a: \x00\n", "file: not valid YAML"),
        (f"a:\n  :a: {'[' * 5_000}{']' * 5_000}\n", "file:1: nested too deeply"),
        (f"a:\n  a0: &a0 [x]\n{aliases}", "file:10: this entry would take more than"),
        # What anchors name is kept for the whole file.
        ("".join(f"e{n}:\n  k: &a{n} v\n" for n in range(1200)), "file:"),
    ):
        with pytest.raises(UsageError) as caught:
            read(text)
        assert str(caught.value).startswith(expected) and "\n" not in str(caught.value)
    # Entries are weighed apart.
    assert len(read("".join(f"e{n}:\n  k: [{'v, ' * 400}]\n" for n in range(9)))) == 9
