"""Reads the code, parameters and predictions of a class and of references, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from autograder import isolation, solutions
from grading import paths, printable
from grading.errors import SubmissionError
from grading.staging import MAX_OUTPUT_BYTES, copy

from ..submissions import Submission
from . import parameters
from .ranking import Entry
from .texts import MOST_TOKENS, Known, Text

CODE, PARAMETERS, PREDICTIONS = ".py", ".params", ".predictions"
MOST_BYTES = {CODE: 1 << 20, PARAMETERS: MAX_OUTPUT_BYTES, PREDICTIONS: 1 << 20}  # of a file
MOST_FILES = 400  # of one submission
RESULTS = paths.ROOT / "build" / "reference"  # what `make reference` trains
ANSWERS, TENSORS = "wrong predictions", "identical tensors"
NAME = "the file"  # of parameters, where the grader reads them


class Reading:
    """Reads one entry after the other; `close` ends the workers that read parameters."""

    def __init__(self, work: Path, note: Callable[[str], None]) -> None:
        """
        Args:
            work: an empty folder.
            note: called with a line about everything that isn't compared.
        """
        self._note, self._known = note, Known()
        self._reader = parameters.Reader(work) if isolation.is_available() else None
        self._places: dict[str, list[str]] = {}  # the right answers of each split
        for split, folder in (("dev", paths.DATA), ("test", solutions.ANSWERS)):
            path = folder / f"birth_{split}.tsv"
            if path.is_file():
                rows = path.read_text(encoding="utf-8").splitlines()
                self._places[split] = [row.rpartition("\t")[2] for row in rows]
            else:
                note(f"predictions for {split} are not compared: the answers are missing")
        self._ours = Entry("reference")
        for path in (*RESULTS.glob("*.params"), *RESULTS.glob("*.predictions")):
            self._add(self._ours, path.name, path.read_bytes())
        if self._reader is None:
            note("parameters are not compared: their files can only be read on Linux")
        elif not self._ours.signatures:
            note(
                "build/reference/ has no parameters, so copies of the reference's are not "
                "recognized; train them with `make reference`"
            )

    def close(self) -> None:
        """End the workers."""
        if self._reader is not None:
            self._reader.close()

    def entry(self, submission: Submission, name: str, authors: frozenset[str]) -> Entry:
        """Return what is compared of a submission, or of a reference, which has no authors."""
        entry, count = Entry(name, authors), 0
        with TemporaryDirectory(prefix="similar-") as work:
            try:
                with submission.upload.tree(Path(work)) as top:
                    for folder, names in top.walk():
                        for file in names:
                            most = MOST_BYTES.get(Path(file).suffix)
                            if most and folder.entries[file].kind == "file" and count < MOST_FILES:
                                count += 1
                                target = Path(work, str(count))
                                if copy(folder, file, target, most) <= most:
                                    self._add(entry, file, target.read_bytes())
                                    target.unlink()
                                else:
                                    self._leave_out(entry, file, f"more than {most} bytes")
            except SubmissionError as error:
                self._note(f"{name}: not everything is compared: {error}")
        if count == MOST_FILES:
            self._note(f"{name}: only the first {MOST_FILES} files are compared")
        if not any(entry.features.values()):
            self._note(f"{name}: nothing to compare")
        return entry

    def _leave_out(self, entry: Entry, file: str, why: object) -> None:
        shown = printable.line(file, 80)
        self._note(printable.line(f"{entry.name}: {shown} is not compared: {why}"))

    def _add(self, entry: Entry, file: str, content: bytes) -> None:
        if file.endswith(PARAMETERS):
            self._add_parameters(entry, file, content)
        elif file.endswith(PREDICTIONS):
            self._add_answers(entry, file, content.decode("utf-8-sig", "replace"))
        else:
            self._add_code(entry, file, content.decode("utf-8-sig", "replace"))

    def _add_code(self, entry: Entry, file: str, content: str) -> None:
        text = Text(file, content, self._known)
        most = MOST_TOKENS - sum(len(text.tokens) for text in entry.texts)
        if text.is_cut or len(text.tokens) > most:
            self._leave_out(entry, f"a part of {file}", f"more than {MOST_TOKENS} words and signs")
            del text.tokens[most:]
        if text.tokens:
            entry.add(text, self._known)

    def _add_answers(self, entry: Entry, file: str, content: str) -> None:
        """Add the wrong answers of a file, if there is one for each question and they differ."""
        lines = [line.strip() for line in content.removesuffix("\n").split("\n")]
        places = self._places.get(Path(Path(file).stem).suffix.removeprefix("."))
        if places is not None and len(places) == len(lines) and len(set(lines)) > 1:
            answers = enumerate(zip(lines, places, strict=True), start=1)
            wrong = {(file, n, said) for n, (said, place) in answers if said != place}
            if wrong != {answer for answer in self._ours.features[ANSWERS] if answer[0] == file}:
                entry.features[ANSWERS] |= wrong

    def _add_parameters(self, entry: Entry, file: str, content: bytes) -> None:
        if self._reader is None:
            return
        path = self._reader.folder / NAME
        path.write_bytes(content)
        path.chmod(0o644)
        try:
            tensors = self._reader.read(NAME)
        except parameters.Unreadable as error:
            return self._leave_out(entry, file, error)
        finally:
            path.unlink()
        hashes, ours = parameters.hashes_of(tensors), self._ours.features[TENSORS]
        if 2 * len(hashes & ours) <= len(hashes):  # otherwise it is one of ours
            entry.features[TENSORS] |= hashes - ours
            entry.signatures.append(parameters.signature_of(tensors))
