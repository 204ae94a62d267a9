"""A student's folder, and a command in it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass
class Folder:
    """A student's folder."""

    root: Path
    capture: pytest.CaptureFixture

    def run(self, main: Callable, *arguments: str) -> tuple[int, str, str]:
        """Return a command's exit code, standard output and standard error."""
        try:
            code = main(list(arguments))
        except SystemExit as ended:  # argparse's
            code = ended.code
        out, err = self.capture.readouterr()
        assert "Traceback" not in err
        return code, out, err
