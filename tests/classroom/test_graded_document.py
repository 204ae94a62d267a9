"""docs/grading-a-class.md: its commands for grading lead to a table, with a quick question."""

import csv
import shlex

from tests.classroom.tiny import class_of, needs_root
from tests.follow import commands_of
from tests.project import ROOT

DOCUMENT = (ROOT / "docs" / "grading-a-class.md").read_text(encoding="utf-8")
EXPORT = "~/practice/assignment_4711_export.zip"


def of(word: str) -> list[str]:
    """Return the words of the document's command with this name, without `python -m ...`."""
    start = f"python -m tools.classroom {word} "
    (command,) = [line for line in commands_of(DOCUMENT) if line.startswith(start)]
    return shlex.split(command)[3:]


@needs_root
def test_the_commands_lead_from_a_class_to_its_table(classroom, tmp_path):
    source = class_of(tmp_path / "source", "right", "wrong")

    def follow(words: list[str], *more: str) -> str:
        given = [word.replace(EXPORT, str(source)).replace("~", str(tmp_path)) for word in words]
        process = classroom(*given, *more)
        output = process.communicate(timeout=240)[0]
        assert process.returncode == 0, output
        return output

    follow(of("grade"), "--edition", "tiny", "--slots", "2")
    follow(of("table"))
    with open(tmp_path / "class" / "table.csv", encoding="utf-8", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert {name: row["status"] for name, row in rows.items()} == {
        "000-right": "graded",
        "001-wrong": "graded",
    }
    assert float(rows["000-right"]["score"]) > float(rows["001-wrong"]["score"])
    follow(of("certificates"))
    assert {path.name for path in (tmp_path / "certificates").iterdir()} == {
        "ca.pem",
        "certificate.pem",
        "dask.yaml",
        "key.pem",
    }
