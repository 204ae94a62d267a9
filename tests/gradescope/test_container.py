"""The emulator's containers: alike, whether an engine or root makes them."""

import sys
import tempfile
from pathlib import Path

import pytest

from tools import container
from tools.container import HOME, Engine, Limits, Namespaces

PYTHON = f"{HOME}/venv/bin/python"
QUICK = Limits(cpus=2.0)
NO_ENGINE = "neither Docker nor Podman can be used here"
KINDS = [
    pytest.param(
        Namespaces,
        marks=pytest.mark.skipif(not container.is_possible(), reason="needs root on Linux"),
    ),
    pytest.param(
        Engine,
        marks=[pytest.mark.long, pytest.mark.skipif(not container.engine(), reason=NO_ENGINE)],
    ),
]


@pytest.fixture(params=KINDS)
def place(request, monkeypatch, tmp_path):
    """A container with this project's environment, and a list of fonts."""
    (tmp_path / "fontlist-v1.json").touch()
    monkeypatch.setattr(container, "font_lists", lambda: (tmp_path / "fontlist-v1.json",))
    with tempfile.TemporaryDirectory(prefix="emulator-") as folder:
        Path(folder).chmod(0o755)
        made = request.param(Path(folder) / "root", Path(sys.prefix))
        yield made
        made.remove()
        assert not made.root.exists()


def run(place, *command, limits=QUICK):
    log = place.root.parent / "log"
    ran = place.run([*map(str, command)], log, limits)
    return ran, log.read_text(encoding="utf-8")


def test_a_command_sees_its_own_root_and_no_network(place):
    words = "pwd; ls -d /home /media /mnt; id -u; touch /usr/x; stat -c %a /dev/shm; echo $HOME"
    words += "; ls ~/.cache/matplotlib; touch mine; chown 12345 mine; exec "
    program = 'import socket; socket.create_connection(("192.0.2.1", 53), 2)'
    ran, text = run(place, "sh", "-c", f"{words} {PYTHON} -c '{program}'")
    lines = text.splitlines()
    # Students' code may write to shared memory.
    for line in ("/autograder", "0", "1777", "/root", "fontlist-v1.json"):
        assert line in lines, text
    assert sum("No such file" in line for line in lines) == 3 and "Read-only" in text
    assert ran.code == 1 and "unreachable" in lines[-1]
    assert ran.limited and 0 < ran.peak_bytes < 100e6
    assert (place.autograder / "mine").exists()


def test_memory_and_time_are_limited(place):
    ran, text = run(place, PYTHON, "-c", "x = bytearray(b'x') * (900 << 20); print('alive')")
    assert ran.code not in (0, 124) and "alive" not in text
    assert 700e6 < ran.peak_bytes <= 768e6
    ran, text = run(place, "sleep", "600", limits=Limits(timeout_s=1.0))
    assert ran.code == 124
