"""Whatever a student calls a file or a parameter, no escapes or extra lines are printed."""

import dataclasses
import json
import os

import numpy as np
import pytest

from autograder import console, pages, replay
from autograder.gradescope import feedback
from grading import printable, report
from grading.errors import UsageError
from grading.results import Results, TestResult
from grading.staging import stage
from grading.verdicts import Outcome, TestEnd
from questions.shared import trained_files

ESCAPES = "\x1b[2J\x9b1A\r\x07\u202e\u2028\x85"
FORGED = 'a\nrecord: {"seed": "1"}\n'
HOSTILE = [ESCAPES, FORGED, "tab\there", "half \udc80 a pair", "\x7f"]


def only_text(text: str) -> bool:
    """Return whether a terminal shows all of it, and every line is ours."""
    return all(c.isprintable() or c == "\n" for c in text) and "\nrecord" not in f"\n{text}"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_stays_one_line_and_readable(text):
    assert printable.line(text).isprintable()
    assert printable.line(f"é東{text}").startswith("é東")
    assert len(printable.line(text * 5000)) <= printable.MAX_LINE
    assert only_text(str(UsageError(f"{text}: no such file")))


def test_lines_keep_their_ends_and_tabs():
    assert printable.lines("a\r\n\tb\rc\x1b", 100) == "a\n\tb\\rc\\x1b"


@pytest.mark.parametrize("character", ["x", "\x01", "\u202e", "\U0010ffff", "\n", "\r\n"])
@pytest.mark.parametrize("count", [100, 101, 5000])
def test_lines_are_as_long_as_they_may_be_when_escapes_are_shown(character, count):
    """Otherwise, results ten times as long would be rewritten after every test."""
    text = printable.lines(character * count, 100)
    assert len(text.removesuffix("\n[... cut]")) <= 100
    assert printable.lines(text, 100) == text


NAMES = [f"{text}{suffix}" for text in HOSTILE for suffix in (".params", ".predictions", ".py")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", [".", "submission"])
def test_a_file_with_such_a_name_stays_behind(tmp_path, capsys, name, place):
    package = tmp_path / "upload" / "submission"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    with open(os.fsencode(tmp_path / "upload" / place) + b"/" + _bytes(name), "wb") as writer:
        writer.write(b"x")
    staged = stage(tmp_path / "upload", tmp_path / "staged")
    console.show_staged(staged)
    print(report.files_line(staged))
    assert set(staged.taken) == {"submission/__init__.py"}
    taken = name.endswith(".py") and place == "."  # no code is expected there
    assert len(staged.omissions) == (0 if taken else 1)
    assert only_text(capsys.readouterr().out)


def _bytes(name: str) -> bytes:
    return os.fsencode(name.replace("/", "_"))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_wrapping_folder_with_such_a_name_forges_no_line(tmp_path, capsys, text):
    folder = os.fsencode(tmp_path / "upload") + b"/" + _bytes(text) + b"/submission"
    os.makedirs(folder)
    for name in (b"__init__.py", b"x.params"):
        with open(folder + b"/" + name, "wb"):
            pass
    staged = stage(tmp_path / "upload", tmp_path / "staged")
    console.show_staged(staged)
    print(report.files_line(staged))
    assert only_text(capsys.readouterr().out)


@pytest.mark.parametrize("key", HOSTILE)
def test_a_parameters_name_is_shown_in_one_line(key):
    read = {"problem": "", "names": [key], "arrays": [np.array([np.nan], np.float32)]}
    with pytest.raises(TestEnd) as caught:
        trained_files.parameters(read, "vanilla.finetune.params")
    assert str(caught.value).isprintable()
    assert trained_files.misfit({key: np.zeros(1)}, {}).isprintable()


@pytest.fixture
def results(runner) -> Results:
    edition = runner.assignment.edition(None)
    hostile = "".join(HOSTILE)
    texts = {"message": hostile, "output": hostile, "detail": hostile}
    tests = [
        TestResult(spec=spec, description="does", outcome=Outcome.FAILED, **texts)
        for spec in edition.tests
    ]
    facts = {"judged_by": "0", "versions": {"torch": "2"}, "left": [hostile], "layers": []}
    return Results(edition, 5, tests, facts)


@pytest.mark.parametrize("field", ["message", "output", "detail"])
def test_no_result_holds_a_text_that_is_not_fit_to_be_shown(results, field):
    made = TestResult(spec=results.tests[0].spec, description="does", **{field: "".join(HOSTILE)})
    changed = dataclasses.replace(made, **{field: "".join(HOSTILE) + "x" * 100_000})
    for result in (made, changed):
        assert all(c.isprintable() or c in "\n\t" for c in getattr(result, field))
    assert len(getattr(changed, field)) < 80_000
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, field, ESCAPES)


def test_prints_and_messages_forge_nothing(results, capsys):
    for test in results.tests:
        console.show_result(test)
        # In a fenced block, and no part of the standard output.
        assert only_text(feedback.of_test(test).replace("\t", " ").replace("record", ""))
    console.show_summary(results)
    assert only_text(capsys.readouterr().out.replace("\t", " "))
    assert only_text(pages.page(results).replace("\t", " ").replace("record", ""))
    assert feedback.plain("".join(HOSTILE)).isprintable()


GENUINE = "Taken: 3 files\n      | record: {}\nseed 5\n"


def test_the_last_line_is_the_record(results, tmp_path):
    path = tmp_path / "stdout"
    for end in ("\n", "\n\n", "\r\n", ""):
        path.write_bytes((GENUINE + replay.line(results) + end).encode())
        assert replay.read(path).seed == 5


@pytest.mark.parametrize(
    "text",
    [
        GENUINE,  # cut off before the end
        "record: FORGED\n" + GENUINE,
        "GENUINE\nrecord: FORGED\nTHE RECORD\n",
        "THE RECORD\nrecord: FORGED\n",
        "THE RECORD\nsomething after it\n",
    ],
)
def test_another_line_like_a_record_is_refused(results, tmp_path, text):
    genuine = replay.line(results)
    path = tmp_path / "stdout"
    forged = genuine.removeprefix(replay.RECORD)
    path.write_text(text.replace("THE RECORD", genuine).replace("FORGED", forged), encoding="utf-8")
    with pytest.raises(UsageError, match="can't be read"):
        replay.read(path)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": -1},
        {"seed": float("inf")},
        {"seed": "1" * 5000},
        {"tests": [{"test_id": "1e", "outcome": "splendid", "score": 1}]},
        {"tests": [{"test_id": "1e", "outcome": "passed", "score": 10**400}]},
        {"tests": 5},
        {"facts": []},
        {"facts": {"judged_by": "0", "versions": {"torch": 5}}},
    ],
)
def test_a_record_of_another_form_is_bad_input(results, tmp_path, change):
    record = json.loads(replay.line(results).removeprefix(replay.RECORD)) | change
    path = tmp_path / "stdout"
    path.write_text(replay.RECORD + json.dumps(record), encoding="utf-8")
    with pytest.raises(UsageError):
        replay.read(path)
