"""Let benchmarks import the reference solution as `submission`, instead of the starter code."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def come_first() -> None:
    """Make later imports from `submission` use the reference solution."""
    sys.path.insert(0, str(ROOT / "src"))
    import submission

    submission.__path__.insert(0, str(ROOT / "solutions" / "submission"))
