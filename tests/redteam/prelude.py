# ruff: noqa: F401 (attacks use these imports)
import builtins
import ctypes
import fcntl
import gc
import json
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

from grading import wire

# Code that attacks share, which is put before each of them (see arena.py).
TREE = Path(wire.__file__).resolve().parents[2]
HIDDEN = str(TREE / "solutions" / "hidden" / "training.py")
PACKAGE = os.path.dirname(os.path.abspath(__file__))
HOME_SECRET = "HOME_SECRET_PATH"
SECRET = b"PLANTED-" + b"SECRET"
libc = ctypes.CDLL(None, use_errno=True)


def tell(*loot):
    """Carry loot out in every way that a submission can use."""
    text = repr(loot)
    at = max(text.find(SECRET.decode()), 0)  # as much as is shown
    text = f"PWNED {text[at : at + 4000]}"
    print(text)
    print(text, file=sys.stderr)
    raise RuntimeError(text)


def breach(what):
    """Tell the arena that something was possible that should not have been."""
    print("BREACH" + ":", what, flush=True)


def digits_of(keys):
    """Return hidden inputs as digits, to be carried out."""
    return "".join(f"{int(n * 1000)}" for n in abs(keys).ravel()[:16])


def raw(header, body=b""):
    head = json.dumps(header).encode()
    return wire.PREFIX.pack(wire.MAGIC, len(head), len(body)) + head + body


def write(data):
    """Write all of it where the worker's answer goes."""
    data = memoryview(data)
    while data:
        data = data[os.write(4, data) :]


def leave(data):
    """Answer in the worker's place, and leave before it can."""
    write(data)
    os._exit(0)


def send(envelope):
    leave(wire.encode(envelope))


def answers(query, count=20):
    """Return an envelope of a copying_query that returns the same for all inputs."""
    return {"ok": True, "value": {"forms": ["float64[4]"] * count, "answers": [[query]] * count}}


def report(text="", **fields):
    """Return an envelope of an exception, with this text in its other fields."""
    names = "where message traceback module name file refused debugger".split()
    return {"ok": False, "error": {**dict.fromkeys(names, text), "type": "ValueError", **fields}}
