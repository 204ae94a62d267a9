"""Look for parts of the solutions in what students get.

    python -m tools.leaks [--edition cs224n] FILE-OR-FOLDER...

Opens texts, zips in zips, PDFs (with metadata and attachments), web pages, notebooks (with outputs)
and what is compressed in other files, such as a picture's notes. Looks for:

- code of solution regions and of the judges in solutions/hidden/: a line, or several in a row, of
  25 or more letters, digits and operators (all of a region that has 16), and such comments; spaces,
  brackets, quotes, commas, underscores, capitals and comments in between make no difference.
  Imports, decorators, and headers of functions and classes are no secrets: any file may have them
- a judge's constant, by name and value, of 16 or more
- sentences of written answers, rubrics and graded practice, of 40 or more letters; formulas of 20;
  a hundred consecutive characters of the scripts beside them
- facts that answer a written question that the edition (by default, any) grades, in the words that
  solutions/written/facts.toml foresees
- a question of the test split with its place; places, or names with places, several in a row; the
  seed of the data set and the secret of the runs' seeds, in decimal or hex
- files in a folder `solutions`, and files that can't be opened

Not found: reworded solutions, and texts that are drawn or deliberately disguised. `secrets.ALLOWED`
has the exceptions. `__pycache__` below a folder is passed over.

Exit codes: 0 nothing found, 1 something was, 2 a path doesn't exist or can't be read, or an
input of the check has a mistake.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock

from .facts import Fact, facts_of
from .secrets import PREFIX, Secret, secrets_of
from .texts import bare, flat, letters, parts, readings

__all__ = ["Search", "facts_of", "secrets_of"]


class Search:
    """A search for secrets and facts in files; a text that several of them have is read once."""

    def __init__(self, secrets: Iterable[Secret], facts: Sequence[Fact] = ()):
        self._facts = facts
        self._secrets: dict[str, list[Secret]] = {}  # by their first characters
        for secret in secrets:
            self._secrets.setdefault(secret.text[:PREFIX], []).append(secret)
        self._found_in = cache(self._read)
        self._one_at_a_time = Lock()  # or two threads would read the same texts

    def find(self, name: str, content: bytes, facts: Collection[Fact] | None = None) -> list[str]:
        """Return a line for each leak in a file; `facts` are those that count, None means all."""
        leaks: list[tuple[str, str]] = []
        with self._one_at_a_time:
            for place, text, problem in parts(name, content):
                for words, fact in [(problem, None)] if problem else self._found_in(text):
                    counts = fact is None or facts is None or fact in facts
                    # What was found on a page isn't reported again for the whole PDF.
                    if counts and not any(p.startswith(place) and w == words for p, w in leaks):
                        leaks.append((place, words))
        return [f"{place}: {words}" for place, words in leaks]

    def check(self, paths: Iterable[Path]) -> list[str]:
        """Return a line for each leak in files and in everything below folders; raise OSError."""
        files = [f for p in paths for f in (sorted(p.rglob("*")) if p.is_dir() else [p])]
        files = [f for f in files if not f.is_dir() and "__pycache__" not in f.parts]
        return [leak for f in files for leak in self.find(str(f), f.read_bytes())]

    def _read(self, text: str) -> list[tuple[str, Fact | None]]:
        """Return what a text holds, each in words, and the fact if it states one."""
        reads = readings(text)
        texts = {flat(reading) for reading in reads}
        sources = set()
        for form in {bare(text) for text in texts} | {letters(reading) for reading in reads}:
            starts = range(len(form) - PREFIX + 1)
            for prefix in {p for s in starts if (p := form[s : s + PREFIX]) in self._secrets}:
                sources |= {one.source for one in self._secrets[prefix] if one.text in form}
        stated = [fact for fact in self._facts if any(map(fact.is_in, texts))]
        words = "answers a graded question, {0.slot}: {0.says}".format
        return [(f"holds {s}", None) for s in sorted(sources)] + [(words(f), f) for f in stated]
