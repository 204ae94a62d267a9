"""Typeset LaTeX with latexmk: the same inputs give the same bytes, and poor layout is an error."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from .templates import HandoutError

OVERFULL_PT = 2.0
DATE = "315532800"  # 1980-01-01: the dates in a PDF must not depend on the current date
MISSING = (
    "{} is missing: apt.txt names Debian's packages (make setup-tex installs them as root); on "
    "other systems, install TeX Live or MacTeX"
)


def require(tool: str) -> None:
    """Raise HandoutError if a program is missing."""
    if shutil.which(tool) is None:
        raise HandoutError(MISSING.format(tool))


def typeset(folder: Path, name: str = "sheet.tex") -> Path:
    """Typeset a file in its folder; return the PDF.

    Raises:
        HandoutError: latexmk is missing, TeX stops, a reference is undefined, or a line is wider
            than the page; the message names the file and line.
    """
    require("latexmk")
    done = _run(folder, "latexmk", "-pdf", "-norc", "-file-line-error", "-quiet", name)
    path = folder / name
    log = path.with_suffix(".log")
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    faults = problems(text)
    if done.returncode or faults:
        first = faults[0] if faults else done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise HandoutError(f"{folder.name}/{name}: {first} (full log: {log})")
    return path.with_suffix(".pdf")


def labels(folder: Path, name: str) -> str:
    """Return the labels that one run of LaTeX writes; the next run repeats its errors."""
    require("pdflatex")
    _run(folder, "pdflatex", name)
    return (folder / name).with_suffix(".aux").read_text(encoding="utf-8", errors="replace")


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    fixed = {"SOURCE_DATE_EPOCH": DATE, "FORCE_SOURCE_DATE": "1", "max_print_line": "1000"}
    return subprocess.run(
        [command[0], "-interaction=nonstopmode", "-halt-on-error", *command[1:]],
        cwd=folder,
        env=os.environ | fixed,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )


def problems(log: str) -> list[str]:
    """Return a log's errors, undefined references, missing characters and overfull lines."""
    lines = log.splitlines()
    errors = [
        f"{line} {_word(lines[i:])}".strip()
        for i, line in enumerate(lines)
        if re.match(r"\S+:\d+: ", line)
    ]
    errors += [f"TeX stops: {line[2:]}" for line in lines if line.startswith("! ")]
    errors += re.findall(r"^LaTeX Warning: ((?:Reference|Citation|Label) .*)", log, re.MULTILINE)
    errors += re.findall(r"^(Missing character: .*)", log, re.MULTILINE)
    overfull = re.findall(r"^(Overfull \\[hv]box \(([\d.]+)pt.*)", log, re.MULTILINE)
    return errors + [words for words, width_pt in overfull if float(width_pt) > OVERFULL_PT]


def _word(lines: list[str]) -> str:
    """Return the last word that TeX read of the line before it stopped: it caused the error."""
    read = next((line for line in lines[:8] if re.match(r"l\.\d+ ", line)), "")
    return f"({read.split()[-1]})" if len(read.split()) > 1 else ""
