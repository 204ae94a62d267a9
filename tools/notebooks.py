"""Select the cells of a students' notebook, and run a notebook for a release.

Notebooks are committed without outputs: `make lint` runs nbstripout on them.
"""

import copy
import os
import tempfile
import warnings
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from .arguments import Failed

SHOWN = 400  # characters shown of a cell's error
CELL_S = 600  # of one cell


def read(path: Path) -> NotebookNode:
    """Read a notebook; raise Failed if it is not one."""
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, AttributeError, nbformat.ValidationError) as error:
        words = " ".join(str(error).split())
        raise Failed(f"{path}: not a notebook: {words[:SHOWN]}") from None


def for_topics(notebook: NotebookNode, topics: set[str]) -> NotebookNode:
    """Return a notebook without the cells whose tags name other topics."""
    kept = [c for c in notebook.cells if set(c.metadata.get("tags", ())) <= topics]
    return NotebookNode({**notebook, "cells": kept})


def to_bytes(notebook: NotebookNode) -> bytes:
    """Return a notebook's file."""
    return (nbformat.writes(notebook) + "\n").encode("utf-8")


def run(notebook: NotebookNode, name: str, cwd: Path, **variables: str) -> NotebookNode:
    """Run a notebook; return a copy of it with outputs.

    The same cells with the same outputs give the same notebook: times and ids of the run are left
    out, and so is standard error (the trainer's estimate and its bar).

    Args:
        name: its name in messages.
        cwd: the folder to run in.
        variables: environment variables of its kernel, in addition to this process's.

    Raises:
        Failed: a cell fails or takes too long.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    started = []
    client = NotebookClient(
        copy.deepcopy(notebook),
        timeout=CELL_S,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        config=Config({"KernelManager": {"transport_encryption": "auto"}}),
        resources={"metadata": {"path": str(cwd)}},
        on_cell_start=lambda cell_index, **_: started.append(cell_index + 1),
    )
    with tempfile.TemporaryDirectory() as settings, warnings.catch_warnings():
        # It opens one of its own files without an encoding; only our code is checked for that.
        warnings.filterwarnings("ignore", category=EncodingWarning, module="jupyter_client")
        # Without the user's own IPython settings and history.
        own = {"IPYTHONDIR": settings, "PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "NO_COLOR": "1"}
        try:
            client.execute(env=os.environ | own | variables)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            text = str(error)
            if isinstance(error, CellExecutionError):  # whose text is a whole traceback
                text = f"{error.ename}: {error.evalue}"
            words = " ".join(text.split())[:SHOWN]
            raise Failed(f"{name}, cell {started[-1]}: {words}") from None
    for cell in client.nb.cells:
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    client.nb.metadata = notebook.metadata  # without the version of this Python
    return client.nb
