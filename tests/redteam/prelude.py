import ctypes
import os
import struct  # noqa: F401 (for attacks)
import sys
from pathlib import Path

import numpy as np  # noqa: F401 (for attacks, and for the end of each)

from grading import wire

# Code that attacks share, which is put before each of them (see arena.py).
TREE = Path(wire.__file__).resolve().parents[2]
HOME_SECRET = "HOME_SECRET_PATH"
SECRET = b"PLANTED-" + b"SECRET"
libc = ctypes.CDLL(None, use_errno=True)


def tell(*loot):
    """Carry loot out in every way that a submission can use."""
    text = f"PWNED {loot!r}"[:4000]
    print(text)
    print(text, file=sys.stderr)
    raise RuntimeError(text)


def breach(what):
    """Tell the arena that something was possible that should not have been."""
    print("BREACH" + ":", what, flush=True)


def raw(header, body=b""):
    import json

    head = json.dumps(header).encode()
    return wire.PREFIX.pack(wire.MAGIC, len(head), len(body)) + head + body


def send_raw(header, body=b""):
    os.write(4, raw(header, body))
    os._exit(0)


def send(envelope):
    """Answer in the worker's place, and leave before it can."""
    data = memoryview(wire.encode(envelope))
    while data:
        data = data[os.write(4, data) :]
    os._exit(0)
