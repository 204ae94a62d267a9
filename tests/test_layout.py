"""Each file has one place: what is given is in src/ alone, the reference holds what is written."""

import hashlib

from questions.course import Course

FOLDERS = ("src/submission", "src/pretraining", "solutions/submission")


def names(root, folder):
    return {path.name for path in (root / folder).glob("*.py")}


def test_no_file_exists_twice(root):
    found = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).iterdir()):
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found.setdefault(digest, []).append(path.relative_to(root).as_posix())
    assert len(found) > 20
    assert [places for places in found.values() if len(places) > 1] == []


def test_a_module_of_submission_is_given_or_written_by_students(root):
    given, written = set(Course.provided.given), names(root, "solutions/submission")
    assert not given & written
    assert names(root, "src/submission") == given | written


def test_no_module_has_the_name_of_another_packages(root):
    assert names(root, "src/submission") & names(root, "src/pretraining") == {"__init__.py"}
