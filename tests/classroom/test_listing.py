"""The command `python -m classroom list`, and what every command has in common."""

import os
import re
import signal
import subprocess
import sys

import pytest

from tests.classroom.contents import RIGHT, lay, zipped
from tests.project import ROOT
from tests.snapshots import check, printed

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


def test_a_worksheet_adds_names_addresses_and_times_and_another_is_refused(tmp_path, command):
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
        found[title] = printed(*command("list", source, "--names", "--worksheet", path))
    check("classroom_worksheet", found, {str(tmp_path): "HERE"})
    code, said, _ = command("list", source)
    assert code == 0 and not re.search("eve|P13", said)  # names are shown on request


def test_a_command_ends_with_one_line_and_without_torch(run_python, monkeypatch, command):
    code = (
        "import sys; from classroom.__main__ import main; code = main(['list', 'missing']); "
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    ended = run_python("-c", code, cwd=ROOT)
    assert ended.returncode == 2 and len(ended.stderr.splitlines()) == 1, ended.stderr
    assert ended.stderr.startswith("classroom: ") and "No such file" in ended.stderr

    def fail(asked):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("classroom.exports.run", fail)
    assert command("list", "x") == (3, "", "classroom: [Errno 28] No space left on device\n")


# A command that waits where this says, after it has done what it usually does there.
INTERRUPTED = """
import runpy, sys, time
from classroom.similar.command import {name}
def wait(*words, usual={name}.{function}):
    usual(*words)
    print("begun", flush=True)
    time.sleep(60)
{name}.{function}, sys.argv[1:] = wait, {words}
runpy.run_module("classroom", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "number, name, function",
    [(signal.SIGHUP, "Reading", "read"), (signal.SIGTERM, "Comparison", "write")],  # one confined
)
def test_a_signal_interrupts_a_command_which_leaves_nothing(
    number, name, function, tmp_path, temporary
):
    lay(tmp_path / "source" / "one", RIGHT | {"a.params": b"x"})
    words = ["similar", str(tmp_path / "source"), "--into", str(tmp_path / "class")]
    place = temporary / function
    place.mkdir(0o755)
    code = INTERRUPTED.format(name=name, function=function, words=words)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(place)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert "begun\n" in iter(process.stdout.readline, ""), process.communicate()
    os.kill(process.pid, number)
    assert process.communicate()[1] == "classroom: interrupted\n"
    assert process.returncode == 130
    place.rmdir()  # nothing is in it
    assert {path.name for path in (tmp_path / "class").iterdir()} == {"class.db", "lock"}
