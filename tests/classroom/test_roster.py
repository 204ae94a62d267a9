"""Whatever a class hands in, and however it is exported, nobody is lost without a note."""

import warnings
import zipfile
from collections import Counter

import pytest

from grading import printable
from grading.errors import SubmissionError, UsageError
from tests.classroom.contents import UPLOADS, Content, Link, uploaded, zipped
from tests.classroom.make_class import PLATFORMS, SHARES, Made, MadeClass
from tests.classroom.plain import RIGHT, in_order, lay_out, pack
from tools.classroom import uploads
from tools.classroom.folder import ClassFolder
from tools.classroom.roster import ID, Submission, read_class

EXPORTS = [(platform, packed) for platform in PLATFORMS for packed in (False, True)]


def number(one: Submission, platform: str) -> str:
    """Return the number that the platform gives a submission or its student."""
    if platform == "gradescope":
        return one.submission_id
    return (
        one.students[0].name.split()[-1] if platform == "plain" else one.submission_id.split("_")[1]
    )


def numbers(made: MadeClass, platform: str) -> Counter:
    """Return how many submissions should have each of the platform's numbers."""
    if platform == "gradescope":
        return Counter(f"submission_{each.number}" for each in made.submissions)
    everybody = platform == "moodle"
    return Counter(
        str(person.number)
        for each in made.submissions
        for person in (each.people if everybody else each.people[:1])
    )


@pytest.mark.parametrize("platform, packed", EXPORTS)
def test_everybody_of_every_platform_comes_out_once(made, platform, packed):
    cls = made(platform, packed)
    roll = read_class(cls.source)
    found = Counter()
    for one in roll.submissions:
        assert ID.fullmatch(one.submission_id)
        found[number(one, platform)] += 1
    assert found == numbers(cls, platform)
    assert len({one.submission_id for one in roll.submissions}) == len(roll.submissions)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_zip_holds_what_the_folder_holds(made, platform, tmp_path):
    digests = [
        {one.submission_id: one.upload.digest() for one in read_class(cls.source).submissions}
        for cls in (made(platform, False), made(platform, True))
    ]
    assert digests[0] == digests[1] and len(digests[0]) >= 40


@pytest.mark.parametrize("platform, packed", EXPORTS)
def test_the_grader_gets_what_was_handed_in(made, platform, packed, tmp_path):
    cls = made(platform, packed)
    of_numbers = {f"submission_{each.number}": each for each in cls.submissions}
    of_numbers |= {str(person.number): each for each in cls.submissions for person in each.people}
    kinds = Counter()
    for index, one in enumerate(read_class(cls.source).submissions):
        each = of_numbers[number(one, platform)]
        kinds[each.content.kind] += 1
        into = tmp_path / str(index)
        into.mkdir()
        assert is_taken(one, into) == (not each.content.refused), each.content.name
        if not each.content.refused:
            assert code(into / "staged") == handed_in(each), each.content.name
    assert kinds.keys() == SHARES.keys()


def is_taken(one, into) -> bool:
    """Return whether the grader finds something to grade; if not, it says why in one line."""
    try:
        one.upload.stage(into / "staged")
    except SubmissionError as error:
        assert str(error) and "\n" not in str(error)
        return False
    return True


def code(staged) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (staged / "submission").glob("*.py")}


def handed_in(each: Made) -> dict[str, bytes]:
    found = each.content.files.items()
    modules = {name: text for name, text in found if name.endswith(".py")}
    return {n.split("/")[-1]: text for n, text in modules.items() if "__MACOSX" not in n}


@pytest.mark.parametrize("name", UPLOADS)
@pytest.mark.parametrize("packed", [False, True])
def test_hostile_uploads_are_kept_and_refused_in_one_line(tmp_path, name, packed):
    content = uploaded(name)
    source = tmp_path / "class"
    for each in ("submission_1", "submission_2"):
        lay_out(source / each, content if each == "submission_1" else RIGHT)
    if packed:
        source = pack(source)
    bad, good = in_order(read_class(source), "submission_1", "submission_2")
    for one, taken in ((bad, False), (good, True)):
        into = tmp_path / one.submission_id
        into.mkdir()
        assert is_taken(one, into) == taken


