"""`grader.py --watch`: a run after each save, with the same worker, until Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grading.cli import TICK_S
from grading.edition import EDITION
from tests.project import ROOT
from tests.student.folder import edition_file, students_copy

END = "Ctrl-C ends the watch\n"
PRINTING = (
    "def copying_query(keys, j):\n    print('worker', os.getpid())\n    return keys[j] * 100\n"
)


class Watch:
    """A running watch of 3a-0-basic, whose output is read as it comes."""

    def __init__(self, root: Path) -> None:
        self.file = root / "src" / "submission" / "attention_exploration.py"
        self.file.write_text(right(), encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "src/grader.py", "--watch", "3a-0-basic"],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            # If tests run in the background, as by `nohup make test &`, SIGINT is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def round(self, code: str | None = None) -> str:
        """Save code, if any; return what the next run prints."""
        if code is not None:
            self.file.write_text(code, encoding="utf-8")
        text = ""
        while not text.endswith(END):
            text += (line := self.process.stdout.readline())
            assert line, text  # or else it has ended
        return text


@pytest.fixture
def watch(tmp_path) -> Iterator[Watch]:
    root = students_copy(ROOT, tmp_path / "a5")
    (root / EDITION).write_bytes(edition_file("xcs224n"))
    watch = Watch(root)
    yield watch
    watch.process.kill()
    watch.process.communicate()


def right(more: str = "") -> str:
    return f"import os\n{more}\n{PRINTING}"


def worker(text: str) -> int:
    """Return the worker in which a test ran that passed."""
    assert re.search("^3a-0-basic +passed", text, re.MULTILINE), text
    return int(re.search(r"worker (\d+)", text)[1])


def test_each_save_is_graded_until_ctrl_c(watch, tmp_path):
    first = watch.round()
    assert "Since" not in first
    assert worker(watch.round(right("# saved"))) == worker(first)  # torch would stay imported

    # Where links can't be made, Emacs's locks are files. A run for one would find right code.
    (watch.file.parent / ".#helper.py").write_text("emacs", encoding="utf-8")
    time.sleep(4 * TICK_S)
    wrong = watch.round("def copying_query(keys")
    assert "was never closed" in wrong
    assert wrong.splitlines()[1] == "Since the last run: 3a-0-basic fails now"
    assert "3a-0-basic newly passes" in watch.round(right())

    watch.file.unlink()
    assert "3a-0-basic fails now" in watch.round()
    package = watch.file.parent
    away = package.rename(tmp_path / "away")
    assert watch.round().startswith("grader.py: ")
    away.rename(package)
    assert "basic 0 of 1" in watch.round()

    # What is saved during a run, here by the code that runs, is graded after it.
    later = f"from pathlib import Path\nmore = Path({str(package / 'more.py')!r})"
    killed = worker(watch.round(right(f"{later}\nmore.exists() or more.touch()")))
    os.kill(killed, signal.SIGKILL)
    last = worker(watch.round())
    assert last != killed

    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait() == 130
    with pytest.raises(ProcessLookupError):
        os.kill(last, 0)
    assert watch.process.stdout.read() == "\nThe watch has ended.\n"
