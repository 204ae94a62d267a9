"""The commands regrade, apply, discard and history, with scripted workers."""

import json
import re

from classroom.cells import write
from tests.classroom.regrading.conftest import BASELINE, described, entry, ids_of
from tests.snapshots import check, printed
from tools.classroom.folder import read_json
from tools.classroom.table import newest_release, table

NEW = described(two={"digest": "new"})
HIDDEN = "1a-1-hidden"


def test_only_what_changed_is_run_with_the_seeds_of_before_and_nothing_counts(made):
    before = made.records(BASELINE)
    code, _, _ = made("regrade", new=NEW)
    right, wrong, raises, fault, refused = made.ids_by_name()
    assert code == 0
    assert sorted(made.workers.asked) == sorted(
        [(one, (HIDDEN,), "7", False) for one in (right, wrong, raises, refused)]
        + [(fault, ids_of(NEW), "7", False)]  # there was no result, so all tests are run
    )
    assert made.records(BASELINE) == before
    assert newest_release(made.folder) == BASELINE


def test_what_the_commands_print(made, tmp_path):
    ids = made.ids_by_name()
    names = {one: f"SUBMISSION {number}" for number, one in enumerate(ids)}
    found = {}

    def run(title: str, *words: str, new=NEW) -> None:
        text = printed(*made(*words, new=new))
        found[title] = re.sub(r"\d{4}-\d\d-\d\d[T ][\d:.+Z-]+", "TIME", text)

    run("nothing to apply", "apply", "--reason", "x")
    run("nothing to discard", "discard", "--reason", "x")
    run("an unknown question", "regrade", "--only", "7z")
    (tmp_path / "source").rename(tmp_path / "elsewhere")
    run("a download that moved", "regrade")
    (tmp_path / "elsewhere").rename(tmp_path / "source")
    run("regrade", "regrade")
    run("a blank reason", "apply", "--reason", "  ")
    made.release = "c" * 64
    run("one that is open", "regrade")
    run("discard", "discard", "--reason", "no", "--author", "Bo")
    run("regrade with another release", "regrade")
    run("apply", "apply", "--reason", "too strict", "--author", "Ada")
    run("history", "history")
    run("too few repetitions", "repeat", "--", "1")
    check("regrade_commands", found, {str(tmp_path): "HERE", **names})


def test_what_is_previewed_counts_once_it_is_applied_and_all_of_it(made):
    made("regrade", new=NEW)
    assert [float(r["score"]) for r in rows(made) if r["score"]] == [5.5, 2.5, 0.0, 0.0]
    code, said, _ = made("apply", "--reason", "too strict", "--author", "Ada")
    assert code == 0 and "regrade-1 counts now: up 3" in said
    assert newest_release(made.folder) == "regrade-1"
    assert made.scores("regrade-1") == scores(made, 5.5, 5.5, 3.0, 5.5, 3.0)
    assert [r["status"] for r in rows(made)] == ["graded"] * 5  # the new release takes the last
    code, said, _ = made("history")
    assert "regrade-1  applied 20" in said and "by Ada: too strict" in said
    assert said.endswith("What counts now: regrade-1\n")


def rows(made):
    import csv
    import io

    text = write(table(made.folder, newest_release(made.folder)))
    found = {row["submission"]: row for row in csv.DictReader(io.StringIO(text))}
    return [found[one] for one in made.ids_by_name()]


def scores(made, *by_name: float) -> list[float]:
    found = dict(zip(made.ids_by_name(), by_name, strict=True))
    return [found[one] for one in made.ids]


def test_what_is_discarded_is_gone_and_remembered(made):
    made("regrade", new=NEW)
    code, said, _ = made("discard", "--reason", "no")
    assert code == 0 and f"the results of {BASELINE} still count" in said
    assert made.records("regrade-1") == {} and newest_release(made.folder) == BASELINE
    assert not list(made.folder.path.glob("**/*regrade-1*"))
    assert "regrade-1  discarded 20" in made("history")[1]
    made("regrade", new=NEW)
    assert len(made.records("regrade-2")) == 5  # numbers aren't reused


def test_down_and_to_zero_are_told(made):
    new = described(two={"digest": "new"}, one={"digest": "new"}, three={"digest": "new"})
    made.workers.ends = dict.fromkeys(("one", "two", "three"), "failed")
    _, said, _ = made("regrade", new=new)
    assert "up 0, down 2 (to zero 2)" in said
    assert "passed -> failed.cause" in said
    right, wrong, *_ = made.ids_by_name()
    first, second = (line for line in said.splitlines() if line.startswith("down: "))
    assert first == f"down: {right}  5.5 -> 0" and second == f"down: {wrong}  2.5 -> 0"


