"""Who hears what happens in a run: the console, a results file, Gradescope's session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .results import Results, TestResult
    from .runner import Run
    from .staging import Staged


class Observer:
    """Hears of a run's events, in this order; does nothing by itself."""

    def staged(self, staged: Staged) -> None:
        """Hear that the submission's files were taken."""

    def started(self, results: Results) -> None:
        """Hear that the run begins; `results` hold every test, and change as tests end."""

    def ended(self, result: TestResult) -> None:
        """Hear that a test has ended; they end in any order."""

    def told(self, result: TestResult) -> None:
        """Hear that a test and all before it in the edition have ended, so that it can be shown."""

    def graded(self, run: Run) -> None:
        """Hear that every test has ended; workers can still be asked."""
