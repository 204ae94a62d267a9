"""Strip the students' notebooks before they are committed, and run them for a release.

    python -m tools.notebooks --check     check that every notebook is stripped
    python -m tools.notebooks --strip     strip them

A stripped notebook has no outputs, no execution counts and no metadata but ours, and its bytes
depend only on its cells. Exit codes: 0 done; 1 a notebook is not stripped; 2 wrong usage, or a file
is not a notebook.
"""

import json
import os
import sys
import tempfile
import warnings
from pathlib import Path

from pretraining.files import write_atomically

from .arguments import OneLineParser
from .datafiles import REPO

NOTEBOOKS = ("mingpt-demo/play_char.ipynb", "handout/student/colab.ipynb")
FORMAT = {"nbformat": 4, "nbformat_minor": 5}  # 4.5 is the first whose cells have ids
# Any Python 3 will do; it does not matter which version last saved the file.
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SHOWN = 400  # characters shown of a cell's error


class NotebookError(Exception):
    """A file is not a notebook, or one of its cells fails; the message is one line."""


def read(path: Path) -> dict:
    """Read a notebook.

    Raises:
        NotebookError: it is not a notebook of format 4.
    """
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells = notebook["cells"]
        complete = all({"cell_type", "source"} <= cell.keys() for cell in cells)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        complete, reason = False, type(error).__name__
    else:
        reason = "a cell lacks its type or source"
    if not complete or notebook.get("nbformat") != FORMAT["nbformat"]:
        raise NotebookError(f"{path}: not a notebook of format 4 ({reason})")
    return notebook


def strip(notebook: dict) -> dict:
    """Return a stripped notebook: cells and tags, without outputs or other metadata.

    Args:
        notebook: its content, which is not changed.
    """
    cells = [_strip_cell(cell, number) for number, cell in enumerate(notebook["cells"], 1)]
    return {"cells": cells, "metadata": METADATA, **FORMAT}


def _strip_cell(cell: dict, number: int) -> dict:
    tags = cell.get("metadata", {}).get("tags", [])
    stripped = {
        "cell_type": cell["cell_type"],
        "id": f"cell-{number:02}",
        "metadata": {"tags": tags} if tags else {},
        "source": source_of(cell).splitlines(keepends=True),
    }
    if cell["cell_type"] == "code":
        stripped |= {"execution_count": None, "outputs": []}
    return stripped


def for_topics(notebook: dict, topics: set[str]) -> dict:
    """Return a stripped notebook without the cells whose tags name other topics."""
    cells = notebook["cells"]
    kept = [c for c in cells if set(c["metadata"].get("tags", ())) <= topics]
    return strip({**notebook, "cells": kept})


def source_of(cell: dict) -> str:
    """Return a cell's text, which files store as a list of lines or as a string."""
    source = cell["source"]
    return source if isinstance(source, str) else "".join(source)


def to_bytes(notebook: dict) -> bytes:
    """Return a notebook's file in Jupyter's own layout, so that saving it there changes little."""
    text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False)
    return (text + "\n").encode("utf-8")


def execute(path: Path, cwd: Path, timeout_s: int = 600) -> bytes:
    """Run all cells of a notebook; return its file's content with their outputs.

    The same cells with the same outputs give the same bytes: times and ids of the run are left out,
    and so is standard error (the trainer's estimate and its bar).

    Args:
        path: a notebook, which is not changed.
        cwd: the folder to run in.
        timeout_s: the time limit of one cell.

    Raises:
        NotebookError: it is not a notebook, or a cell fails or takes too long.
    """
    return to_bytes(run(strip(read(path)), path.name, cwd, timeout_s))


def run(notebook: dict, name: str, cwd: Path, timeout_s: int = 600, **variables: str) -> dict:
    """Execute a notebook's content, as execute() does a file's.

    Args:
        notebook: as strip() returns it; it is not changed.
        name: its name in messages.
        cwd, timeout_s: see execute().
        variables: environment variables of its kernel, in addition to this process's.

    Raises:
        NotebookError: a cell fails or takes too long.
    """
    # Packages for staff and tests: --check and --strip do without.
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
    from traitlets.config import Config

    started = []
    client = NotebookClient(
        nbformat.reads(json.dumps(notebook), as_version=FORMAT["nbformat"]),
        timeout=timeout_s,
        kernel_name="python3",
        record_timing=False,
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
        except CellExecutionError as error:
            words = f"{error.ename}: {error.evalue}"
        except (CellTimeoutError, DeadKernelError) as error:
            words = str(error)
        else:
            return _filled(notebook, client.nb)
    raise NotebookError(f"{name}, cell {started[-1]}: {' '.join(words.split())[:SHOWN]}")


def _filled(stripped: dict, executed: dict) -> dict:
    """Return the stripped notebook with the outputs and counts of the executed one."""
    cells = []
    for cell, ran in zip(stripped["cells"], executed["cells"], strict=True):
        if cell["cell_type"] == "code":
            outputs = _settled(ran["outputs"])
            cell = cell | {"execution_count": ran["execution_count"], "outputs": outputs}
        cells.append(cell)
    return stripped | {"cells": cells}


def _settled(outputs: list) -> list:
    """Return a cell's outputs, streams joined, without what differs from run to run."""
    settled = []
    for output in json.loads(json.dumps(outputs)):
        output.pop("transient", None)
        if output["output_type"] != "stream":
            settled.append(output)
        elif output["name"] == "stdout":
            if settled and settled[-1]["output_type"] == "stream":
                output["text"] = settled.pop()["text"] + output["text"]
            settled.append(output)
    for output in settled:
        if output["output_type"] == "stream":
            output["text"] = output["text"].splitlines(keepends=True)
    return settled


def faults(path: Path, name: str) -> list[str]:
    """Return a line for each reason not to commit a notebook as it is.

    Raises:
        NotebookError: it is not a notebook.
    """
    notebook = read(path)
    found = []
    for number, cell in enumerate(notebook["cells"], 1):
        if cell.get("outputs"):
            found.append(f"{name}, cell {number}: has outputs")
        if cell.get("execution_count") is not None:
            found.append(f"{name}, cell {number}: has an execution count")
    if not found and path.read_bytes() != to_bytes(strip(notebook)):
        found = [f"{name}: has metadata or a layout that `--strip` would change"]
    return found


def check(root: Path) -> list[str]:
    """Return faults() of all notebooks, and the command that repairs them."""
    found = [fault for name in NOTEBOOKS for fault in faults(root / name, name)]
    return [*found, "Run: python -m tools.notebooks --strip"] if found else []


def strip_all(root: Path) -> list[str]:
    """Strip the notebooks that need it; return a line for each of them."""
    changed = []
    for name in NOTEBOOKS:
        path = root / name
        content = to_bytes(strip(read(path)))
        if path.read_bytes() != content:
            write_atomically(path, content)
            changed.append(f"{name}: stripped")
    return changed


def main(arguments: list[str] | None = None, root: Path = REPO) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.notebooks", __doc__)
    wanted = parser.add_mutually_exclusive_group(required=True)
    wanted.add_argument("--check", action="store_true", help="fail unless all are stripped")
    wanted.add_argument("--strip", action="store_true", help="remove outputs and metadata")
    asked = parser.parse_args(arguments)
    try:
        lines = check(root) if asked.check else strip_all(root)
    except NotebookError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines) or "Every notebook is stripped.")
    return 1 if asked.check and lines else 0


if __name__ == "__main__":
    sys.exit(main())