ENTRIES = (
    "ada.zip",
    "ada",
    "byronada_1_2_work.zip",
    "byronada_late_3_4_work.zip",
    "anon_x7Yz1_5_work.zip",
    "Ada Byron_6_assignsubmission_file_work.zip",
    "Ada Byron_7_assignsubmission_file",
    "Ada Byron_8_assignsubmission_onlinetext_onlinetext.html",
    "notes.txt",
    "_",
    "a_1_2_",
    "=1+1.zip",
    "\u202egnp.zip",
    "\U0001f469\u200d\U0001f52c",
    "e\u0301.zip",
    "\u00e9.zip",
    "x" * 200 + ".zip",
    "line\nend.zip",
    b"not utf-8 \xff.zip".decode("utf-8", "surrogateescape"),
)


@pytest.mark.parametrize("packed", [False, True])
def test_every_entry_is_a_submission_or_in_a_note(tmp_path, packed):
    source, entries = (
        tmp_path / "class",
        ENTRIES[: -1 if packed else None],
    )  # names in zips are text
    source.mkdir()
    for name in entries:
        if "." in name[-5:]:
            (source / name).write_bytes(
                zipped({"submission/a.py": name.encode("utf-8", "replace")})
            )
        else:
            (source / name / "submission").mkdir(parents=True)
            (source / name / "submission" / "a.py").write_text("x = 1\n", encoding="utf-8")
    roll = read_class(pack(source) if packed else source)
    kept = [place.name for one in roll.submissions for _, place in one.upload.parts]
    assert len(kept) == len(set(kept))
    for name in entries:
        noted = [note for note in roll.notes if note.startswith(printable.line(name))]
        assert (name in kept) != (len(noted) == 1), name
    assert [name for name in entries if name not in kept] == ["notes.txt"]


def test_an_id_stays_the_same_and_tells_no_name(tmp_path):
    source = tmp_path / "class"
    for name in ("ada byron", "grace hopper"):
        lay_out(source / name, RIGHT)
    before = [one.submission_id for one in read_class(source).submissions]
    lay_out(source / "aaa", RIGHT)
    after = [one.submission_id for one in read_class(source).submissions]
    assert set(before) < set(after) and len(after) == 3
    assert not any(part in "".join(after) for part in ("ada", "byron", "grace", "hopper"))


def test_what_the_grader_says_tells_no_name(tmp_path):
    source = tmp_path / "class"
    twice = {f"{name}/submission/a.py": b"x = 1\n" for name in ("old", "new")}
    lay_out(source / "ada byron", Content("", "", twice))
    lay_out(source / "other", RIGHT)
    (source / "grace hopper.zip").write_bytes(zipped({"report.pdf": b"%PDF"}))
    (source / "alan turing.zip").write_bytes(zipped(twice) + b"PK")
    (source / "kay mcnulty.tar").write_bytes(b"no tar")
    said = []
    for index, one in enumerate(read_class(source).submissions):
        try:
            one.upload.stage(tmp_path / str(index))
        except SubmissionError as error:
            said.append(str(error))
    assert len(said) == 4
    assert not any(name in "".join(said) for name in ("byron", "hopper", "turing", "mcn")), said


def test_a_digest_tells_contents_and_names_apart(tmp_path):
    source = tmp_path / "class"
    same = {"submission/a.py": b"x = 1\n"}
    for name, content in (
        ("one", same),
        ("two", same),
        ("three", {"submission/a.py": b"x = 2\n"}),
        ("four", {"submission/b.py": b"x = 1\n"}),
        ("five", {"submission/a.py": Link("x = 1\n")}),
    ):
        lay_out(source / name, Content("", "", content))
    order = ("one", "two", "three", "four", "five")
    digests = [one.upload.digest() for one in in_order(read_class(source), *order)]
    assert digests[0] == digests[1] and len(set(digests)) == 4


