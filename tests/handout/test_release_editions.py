"""A release of several editions: one is graded while the next is typeset; all stop together."""

import threading

import pytest

from tests.project import ROOT
from tools import autograder, container, release, student
from tools.arguments import Failed
from tools.handout import build

EDITIONS = ["xcs224n", "cs224n", "current"]


class Builds:
    """Stands for what builds and grades editions, and records what was done."""

    def __init__(self, monkeypatch) -> None:
        self.begun = {edition: threading.Event() for edition in EDITIONS}  # its documents
        self.typeset: list[str] = []
        self.graded: list[str] = []
        self.killed = threading.Event()
        self.fails: dict[str, Exception] = {}  # in documents, by edition
        self.waits_for = {"xcs224n": self.begun["cs224n"], "cs224n": self.begun["current"]}
        monkeypatch.setattr(build, "for_students", self.make_documents)
        monkeypatch.setattr(build, "solutions", lambda *_: None)
        monkeypatch.setattr(student, "shared", lambda _: {})
        monkeypatch.setattr(student, "release", lambda *_: "the student's zip")
        monkeypatch.setattr(release, "hand_in", lambda *_: b"upload")
        monkeypatch.setattr(autograder, "build", self.grade)
        monkeypatch.setattr(container, "stop", self.killed.set)

    def make_documents(self, repo, edition, *_):
        self.begun[edition].set()
        if edition in self.fails:
            raise self.fails[edition]
        self.typeset.append(edition)

    def grade(self, repo, edition, trained, folder, upload):
        assert upload == b"upload"
        event = self.waits_for.get(edition)
        assert event is None or event.wait(60)
        if self.killed.is_set():
            raise Failed(f"{edition}: killed")
        self.graded.append(edition)
        return [f"{edition}: graded"]


@pytest.fixture
def builds(monkeypatch) -> Builds:
    return Builds(monkeypatch)


def build_all(tmp_path) -> None:
    release._build(ROOT, EDITIONS, tmp_path, "letter", tmp_path)


def test_an_edition_is_graded_while_the_next_one_is_typeset(builds, tmp_path, capsys):
    build_all(tmp_path)
    assert builds.typeset == builds.graded == EDITIONS and not builds.killed.is_set()
    assert capsys.readouterr().out.count(": graded") == 3


@pytest.mark.parametrize("error", [Failed("no LaTeX"), KeyboardInterrupt()], ids=type)
def test_what_is_graded_is_stopped_where_documents_fail(builds, tmp_path, error):
    builds.fails["cs224n"] = error
    builds.waits_for["xcs224n"] = builds.killed  # graded as long as nobody kills it
    with pytest.raises(type(error)):
        build_all(tmp_path)
    assert builds.killed.is_set() and not builds.graded


def test_an_edition_that_fails_its_proof_is_the_releases_failure(builds, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise Failed("the reference earns 52 through the zip")

    monkeypatch.setattr(autograder, "build", fail)
    with pytest.raises(Failed, match="earns 52"):
        build_all(tmp_path)
