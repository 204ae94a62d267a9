"""`grades` at work: what is printed, and what is written."""

import stat
from decimal import Decimal

from tests.classroom.grades.building import ADA, at, decide, scores, student
from tests.project import ROOT
from tests.snapshots import check, printed

BO = student("=Bo Chen", "008", "bo@x.edu")
CY = student("Cy Comma, Jr", "", "cy@x.edu")


def test_what_the_commands_print_and_that_refusals_write_nothing(
    made, policy, command, tmp_path, monkeypatch
):
    policy(late_days=1, percent_per_day=Decimal("12.5"), extra_credit_cap=Decimal(1))
    made.add(1, [ADA, BO], at(1500), 10, 6, 0.13)  # two days late
    folder = made.add(2, [CY], at(-60), 1, 2, 3, 0)
    text = scores([[ADA, [4, 2], at(-60), "51"], [BO, None, at(-60), "52"],
                   [CY, None, None, ""]])  # fmt: skip
    code = decide(
        folder,
        written=text,
        overrides=[("007", "1d", "8")],
        late_days=[("cy@x.edu", "1")],
        extensions=[("cy@x.edu", at(60))],
    )
    assert code == 0
    found = {}

    def run(title: str, *words) -> None:
        found[title] = printed(*command(*words))

    # 8 + 6.13 = 14.13, minus an eighth: 12.36375; plus 4; plus 1 of 2.
    run("explain a grade", "grades", folder, "--explain", "Ada Byron")
    run("explain what was not handed in", "grades", folder, "--explain", "cy@x.edu")
    for name in ("SUBMISSION_2", "2", "Cy Comma, Jr"):
        run("again", "grades", folder, "--explain", name)
        assert found.pop("again") == found["explain what was not handed in"]
    run("explain what is incomplete", "grades", folder, "--explain", "008")
    run("explain a group's submission", "grades", folder, "--explain", "submission_1")
    run("explain nobody", "grades", folder, "--explain", "nobody")
    run("explain an ID without its zeros", "grades", folder, "--explain", "7")
    run("an assignment without Canvas", "grades", folder, "--assignment", "12")
    run("in the repository", "grades", folder, "--csv", ROOT / "tests" / "grades.csv")
    assert not (folder / "grades").exists()
    (folder / "grades").write_text("", encoding="utf-8")
    run("grades is a file", "grades", folder)
    (folder / "grades").unlink()
    table = tmp_path / "all.csv"
    run("grades", "grades", folder, "--csv", table)
    found["all.csv"] = table.read_text(encoding="utf-8")
    decide(folder, written=scores([[ADA, [4, 2], None, "51"], [BO, [4, 2], at(-9), "52"]]))
    run("explain an unknown time", "grades", folder, "--explain", "007")
    monkeypatch.chdir(folder)
    words = ("grades", ".", "--csv", "grades/grades.csv")
    run("without somebody, and without a time, to a relative path", *words)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (table, folder / "grades")]
    assert modes == [0o600, 0o700]
    check("grades_commands", found, {str(folder): "CLASS", str(tmp_path): "HERE"})
