"""The command `python -m classroom list`, and what every command has in common."""

import os
import signal
import subprocess
import sys

import pytest

from classroom.__main__ import COMMANDS, main
from grading.errors import GradingError
from tests.classroom.contents import RIGHT, lay, zipped
from tests.project import ROOT


def test_ids_are_shown_and_names_on_request(made, capsys):
    source, submissions = str(made().source), made().submissions
    assert main(["list", source]) == 0
    plain = capsys.readouterr().out
    assert main(["list", source, "--names"]) == 0
    named = capsys.readouterr().out
    for each in submissions:
        (line,) = [x for x in named.splitlines() if x.startswith(f"submission_{each.number} ")]
        assert all(person.email in line for person in each.people)
        assert each.at.strftime("  %Y-%m-%d %H:%M-08:00") in line
    shown = [line for line in plain.splitlines() if line.startswith("submission_")]
    assert len(shown) == len(submissions) == 40
    everybody = [person for each in submissions for person in each.people]
    assert not any(p.email in line or p.name in line for p in everybody for line in shown)
    groups = sum(len(each.people) > 1 for each in submissions)
    counts = f"Gradescope export: 40 submissions, {len(everybody)} students, {groups} groups, "
    assert plain.splitlines()[-1].startswith(counts)
    assert any("  attempt 3" in line for line in shown)


# -- Moodle's worksheet ----------------------------------------------------------------------------

WORKSHEET = """\
\ufeffIdentifier,Full name,ID number,Email address,Status,Last modified (submission),Grade
Participant 7,"Byron, Ada",007,ada@x.edu,Submitted,"Monday, 2 November 2026, 2:22 PM",
Participant 8,Bob,,bob@x.edu,Submitted,"Monday, November 2, 2026, 11:05 AM",
Participant 9,Cy,,cy@x.edu,Submitted,"Monday, 2 November 2026, 09:00",
Participant 10,Dee,,dee@x.edu,Submitted,vor 3 Stunden,
Participant 11,Eve,,eve@x.edu,No submission,-,
Participant 12,Fay,,fay@x.edu,Submitted,"Monday, 2 November 2026, 2:22 PM",
"""


@pytest.fixture
def moodle(tmp_path, capsys):
    """Return moodle(text), which lists a download with this worksheet."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "eve_LATE_1_2_work.zip").write_bytes(zipped(RIGHT.files))  # of Canvas
    for number in (7, 8, 9, 10, 13):
        lay(tmp_path / "class" / f"P{number}_{number}_assignsubmission_file", RIGHT)

    def run(text):
        path = tmp_path / "worksheet.csv"
        path.write_text(text, encoding="utf-8")
        words = ["list", str(tmp_path / "class"), "--names", "--worksheet", str(path)]
        return main(words), *capsys.readouterr()

    return run


def test_a_worksheet_adds_names_addresses_and_times(moodle):
    code, out, _ = moodle(WORKSHEET)
    assert code == 0
    assert out.splitlines() == [
        "canvas_1_2  late  eve <canvas:1>",
        "moodle_10  Dee <dee@x.edu>",
        "moodle_13  P13 <moodle:13>",
        "moodle_7  2026-11-02 14:22-08:00  Byron, Ada <ada@x.edu>",
        "moodle_8  2026-11-02 11:05-08:00  Bob <bob@x.edu>",
        "moodle_9  2026-11-02 09:00-08:00  Cy <cy@x.edu>",
        "note: canvas_1_2 is not in the worksheet",
        "note: moodle_10: not a time: 'vor 3 Stunden'",
        "note: moodle_13 is not in the worksheet",
        "note: Fay has a time in worksheet.csv, but no files in the download",
        "download: 6 submissions, 6 students, 0 groups, 4 notes",
    ]


@pytest.mark.parametrize(
    "text, fault",
    [
        ("name,mark\nAda,1\n", "worksheet.csv, line 1: the column 'Identifier' is missing"),
        ("", "worksheet.csv is empty"),
        ("Identifier\nParticipant 99\n", "has nobody who is in the download"),
    ],
)
def test_what_is_not_this_worksheet_is_refused(moodle, text, fault):
    code, out, err = moodle(text)
    assert code == 2 and out == "" and fault in err and len(err.splitlines()) == 1


# -- every command ---------------------------------------------------------------------------------


def test_a_command_ends_with_one_line_and_without_torch(run_python, capsys):
    code = (
        "import sys; from classroom.__main__ import main; code = main(['list', 'missing']); "
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    ended = run_python("-c", code, cwd=ROOT)
    assert ended.returncode == 2 and len(ended.stderr.splitlines()) == 1, ended.stderr
    assert ended.stderr.startswith("classroom: ") and "No such file" in ended.stderr
    with pytest.raises(SystemExit) as usage:
        main(["list"])
    assert usage.value.code == 2 and len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    "error, code, said",
    [
        (GradingError("no worker is left"), 3, "classroom: no worker is left"),
        (OSError(28, "No space left on device"), 3, "No space left on device"),
        (KeyboardInterrupt(), 130, "classroom: interrupted"),
    ],
)
def test_what_ends_a_command_is_one_line_and_an_exit_code(monkeypatch, capsys, error, code, said):
    def fail(asked):
        raise error

    monkeypatch.setattr("classroom.exports.run", fail)
    assert main(["list", "x"]) == code
    err = capsys.readouterr().err
    assert said in err and len(err.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_interrupts_a_command(number):
    code = (
        "import runpy, sys, time; from classroom import exports\n"
        "def run(asked): print('begun', flush=True); time.sleep(60)\n"
        "exports.run = run; sys.argv[1:] = ['list', 'x']\n"
        "runpy.run_module('classroom', run_name='__main__', alter_sys=True)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert process.stdout.readline() == "begun\n"
    os.kill(process.pid, number)
    assert process.communicate() == ("", "classroom: interrupted\n")
    assert process.returncode == 130


def test_help_names_every_command_and_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0 and "exit codes: 0 done, 2 wrong usage" in said
    assert said.count("\n    ") >= len(COMMANDS)
