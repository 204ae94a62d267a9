"""Typeset LaTeX with latexmk: the same inputs give the same bytes, and poor layout is an error."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from . import characters
from .templates import HandoutError, tex

OVERFULL_PT = 2.0
DATE = "315532800"  # 1980-01-01: the dates in a PDF must not depend on the current date
MISSING = (
    "{} is missing: apt.txt names Debian's packages (make setup-tex installs them as root); on "
    "other systems, install TeX Live or MacTeX"
)


def typeset(folder: Path, name: str = "sheet.tex") -> Path:
    """Typeset a file in its folder.

    Returns:
        the PDF.

    Raises:
        HandoutError: latexmk is missing, TeX stops, a reference is undefined, or a line is wider
            than the page; the message names the file and line.
    """
    if shutil.which("latexmk") is None:
        raise HandoutError(MISSING.format("latexmk"))
    command = ["latexmk", "-pdf", "-norc", "-interaction=nonstopmode", "-halt-on-error"]
    done = subprocess.run(
        [*command, "-file-line-error", "-quiet", name],
        cwd=folder,
        env=os.environ
        | {"SOURCE_DATE_EPOCH": DATE, "FORCE_SOURCE_DATE": "1", "max_print_line": "1000"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    stem = name.removesuffix(".tex")
    path = folder / f"{stem}.log"
    log = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    faults = problems(log)
    if done.returncode or faults:
        first = faults[0] if faults else done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise HandoutError(f"{folder.name}/{name}: {first} (full log: {path})")
    return folder / f"{stem}.pdf"


def problems(log: str) -> list[str]:
    """Return a log's errors, undefined references, overfull lines and missing characters."""
    lines = log.splitlines()
    found = [
        f"{line} {_word(lines[i:])}".strip()
        for i, line in enumerate(lines)
        if re.match(r"\S+:\d+: ", line)
    ]
    found += [f"TeX stops: {m}" for m in re.findall(r"^! (.*)", log, re.MULTILINE)]
    found += re.findall(r"^LaTeX Warning: ((?:Reference|Citation|Label) .*)", log, re.MULTILINE)
    found += re.findall(r"^(Missing character: .*)", log, re.MULTILINE)
    found += [
        words
        for words, width in re.findall(r"^(Overfull \\[hv]box \(([\d.]+)pt.*)", log, re.MULTILINE)
        if float(width) > OVERFULL_PT
    ]
    return found


def _word(lines: list[str]) -> str:
    """Return the last word that TeX read of the line before it stopped: it caused the error."""
    read = next((line for line in lines[:8] if re.match(r"l\.\d+ ", line)), "")
    return f"({read.split()[-1]})" if len(read.split()) > 1 else ""


def origin(repo: Path, folder: Path, message: str) -> str:
    """Return the origin of the lines of sheet.tex in a message: `handout/topics/x.tex.j2:7: `.

    It is the template's line that TeX read, or the value of course.toml or assignment.toml that
    has the longest word of a paragraph that is too wide.
    """
    found = re.search(r"sheet\.tex:(\d+): | lines (\d+)--(\d+)", message)
    if not found:
        return ""
    first, last = int(found[1] or found[2]), int(found[1] or found[3])
    lines = (folder / "sheet.tex").read_text(encoding="utf-8").splitlines()[first - 1 : last]
    longest = max(" ".join(lines).split(), key=len, default="")
    for value in characters.values(repo, characters.VALUES) if found[2] else ():
        words = tex(value.text).split()
        if longest and any(word in longest and 2 * len(word) > len(longest) for word in words):
            return f"{value.place}: "
    read = {line.strip() for line in lines}
    for path in sorted([*repo.glob("handout/**/*.j2"), *repo.glob("solutions/written/*.j2")]):
        for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if text.strip() and text.strip() in read:
                return f"{path.relative_to(repo).as_posix()}:{number}: "
    return ""
