"""Observers of a run: the console, a results file, Gradescope's session."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .results import Results, TestResult
    from .runner import Run
    from .staging import Staged


class Observer:
    """Is notified of a run's events, in this order; this base class does nothing."""

    def staged(self, staged: Staged) -> None:
        """Handle that the submission's files were copied."""

    def started(self, results: Results) -> None:
        """Handle that the run begins; `results` contain every test, and change as tests end."""

    def ended(self, result: TestResult) -> None:
        """Handle that a test has ended; tests end in any order."""

    def told(self, result: TestResult) -> None:
        """Handle that a test and all before it have ended, so that it can be shown."""

    def graded(self, run: Run) -> None:
        """Handle that every test has ended; workers can still be asked."""
