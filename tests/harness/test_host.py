"""What differs between systems, each forced on Linux (tests/systems.py).

Uploads are opened in each way in test_staging.py, workers of other systems run in
test_local_pool.py, and commands for shells are in tests/student/test_environment.py.
"""

import errno
import os
import resource
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

import environment
import host
from grading import report, worker
from grading.staging import Staged
from pretraining import InputError
from pretraining.files import only_training
from tests.systems import SYSTEMS, become


@pytest.mark.parametrize("platform", SYSTEMS)
def test_another_c_library_or_system_frees_its_memory(platform, monkeypatch):
    loaded = Mock(return_value=SimpleNamespace())  # musl, without mallopt
    monkeypatch.setattr("ctypes.CDLL", loaded)
    become(platform, monkeypatch)
    host.keep_memory()
    assert loaded.called == (platform == "linux")


def test_memory_is_counted_in_bytes(monkeypatch):
    present = host.resident_bytes()
    without_proc = Mock(side_effect=FileNotFoundError)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in KiB, but in bytes on macOS
    usage = Mock(return_value=SimpleNamespace(ru_maxrss=most))
    monkeypatch.setattr(resource, "getrusage", usage)
    with monkeypatch.context() as patch:
        patch.setattr(host, "open", without_proc, raising=False)
        assert host.resident_bytes() == most << 10 and 0 < present < most << 11
    found = {}
    for platform in ("darwin", "win32"):
        with monkeypatch.context() as patch:
            become(platform, patch)
            found[platform] = host.resident_bytes()
    assert found == {"darwin": most, "win32": 0}


def test_windows_locks_the_file_that_a_training_writes(tmp_path, monkeypatch):
    """tests/running/test_run.py does the same with two commands on this system."""
    become("win32", monkeypatch)
    path = str(tmp_path / "w")
    with only_training(path):
        for _ in range(2):
            with pytest.raises(InputError, match="another training"), only_training(path):
                pass
    with only_training(path), only_training(str(tmp_path / "other")):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("platform", "locking"), [("linux", "fcntl.lockf"), ("win32", "msvcrt.locking")]
)
def test_a_drive_without_locks_stops_no_training(platform, locking, tmp_path, monkeypatch):
    become(platform, monkeypatch)
    none = Mock(side_effect=OSError(errno.ENOLCK, "No locks available"))
    monkeypatch.setattr(locking, none)
    with only_training(str(tmp_path / "w")):
        assert none.called


def test_paths_on_another_drive_of_windows_are_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = compile("1 / 0", str(tmp_path / "submission" / "dataset.py"), "exec")
    with pytest.raises(ZeroDivisionError) as caught:
        exec(code)
    staged = Staged(tmp_path, {"dataset.py": str(tmp_path / "a" / "dataset.py")})
    full = FileNotFoundError(errno.ENOENT, "No such file", str(tmp_path / "w"))

    def said() -> tuple[str, str, str]:
        where = worker.describe(caught.value, tmp_path)["where"]
        return environment.reason(full), report.files_line(staged), where

    assert said() == ("w: No such file", f"Files: 1 of a{os.sep}", "submission/dataset.py:1")
    monkeypatch.setattr("os.path.relpath", Mock(side_effect=ValueError("path is on mount 'D:'")))
    files = f"Files: 1 of {tmp_path / 'a'}{os.sep}"
    assert said() == (f"{tmp_path / 'w'}: No such file", files, "")