def test_points_alone_need_no_run_and_no_files(made, tmp_path):
    (tmp_path / "source").rename(tmp_path / "elsewhere")
    # For the submission without a result, all tests would have to be run.
    ids = [one for one in made.ids if one != made.ids_by_name()[3]]
    (tmp_path / "some.txt").write_text("\n".join(ids), encoding="utf-8")
    words = ("--students", str(tmp_path / "some.txt"))
    code, said, _ = made("regrade", *words, new=described(two={"max_score": 5}))
    assert code == 0 and made.workers.asked == [] and made.connected == 0
    assert "5.5 of 5.5 -> 7.5 of 7.5" in said and "0 verdicts changed" in said
    assert made("apply", "--reason", "weights")[0] == 0
    assert made.scores("regrade-1") == scores(made, 7.5, 2.5, 0.0, None, 0.0)


def test_where_nothing_changed_nothing_is_kept(made, tmp_path):
    ids = [one for one in made.ids if one != made.ids_by_name()[3]]
    (tmp_path / "some.csv").write_text("\n".join(ids), encoding="utf-8")
    code, said, _ = made("regrade", "--students", str(tmp_path / "some.csv"))
    assert code == 0 and "there is nothing to regrade" in said
    assert "There were no regrades." in made("history")[1] and made.records("regrade-1") == {}


def test_some_tests_of_some_students(made, tmp_path):
    right, wrong, *others = made.ids_by_name()
    (tmp_path / "some.csv").write_text(f"submission_id\n{wrong}\n", encoding="utf-8")
    new = described(two={"digest": "new"}, three={"digest": "new", "max_score": 9})
    words = ("--only", "1a", "--students", str(tmp_path / "some.csv"))
    made("regrade", *words, new=new)
    assert made.workers.asked == [(wrong, (HIDDEN,), "7", False)]
    made("apply", "--reason", "x")
    assert made.scores("regrade-1") == scores(made, 5.5, 5.5, 0.0, None, 0.0)
    assert "only 1a, only 1 submission;" in made("history")[1]


def test_one_regrade_at_a_time(made):
    made("regrade", new=NEW)
    made.release = "c" * 64
    assert made("regrade", new=NEW)[0] == 2
    assert made("discard")[0] == 0 and made("regrade", new=NEW)[0] == 0


def test_a_blank_reason_is_none(made):
    made("regrade", new=NEW)
    assert made("apply", "--reason", "  ")[0] == 2
    assert newest_release(made.folder) == BASELINE


def test_a_loss_of_ours_keeps_it_from_counting_and_is_tried_again(made):
    first = made.ids_by_name()[0]
    lost = {"lost": "killed"}
    made.workers = made.workers.__class__(NEW)
    code, said, complaint = made("regrade", new=NEW, **{first: [lost, lost]})
    assert code == 1 and f"no result: {first}  killed" in said
    assert f"{first}: staff fault: killed" in complaint
    assert made.records("regrade-1")[first]["results"]["score"] == 5.5  # no zero
    code, _, complaint = made("apply", "--reason", "x")
    assert code == 2 and "regrade-1 is not complete" in complaint
    assert made("regrade", new=NEW)[0] == 0
    assert [ask[0] for ask in made.workers.asked] == [first]
    assert made("apply", "--reason", "x")[0] == 0


def test_a_limit_is_run_again_alone(made):
    first = made.ids_by_name()[0]
    slow = made.workers.__class__(NEW, {"two": "timed out"}).answer((HIDDEN,), "7")
    made("regrade", new=NEW, **{first: [slow]})
    assert made.workers.asked[-1] == (first, (HIDDEN,), "7", True)
    kept = made.records("regrade-1")[first]["results"]["tests"]
    assert [test["outcome"] for test in kept] == ["passed"] * 3
    assert [test["release"] for test in kept] == [BASELINE, "b" * 16, BASELINE]


