"""`python src/grader.py`: what its commands print, and what they refuse, each in a line."""

import json
import re
import sys
from collections.abc import Callable

import pytest

from autograder import command, isolation, replay
from grading import cli
from grading.errors import UsageError
from tests import pinned
from tests.interpreter import python
from tests.project import ROOT
from tests.snapshots import check, made

# A run of several commands, as on a student's computer where a line begins with "student".
SCRIPT = """
import sys
sys.path[:0] = ["src", "."]
from pathlib import Path
from autograder import command
from autograder.description import load_assignment
from grading import cli
from questions.course import Course
cli.load_assignment = command.load_assignment = lambda _: load_assignment(Path(sys.argv[1]))
commands = {"staff": command.StaffCommand(Course()), "student": cli.Command(Course())}
for line in sys.stdin.read().splitlines():
    whose, *words = line.split()
    print(f"======== {line}", flush=True)
    code = commands[whose].main(words)
    print(f"exit code {code}", flush=True)
"""
COMMANDS = """\
staff --list
staff --list 3a 1e-0-basic
staff --where 1e-8-hidden 1d-2-basic 3a-0-basic
student --where 1e-8-hidden
staff 3a --submission solutions --seed 7 --in-process
student 3a --submission solutions --seed 7
"""
REFUSED = """\
staff 9z
staff 1e-0-basci
staff --where 1e 1h-0-basic
staff --edition other
staff --jobs 0
staff --seed -1
staff --in-process --json results.json
staff --in-process --authoritative
staff --html no/such/report.html
staff --json src
staff --replay no/such.json
staff --replay results.json --seed 1
staff 3a --submission nowhere
"""
MASKS = {
    r"(src|solutions)/(\S+\.py):\d+ ": r"\1/\2:N ",
    r"files \w{12}, [\d-]+ [\d:]+ UTC": "files DIGEST, TIME",
    r"judged by \w{12}": "judged by DIGEST",
}


@pytest.mark.parametrize(("name", "lines"), [("commands", COMMANDS), ("commands_refused", REFUSED)])
def test_commands(name, lines, tmp_path):
    (tmp_path / "assignment.toml").write_text(pinned.text(), encoding="utf-8")
    script = SCRIPT.replace("import sys", "import sys; sys.stderr = sys.stdout", 1)
    ran = python(ROOT, "-c", script, str(tmp_path), input=lines, stdin=None)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    text = ran.stdout
    for pattern, short in MASKS.items():
        text = re.sub(pattern, short, text)
    parts = re.split(r"(?m)^======== (.*)\n", text)[1:]
    check(name, dict(zip(parts[::2], parts[1::2], strict=True)))


@pytest.mark.skipif(sys.platform != "linux", reason="confined workers need Linux")
def test_doctor(capsys, monkeypatch):
    fine, texts = "print('numpy 2, torch 2')", {}

    def say(title: str, examine: Callable[[], object], code: str) -> None:
        monkeypatch.setattr(cli, "command", lambda _: [sys.executable, "-c", code])
        examine()
        here = re.sub(
            r"(?m)^(Release|Python|System|CPUs) +[^;\n]+", r"\1 ...", capsys.readouterr().out
        )
        texts[title] = re.sub(r"takes [\d.]+ s", "takes N s", here)

    for title, layers, faults, code in (
        ("all is well", isolation.Layers(True, 7, True), [], fine),
        ("nothing works", isolation.Layers(False, 0, False), ["a fault"], "raise ImportError('x')"),
    ):
        monkeypatch.setattr(isolation, "detect", lambda layers=layers: layers)
        monkeypatch.setattr(isolation, "obstacles", lambda _, faults=faults: faults)
        say(title, command.StaffCommand(None).examine, code)
    say("a student's", cli.Command(None).examine, fine)
    check("doctor", texts)


def test_replay(tmp_path, monkeypatch):
    monkeypatch.setattr("autograder.replay.versions", lambda: {"python": "3.12.2"})
    path, texts = tmp_path / "results.json", {}
    results = made.results("some of everything", True)
    results.write(path, staff=True)
    content = json.loads(path.read_text(encoding="utf-8"))
    content["tests"][0] |= {"outcome": "passed", "score": 1.0}
    del content["tests"][1]
    content["facts"]["hidden_feedback"] = False
    path.write_text(json.dumps(content), encoding="utf-8")
    record = replay.read(path)
    texts["differences"] = "\n".join(replay.compare(record, results))
    texts["warnings"] = "\n".join(replay.warnings(record, "0" * 64))
    for title, text in (
        ("not JSON", "Graded: x"),
        ("broken JSON", "{"),
        ("another JSON", "{}"),
        ("two records", "record: {}\nrecord: {}\n"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError) as caught:
            replay.read(path)
        texts[title] = str(caught.value)
    check("replay", texts, {str(tmp_path): "TMP"})