def test_a_flood_is_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(uploads, "MAX_FILES", 10)
    monkeypatch.setattr(uploads, "MAX_BYTES", 1000)
    source = tmp_path / "class"
    lay_out(source / "many", Content("", "", {f"submission/{n}.py": b"" for n in range(11)}))
    lay_out(source / "large", Content("", "", {"submission/a.py": bytes(1001)}))
    lay_out(source / "most", Content("", "", {"submission/a.py": bytes(1000)}))
    roll = read_class(source)
    many, large, most = in_order(roll, "many", "large", "most")
    for one, reason in ((many, "more than 10 files"), (large, "too large")):
        with pytest.raises(SubmissionError, match=reason):
            one.upload.stage(tmp_path / one.students[0].name)
    assert "submission/a.py" in most.upload.stage(tmp_path / "most").taken
    assert any("more than 10 files" in note for note in roll.notes)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("../../ada/x.py", "leads outside"),
        ("a/" * 101 + "x.py", "nested too deeply"),
        ("ada/submission/a.py", "twice"),
    ],
)
def test_an_odd_entry_of_a_zip_is_noted(tmp_path, text, expected):
    source = tmp_path / "class.zip"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of the duplicated name
        with zipfile.ZipFile(source, "w") as writer:
            writer.writestr("ada/submission/a.py", "x = 1\n")
            writer.writestr("grace/submission/a.py", "x = 1\n")
            writer.writestr(text, "x = 2\n")
    roll = read_class(source)
    assert len(roll.submissions) == 2
    assert sum(expected in note for note in roll.notes) == 1


def test_names_of_a_zip_are_read_as_macs_write_them(tmp_path):
    source, name = tmp_path / "class.zip", "Zoë 李"
    with zipfile.ZipFile(source, "w") as writer:
        writer.writestr("#####/submission/a.py", "x = 1\n")
        writer.writestr("other/submission/a.py", "x = 1\n")
    packed = source.read_bytes()
    assert len(name.encode()) == 8
    name = "Zoë!"  # five bytes of UTF-8, not marked as such in the zip
    assert len(name.encode()) == 5
    source.write_bytes(packed.replace(b"#####", name.encode()))
    in_order(read_class(source), name, "other")


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda path: None, "can't be read: No such file"),
        (lambda path: path.mkdir(), "contains no submissions"),
        (lambda path: path.write_bytes(b"%PDF-1.7"), "can't be read as a zip"),
        (lambda path: path.write_bytes(zipped({})), "contains no submissions"),
        (lambda path: path.write_bytes(zipped({"x.txt": b""})), "contains no submissions"),
        (lambda path: lay_out(path, RIGHT), "is a single submission; expected a class"),
        (lambda path: path.write_bytes(zipped(RIGHT.files)), "is a single submission"),
        (lambda path: lay_out(path, Content("", "", {"a.py": b""})), "is a single submission"),
        (lambda path: ClassFolder.create(path), "is a class's folder of results"),
    ],
)
def test_what_is_no_class_is_refused(tmp_path, make, message):
    make(tmp_path / "source")
    with pytest.raises(UsageError, match=message):
        read_class(tmp_path / "source")


def test_a_class_of_one_and_wrapping_folders(tmp_path):
    for depth, top in enumerate(("", "outer/", "outer/inner/")):
        source = tmp_path / f"class{depth}"
        lay_out(source / f"{top}ada", RIGHT)
        (one,) = read_class(source).submissions
        assert one.students[0].name == "ada"


def test_results_beside_the_class_are_left_out(tmp_path):
    source = tmp_path / "class"
    lay_out(source / "ada", RIGHT)
    ClassFolder.create(source / "results")
    roll = read_class(source)
    assert len(roll.submissions) == 1
    assert roll.notes == ("results is left out: it is a class's folder",)


def test_a_class_in_the_repository_is_noted(root):
    roll = read_class(root / "tests" / "golden")
    assert any("is inside the repository" in note for note in roll.notes)
