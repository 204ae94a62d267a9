"""A `python` that starts at once: torch is imported once, and each command runs in a fork.

    with quick_python() as environment:
        subprocess.run(["python", "src/run.py", ...], env=environment)

For tests that run a dozen of students' commands one after another: importing torch takes longer
than each of them. What they do is the same; that they start by themselves is
tests/running/test_run.py's.
"""

import atexit
import contextlib
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

# Hands its arguments, folder, environment and streams to the server, and waits for the fork's end.
# What is no script (`-m`, `-c`) runs in an interpreter of its own.
CLIENT = """#!{python} -IS
import json, os, socket, sys
arguments = sys.argv[1:]
if not arguments or not arguments[0].endswith(".py"):
    os.execv({python!r}, [{python!r}, *arguments])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"-"], [0, 1, 2])
    server.sendall(json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode() + b"\\n")
    code = server.makefile().read()  # until the fork is gone
sys.exit(int(code) if code else "the command was killed")
"""


@contextlib.contextmanager
def quick_python() -> Iterator[dict[str, str]]:
    """Give an environment in which `python SCRIPT ARGUMENT...` starts at once."""
    with (
        tempfile.TemporaryDirectory(prefix="python-") as folder,  # short, as addresses have to be
        socket.socket(socket.AF_UNIX) as listener,
    ):
        address = f"{folder}/address"
        listener.bind(address)
        listener.listen()
        client = Path(folder, "python")
        text = CLIENT.format(python=sys.executable, address=address)
        client.write_text(text, encoding="utf-8")
        client.chmod(0o755)
        known = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MAKEFLAGS")}
        server = subprocess.Popen(
            [sys.executable, "-P", __file__, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            env=known,
        )
        try:
            yield known | {"PATH": f"{folder}{os.pathsep}{known['PATH']}"}
        finally:
            server.terminate()
            server.wait()


def serve(listener: socket.socket) -> NoReturn:
    """Fork for each command, without end."""
    import numpy  # noqa: F401  # as well as torch, which computes nothing: so a fork may compute
    import torch  # noqa: F401
    import tqdm  # noqa: F401

    gc.freeze()
    while True:
        connection, _ = listener.accept()
        _, streams, _, _ = socket.recv_fds(connection, 1, 3)
        arguments, folder, environment = json.loads(connection.makefile("rb").readline())
        if os.fork() == 0:
            listener.close()
            take_over(streams)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            code = run(arguments)
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            connection.sendall(str(code).encode())
            os._exit(code)  # without tidying up, which would copy all that the fork shares
        connection.close()
        for stream in streams:
            os.close(stream)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def take_over(streams: list[int]) -> None:
    """Make these descriptors the standard input, output and error."""
    for number, (stream, name) in enumerate(
        zip(streams, ("stdin", "stdout", "stderr"), strict=True)
    ):
        os.dup2(stream, number)
        os.close(stream)
        old = getattr(sys, name)
        setattr(sys, name, open(number, old.mode, 1, old.encoding, old.errors))


def run(arguments: list[str]) -> int:
    """Run a script as `python SCRIPT ARGUMENT...` does; return its exit code."""
    sys.argv = arguments
    sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
    try:
        runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
            return 1
        return ended.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
