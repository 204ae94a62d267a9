"""Does anything that students get hold a part of the solutions?

    python -m tools.leaks FILE-OR-FOLDER...

Opens texts, and zips in zips, and looks for: a line of a solution region or of hidden.py of
25 or more characters, or two shorter ones in a row, compared without white space; a line of the
test split's answers; the seeds of the world and of gradings; compiled Python, which can't be read
line by line.
Exit codes: 0 nothing found, 1 something was, 2 a path that isn't there.
"""

import io
import re
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .datafiles import REPO, SEED, TEST_ANSWERS
from .regions import find_regions

LONG = 25  # characters other than white space; a line of so many is found by itself
SHORTEST_PAIR = 16  # of two lines in a row: "else:" and "return x" stand anywhere
HIDDEN = Path("solutions/hidden.py")
TRUTH = Path("solutions/submission")
GRADING_SECRET = "solutions/data/grading_secret"
# Lines of the solutions that students may read all the same, by the reason.
ALLOWED = {
    "given with CausalSelfAttention, whose layout the synthesizer's is": """
        nh, hs = self.n_head, C // self.n_head
        v = self.value(x).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        weights = self.attn_drop(F.softmax(scores, dim=-1))  # (B, nh, T, T)
        y = y.transpose(1, 2).contiguous().view(B, T, C)  # heads side by side
        return self.resid_drop(self.proj(y))
        """,
    "given with NameDataset": """
        text = text.ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        """,
    "an import": "from __future__ import annotations",
    "arguments of functions of the same names": "len(pretrain_dataset),block_size,",
    "what basic tests assert, too": """
        except corruption.Malformed as wrong:
        correct = answers.count_correct(predicted, places)
        correct >= threshold * len(places),
        expected=f"at least {threshold:.0%}",
        weights_are_right(alpha, places),
        means, a, b = answer.arguments
        weights_are_right(average, [a, b]),
        """,
}


@dataclass(frozen=True)
class Secret:
    """A text without white space, and where it comes from."""

    text: str
    source: str


def squeezed(text: str) -> str:
    """A text without its white space."""
    return re.sub(r"\s+", "", text)


def secrets_of(repo: Path = REPO) -> list[Secret]:
    """All that no artefact for students may hold."""
    found = []
    for path in sorted((repo / TRUTH).glob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = (TRUTH / path.name).as_posix()
        lines = text.split("\n")
        for region in find_regions(text, name):
            found += _of_lines(lines[region.start : region.end - 1], name, region.start + 1)
    found += _of_lines((repo / HIDDEN).read_text(encoding="utf-8").split("\n"), str(HIDDEN), 1)
    if (repo / TEST_ANSWERS).exists():
        rows = (repo / TEST_ANSWERS).read_text(encoding="utf-8").splitlines()
        found += [
            Secret(squeezed(row), f"{TEST_ANSWERS}, line {i}") for i, row in enumerate(rows, 1)
        ]
    for name in (SEED, GRADING_SECRET):
        if (repo / name).exists():
            found += _of_seed((repo / name).read_text(encoding="utf-8").strip(), name)
    allowed = {squeezed(line) for lines in ALLOWED.values() for line in lines.splitlines()}
    return [s for s in found if s.text not in allowed]


def _of_lines(lines: list[str], name: str, first: int) -> Iterator[Secret]:
    """Long lines, and pairs of shorter ones that follow each other; comments are code, too."""
    before = ""
    for number, line in enumerate(lines, first):
        text = squeezed(line)
        if len(text) >= LONG:
            yield Secret(text, f"{name}, line {number}")
        elif before and text and len(before + text) >= SHORTEST_PAIR:
            yield Secret(before + text, f"{name}, lines {number - 1} and {number}")
        before = text if text and len(text) < LONG else ""


def _of_seed(seed: str, name: str) -> list[Secret]:
    """A seed of few digits is in any text; those that `make world` draws have about nineteen."""
    return [Secret(seed, name)] if len(seed) >= 8 else []


def find(name: str, content: bytes, secrets: list[Secret]) -> list[str]:
    """A line for each leak in a file, by where it was found and where it comes from."""
    if name.endswith((".pyc", ".pyo")):
        return [f"{name}: compiled Python"]
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            files = [(f"{name}/{n}", opened.read(n)) for n in opened.namelist()]
            files.append((f"{name} (comment)", opened.comment))
        return [leak for inner, data in files for leak in find(inner, data, secrets)]
    text = squeezed(content.decode("utf-8", errors="replace"))
    # As JSON writes it, too: notebooks and results hold text with escapes.
    plain = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    texts = [text, plain.replace('\\"', '"').replace("\\n", "").replace("\\t", "")]
    return [f"{name}: holds {s.source}" for s in secrets if any(s.text in t for t in texts)]


def check(paths: list[Path], secrets: list[Secret]) -> list[str]:
    """Leaks in files, and in everything below folders."""
    files = []
    for path in paths:
        files += [p for p in sorted(path.rglob("*")) if p.is_file()] if path.is_dir() else [path]
    return [leak for path in files for leak in find(str(path), path.read_bytes(), secrets)]


def main(arguments: list[str]) -> int:
    """The command."""
    paths = [Path(argument) for argument in arguments]
    missing = [path for path in paths if not path.exists()]
    if missing or not paths:
        words = f"{missing[0]}: there is no such file or folder" if missing else "nothing to check"
        print(f"error: {words}", file=sys.stderr)
        return 2
    found = check(paths, secrets_of())
    for leak in found:
        print(leak)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
