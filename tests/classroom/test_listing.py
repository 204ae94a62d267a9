"""The command `python -m classroom list`, and what every command has in common."""

import os
import signal
import subprocess
import sys

import pytest

from classroom.__main__ import COMMANDS, main
from tests.classroom.contents import RIGHT, lay, zipped
from tests.project import ROOT
from tests.snapshots import check, printed


def test_ids_are_shown_and_names_on_request(made, capsys):
    everybody = [person for each in made.submissions for person in each.people]
    groups = sum(len(each.people) > 1 for each in made.submissions)
    counts = f"Gradescope export: 24 submissions, {len(everybody)} students, {groups} groups, "
    for words, names_are_shown in (((), False), (("--names",), True)):
        assert main(["list", str(made.source), *words]) == 0
        *lines, last = capsys.readouterr().out.splitlines()
        assert last.startswith(counts)
        lines = {line.partition(" ")[0]: line for line in lines if line.startswith("submission_")}
        for each in made.submissions:
            line = lines[f"submission_{each.number}"]
            assert each.at.strftime("  %Y-%m-%d %H:%M-08:00") in line
            assert ("  attempt 3" in line) == (each.attempts == 3)
            assert all((person.email in line) == names_are_shown for person in each.people)
        assert names_are_shown or not any(p.name in "".join(lines.values()) for p in everybody)


WORKSHEET = """\
\ufeffIdentifier,Full name,ID number,Email address,Status,Last modified (submission),Grade
Participant 7,"Byron, Ada",007,ada@x.edu,Submitted,"Monday, 2 November 2026, 2:22 PM",
Participant 8,Bob,,bob@x.edu,Submitted,"Monday, November 2, 2026, 11:05 AM",
Participant 9,Cy,,cy@x.edu,Submitted,"Monday, 2 November 2026, 09:00",
Participant 10,Dee,,dee@x.edu,Submitted,vor 3 Stunden,
Participant 11,Eve,,eve@x.edu,No submission,-,
Participant 14,Hal,,hal@x.edu,Submitted,-,
Participant 12,Fay,,fay@x.edu,Submitted,"Monday, 2 November 2026, 2:22 PM",
,Gus,,gus@x.edu,Submitted,"Monday, 2 November 2026, 2:22 PM",
"""


def test_a_worksheet_adds_names_addresses_and_times_and_another_is_refused(tmp_path, capsys):
    source, path = tmp_path / "class", tmp_path / "worksheet.csv"
    for number in (7, 8, 9, 10, 13, 14):
        lay(source / f"P{number}_{number}_assignsubmission_file", RIGHT)
    (source / "eve_LATE_1_2_work.zip").write_bytes(zipped(RIGHT))  # of Canvas

    found = {}
    for title, text in (
        ("the worksheet", WORKSHEET),
        ("another table", "name,mark\nAda,1\n"),
        ("another assignment's", "Identifier\nParticipant 99\n"),
    ):
        path.write_text(text, encoding="utf-8")
        code = main(["list", str(source), "--names", "--worksheet", str(path)])
        found[title] = printed(code, *capsys.readouterr())
    check("classroom_worksheet", found, {str(tmp_path): "HERE"})


def test_a_command_ends_with_one_line_and_without_torch(run_python, capsys):
    code = (
        "import sys; from classroom.__main__ import main; code = main(['list', 'missing']); "
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    ended = run_python("-c", code, cwd=ROOT)
    assert ended.returncode == 2 and len(ended.stderr.splitlines()) == 1, ended.stderr
    assert ended.stderr.startswith("classroom: ") and "No such file" in ended.stderr
    for words, exit_code in ((["list"], 2), (["--help"], 0)):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == exit_code
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 1 and "exit codes: 0 done, 2 wrong usage" in out
    assert out.count("\n    ") >= len(COMMANDS)


def test_a_full_disk_ends_a_command_with_one_line(monkeypatch, capsys):
    def fail(asked):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("classroom.exports.run", fail)
    assert main(["list", "x"]) == 3
    assert capsys.readouterr().err == "classroom: [Errno 28] No space left on device\n"


# A command that waits where this says, after it has done what it usually does there.
INTERRUPTED = """
import runpy, sys, time
from {module} import {name}
def wait(*words, usual={name}.{function}):
    usual(*words)
    print("begun", flush=True)
    time.sleep(60)
{name}.{function}, sys.argv[1:] = wait, {words}
runpy.run_module("classroom", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "number, word, where",
    [
        (signal.SIGHUP, "list", "classroom exports read_export"),
        (signal.SIGTERM, "similar", "classroom.similar.command Reading read"),  # confined
        (signal.SIGTERM, "similar", "classroom.similar.command Comparison write"),
    ],
)
def test_a_signal_interrupts_a_command_which_leaves_nothing(
    number, word, where, tmp_path, temporary
):
    lay(tmp_path / "source" / "one", RIGHT | {"a.params": b"x"})
    words = [word, str(tmp_path / "source")]
    words += ["--into", str(tmp_path / "class")] if word == "similar" else []
    module, name, function = where.split()
    place = temporary / function
    place.mkdir(0o755)
    code = INTERRUPTED.format(module=module, name=name, function=function, words=words)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert "begun\n" in iter(process.stdout.readline, "")
    os.kill(process.pid, number)
    assert process.communicate()[1] == "classroom: interrupted\n"
    assert process.returncode == 130
    place.rmdir()  # nothing is in it
    left = {path.name for path in (tmp_path / "class").glob("*")}
    assert left == ({"class.db", "lock"} if word == "similar" else set())