def test_a_regrade_that_was_cut_short_goes_on(made, monkeypatch):
    usual = type(made.workers).run

    def cut(self, jobs, say, alone=False):
        for count, each in enumerate(usual(self, jobs, say, alone)):
            if count == 2:
                raise KeyboardInterrupt
            yield each

    with monkeypatch.context() as patch:
        patch.setattr(type(made.workers), "run", cut)
        assert made("regrade", new=NEW)[0] == 130
    done = set(made.records("regrade-1"))
    assert len(done) == 2 and made("apply", "--reason", "x")[0] == 2
    assert made("regrade", new=NEW)[0] == 0
    assert {ask[0] for ask in made.workers.asked} == set(made.ids) - done
    assert made("apply", "--reason", "x")[0] == 0


def test_what_was_graded_since_the_preview_is_not_overruled(made):
    made("regrade", new=NEW)
    first = made.ids_by_name()[0]
    changed = made.records(BASELINE)[first]
    changed["results"]["tests"][0] = entry("one", "failed")
    made.folder.write_record(first, BASELINE, changed)
    assert made("apply", "--reason", "x")[0] == 2
    assert made("regrade", new=NEW)[0] == 0
    assert [ask[0] for ask in made.workers.asked] == [first]
    assert made("apply", "--reason", "x")[0] == 0
    assert made.records("regrade-1")[first]["results"]["score"] == 4.5


def test_files_that_changed_or_are_gone_keep_their_results(made, tmp_path):
    right, wrong, *_ = made.ids_by_name()
    for name in ("000-right", "001-wrong"):
        (path,) = (tmp_path / "source" / name).glob("submission/*.py")
        path.write_text("# another\n", encoding="utf-8")
    code, said, _ = made("regrade", new=NEW)
    assert code == 0 and f"kept: {right}  " in said
    assert right not in [ask[0] for ask in made.workers.asked]
    assert made("apply", "--reason", "x")[0] == 0
    assert made.records("regrade-1")[wrong]["results"]["score"] == 2.5


def test_a_download_that_moved_is_found_by_its_new_place(made, tmp_path):
    (tmp_path / "source").rename(tmp_path / "elsewhere")
    assert made("regrade", new=NEW)[0] == 2
    words = ("--source", str(tmp_path / "elsewhere"))
    assert made("regrade", *words, new=NEW)[0] == 0 and len(made.workers.asked) == 5
    assert [source.path.name for source in made.folder.sources()] == ["elsewhere", "source"]


def test_an_upload_that_the_new_release_refuses_has_no_points_and_a_reason(made, tmp_path):
    right = made.ids_by_name()[0]
    (path,) = (tmp_path / "source" / "000-right").glob("submission/*.py")
    record = made.records(BASELINE)[right]
    path.rename(path.with_suffix(".txt"))
    from tools.classroom.roster import read_class

    roll = read_class(tmp_path / "source")
    digests = {s.submission_id: s.upload.digest() for s in roll.submissions}
    made.folder.write_record(right, BASELINE, record | {"upload": digests[right]})
    made("regrade", new=NEW)
    after = made.records("regrade-1")[right]
    assert after["refused"].startswith("the upload: no folder")
    assert [t["outcome"] for t in after["results"]["tests"]] == ["passed", "missing file", "passed"]


def test_the_page_and_its_links_are_there_and_private(made):
    made("regrade", new=NEW)
    page = made.folder.path / "regrades" / "regrade-1" / "index.html"
    text = page.read_text(encoding="utf-8")
    links = re.findall(r'href="([^"#]+)"', text)
    assert len(links) == 8  # both results of four
    for link in links:
        path = (page.parent / link).resolve()
        assert path.is_file() and path.stat().st_mode & 0o077 == 0
    assert "Content-Security-Policy" in text and "001-wrong" in text


def test_forgetting_a_student_takes_results_and_pages_along(made):
    from tools.classroom.__main__ import main

    made("regrade", new=NEW)
    wrong = made.ids_by_name()[1]
    main(["forget", made.folder.roll()[wrong].students[0].key, "--in", str(made.folder.path)])
    assert not made.folder.submission(wrong).exists()
    assert not (made.folder.path / "regrades").exists()
    left = made.folder.path.rglob("*")
    assert not any(b"001-wrong" in path.read_bytes() for path in left if path.is_file())


def test_history_holds_no_names_and_can_be_read(made):
    made("regrade", new=NEW)
    made("apply", "--reason", "evil\u202e\nreason")
    text = json.dumps(read_json(made.folder.path / "history.json"))
    assert "wrong" not in text
    assert "evil\\u202e\\nreason" in made("history")[1]
